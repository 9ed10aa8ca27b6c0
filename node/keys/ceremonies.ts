// Key ceremonies: what an operator does with the service's keys, each step on the machine that has the private halves.
//   Y1. Private halves are written once, readable by their owner only, and never printed; none is overwritten.
//   Y2. A validity window is declared when a key is generated, and certified as declared; the owner of the root reads it
//       first.
//   Y3. A key set is checked with the public verifier before it is written, and so is its predecessor.

import { FileKeyStore } from "../../crypto/key-store.ts";
import { createSigner } from "../../crypto/private-jwk.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { type Anchors, parseAnchors } from "../../protocol/keys/anchors.ts";
import type { KeyUse } from "../../protocol/keys/key-set.ts";
import type { Trust } from "../../verifier/trust.ts";
import { ConfigError } from "../configuration/config-error.ts";
import {
  certificatesText,
  loadCertificates,
  loadRequests,
  type OutputFile,
  requestsText,
  writeOutput,
} from "./exchange-files.ts";
import { certifiedKeyOf, certify, type KeyRequest, type Pair, rootAnchors } from "./key-certificates.ts";
import { issueKeySet } from "./next-key-set.ts";
import { loadAnchors, loadKeySet } from "./trusted-files.ts";
import { keyNameOf, nodeUses } from "./working-keys.ts";

export interface Window {
  readonly valid_from: string;
  readonly valid_until: string;
}

/** The uses for which a node of this role signs. */
export const roleUses = { serving: nodeUses, log: ["log"] } as const;
export type NodeRole = keyof typeof roleUses;

/** Generates a root or an issuance pair in the folder `keys`. */
export async function createPair(made: {
  readonly use: "root" | "issuance";
  readonly keys: string;
  readonly public: OutputFile;
  readonly window: Window;
}): Promise<KeyRequest> {
  const store = await FileKeyStore.open(made.keys);
  const pair: Pair = [
    createSigner(await store.createNew(`${made.use}-p256`, "ES256")),
    createSigner(await store.createNew(`${made.use}-mldsa65`, "ML-DSA-65")),
  ];
  const request = { use: made.use, region: null, keys: pair.map(certifiedKeyOf), ...made.window };
  await writeOutput(made.public, requestsText([request]));
  return request;
}

/** Generates the working keys of a role in the folder `keys`, beside the existing ones. */
export async function createWorking(made: {
  readonly role: NodeRole;
  readonly region: string;
  /** The uses of the role to generate keys for (default: all of them). */
  readonly uses?: readonly string[];
  readonly keys: string;
  readonly public: OutputFile;
  readonly window: Window;
  readonly nowMs: number;
}): Promise<readonly KeyRequest[]> {
  const store = await FileKeyStore.open(made.keys);
  const requests: KeyRequest[] = [];
  // The tag distinguishes them from earlier keys; it is in lower case, as names in the store are.
  const tag = formatTimestamp(made.nowMs)
    .replaceAll(/[^0-9T]/g, "")
    .toLowerCase();
  for (const use of roleUses[made.role].filter((each) => made.uses?.includes(each) ?? true)) {
    const name = `${keyNameOf(use, made.region)}.${tag}`;
    const signer = createSigner(await store.createNew(name, "Ed25519"));
    const region = use === "receipt" ? made.region : null;
    requests.push({ use, region, keys: [certifiedKeyOf(signer)], ...made.window });
  }
  await writeOutput(made.public, requestsText(requests));
  return requests;
}

/** Generates the secret for record ids: once for the whole service, and for good. */
export async function createRecordId(keys: string): Promise<void> {
  await (await FileKeyStore.open(keys)).createNew("record-id", "Ed25519");
}

/** Generates the secret from which the issuance process makes the keys that it holds for businesses. */
export async function createHosted(keys: string): Promise<void> {
  await (await FileKeyStore.open(keys)).createNew("hosted", "Ed25519");
}

