// The published keys of a business: every key that ever sealed for it, with the instants that bound it (specification,
// «Published keys of a business»). Keys that only read or search are not included.

import type { KeyFacts, KeyRole } from "../actors/messages/business.ts";
import type { BusinessKey, BusinessKeys } from "../protocol/business-keys.ts";

const sealers: Readonly<Partial<Record<KeyRole, Pick<BusinessKey, "purpose" | "kind">>>> = {
  integration: { purpose: "integration", kind: "system" },
  sealing: { purpose: "sealing", kind: "passkey" },
  hosted: { purpose: "sealing", kind: "hosted" },
};

/** The payload that the statement key signs; oldest key first. */
export function publishedKeys(facts: {
  readonly uuid: string;
  readonly certId: string;
  readonly issuedAt: string;
  readonly keys: readonly KeyFacts[];
}): BusinessKeys {
  return {
    v: 1,
    uuid: facts.uuid,
    cert_id: facts.certId,
    issued_at: facts.issuedAt,
    keys: facts.keys.flatMap((key) => publishedKey(key) ?? []).sort(byAge),
  };
}

/** The keys of a business in published form, unsigned. */
export function keysOf(uuid: string, keys: readonly (KeyFacts | null)[]): BusinessKeys {
  const known = keys.filter((key) => key !== null);
  return publishedKeys({ uuid, certId: "", issuedAt: "", keys: known });
}

function publishedKey(key: KeyFacts): BusinessKey | null {
  const sealer = sealers[key.role];
  if (sealer === undefined) return null;
  return {
    key_id: key.key_id,
    ...sealer,
    public_key: key.public_key,
    ...(key.cose === null ? {} : { cose: key.cose }),
    valid_from: key.valid_from,
    valid_until: key.valid_until,
    revoked_at: key.revoked_at,
    compromised_from: key.compromised_from,
  };
}

function byAge(a: BusinessKey, b: BusinessKey): number {
  const [left, right] = [`${a.valid_from} ${a.key_id}`, `${b.valid_from} ${b.key_id}`];
  return left < right ? -1 : left > right ? 1 : 0;
}
