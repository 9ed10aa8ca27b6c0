// What a business sends to be published, sealed correctly or not, and how the service answers. For tests.

import type { KeyFacts } from "../../actors/messages/business.ts";
import type { Actors } from "../../actors/system/definition.ts";
import { publishBody } from "../../client/batch.ts";
import { aiPolicyBytes } from "../../protocol/ai-policy.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import { contentDigest } from "../../protocol/http-signature.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { buildTree, leafHash } from "../../protocol/merkle.ts";
import { reasonCodes } from "../../protocol/reason-codes.ts";
import { publishBatch } from "../../service/publishing/publish.ts";
import type { PublishServices } from "../../service/publishing/publish-batch.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
import { readEntries } from "../../service/register/home-evidence.ts";
import { RegisterRefused } from "../../service/register/parties.ts";
import type { Environment } from "../../service/register/service-keys.ts";
import { policyRecord } from "../../verifier/business.fixture.ts";
import { altered } from "../../verifier/scene.fixture.ts";
import {
  type AssertionParts,
  makeKey,
  seal,
  sealWithPasskey,
  type TestKey,
} from "../../verifier/signing.fixture.ts";
import { jsonOf, product } from "./publishing.fixture.ts";
import {
  type MandatePlan,
  mandateOf,
  type PastBusiness,
  type SealingWorld,
} from "./sealing-world.fixture.ts";

/** `A` is a batch under a mandate, `B` a record sealed on its own. */
export type Path = "A" | "B" | "policy" | "mandate";

/** What is wrong with the seal, apart from what it names and the key that made it. */
export const faults = [
  "payload_type",
  "format_1",
  "version",
  "member",
  "key_id",
  "unregistered_key",
  "twice",
  "signature",
  "assertion",
  "origin",
  "unverified",
  "challenge",
  "record_type",
  "bytes",
  "order",
  "tree_size",
] as const;
export type SealFault = (typeof faults)[number];

export interface SealPlan {
  readonly path: Path;
  readonly environment: Environment;
  readonly sealedMs: number;
  /** Counted back from the newest; -1 for one that the business never had. */
  readonly certificate: number;
  /** Added to the correct version. */
  readonly version: number;
  readonly faults: readonly SealFault[];
  /** For batches: sealed by a live integration key of the business that does not sign the request. */
  readonly byOther: boolean;
  /** The content of a mandate that is sent. */
  readonly mandate: Pick<MandatePlan, "fromMs" | "untilMs">;
}

export interface Sent {
  readonly envelope: Envelope;
  /** The exact bytes as sent; none for a mandate. */
  readonly records: readonly Uint8Array[];
  /** The hashes of the bytes that were sealed. */
  readonly sealedHashes: readonly string[];
}

export type Answer =
  | { readonly kind: "accepted"; readonly recordIds: readonly string[] }
  /** The reason if it was refused for its seal; the code if it was sealed correctly and refused for something else. */
  | { readonly kind: "refused"; readonly code: string; readonly reason: string | null };

const types = {
  A: payloadTypes["batch-seal.v2"],
  B: payloadTypes["seal.v2"],
  policy: payloadTypes["seal.v2"],
  mandate: payloadTypes["mandate.v1"],
} as const;
const typesV1: Readonly<Partial<Record<Path, string>>> = {
  A: payloadTypes["batch-seal.v1"],
  B: payloadTypes["seal.v1"],
  policy: payloadTypes["seal.v1"],
};

let ids = 0;

/** Seals what is to be sent, with the plan's faults. */
export function prepare(business: PastBusiness, plan: SealPlan): Sent {
  ids += 1;
  const { path } = plan;
  const has = (fault: SealFault): boolean => plan.faults.includes(fault);
  const records = {
    A: [product(`a-${ids}`), product(`b-${ids}`)],
    B: [product(`b-${ids}`)],
    policy: [aiPolicyBytes(policyRecord({ action: { ...policyRecord().action, purchase: ids % 2 === 0 } }))],
    mandate: [],
  }[path];
  const members = { ...membersOf(business, plan, records), ...changesOf(plan) };
  const type = has("payload_type")
    ? payloadTypes["sidecar.v2"]
    : has("format_1")
      ? typesV1[path]
      : types[path];
  // Members that are undefined are left out.
  const payload = canonicalBytes(JSON.parse(JSON.stringify(members)) as JsonValue);
  const envelope = sealed(business, plan, { type: type ?? types[path], payload });
  return {
    envelope,
    records: sentOf(records, has),
    sealedHashes: records.map((record) => hashOf(record)),
  };
}

function membersOf(business: PastBusiness, plan: SealPlan, records: readonly Uint8Array[]): object {
  if (plan.path === "mandate")
    return {
      ...mandateOf(business, { ...plan.mandate, countries: ["US", "CA"] }),
      mandate_id: `mdt_sent_${ids}`,
    };
  const inForce = business.facts.policy.version;
  const [record = new Uint8Array()] = records;
  const tree = buildTree(records.map((each) => leafHash(each)));
  const own =
    plan.path === "A"
      ? { root: `sha256:${tree.root.toHex()}`, tree_size: records.length, seq: 1 }
      : { hash: hashOf(record) };
  return {
    v: 2,
    key_id: keyOf(business, plan).keyId,
    ...own,
    cert_id: business.certIds[plan.certificate] ?? hashOf(new TextEncoder().encode("none")),
    sealed_at: formatTimestamp(business.atMs + plan.sealedMs),
    record_type: plan.path === "policy" ? "ai_policy" : "products",
    ai_policy_version: Math.max(0, inForce + plan.version + (plan.path === "policy" ? 1 : 0)),
  };
}

