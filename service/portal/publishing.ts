// What people publish for their business at the portal, sealed alone with their own passkeys or, where there is none, by the key that the
// service holds (hosted-publishing.ts): records of every type and withdrawals, and with passkeys alone AI policies and decisions about held
// pushes.
//   PB1. A record is judged before it is shown, by the rules by which it is judged when it is published.
//   PB2. What was sealed is delivered as it is at the business surface (SA1 in publishing/publish-record.ts), and judged there.
//        Whose signature verifies is in its person's journal before it is delivered, and by the code of the seal only once; a record
//        that would be rejected is in none.
//   PB3. A person with a passkey of the business seals records, as at that surface; what binds the business, owners and admins alone.

import type { PolicyFacts, PublishingFacts } from "../../actors/messages/business.ts";
import {
  bindingRoles,
  type Member,
  type MemberRole,
  memberRoles,
  type SealingPasskey,
} from "../../actors/messages/members.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import type { RemovalAction } from "../../actors/messages/removal.ts";
import { type AiPolicyRecord, aiPolicyBytes, parseAiPolicy } from "../../protocol/ai-policy.ts";
import { hashOf, parseBase64, toBase64 } from "../../protocol/bytes.ts";
import { type Envelope, parseObject, parsePayload, payloadTypes } from "../../protocol/dsse.ts";
import {
  type CollectionName,
  formatTimestamp,
  isCollectionName,
  recordType,
} from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/json/canonical-json.ts";
import { recordCharactersMax } from "../../protocol/limits.ts";
import type { RecordFault } from "../../protocol/records/fields.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { sealPayload, sealV2 } from "../../protocol/seal.ts";
import type { CataloguePage } from "../../protocol/wire/catalogue.ts";
import type { HeldPushes, PublishOutcome, PushStatus } from "../../protocol/wire/push.ts";
import type { RemovalAnswer, RemovalBody } from "../../protocol/wire/removal.ts";
import {
  type HoldDecision,
  holdDecisionFormat,
  holdDecisionPayload,
  parseWithdrawal,
  type Withdrawal,
} from "../../protocol/withdrawal.ts";
import { verifySealer } from "../../verifier/business-keys.ts";
import { aiPolicyRecordType } from "../../verifier/sealed-document.ts";
import { type Outcome as Answered, bodyText, isRefused } from "../answer.ts";
import type { ListCatalogueRequest, ReadCatalogueRequest } from "../publishing/catalogue.ts";
import { decideHold, listHolds } from "../publishing/decide-hold.ts";
import type { PublishServices } from "../publishing/publish-batch.ts";
import { publishRecord, recordFaults } from "../publishing/publish-record.ts";
import { removeByPerson } from "../publishing/remove-record.ts";
import { judgeCertified, judgeVerified, keysOf, readEntry, readSigner } from "../register/home-evidence.ts";
import type { Registered } from "../register/parties.ts";
import { type HostedDeps, hostedSealerOf, type Taken, takeHosted } from "./hosted-publishing.ts";
import { accepted, actOf, type Owner, type OwnerRefusal, sealingRoles } from "./owner.ts";
import type { People, SignedIn } from "./people.ts";
import {
  type ReadyToSeal,
  readyToSeal,
  type SealedHere,
  type SealingDeps,
  type SealsBy,
  sealedHere,
} from "./sealing.ts";

export interface OwnPublishingDeps extends PublishServices, Omit<SealerDeps, "people">, HostedDeps {
  readonly people: Pick<People, "keep" | "report" | "confirmOnce">;
  readonly recordIdOf: (uuid: string, kind: CollectionName | "ai_policy", localId: string) => string;
  readonly catalogue: {
    readonly list: (request: ListCatalogueRequest) => Promise<Answered>;
    readonly read: (request: ReadCatalogueRequest) => Promise<Answered>;
  };
}

type Outcome<T> = Promise<Result<T, OwnerRefusal>>;

/** A record that may be sealed, or everything that is wrong with it. */
export type MadeRecord =
  | { readonly kind: "ready"; readonly ready: ReadyToSeal }
  | { readonly kind: "faulty"; readonly faults: readonly RecordFault[] };

