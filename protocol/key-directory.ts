// Key directory: the AI companies that chose to be listed, with the keys by which they sign (specification, «Key set and
// key directory»). It says whose a key is, so the reader of a receipt or a log of requests can tell who asked.

import { type Envelope, openEnvelope, payloadTypes } from "./dsse.ts";
import type { Sha256 } from "./hash.ts";
import { algorithmOf, thumbprint } from "./jwk.ts";
import { type Fault, malformed, type PayloadFormat, parsePayload } from "./payload.ts";
import type { Verdict } from "./result.ts";
import {
  described,
  keyId,
  listOf,
  literal,
  nullable,
  type Of,
  object,
  oneOf,
  publicJwk,
  text,
  timestamp,
  uuid,
} from "./shape.ts";
import { webAddress } from "./wire/retrieval.ts";

const listedKey = object({
  key_id: keyId,
  alg: oneOf(["Ed25519", "ES256"]),
  public_key: publicJwk,
  source: described(
    oneOf(["portal", "directory_import"]),
    "How the key was registered: by the company at its portal, or from a directory of its own.",
  ),
  valid_from: timestamp,
  valid_until: described(
    nullable(timestamp),
    "From here on the key is not the company's: the earliest of its end, its revocation and its reported compromise.",
  ),
});
export type ListedKey = Of<typeof listedKey>;

const listedCompany = object({
  ai_company_uuid: uuid,
  name: text(256),
  certificate_url: webAddress,
  keys: described(listOf(listedKey), "Every key it has or had, oldest first."),
});
export type ListedCompany = Of<typeof listedCompany>;

/** What the directory states. The answer and its statement have the same. */
export const keyDirectoryMembers = {
  v: literal(1),
  issued_at: timestamp,
  companies: described(
    listOf(listedCompany),
    "Companies that chose to be listed and whose certificate is active, by uuid.",
  ),
};

const keyDirectoryShape = object(keyDirectoryMembers);
export type KeyDirectory = Of<typeof keyDirectoryShape>;

export const keyDirectoryFormat: PayloadFormat<KeyDirectory> = {
  version: 1,
  versions: [1],
  shape: keyDirectoryShape,
};

/** Opens a key-directory envelope. It only reads: the signature is not verified. */
export function openKeyDirectory(envelope: Envelope, sha256?: Sha256): Verdict<KeyDirectory> {
  const payload = openEnvelope(envelope, payloadTypes["key-directory.v1"]);
  const parsed = payload.ok ? parsePayload(payload.value, keyDirectoryFormat) : payload;
  return parsed.ok ? (listFault(parsed.value, sha256) ?? parsed) : parsed;
}

/** A key is of one company, and a company is listed once: otherwise the list would not say whose a key is. */
function listFault({ companies }: KeyDirectory, sha256?: Sha256): Fault | null {
  const [uuids, keyIds] = [new Set<string>(), new Set<string>()];
  for (const [place, company] of companies.entries()) {
    const pointer = `/companies/${place}`;
    if (uuids.has(company.ai_company_uuid)) return malformed("A company is listed twice.", pointer);
    uuids.add(company.ai_company_uuid);
    for (const [index, key] of company.keys.entries()) {
      const fault = keyFault(key, `${pointer}/keys/${index}`, sha256);
      if (fault !== null) return fault;
      if (keyIds.has(key.key_id)) return malformed("A key is listed twice.", `${pointer}/keys/${index}`);
      keyIds.add(key.key_id);
    }
  }
  return null;
}

function keyFault(key: ListedKey, pointer: string, sha256?: Sha256): Fault | null {
  if (thumbprint(key.public_key, sha256) !== key.key_id)
    return malformed("The key id is not the thumbprint of the key.", `${pointer}/key_id`);
  return algorithmOf(key.public_key) === key.alg
    ? null
    : malformed("The key is of another algorithm.", `${pointer}/alg`);
}