/** A root certifies what a file requests: itself, an issuance pair, or another root. */
export async function certifyRequests(asked: {
  /** The folder of the root that certifies. */
  readonly root: string;
  readonly requests: string;
  readonly environment: Anchors["environment"];
  /** Ends the keys at this instant, whatever their file says; null leaves it unchanged. */
  readonly until: string | null;
  readonly out: OutputFile;
  readonly nowMs: number;
}): Promise<readonly KeyRequest[]> {
  const root = await loadPair(asked.root, "root");
  const requests = (await loadRequests(asked.requests)).map((each) =>
    asked.until === null ? each : { ...each, valid_until: asked.until },
  );
  const at = { environment: asked.environment, issuedAt: formatTimestamp(asked.nowMs) };
  const certificates = [];
  for (const request of requests) {
    if (request.use !== "root" && request.use !== "issuance")
      throw new ConfigError(
        asked.requests,
        `asks for a ${request.use} key; a root certifies roots and issuance keys`,
      );
    const certificate = await certify(request, root, at);
    if (!certificate.ok) throw new ConfigError(asked.requests, `cannot be certified: ${certificate.detail}`);
    certificates.push(certificate.value);
  }
  await writeOutput(asked.out, certificatesText(certificates));
  return requests;
}

/** Writes the anchors that pin the roots in the files. */
export async function writeAnchors(given: {
  readonly roots: readonly string[];
  readonly environment: Anchors["environment"];
  readonly passkeys: Anchors["passkeys"];
  readonly logOrigin: string;
  readonly out: OutputFile;
}): Promise<Anchors> {
  const roots: Anchors["roots"][number][] = [];
  for (const file of given.roots) {
    for (const { use, keys } of await loadRequests(file)) {
      const [classical, postQuantum] = keys;
      if (use !== "root" || classical === undefined || postQuantum === undefined)
        throw new ConfigError(file, `holds a ${use} key; anchors pin roots`);
      roots.push(...rootAnchors(classical, postQuantum));
    }
  }
  const anchors: Anchors = {
    v: 1,
    environment: given.environment,
    roots,
    passkeys: given.passkeys,
    log: { origin: given.logOrigin, key_name: "svc-log" },
  };
  const read = parseAnchors(anchors as unknown as JsonValue);
  if (!read.ok)
    throw new ConfigError(
      given.out.path,
      `would not be valid anchors: ${read.detail} (${read.pointer ?? ""})`,
    );
  await writeOutput(given.out, `${JSON.stringify(anchors, null, 2)}\n`);
  return anchors;
}

export interface IssueRequest {
  /** The folder of the issuance pair that signs. */
  readonly issuance: string;
  readonly anchors: string;
  readonly environment: Anchors["environment"];
  /** The file of the previous key set; null for the first one. */
  readonly previous: string | null;
  readonly requests: readonly string[];
  readonly certificates: readonly string[];
  readonly ends: ReadonlyMap<string, string>;
  readonly compromised: ReadonlyMap<string, string>;
  readonly out: OutputFile;
  readonly nowMs: number;
}

/** Issues the next key set (Y3). */
export async function writeKeySet(asked: IssueRequest): Promise<Trust> {
  const anchors = await loadAnchors(asked.anchors, asked.environment);
  const previous = asked.previous === null ? null : await loadKeySet(asked.previous, anchors);
  const issued = await issueKeySet({
    anchors,
    previous: previous?.trust.keySet ?? null,
    issuance: await loadPair(asked.issuance, "issuance"),
    certificates: (await Promise.all(asked.certificates.map(loadCertificates))).flat(),
    requests: (await Promise.all(asked.requests.map(loadRequests))).flat(),
    ends: asked.ends,
    compromised: asked.compromised,
    nowMs: asked.nowMs,
  });
  if (!issued.ok) throw new ConfigError(asked.out.path, `is not written: ${issued.detail}`);
  await writeOutput(asked.out, `${issued.value.text}\n`);
  return issued.value.trust;
}

/** Both halves of a pair from its folder. Throws {@link ConfigError} if one is missing. */
export async function loadPair(folder: string, use: KeyUse): Promise<Pair> {
  const store = await FileKeyStore.open(folder);
  const half = async (name: string, algorithm: "ES256" | "ML-DSA-65") => {
    const jwk = await store.loadOfAlgorithm(name, algorithm);
    if (jwk === null)
      throw new ConfigError(`${folder}/${name}.jwk`, `is missing; name the folder of the ${use} pair`);
    return createSigner(jwk);
  };
  return [await half(`${use}-p256`, "ES256"), await half(`${use}-mldsa65`, "ML-DSA-65")];
}