/** What became of something that was sealed. */
export type Published =
  | {
      readonly kind: "record";
      readonly collection: CollectionName;
      readonly record: JsonObject;
      readonly outcome: PublishOutcome;
    }
  /** It breaks a rule that it did not break when it was shown; nothing was sealed or delivered. */
  | {
      readonly kind: "faulty";
      readonly collection: CollectionName;
      readonly record: JsonObject;
      readonly faults: readonly RecordFault[];
    }
  | { readonly kind: "policy"; readonly record_id: string; readonly version: number }
  | { readonly kind: "decision"; readonly push: PushStatus }
  /** A deletion may wait for an operator. */
  | {
      readonly kind: "removal";
      readonly record_id: string;
      readonly action: RemovalAction;
      readonly held: boolean;
    };

/** What the passkey sealed, and from which network it came. */
export type Delivered = SealedHere & { readonly network: string | null };

export interface OwnPublishing {
  record(
    who: SignedIn,
    asked: { readonly uuid: string; readonly collection: CollectionName; readonly record: JsonObject },
  ): Outcome<MadeRecord>;
  policy(
    who: SignedIn,
    asked: { readonly uuid: string; readonly policy: AiPolicyRecord },
  ): Outcome<ReadyToSeal>;
  /** A withdrawal or deletion of a record. */
  removal(
    who: SignedIn,
    asked: { readonly uuid: string; readonly record_id: string; readonly action: RemovalAction },
  ): Outcome<ReadyToSeal>;
  /** A page of the held pushes, the oldest first, with why each waits. */
  holds(who: SignedIn, asked: { readonly uuid: string; readonly cursor: string | null }): Outcome<HeldPushes>;
  /** A decision about a held push. */
  decision(
    who: SignedIn,
    asked: { readonly uuid: string } & Pick<HoldDecision, "push_id" | "decision">,
  ): Outcome<ReadyToSeal>;
  /** A page of what the business has published and is served now. */
  records(
    who: SignedIn,
    asked: { readonly uuid: string; readonly cursor: string | null },
  ): Outcome<CataloguePage>;
  /** A record that is served now. */
  readRecord(
    who: SignedIn,
    asked: { readonly uuid: string; readonly record_id: string },
  ): Outcome<{ readonly collection: CollectionName; readonly record: JsonObject }>;
  /** The AI policy in force; null where there is none. For people of the business. */
  policyInForce(uuid: string): Promise<AiPolicyRecord | null>;
  /** Delivers what the passkey sealed. Repeatable. */
  deliver(who: SignedIn, sealed: Delivered): Outcome<Published>;
}

/** Makes ready and delivers what people seal alone (PB1, PB2). Its methods throw {@link StoreError}. */
export function createOwnPublishing(deps: OwnPublishingDeps): OwnPublishing {
  return {
    record: (who, asked) => readyRecord(deps, who, asked),
    policy: (who, asked) => readyPolicy(deps, who, asked),
    removal: (who, asked) => readyRemoval(deps, who, asked),
    holds: (who, asked) => holds(deps, who, asked),
    decision: (who, asked) => readyDecision(deps, who, asked),
    records: (who, asked) => listRecords(deps, who, asked),
    readRecord: (who, asked) => readRecord(deps, who, asked),
    policyInForce: (uuid) => policyInForce(deps, uuid),
    deliver: (who, sealed) => deliver(deps, who, sealed),
  };
}

/** What seals are made and taken with. */
export interface SealerDeps
  extends Registered,
    SealingDeps,
    Pick<PublishServices, "actors" | "clock" | "trust"> {
  readonly owner: Pick<Owner, "may">;
  readonly people: Pick<People, "keep">;
}

/** What seals, and what is in force for the business. */
interface Sealer {
  readonly sealing: SealsBy;
  readonly facts: PublishingFacts;
}

/** For somebody who has one of these roles and a passkey. */
export async function sealerOf(
  deps: SealerDeps,
  who: SignedIn,
  { uuid, roles }: { readonly uuid: string; readonly roles: readonly MemberRole[] },
): Outcome<Sealer> {
  const sealing = passkeyOf(await deps.owner.may(who, uuid, roles));
  if (!sealing.ok) return sealing;
  const facts = await deps.parties.facts(uuid, sealing.value.key_id);
  return ok({ sealing: sealing.value, facts });
}

/** For somebody who seals records: with their own passkey, or by the key that the service holds. */
async function recordSealer(deps: OwnPublishingDeps, who: SignedIn, uuid: string): Outcome<Sealer> {
  const member = await deps.owner.may(who, uuid, sealingRoles);
  if (!member.ok) return member;
  const sealing = member.value.sealing ?? (await hostedSealerOf(deps, who, uuid));
  if (sealing === null) return noPasskey;
  return ok({ sealing, facts: await deps.parties.facts(uuid, sealing.key_id) });
}

