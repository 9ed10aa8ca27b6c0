// The batch of a publish request: its seal, the key that made it, and whether the records match what it covers.
// In this order: the seal, the body, the gate before the content, what is refused of caps and `seq`, and what is staged.

import type { PublishingFacts } from "../../actors/messages/business.ts";
import type { CapUsedUp, ChargeReply, SeqReply } from "../../actors/messages/integration-key.ts";
import { type ActorRef, businessRef, keyRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { formatHash, parseBase64, parseUtf8 } from "../../protocol/bytes.ts";
import {
  type Envelope,
  openEnvelope,
  parseEnvelope,
  parsePayload,
  payloadTypes,
} from "../../protocol/dsse.ts";
import { type CollectionName, pushIdOf } from "../../protocol/identifiers.ts";
import { type ItemPlace, type SplitOutcome, splitArray } from "../../protocol/json/json-records.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import { batchRecordsMax, recordCharactersMax } from "../../protocol/limits.ts";
import { sealLeafOf } from "../../protocol/log/leaves.ts";
import type { MandateCaps } from "../../protocol/mandate.ts";
import { buildTree, leafHash, type MerkleTree } from "../../protocol/merkle.ts";
import { type Refusal, type Result, refuse } from "../../protocol/result.ts";
import { type BatchSealV2, batchSealV2 } from "../../protocol/seal.ts";
import { nearestName } from "../../protocol/shape.ts";
import { isObject, joinPointer } from "../../std/json-pointer.ts";
import { inSteps, type Pace } from "../../std/work.ts";
import { verifySealer } from "../../verifier/business-keys.ts";
import {
  type Caller,
  invalidAt,
  isRefused,
  type Refused,
  rateLimited,
  refusedAs,
  refusedWith,
  type SentRequest,
  sealRefused,
} from "../answer.ts";
import type { Judging } from "../register/find-mandate.ts";
import {
  capsOf,
  findMandates,
  fromSource,
  keyRevoked,
  type Mandates,
  ofType,
} from "../register/find-mandate.ts";
import { judgeCertified, judgeVerified, keysOf, readSigner } from "../register/home-evidence.ts";
import type { ParsedLeaves, PushLeaves } from "./push-leaves.ts";
import type { PlanDeps } from "./push-plan.ts";

/** The type that is published in batches. */
export const publishedType = "products" satisfies CollectionName;

/** A pushed batch is always sealed in the current format. */
type PushSeal = BatchSealV2;

/** What the services of a publisher work with. A request that is not judged at the usual pace brings its own. */
export interface PublishServices extends Platform, Actors, Judging, PlanDeps {
  readonly leaves: PushLeaves;
  /** Where the parsed leaves of an admitted push are left for its chunks. */
  readonly parsed: ParsedLeaves;
  /** Absent where it is always available. */
  readonly background?: Background;
  /** The maximum time from staging to acceptance (default 1 h; A1 in accept-batch.ts). */
  readonly acceptWithinMs?: number | undefined;
  /** How long a hold waits for a decision (default 30 days). */
  readonly holdMs?: number | undefined;
  /** The regions whose indexes are currently notified. */
  readonly regions: () => readonly string[];
  /** How long after a deletion its bytes are purged. */
  readonly purgeAfterMs: number;
}

/** Whether queued pushes are processed now (accept-batch.ts). */
export interface Background {
  /** By the node that is asked. */
  isAvailable(): boolean;
}

export interface SealedBatch {
  readonly seal: PushSeal;
  readonly pushId: string;
  /** The seal's leaf in the log. */
  readonly sealLeaf: string;
}

export interface Batch extends SealedBatch {
  readonly tree: MerkleTree;
}

/** What a batch seal is judged against, besides itself. */
export interface SealQuestion {
  readonly caller: Caller;
  /** The type that the request is about. */
  readonly collection: string;
  readonly batchSeal: Envelope;
}

/** Checks the batch seal of a publish request, and the Merkle root over its records. */
export async function openBatch(
  deps: PublishServices,
  request: { readonly caller: Caller; readonly collection: string },
  { batchSeal, records }: PublishBody,
): Promise<Batch | Refused> {
  const { sha256 } = deps.crypto;
  const opened = await judgeBatchSeal(deps, { ...request, batchSeal });
  if (isRefused(opened)) return opened;
  const miscounted = countFault(opened.seal, records.length, "the request");
  if (miscounted) return miscounted;
  const hashes: Uint8Array[] = [];
  for (const record of records) {
    const due = deps.pace();
    if (due !== null) await due;
    hashes.push(leafHash(record, sha256));
  }
  const tree = buildTree(hashes, sha256);
  return rootFault(opened.seal, formatHash(tree.root)) ?? { ...opened, tree };
}

/**
 * Checks the batch seal itself. A seal by another key of the business is accepted here: whether its push is known is
 * judged later.
 */
export async function judgeBatchSeal(
  deps: PublishServices,
  { caller, collection, batchSeal }: SealQuestion,
): Promise<SealedBatch | Refused> {
  const { key, party } = caller;
  // The caller's key, or the one that it succeeded: an accepted batch is resumed under a successor key as well.
  const isCallers = batchSeal.signatures[0]?.keyid === key.key_id;
  const signer = isCallers ? key : await readSigner(deps.actors, party.uuid, batchSeal);
  const opened = openEnvelope(batchSeal, payloadTypes["batch-seal.v2"]);
  if (!opened.ok) return sealRefused(opened.code, opened.detail);
  const parsed = parsePayload(opened.value, batchSealV2);
  if (!parsed.ok) return sealRefused(parsed.code, parsed.detail);
  const seal = parsed.value;
  const keys = keysOf(party.uuid, [signer]);
  const sealer = verifySealer(deps.trust(), keys, batchSeal, { keyId: seal.key_id, kinds: ["system"] });
  if (!sealer.ok) return sealRefused(sealer.code, sealer.detail);
  if (seal.record_type !== collection) {
    const detail = `The seal is for ${seal.record_type}, but the request is for ${collection}.`;
    return sealRefused("record_type_mismatch", detail);
  }
  const { sha256 } = deps.crypto;
  return {
    seal,
    pushId: pushIdOf(party.uuid, opened.value, sha256),
    sealLeaf: sealLeafOf(batchSeal, sha256),
  };
}

/** `where` says what has that many records. */
export function countFault(seal: PushSeal, records: number, where: string): Refused | null {
  if (seal.tree_size === records) return null;
  const detail = `The seal is over ${seal.tree_size} records, ${where} has ${records}.`;
  return sealRefused("inclusion_invalid", detail);
}

/** Refuses records that are not those under the sealed root; null if they are. */
export function rootFault(seal: PushSeal, root: string): Refused | null {
  if (root === seal.root) return null;
  const detail = "The records are not exactly those that the seal's root covers, in order.";
  return sealRefused("hash_mismatch", detail);
}

// The body of POST /v1/publish/{type}: `{batch_seal, records[]}` (specification, «B. Business machine API»).
//   B1. However large the body is and whatever it contains, reading it yields the thread after each short step: the
//       records are taken out one by one, and only what is left, which is small, is parsed as a whole.
//   B2. No more items are counted than a batch may have, and nothing is built from an item before its length is judged.

export interface PublishBody {
  readonly batchSeal: Envelope;
  /** The exact bytes of the records; record i is leaf i. */
  readonly records: readonly Uint8Array[];
}

const members = ["batch_seal", "records"];
const faultsMax = 20;
/** JSON turns one character into six at most (`\u0041`). */
const escapedLengthMax = 6;
/** Maximum size of the body without its records. */
const restBytesMax = 65_536;
/** Number of bytes examined before the thread is yielded. */
const stepBytes = 131_072;

/** Refuses with `request_invalid`, `record_too_large` or `seal_invalid`, locating the fault by a JSON pointer. */
export async function parsePublishBody(body: Uint8Array, pace: Pace): Promise<PublishBody | Refused> {
  const limits = {
    itemsMax: batchRecordsMax,
    stringBytesMax: escapedLengthMax * recordCharactersMax,
    stepBytes,
  };
  const split = await inSteps(splitArray(body, { member: "records", ...limits }), pace);
  if (split.kind === "too_many") return tooMany();
  if (split.kind === "malformed") {
    return invalidAt(
      "",
      `The body is not strict JSON: byte ${split.at} does not continue the array records.`,
    );
  }
  if (split.kind === "too_long") {
    if (split.item === null) return restTooLong();
    const { code, detail } = recordTooLarge();
    return refusedWith(code, detail, { pointer: `/records/${split.item}` });
  }
  if (split.rest.length > restBytesMax) return restTooLong();
  return parseParts(body, split, pace);
}

async function parseParts(
  body: Uint8Array,
  { items, rest }: Extract<SplitOutcome, { kind: "split" }>,
  pace: Pace,
): Promise<PublishBody | Refused> {
  const json = parseStrictJson(rest);
  if (!json.ok) return invalidAt(json.pointer ?? "", `The body is not strict JSON: ${json.detail}`);
  const { value } = json;
  if (!isObject(value)) return invalidAt("", "The body must be a JSON object.");
  const unknown = Object.keys(value).find((name) => !members.includes(name));
  if (unknown !== undefined) {
    const suggestion = nearestName(unknown, members);
    return refusedWith("request_invalid", `The body has no member ${JSON.stringify(unknown)}.`, {
      pointer: joinPointer("", unknown),
      ...(suggestion === null ? {} : { suggestion }),
    });
  }
  const { batch_seal, records } = value as { batch_seal?: unknown; records?: unknown };
  if (batch_seal === undefined) return invalidAt("/batch_seal", "batch_seal is required.");
  const envelope = parseEnvelope(batch_seal);
  if (!envelope.ok) return sealRefused(envelope.code, envelope.detail, { pointer: "/batch_seal" });
  const places = items ?? placesOf(records);
  if (places === null) return invalidAt("/records", "records must be an array of base64 strings.");
  const parsed = await inSteps(parseRecords(body, places), pace);
  return isRefused(parsed) ? parsed : { batchSeal: envelope.value, records: parsed };
}

/** The texts of the records that were small enough to be parsed with the rest. */
function placesOf(records: unknown): readonly (string | null)[] | null {
  if (!Array.isArray(records)) return null;
  return records.map((record: unknown) => (typeof record === "string" ? record : null));
}

function* parseRecords(
  body: Uint8Array,
  places: readonly (ItemPlace | string)[],
): Generator<void, readonly Uint8Array[] | Refused> {
  if (places.length === 0) return invalidAt("/records", "records must have at least one item.");
  if (places.length > batchRecordsMax) return tooMany();
  const parsed: Uint8Array[] = [];
  const faults: { pointer: string; detail: string }[] = [];
  let charactersRead = 0;
  for (const [index, place] of places.entries()) {
    const pointer = `/records/${index}`;
    const outcome = parseRecord(body, place);
    if (outcome.ok) parsed.push(outcome.value);
    else if (outcome.code === "record_too_large")
      return refusedWith("record_too_large", outcome.detail, { pointer });
    else if (faults.length < faultsMax) faults.push({ pointer, detail: outcome.detail });
    charactersRead += place === null || typeof place === "string" ? 1 : place.end - place.start;
    if (charactersRead < stepBytes) continue;
    charactersRead = 0;
    yield;
  }
  const [first] = faults;
  if (!first) return parsed;
  return refusedWith("request_invalid", first.detail, {
    pointer: first.pointer,
    errors: faults.map((fault) => ({ code: "request_invalid", ...fault })),
  });
}

type RecordOutcome = Result<Uint8Array, "record_too_large" | "request_invalid">;

function parseRecord(body: Uint8Array, place: ItemPlace | string): RecordOutcome {
  if (typeof place === "string") return parseRecordText(place);
  if (place === null) return refuse("request_invalid", "A record must be a base64 string.");
  const written = parseUtf8(body.subarray(place.start, place.end));
  if (written === null) return refuse("request_invalid", "The record's text is not UTF-8.");
  return written.includes("\\") ? parseEscaped(written) : parseRecordText(written);
}

function parseEscaped(written: string): RecordOutcome {
  try {
    return parseRecordText(JSON.parse(`"${written}"`) as string);
  } catch {
    return refuse("request_invalid", "The record's text is not a JSON string.");
  }
}

/** A record as requests and files contain it. */
export function parseRecordText(record: string): RecordOutcome {
  if (record.length > recordCharactersMax) return recordTooLarge();
  const bytes = parseBase64(record);
  if (bytes === null || bytes.length === 0) {
    return refuse("request_invalid", "A record must be the base64 (RFC 4648 §4, padded) of its exact bytes.");
  }
  return { ok: true, value: bytes };
}

function recordTooLarge(): Refusal<"record_too_large"> {
  return refuse("record_too_large", `A record must have at most ${recordCharactersMax} base64 characters.`);
}

function restTooLong(): Refused {
  return invalidAt("", `Besides the items of records, the body must have at most ${restBytesMax} bytes.`);
}

function tooMany(): Refused {
  return invalidAt("/records", `records has at most ${batchRecordsMax} items; publish more by a bulk file.`);
}

// The checks of a publishing request that precede its content, for batches and for imports of a file: key, mandate,
// what that covers, its caps, and whether the business may publish at all. The table in publish.ts shows them in order.

export interface GateRequest extends Omit<SentRequest, "idempotencyKey"> {
  readonly collection: string;
}

/** What is known of a request that may publish. */
export interface Gate {
  readonly facts: PublishingFacts;
  /** Those that allow the type and the source. */
  readonly mandates: Mandates;
  /** The largest of these mandates. */
  readonly caps: MandateCaps;
}

type Allowed = Pick<Gate, "mandates" | "caps">;

/** What is known of a request that may remove: without a mandate only from a business whose certificate has ended. */
export interface RemovalGate extends Pick<Gate, "facts"> {
  readonly allowed: Allowed | null;
}

/** Judges the key, its mandate, the source, the caps and the certificate; nothing of the content. */
export async function passGate(deps: PublishServices, request: GateRequest): Promise<Gate | Refused> {
  const { facts, inForce } = await readGate(deps, request);
  if (isRefused(inForce)) return inForce;
  const covering = ofType(inForce, request.collection);
  if (isRefused(covering)) return covering;
  const allowed = await allowedNow(deps, request, covering);
  if (isRefused(allowed)) return allowed;
  const verified = judgeVerified(facts);
  return verified.ok ? { facts, ...allowed } : refusedAs(verified);
}

/**
 * What a mandate covers is judged elsewhere (remove-record.ts, V2), and no certificate in force is asked for: what was published,
 * is taken back. Where the certificate has ended, nobody seals mandates any more, so a key without one may deliver the document.
 */
export async function passRemovalGate(
  deps: PublishServices,
  request: Omit<GateRequest, "collection">,
): Promise<RemovalGate | Refused> {
  const { facts, inForce } = await readGate(deps, request);
  const { certificate } = facts;
  const verified = judgeCertified(facts);
  if (isRefused(inForce)) {
    const hasEnded = verified.ok && certificate?.status !== "active" && facts.key === "live";
    return hasEnded ? { facts, allowed: null } : inForce;
  }
  const allowed = await allowedNow(deps, request, inForce);
  if (isRefused(allowed)) return allowed;
  return verified.ok ? { facts, allowed } : refusedAs(verified);
}

type GateCall = Omit<GateRequest, "collection">;

async function readGate(deps: PublishServices, { caller: { party, key } }: GateCall) {
  const question = { type: "publishing.facts", key_id: key.key_id } as const;
  const facts = await deps.actors.ask(businessRef(party.uuid), question);
  return { facts, inForce: await findMandates(deps, party.uuid, { facts, nowMs: deps.clock.now() }) };
}

/** The mandates that allow the source of the request, if it is within their caps. */
async function allowedNow(
  deps: PublishServices,
  request: GateCall,
  covering: Mandates,
): Promise<Allowed | Refused> {
  const { party, key } = request.caller;
  const mandates = fromSource(covering, request.sourceIp, deps.asTable());
  if (isRefused(mandates)) return mandates;
  const caps = capsOf(mandates);
  const bytes = request.body.length;
  const capped = await deps.actors.ask(keyRef(party.uuid, key.key_id), {
    type: "caps.check",
    digest: request.contentDigest,
    content_length: bytes,
    caps,
  });
  return capped.status === "over" ? capRefused(capped, { bytes, caps }) : { mandates, caps };
}

// What the key's actor refuses to charge: a `seq` already used, or records and bytes over a cap of its mandate.

type SeqUsed = Extract<SeqReply, { status: "seq_not_increasing" }>;

/** What is charged, and under which caps; without `records` for a body that was not parsed yet. */
interface Charge {
  readonly records?: number;
  readonly bytes: number;
  readonly caps: { readonly records_per_hour: number; readonly bytes_per_day: number };
}

/** What each cap counts, and for how long. */
const capWords = {
  records_per_hour: { unit: "records", window: "hour" },
  bytes_per_day: { unit: "bytes", window: "day" },
} as const;

/** 429: the mandate's cap is used up, or smaller than this request. */
export function capRefused(
  { cap, left, retry_after_seconds }: CapUsedUp,
  { records = 0, bytes, caps }: Charge,
): Refused {
  const { unit, window } = capWords[cap];
  const isLarger = (cap === "records_per_hour" ? records : bytes) > caps[cap];
  const usedUp =
    left === 0
      ? `The mandate's cap ${cap} is used up.`
      : `The mandate's cap ${cap} has room for ${left} more ${unit} in this ${window}.`;
  const detail = isLarger
    ? `This has more ${unit} than the mandate allows in a whole ${window} (${cap} is ${caps[cap]}), so waiting does not help: send less at once, or under a mandate with a higher cap.`
    : usedUp;
  return rateLimited(detail, { retry_after_seconds, reason: cap });
}

/** 409 `seq_not_increasing`, with the last accepted seq. */
export function seqRefused({ last_seq }: SeqUsed): Refused {
  const detail =
    last_seq === Number.MAX_SAFE_INTEGER
      ? "The last accepted seq of this key is the greatest that there is: publish with another key."
      : `seq must exceed ${last_seq}, the last accepted seq of this key.`;
  return refusedWith("seq_not_increasing", detail, { last_seq });
}

/**
 * A cap that frees up this soon may admit the same batch when it is resent, and the staged bytes belong to that resend
 * as well.
 * @internal for tests
 */
export const soonFreeSeconds = 60;

/** The refusal of a batch that was staged but not charged; what was staged of it is dropped. */
export async function notCharged(
  staged: StagedBatch,
  charged: Exclude<ChargeReply, { status: "accepted" | "known" }>,
  charge: Charge,
): Promise<Refused> {
  if (charged.status === "over") {
    // If the cap frees up soon, the sweep of abandoned pushes drops it instead.
    if (charged.retry_after_seconds > soonFreeSeconds) await staged.dropOwn();
    return capRefused(charged, charge);
  }
  // Another batch used the seq in the meantime, or the key was revoked: this batch can never be accepted.
  await staged.drop();
  return charged.status === "retired" ? keyRevoked : seqRefused(charged);
}

// What is stored of a batch before its push is accepted, and removed if it is not (W2 in publish.ts).

export interface StagedBatch {
  /** Read before anything was staged. */
  readonly stagingAtMs: number;
  /** Removes it again. */
  drop(): Promise<void>;
  /** The same, except for what a resend of the same batch has staged since. */
  dropOwn(): Promise<void>;
}

/** Stores the records and the seal for the push that is to come. Throws {@link StoreError}. */
export async function stageBatch(
  { records, leaves, clock }: PublishServices,
  push: ActorRef<"push">,
  { body, batch }: { readonly body: PublishBody; readonly batch: Batch },
): Promise<StagedBatch> {
  const stagingAtMs = clock.now();
  await records.stageLeaves(push.id, 0, body.records);
  await records.putSeal({
    seal_id: batch.pushId,
    envelope: JSON.stringify(body.batchSeal),
    tree_size: body.records.length,
  });
  leaves.put(push.id, batch.tree);
  const stagedMs = clock.now();
  const drop = async (untilMs?: number): Promise<void> => {
    await records.dropStaged(push.id, untilMs);
    leaves.drop(push.id);
  };
  return { stagingAtMs, drop: () => drop(), dropOwn: () => drop(stagedMs) };
}
