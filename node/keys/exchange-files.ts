// What the machines of a key ceremony exchange, in files that anybody may read: public halves to be certified, and
// certificates. Nothing is trusted merely because it is in them: a root's owner reads what they certify.

import { createFile, replaceFile } from "../../crypto/durable-file.ts";
import { parsePrivateJwk, publicHalfOf } from "../../crypto/private-jwk.ts";
import { type Envelope, parseEnvelope } from "../../protocol/dsse.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import { keyUses } from "../../protocol/keys/key-set.ts";
import {
  anything,
  keyId,
  list,
  literal,
  nullable,
  object,
  oneOf,
  publicJwk,
  readShape,
  region,
  type Shape,
  timestamp,
} from "../../protocol/shape.ts";
import { ConfigError } from "../configuration/config-error.ts";
import type { KeyRequest } from "./key-certificates.ts";
import { loadJson } from "./trusted-files.ts";

const requestsFormat = "svc-public-keys/1";
const certificatesFormat = "svc-key-certificates/1";
const itemsMax = 1_024;
/** Readable by everybody: nothing here is secret. */
const publicMode = 0o644;

const requestsShape = object({
  format: literal(requestsFormat),
  keys: list(
    object({
      use: oneOf(keyUses),
      region: nullable(region),
      keys: list(
        object({ key_id: keyId, alg: oneOf(["Ed25519", "ES256", "ML-DSA-65"]), public_key: publicJwk }),
        { min: 1, max: 2 },
      ),
      valid_from: timestamp,
      valid_until: nullable(timestamp),
    }),
    { min: 1, max: itemsMax },
  ),
});

const certificatesShape = object({
  format: literal(certificatesFormat),
  certificates: list(anything, { min: 1, max: itemsMax }),
});

/** Throws {@link ConfigError}. */
export async function loadRequests(path: string): Promise<readonly KeyRequest[]> {
  const file = await loadShaped(
    path,
    requestsShape,
    "the public halves that `svc keys` wrote when it made the keys",
  );
  return file.keys;
}

/** Throws {@link ConfigError}. */
export async function loadCertificates(path: string): Promise<readonly Envelope[]> {
  const file = await loadShaped(path, certificatesShape, "the certificates that `svc keys certify` writes");
  return file.certificates.map((value) => {
    const envelope = parseEnvelope(value);
    if (envelope.ok) return envelope.value;
    throw new ConfigError(path, `contains something that is not a certificate: ${envelope.detail}`);
  });
}

/** The key_ids of a private key, or of the keys (of one use) in a file of public halves. Throws {@link ConfigError}. */
export async function keyIdsIn(path: string, use: string | null = null): Promise<readonly string[]> {
  const value = await loadJson(path, "a key");
  const requests = readShape(requestsShape, value);
  if (requests.ok) {
    return requests.value.keys
      .filter((each) => use === null || each.use === use)
      .flatMap((each) => each.keys.map(({ key_id }) => key_id));
  }
  const key = parsePrivateJwk(value);
  if (key.ok) return [thumbprint(publicHalfOf(key.value))];
  throw new ConfigError(path, "holds neither a private key nor public halves");
}

export interface OutputFile {
  readonly path: string;
  /** Whether an existing file may be overwritten. */
  readonly replace: boolean;
}

export function requestsText(keys: readonly KeyRequest[]): string {
  return `${JSON.stringify({ format: requestsFormat, keys }, null, 2)}\n`;
}

export function certificatesText(certificates: readonly Envelope[]): string {
  return `${JSON.stringify({ format: certificatesFormat, certificates })}\n`;
}

/** Writes a public file, durably. Throws {@link ConfigError} if it exists, unless it may be replaced. */
export async function writeOutput(
  { path, replace }: OutputFile,
  text: string,
  mode: number = publicMode,
): Promise<void> {
  if (replace) return replaceFile(path, text, { mode });
  if (await createFile(path, text, { mode })) return;
  throw new ConfigError(path, "exists; name another file, or use --replace");
}

async function loadShaped<T>(path: string, shape: Shape<T>, what: string): Promise<T> {
  const read = readShape(shape, await loadJson(path, what));
  if (read.ok) return read.value;
  throw new ConfigError(path, `does not hold ${what}: ${read.fault.detail} (${read.fault.pointer})`);
}