function passkeyOf(member: Result<Member, OwnerRefusal>): Result<SealingPasskey, OwnerRefusal> {
  if (!member.ok) return member;
  return member.value.sealing === null ? noPasskey : ok(member.value.sealing);
}

const noPasskey = refuse("role_too_low", "You have no passkey that seals for this business.");

const recordBytesMax = (recordCharactersMax / 4) * 3;

/** The record as it would be sealed, unless it is too large for that. */
export function documentOf(record: JsonObject): Result<Uint8Array, "not_accepted"> {
  const document = canonicalBytes(record);
  return document.length > recordBytesMax
    ? refuse("not_accepted", `A record has at most ${recordBytesMax} bytes.`)
    : ok(document);
}

async function readyRecord(
  deps: OwnPublishingDeps,
  who: SignedIn,
  { uuid, collection, record }: Parameters<OwnPublishing["record"]>[1],
): Outcome<MadeRecord> {
  const sealer = await recordSealer(deps, who, uuid);
  if (!sealer.ok) return sealer;
  const read = documentOf(record);
  if (!read.ok) return read;
  const document = read.value;
  const of = { businessUuid: uuid, collection, record: document };
  const faults = await recordFaults(deps, of, sealer.value.facts);
  if (faults.length > 0) return ok({ kind: "faulty", faults });
  const ready = sealOver(deps, who, { uuid, document, record_type: collection, ...sealer.value });
  return ready.ok ? ok({ kind: "ready", ready: ready.value }) : ready;
}

async function readyPolicy(
  deps: OwnPublishingDeps,
  who: SignedIn,
  { uuid, policy }: Parameters<OwnPublishing["policy"]>[1],
): Outcome<ReadyToSeal> {
  const sealer = await sealerOf(deps, who, { uuid, roles: bindingRoles });
  if (!sealer.ok) return sealer;
  const document = aiPolicyBytes(policy);
  return sealOver(deps, who, { uuid, document, record_type: aiPolicyRecordType, ...sealer.value });
}

async function readyRemoval(
  deps: OwnPublishingDeps,
  who: SignedIn,
  { uuid, record_id, action }: Parameters<OwnPublishing["removal"]>[1],
): Outcome<ReadyToSeal> {
  const sealer = await recordSealer(deps, who, uuid);
  if (!sealer.ok) return sealer;
  const type = recordType(record_id);
  if (type === null || !isCollectionName(type)) return noRecord;
  const document = canonicalBytes({ record_id, action, at: formatTimestamp(deps.clock.now()) });
  return sealOver(deps, who, { uuid, document, record_type: type, ...sealer.value });
}

const noRecord = refuse("not_there", "The business has no such record.");

async function listRecords(
  { owner, catalogue }: OwnPublishingDeps,
  who: SignedIn,
  { uuid, cursor }: Parameters<OwnPublishing["records"]>[1],
): Outcome<CataloguePage> {
  const allowed = await owner.may(who, uuid, memberRoles);
  if (!allowed.ok) return allowed;
  const listed = await catalogue.list({ caller: { party: { uuid } }, type: null, cursor });
  return isRefused(listed)
    ? refuse("not_accepted", listed.problem.detail)
    : ok(JSON.parse(bodyText(listed.body)) as CataloguePage);
}

async function readRecord(
  { owner, catalogue }: OwnPublishingDeps,
  who: SignedIn,
  { uuid, record_id }: Parameters<OwnPublishing["readRecord"]>[1],
): ReturnType<OwnPublishing["readRecord"]> {
  const allowed = await owner.may(who, uuid, memberRoles);
  if (!allowed.ok) return allowed;
  const type = recordType(record_id);
  const read = await catalogue.read({ caller: { party: { uuid } }, id: record_id });
  if (isRefused(read) || type === null || !isCollectionName(type)) return noRecord;
  const { record } = JSON.parse(bodyText(read.body)) as { readonly record: JsonObject };
  return ok({ collection: type, record });
}

async function holds(
  deps: OwnPublishingDeps,
  who: SignedIn,
  { uuid, cursor }: Parameters<OwnPublishing["holds"]>[1],
): Outcome<HeldPushes> {
  const allowed = await deps.owner.may(who, uuid, memberRoles);
  if (!allowed.ok) return allowed;
  const listed = await listHolds(deps, { caller: { party: { uuid } }, cursor });
  return isRefused(listed)
    ? refuse("not_accepted", listed.problem.detail)
    : ok(JSON.parse(bodyText(listed.body)) as HeldPushes);
}

