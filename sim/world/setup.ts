// The parties of a world, registered before faults start: businesses with integration keys under mandates, and AI companies
// with retrieval keys.

import type { KeyFacts, PartyFacts } from "../../actors/messages/business.ts";
import {
  actionNames,
  aiPolicyBytes,
  blockedNames,
  currentAiPolicySchema,
  useNames,
} from "../../protocol/ai-policy.ts";
import { hashOf, toBase64 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { coseKeyOf } from "../../protocol/keys/jwk.ts";
import { mandatePayload } from "../../protocol/mandate.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import { sealedByPerson } from "../crypto/sim-passkey.ts";
import { certifiedName } from "../workload/product.ts";
import type { SimNode } from "./sim-node.ts";
import type { WorldParts } from "./world-parts.ts";

const dayMs = 86_400_000;

export interface Caps {
  readonly records_per_hour: number;
  readonly bytes_per_day: number;
}

export interface SimBusiness {
  readonly uuid: string;
  readonly certId: string;
  readonly policyVersion: number;
  readonly owner: SimSigner;
  readonly keys: readonly SimSigner[];
  /** A key that is registered while the others are still used; null where none is. */
  readonly successor: SimSigner | null;
  readonly caps: Caps;
}

export interface SimCompany {
  readonly uuid: string;
  readonly key: SimSigner;
}

/** When a key and its first mandate end; infinity if they outlast the world. */
export interface KeyEnds {
  readonly keyUntilMs: number;
  readonly mandateUntilMs: number;
}

export interface NewBusiness {
  readonly uuid: string;
  readonly keys: number;
  /** Where its keys and mandates have ends within the world's time; null where nothing ends. */
  readonly ends: readonly KeyEnds[] | null;
  readonly caps: Caps;
  readonly hasPolicy: boolean;
}

export async function registerBusiness(
  parts: WorldParts,
  node: SimNode,
  given: NewBusiness,
): Promise<SimBusiness> {
  const { uuid, caps } = given;
  const certId = await openParty(parts, node, { uuid, kind: "business" });
  const keys = await addKeys(parts, node, given);
  if (given.hasPolicy) await acceptPolicy(parts, node, { uuid, certId, owner: keys.owner, version: 1 });
  return { uuid, certId, policyVersion: given.hasPolicy ? 1 : 0, ...keys, caps };
}

/** A business of a journal continues, with an active certificate and under new keys. */
export async function resumeBusiness(
  parts: WorldParts,
  node: SimNode,
  given: NewBusiness,
): Promise<SimBusiness> {
  const { uuid, caps } = given;
  const { certificate, policy } = await node.parties.facts(uuid, "");
  const keys = await addKeys(parts, node, given);
  return { uuid, certId: certificate?.cert_id ?? "", policyVersion: policy.version, ...keys, caps };
}

/** Adds the passkey of a business's owner, and integration keys with mandates sealed by it. */
async function addKeys(
  parts: WorldParts,
  { parties }: SimNode,
  given: NewBusiness,
): Promise<Pick<SimBusiness, "owner" | "keys" | "successor">> {
  const { uuid, caps, ends } = given;
  const owner = parts.crypto.newSigner();
  await parties.registerKey(keyFacts(parts, uuid, owner, "sealing"));
  const keys = Array.from({ length: given.keys }, () => parts.crypto.newSigner());
  for (const [at, key] of keys.entries()) {
    const { keyUntilMs = Infinity, mandateUntilMs = Infinity } = ends?.[at] ?? {};
    await parties.registerKey(keyFacts(parts, uuid, key, "integration", keyUntilMs));
    await parties.acceptMandate(
      mandateOf(parts, { uuid, owner, key, caps, ...firstMandate(parts, key, mandateUntilMs) }),
    );
  }
  return { owner, keys, successor: ends === null ? null : parts.crypto.newSigner() };
}

export function registerKey(
  parts: WorldParts,
  { parties }: SimNode,
  given: { readonly uuid: string; readonly key: SimSigner },
): Promise<void> {
  return parties.registerKey(keyFacts(parts, given.uuid, given.key, "integration"));
}

export async function registerCompany(parts: WorldParts, node: SimNode, uuid: string): Promise<SimCompany> {
  await openParty(parts, node, { uuid, kind: "ai_company" });
  const key = parts.crypto.newSigner();
  await node.parties.registerKey(keyFacts(parts, uuid, key, "retrieval"));
  return { uuid, key };
}

/** A company that publishes nothing, and whose name no other may use. */
export async function registerNamed(parts: WorldParts, node: SimNode, uuid: string): Promise<void> {
  await openParty(parts, node, { uuid, kind: "business", legalName: `${certifiedName} Ltd` });
}

async function openParty(
  parts: WorldParts,
  node: SimNode,
  party: { readonly uuid: string; readonly kind: PartyFacts["kind"]; readonly legalName?: string },
): Promise<string> {
  const { uuid, kind, legalName = `Party ${uuid.slice(0, 4)}` } = party;
  const since = formatTimestamp(parts.kernel.startMs - dayMs);
  const names = { legal_name: legalName, country: "GB" };
  await node.parties.open({ uuid, kind, ...names, group: uuid, blocked_groups: [] });
  return node.parties.issueCertificate({
    uuid,
    kind,
    ...names,
    verified_since: since,
    status: "active",
    status_effective_from: since,
    status_reason: null,
  });
}

function keyFacts(
  parts: WorldParts,
  uuid: string,
  key: SimSigner,
  role: KeyFacts["role"],
  untilMs = Infinity,
): KeyFacts {
  return {
    key_id: key.keyId,
    party_uuid: uuid,
    role,
    alg: "Ed25519",
    public_key: { ...key.publicJwk },
    ...(role === "sealing" ? { person_role: "owner" } : {}),
    cose: role === "sealing" ? toBase64(coseKeyOf(key.publicJwk) ?? new Uint8Array()) : null,
    valid_from: formatTimestamp(parts.kernel.startMs - dayMs),
    valid_until: Number.isFinite(untilMs) ? formatTimestamp(untilMs) : null,
    revoked_at: null,
    compromised_from: null,
  };
}

/** The times and the id of a mandate. */
export interface MandateTerms {
  readonly id: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The mandate that a key has from the beginning, for longer than the world lasts unless it ends earlier. */
export function firstMandate(parts: WorldParts, key: SimSigner, untilMs = Infinity): MandateTerms {
  const { startMs } = parts.kernel;
  const endMs = Number.isFinite(untilMs) ? untilMs : startMs + 30 * dayMs;
  return { id: `mdt_${key.keyId}`, fromMs: startMs - dayMs, untilMs: endMs };
}

/** The owner seals a mandate. */
export function mandateOf(
  parts: WorldParts,
  given: MandateTerms & {
    readonly uuid: string;
    readonly owner: SimSigner;
    readonly key: SimSigner;
    readonly caps: Caps;
  },
) {
  const payload = mandatePayload({
    v: 1,
    mandate_id: given.id,
    business_uuid: given.uuid,
    key_id: given.key.keyId,
    scope: {
      record_types: ["products"],
      countries: ["US", "CA", "GB"],
      directions: ["publish"],
      caps: given.caps,
      source_ip_allow_list: null,
    },
    valid_from: formatTimestamp(given.fromMs),
    valid_until: formatTimestamp(given.untilMs),
  });
  return sealedByPerson(parts.crypto, given.owner, payloadTypes["mandate.v1"], payload);
}

/** The owner seals the next version of the AI policy. */
export async function acceptPolicy(
  parts: WorldParts,
  node: SimNode,
  given: {
    readonly uuid: string;
    readonly certId: string;
    readonly owner: SimSigner;
    readonly version: number;
  },
): Promise<void> {
  const all = <N extends string>(names: readonly N[], value: boolean) =>
    Object.fromEntries(names.map((name) => [name, value])) as Record<N, boolean>;
  const record = aiPolicyBytes({
    schema: "svc/ai_policy/1",
    ai_policy_schema: currentAiPolicySchema,
    use: all(useNames, true),
    action: all(actionNames, given.version % 2 === 0),
    blocked: all(blockedNames, false),
  });
  const payload = sealPayload({
    v: 2,
    key_id: given.owner.keyId,
    cert_id: given.certId,
    hash: hashOf(record, parts.crypto.sha256),
    sealed_at: formatTimestamp(parts.kernel.now()),
    record_type: "ai_policy",
    ai_policy_version: given.version,
  });
  await node.parties.acceptPolicy({
    uuid: given.uuid,
    record,
    seal: sealedByPerson(parts.crypto, given.owner, payloadTypes["seal.v2"], payload),
  });
}