function changesOf({ path, faults: wrong }: SealPlan): object {
  const isMandate = path === "mandate";
  return {
    ...(wrong.includes("format_1") && !isMandate
      ? { v: 1, ai_policy_version: undefined, terms_version: 1 }
      : {}),
    ...(wrong.includes("version") ? { v: 3 } : {}),
    ...(wrong.includes("member") ? { note: "x" } : {}),
    ...(wrong.includes("key_id") && !isMandate ? { key_id: "A".repeat(43) } : {}),
    ...(wrong.includes("record_type") && !isMandate ? { record_type: "events" } : {}),
    ...(wrong.includes("tree_size") && path === "A" ? { tree_size: 3 } : {}),
  };
}

/** The key that seals. */
export function keyOf(business: PastBusiness, plan: Pick<SealPlan, "path" | "byOther">): TestKey {
  return plan.path === "A" && plan.byOther ? business.other : business.key;
}

function sealed(
  business: PastBusiness,
  plan: SealPlan,
  { type, payload }: { readonly type: string; readonly payload: Uint8Array },
): Envelope {
  const has = (fault: SealFault): boolean => plan.faults.includes(fault);
  const own = keyOf(business, plan);
  const key = has("unregistered_key") ? makeKey(own.alg) : own;
  const isPasskey = business.kind === "passkey" && own === business.key;
  // The fault asks for the kind of signature that the key does not make.
  const asserts = isPasskey !== has("assertion");
  const parts: AssertionParts = {
    ...(has("origin") ? { origin: "https://portal.test.evil" } : {}),
    ...(has("unverified") ? { flags: 0x01 } : {}),
    ...(has("challenge") ? { challengeOf: new TextEncoder().encode("sign in") } : {}),
  };
  const made = asserts ? sealWithPasskey(type, payload, key, parts) : seal(type, payload, key);
  const [signature] = made.signatures;
  if (signature === undefined) throw new Error("A seal has a signature.");
  const changed = has("signature")
    ? { ...signature, sig: altered(Uint8Array.fromBase64(signature.sig)).toBase64() }
    : signature;
  return { ...made, signatures: has("twice") ? [changed, changed] : [changed] };
}

function sentOf(records: readonly Uint8Array[], has: (fault: SealFault) => boolean): readonly Uint8Array[] {
  const [first, ...rest] = records;
  if (first === undefined) return records;
  const ordered = has("order") ? [...rest, first] : records;
  // A record remains valid: only its content changes.
  const change = (record: Uint8Array): Uint8Array =>
    new TextEncoder().encode(new TextDecoder().decode(record).replace("false", "true"));
  return has("bytes") ? ordered.map(change) : ordered;
}

/** Sends it on its path. */
export async function send(
  world: SealingWorld,
  business: PastBusiness,
  sent: Sent,
  { path, environment }: Pick<SealPlan, "path" | "environment">,
  changes: Partial<Actors> = {},
): Promise<Answer> {
  const { services } = world;
  const deps = { ...services, trust: () => world.trust(environment), ...changes };
  const { envelope, records } = sent;
  const [record = new Uint8Array()] = records;
  const { uuid } = business;
  switch (path) {
    case "A":
      return sendBatch(world, business, sent, deps);
    case "B": {
      const request = { businessUuid: uuid, collection: "products", record, seal: envelope } as const;
      const outcome = await publishRecord(deps, request);
      if (!outcome.ok) return refusedFor(outcome.code);
      const { record_id: id, errors } = outcome.value;
      return id === null || errors.length > 0 ? refusedFor(errors[0]?.code ?? "", false) : accepted([id]);
    }
    case "policy":
      return registered(world.parties(environment).acceptPolicy({ uuid, record, seal: envelope }));
    case "mandate":
      return registered(world.parties(environment).acceptMandate(envelope));
  }
}

async function sendBatch(
  { services }: SealingWorld,
  { uuid, caller, facts }: PastBusiness,
  { envelope, records }: Sent,
  deps: PublishServices,
): Promise<Answer> {
  const name = `key/${caller.keyId}`;
  const body = publishBody(envelope, records);
  const entry = (await readEntries(services.actors, uuid, [name])).get(name);
  const outcome = await publishBatch(deps, {
    caller: {
      key: JSON.parse(entry ?? "null") as KeyFacts,
      party: facts.party as NonNullable<typeof facts.party>,
      nonce: "n",
      expiresMs: deps.clock.now(),
      requestHash: "sha256:",
      tag: "svc-push",
    },
    collection: "products",
    idempotencyKey: `i-${ids}`,
    contentDigest: contentDigest(body),
    body,
    sourceIp: "127.0.0.1",
  });
  const answer = jsonOf(outcome);
  if (answer["code"] === "seal_invalid") return refusedFor(String(answer["reason"]));
  if (answer["code"] !== undefined) return refusedFor(String(answer["code"]), false);
  const results = answer["results"] as readonly { record_id: string; errors: readonly { code: string }[] }[];
  const [fault] = results.flatMap((result) => result.errors);
  return fault === undefined
    ? accepted(results.map((each) => each.record_id))
    : refusedFor(fault.code, false);
}

async function registered(effect: Promise<unknown>): Promise<Answer> {
  try {
    await effect;
    return accepted([]);
  } catch (error) {
    if (error instanceof RegisterRefused) return refusedFor(error.code);
    throw error;
  }
}

function accepted(recordIds: readonly string[]): Answer {
  return { kind: "accepted", recordIds };
}

/** Whatever is refused for its seal has one of the verifier's reasons, or was received at the wrong time. */
function refusedFor(code: string, forSeal = true): Answer {
  const isReason = code === "sealed_at_skew" || (reasonCodes as readonly string[]).includes(code);
  return { kind: "refused", code, reason: forSeal && isReason ? code : null };
}