async function readyDecision(
  deps: OwnPublishingDeps,
  who: SignedIn,
  { uuid, ...decided }: Parameters<OwnPublishing["decision"]>[1],
): Outcome<ReadyToSeal> {
  const sealer = await sealerOf(deps, who, { uuid, roles: bindingRoles });
  if (!sealer.ok) return sealer;
  const at = formatTimestamp(deps.clock.now());
  const payload = holdDecisionPayload({ v: 1, business_uuid: uuid, ...decided, at });
  const toSeal = { uuid, payloadType: decisionType, payload, document: null };
  return readyToSeal(deps, who, toSeal, sealer.value.sealing);
}

const decisionType = payloadTypes["hold-decision.v1"];

/** A seal over the document that names what is in force; that of an AI policy names the version that it makes. */
export function sealOver(
  deps: SealerDeps,
  who: SignedIn,
  {
    uuid,
    document,
    record_type,
    sealing,
    facts,
  }: Sealer & {
    readonly uuid: string;
    readonly document: Uint8Array;
    readonly record_type: CollectionName | typeof aiPolicyRecordType | "ads";
  },
): Result<ReadyToSeal, "not_accepted"> {
  const { certificate, policy } = facts;
  // What was published is taken back also once the certificate has ended (V5 in publishing/remove-record.ts).
  const verified = parseWithdrawal(document).ok ? judgeCertified(facts) : judgeVerified(facts);
  if (!verified.ok || certificate === null)
    return refuse("not_accepted", verified.ok ? "The business has no certificate." : verified.detail);
  const payload = sealPayload({
    v: 2,
    key_id: sealing.key_id,
    cert_id: certificate.cert_id,
    hash: hashOf(document, deps.crypto.sha256),
    sealed_at: formatTimestamp(deps.clock.now()),
    record_type,
    ai_policy_version: record_type === aiPolicyRecordType ? policy.newest + 1 : policy.version,
  });
  const toSeal = { uuid, payloadType: payloadTypes["seal.v2"], payload, document };
  return readyToSeal(deps, who, toSeal, sealing);
}

async function policyInForce({ actors, parties }: OwnPublishingDeps, uuid: string) {
  const { policy } = await parties.facts(uuid, "");
  const known = await readEntry<PolicyFacts>(actors, uuid, `policy/${uuid}/${policy.version}`);
  const bytes = known === null ? null : parseBase64(known.record_base64);
  const parsed = bytes === null ? null : parseAiPolicy(bytes);
  return parsed?.ok === true ? parsed.value : null;
}

/** What the passkey of a person sealed and signed. */
export interface TakenSeal {
  readonly seal: Envelope;
  readonly payload: Uint8Array;
  readonly document: Uint8Array;
  readonly sealing: SealingPasskey;
  /** Keeps the act in the journal of the person who sealed (PB2). */
  readonly keep: (act: string, subject: string) => Outcome<void>;
}

/** Takes what was shown here, with a signature that verifies (PB2). */
export async function takeSealed(deps: SealerDeps, who: SignedIn, given: Delivered): Outcome<TakenSeal> {
  const { uuid } = given;
  const sealing = passkeyOf(await deps.owner.may(who, uuid, sealingRoles));
  if (!sealing.ok) return sealing;
  const sealed = sealedHere(deps, who, given, sealing.value);
  if (!sealed.ok) return sealed;
  const { envelope: seal, payload, document } = sealed.value;
  const keys = keysOf(uuid, [await readSigner(deps.actors, uuid, seal)]);
  const signed = verifySealer(deps.trust(), keys, seal, {
    keyId: sealing.value.key_id,
    kinds: ["passkey"],
  });
  if (!signed.ok) return refuse("not_accepted", signed.detail);
  const keep: TakenSeal["keep"] = async (act, subject) => {
    const { code: source, network } = given;
    const kept = await deps.people.keep(who, { act, subject, source, network });
    return kept.ok ? ok(undefined) : refuse("session_ended", kept.detail);
  };
  return ok({ seal, payload, document, sealing: sealing.value, keep });
}

async function take(deps: OwnPublishingDeps, who: SignedIn, given: Delivered): Outcome<Taken> {
  const hosted = await takeHosted(deps, who, given);
  if (hosted !== null) return hosted;
  const own = await takeSealed(deps, who, given);
  if (!own.ok) return own;
  const { payload, document, seal, sealing } = own.value;
  const keep: Taken["keep"] = async (act, subject) => {
    const kept = await own.value.keep(act, subject);
    return kept.ok ? ok(seal) : kept;
  };
  return ok({ payload, document, key_id: sealing.key_id, keep });
}

async function deliver(deps: OwnPublishingDeps, who: SignedIn, given: Delivered): Outcome<Published> {
  const { uuid } = given;
  const taken = await take(deps, who, given);
  if (!taken.ok) return taken;
  const { payload, document: record, key_id, keep } = taken.value;
  const act = actOf(who, "Sealed at the portal.");
  if (given.payload_type === decisionType) return decide(deps, who, { uuid, payload, keep, act });
  const claimed = parsePayload(payload, sealV2);
  if (!claimed.ok) return refuse("not_accepted", claimed.detail);
  const { record_type: type } = claimed.value;
  if (type === aiPolicyRecordType) {
    const allowed = await deps.owner.may(who, uuid, bindingRoles);
    if (!allowed.ok) return allowed;
    const seal = await keep("policy.seal", deps.recordIdOf(uuid, "ai_policy", ""));
    if (!seal.ok) return seal;
    return accepted(async () =>
      ok({ kind: "policy", ...(await deps.parties.acceptPolicy({ uuid, record, seal: seal.value, act })) }),
    );
  }
  if (!isCollectionName(type)) return refuse("not_accepted", "There are no records of this type.");
  const withdrawal = parseWithdrawal(record);
  if (withdrawal.ok) {
    const { action, record_id } = withdrawal.value;
    const seal = await keep(`record.${action}`, record_id);
    if (!seal.ok) return seal;
    const body = { document_base64: toBase64(record), seal: seal.value };
    return remove(deps, uuid, withdrawal.value, { body, act });
  }
  const parsed = parseObject(record);
  if (!parsed.ok) return refuse("not_accepted", "The record cannot be read.");
  const of = { businessUuid: uuid, collection: type, record };
  const faults = await recordFaults(deps, of, await deps.parties.facts(uuid, key_id));
  // The lists of the content rules may have changed since it was shown.
  if (faults.length > 0) return ok({ kind: "faulty", collection: type, record: parsed.value, faults });
  const ownId = String(parsed.value["business_product_id"]);
  const record_id = deps.recordIdOf(uuid, type, ownId);
  const seal = await keep("record.seal", record_id);
  if (!seal.ok) return seal;
  const outcome = await publishRecord(deps, { ...of, seal: seal.value, act: { ...act, record_id } });
  return outcome.ok
    ? ok({ kind: "record", collection: type, record: parsed.value, outcome: outcome.value })
    : refuse("not_accepted", outcome.detail);
}

async function remove(
  deps: OwnPublishingDeps,
  businessUuid: string,
  { action }: Withdrawal,
  sealed: { readonly body: RemovalBody; readonly act: RegisterAct },
): Outcome<Published> {
  const answer = await removeByPerson(deps, { businessUuid, action, ...sealed });
  if (isRefused(answer))
    return answer.problem.status === 404 ? noRecord : refuse("not_accepted", answer.problem.detail);
  const { record_id, held = false } = JSON.parse(bodyText(answer.body)) as RemovalAnswer;
  return ok({ kind: "removal", record_id, action, held });
}

/** The decision names the push that it is about. */
async function decide(
  deps: OwnPublishingDeps,
  who: SignedIn,
  {
    uuid,
    payload,
    keep,
    act,
  }: Pick<Taken, "payload" | "keep"> & { readonly uuid: string; readonly act: RegisterAct },
): Outcome<Published> {
  const allowed = await deps.owner.may(who, uuid, bindingRoles);
  if (!allowed.ok) return allowed;
  const read = parsePayload(payload, holdDecisionFormat);
  if (!read.ok) return refuse("not_accepted", read.detail);
  const seal = await keep("hold.decide", read.value.push_id);
  if (!seal.ok) return seal;
  const request = { caller: { party: { uuid } }, pushId: read.value.push_id, decision: seal.value, act };
  const answer = await decideHold(deps, request);
  if (isRefused(answer))
    return answer.problem.status === 404 ? noPush : refuse("not_accepted", answer.problem.detail);
  return ok({ kind: "decision", push: JSON.parse(bodyText(answer.body)) as PushStatus });
}

const noPush = refuse("not_there", "The business has no such push.");
