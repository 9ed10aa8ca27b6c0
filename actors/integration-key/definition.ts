// The integration-key actor: seq, caps and idempotency of a registered key at home; its nonces in each region.
// Keyed rows: 17 idempotency, 18 charged pushes and the digests of their bodies, 20 to 23 the nonces (actors/system/claimed-names.ts).
//   Q1. A nonce is claimed at most once while its signature is valid by the clock of any node of the region, and is free
//       once it has expired by the clock of the node that runs the actor (specification, «Authentication», check 7). A
//       claim whose signature has expired by that clock is refused for that reason, so a node whose clock is behind cannot
//       claim it again; and a claim outlives its signature in the store, so a node whose clock is behind and that takes the
//       actor over still finds it. This holds while no two clocks of a region differ by `nonceSpareMs` or more.
//   Q2. A (seq, push_id) pair is charged once, no matter who repeats it.
//       A retired key is not charged again.
//   Q5. The charge of a push that was not admitted is taken back by the request that last relied on it, and only by that: another request
//       with the same batch may just have been admitted.
//   Q3. An answer is replayed only for the same request. Another request under the same Idempotency-Key is refused for 24
//       hours, regardless of the outcome of the first one, unless that one was released without an answer to keep.
//   Q4. «In progress» is a claim by one worker, which renews it for as long as it works: the answering node may be
//       another one, and may be gone. A claim expires if it is not renewed, and also with the activation that noted it,
//       until its worker renews it in the next activation. The same request then continues where it ended.

import {
  dayMs,
  hourMs,
  type IntegrationKeyEvent,
  integrationKeyMachine,
  usageAt,
} from "../../machines/integration-key.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type {
  CapsReply,
  CapUsedUp,
  ChargeReply,
  IdempotencyReply,
  IdempotentAnswer,
  IntegrationKeyCommand,
  IntegrationKeyProtocol,
  NonceReply,
  RemovalChargeReply,
  SeqReply,
} from "../messages/integration-key.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import { type Decision, defineActor, takenOf, type ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineTable, type RowTable } from "../system/row-table.ts";

/** How long a claim is kept after it has ended: many times the difference between the clocks of a region. */
const nonceSpareMs = 60_000;
/**
 * The longest that a signature is valid by the clock of this node: `created` is at most 30 seconds ahead of the clock of the node that has
 * judged it, which may be ahead itself, and `expires` at most 300 seconds later (specification, «Limits»).
 */
const nonceLifeMaxMs = 330_000 + nonceSpareMs;
/** How long answers are kept, and the digests of requests that nobody answered. */
const idempotencyKeptMs = dayMs;
/** A claim expires this long after its last renewal. It need not be long: every step of an answer can be repeated. */
const claimedMs = 6_000;
/** How long a charged push is remembered after its charge, in addition to the push actor itself. */
const chargedKeptMs = 30 * dayMs;

type View = ViewOf<typeof integrationKeyMachine>;
type Asked<T extends keyof IntegrationKeyProtocol> = CommandOf<IntegrationKeyProtocol, T>;
type Decided<R> = Decision<R, IntegrationKeyEvent>;

interface IdempotencyNote {
  readonly digest: string;
  /** Epoch of the activation that noted the claim; null once answered. */
  readonly epoch: number | null;
  /** Absent once answered. */
  readonly claim?: { readonly token: string; readonly until_ms: number };
  readonly answer: IdempotentAnswer | null;
}

const notes = defineJsonTable<IdempotencyNote>("idempotency", 17);
/** What was charged with a push, as text. */
interface Charge {
  readonly attempt: string;
  readonly digest: string;
  readonly records: number;
  readonly bytes: number;
  readonly at_ms: number;
}

/** Maps a push_id to its {@link Charge}, and the digest of a body to the push for which it was charged. */
const charged = defineTable<string>({
  name: "charged pushes",
  rt: 18,
  encode: (text) => text,
  decode: (text) => text,
});

export const integrationKeyActor = defineActor<"integration-key", typeof integrationKeyMachine>({
  kind: "integration-key",
  schemaVersion: 1,
  machine: integrationKeyMachine,
  durability: "journal",
  claims: { rt: 20, commands: ["nonce.claim"], lifeMaxMs: nonceLifeMaxMs, keptMs: nonceSpareMs },
  input: (id) => ({ keyId: id }),
  rows: rowsFor,
  decide: {
    "nonce.claim": claimNonce,
    "idempotency.begin": beginIdempotent,
    "idempotency.settle": settleIdempotent,
    "idempotency.release": releaseIdempotent,
    "caps.check": (command, view) => ({ reply: checkCaps(command, view) }),
    "seq.read": (_, { snapshot: { context } }) => ({
      reply: { last_seq: context.lastPushId === null ? null : context.lastSeq },
    }),
    "seq.check": (command, view) => ({ reply: checkSeq(command, view) }),
    "push.charge": chargePush,
    "push.uncharge": unchargePush,
    "removal.charge": chargeRemoval,
    "key.retire": retire,
  },
  effects: {},
});

function rowsFor(command: IntegrationKeyCommand): readonly RowSelection[] {
  switch (command.type) {
    case "idempotency.begin":
    case "idempotency.settle":
    case "idempotency.release":
      return [notes.select([command.scope])];
    case "caps.check":
      return [charged.select([digestKey(command.digest)])];
    case "seq.check":
    case "push.charge":
    case "push.uncharge":
      return [charged.select([pushKey(command.push_id)])];
    case "removal.charge":
      return [charged.select([removalKey(command.document_hash)])];
    case "nonce.claim":
    case "key.retire":
    case "seq.read":
      return [];
  }
}

function claimNonce(command: Asked<"nonce.claim">, view: View): Decided<NonceReply> {
  const { nonce: name, expires_ms: untilMs } = command;
  // One that would last longer was signed ahead of time by this clock, which is refused alike (check 3).
  if (untilMs <= view.nowMs || untilMs > view.nowMs + nonceLifeMaxMs) return { reply: { status: "expired" } };
  const heldUntilMs = view.claimedUntil(name);
  if (heldUntilMs !== undefined && heldUntilMs > view.nowMs) return { reply: { status: "reused" } };
  return { reply: { status: "claimed" }, claims: [{ name, untilMs }] };
}

function beginIdempotent(command: Asked<"idempotency.begin">, view: View): Decided<IdempotencyReply> {
  const { scope, digest, token, renewal = false } = command;
  const note = noteOf(scope, view);
  if (note && note.digest !== digest) return { reply: { status: "conflict" } };
  if (note?.answer) return { reply: { status: "replay", answer: note.answer } };
  const isOwn = isHolder(note, token);
  if (renewal ? !isOwn : !isOwn && note && isClaimed(note, view)) return { reply: { status: "in_progress" } };
  const claim = { token, until_ms: view.nowMs + claimedMs };
  return {
    reply: { status: "fresh" },
    puts: [noteRow(scope, view, { digest, epoch: view.epoch, answer: null, claim })],
  };
}

/** Whether the worker made the claim, expired or not. */
function isHolder(note: IdempotencyNote | undefined, token: string): boolean {
  return note?.answer === null && note.claim?.token === token;
}

function isClaimed({ epoch, claim }: IdempotencyNote, view: View): boolean {
  return epoch === view.epoch && claim !== undefined && claim.until_ms > view.nowMs;
}

function settleIdempotent(command: Asked<"idempotency.settle">, view: View): Decided<DoneReply> {
  const note = noteOf(command.scope, view);
  // The first answer stays, and the note of another request is not this worker's.
  if (note && (note.answer || note.digest !== command.digest)) return { reply: { status: "done" } };
  return {
    reply: { status: "done" },
    puts: [noteRow(command.scope, view, { digest: command.digest, epoch: null, answer: command.answer })],
  };
}

function releaseIdempotent({ scope, token }: Asked<"idempotency.release">, view: View): Decided<DoneReply> {
  return {
    reply: { status: "done" },
    deletes: isHolder(noteOf(scope, view), token) ? [notes.key(scope)] : [],
  };
}

type CapsCheck = Asked<"caps.check">;

function checkCaps(command: CapsCheck, view: View): CapsReply {
  const known_push_id = chargedOf(view, digestKey(command.digest)) ?? null;
  // How many records the body has is not known before it is parsed; it has one at least.
  const over = usedUp(view, { records: 1, bytes: command.content_length, caps: command.caps });
  if (known_push_id === null && over !== null) return over;
  const { used } = usageAt(view.snapshot.context.bytesToday, view.nowMs, dayMs);
  return { status: "within", known_push_id, bytes_left: command.caps.bytes_per_day - used };
}

type Load = Pick<Asked<"push.charge">, "records" | "bytes" | "caps">;

/** The cap that has no room left for this; null if every cap has room. */
function usedUp(view: View, { records, bytes, caps }: Load): CapUsedUp | null {
  const { context } = view.snapshot;
  const { nowMs } = view;
  const inHour = caps.records_per_hour - usageAt(context.recordsThisHour, nowMs, hourMs).used;
  if (records > inHour) return over("records_per_hour", inHour, { nowMs, windowMs: hourMs });
  const inDay = caps.bytes_per_day - usageAt(context.bytesToday, nowMs, dayMs).used;
  return bytes > inDay || inDay <= 0 ? over("bytes_per_day", inDay, { nowMs, windowMs: dayMs }) : null;
}

function over(
  cap: CapUsedUp["cap"],
  left: number,
  { nowMs, windowMs }: { readonly nowMs: number; readonly windowMs: number },
): CapUsedUp {
  const retry_after_seconds = Math.max(1, Math.ceil((windowMs - (nowMs % windowMs)) / 1000));
  // A mandate with lower caps may have replaced the one under which more was published.
  return { status: "over", cap, left: Math.max(0, left), retry_after_seconds };
}

function checkSeq(command: Asked<"seq.check">, view: View): SeqReply | CapUsedUp {
  if (chargedOf(view, pushKey(command.push_id)) !== undefined) return { status: "known" };
  const lastSeq = lastSeqOf(view);
  if (command.seq <= lastSeq) return { status: "seq_not_increasing", last_seq: lastSeq };
  return usedUp(view, command.charge) ?? { status: "accepted" };
}

/** The value that a seq must exceed: the last accepted one, or below every seq if there is none yet. */
function lastSeqOf(view: View): number {
  const { lastSeq, lastPushId } = view.snapshot.context;
  return lastPushId === null ? -1 : lastSeq;
}

function chargePush(command: Asked<"push.charge">, view: View): Decided<ChargeReply> {
  const known = chargeOf(view, command.push_id);
  if (known !== undefined) {
    const isSame = known.attempt === command.attempt;
    const taken = { ...known, attempt: command.attempt };
    return { reply: { status: "known" }, puts: isSame ? [] : chargeRow(command.push_id, taken) };
  }
  const { attempt, digest, records, bytes } = command;
  const { seq, push_id } = command;
  const events = takenOf(view, { type: "push.charged", seq, push_id, records, bytes, at_ms: view.nowMs });
  if (events.length === 0) return { reply: { status: "retired" } };
  const lastSeq = lastSeqOf(view);
  if (command.seq <= lastSeq) return { reply: { status: "seq_not_increasing", last_seq: lastSeq } };
  // The caps had room when they were checked; of several batches that were checked together, only those that fit are charged.
  const over = usedUp(view, command);
  if (over) return { reply: over };
  const expiresAtMs = view.nowMs + chargedKeptMs;
  return {
    reply: { status: "accepted" },
    events,
    puts: [
      ...chargeRow(command.push_id, { attempt, digest, records, bytes, at_ms: view.nowMs }),
      charged.write(digestKey(digest), command.push_id, { expiresAtMs }),
    ],
  };
}

function unchargePush({ push_id, attempt }: Asked<"push.uncharge">, view: View): Decided<DoneReply> {
  const charge = chargeOf(view, push_id);
  if (charge === undefined || charge.attempt !== attempt) return { reply: { status: "done" } };
  const { digest, records, bytes, at_ms } = charge;
  return {
    reply: { status: "done" },
    events: [{ type: "push.uncharged", push_id, records, bytes, at_ms }],
    deletes: [charged.key(pushKey(push_id)), charged.key(digestKey(digest))],
  };
}

function chargeOf(view: View, pushId: string): Charge | undefined {
  const text = chargedOf(view, pushKey(pushId));
  return text === undefined ? undefined : (JSON.parse(text) as Charge);
}

function chargeRow(pushId: string, charge: Charge): readonly PartitionRow[] {
  const expiresAtMs = charge.at_ms + chargedKeptMs;
  return [charged.write(pushKey(pushId), JSON.stringify(charge), { expiresAtMs })];
}

/** The document is its own number: it needs no seq, because it is applied once, however often it is sent. */
function chargeRemoval(command: Asked<"removal.charge">, view: View): Decided<RemovalChargeReply> {
  const { document_hash, digest, bytes, caps } = command;
  if (chargedOf(view, removalKey(document_hash)) !== undefined) return { reply: { status: "known" } };
  const events = takenOf(view, { type: "removal.charged", document_hash, bytes, at_ms: view.nowMs });
  if (events.length === 0) return { reply: { status: "retired" } };
  const over = usedUp(view, { records: 1, bytes, caps });
  if (over) return { reply: over };
  const expiresAtMs = view.nowMs + chargedKeptMs;
  return {
    reply: { status: "accepted" },
    events,
    puts: [
      charged.write(removalKey(document_hash), digest, { expiresAtMs }),
      charged.write(digestKey(digest), document_hash, { expiresAtMs }),
    ],
  };
}

function retire(_command: Asked<"key.retire">, view: View): Decided<DoneReply> {
  return { reply: { status: "done" }, events: takenOf(view, { type: "key.retired", at_ms: view.nowMs }) };
}

function noteOf(scope: string, view: View): IdempotencyNote | undefined {
  return live(view, notes, scope);
}

function noteRow(scope: string, view: View, note: IdempotencyNote): PartitionRow {
  return notes.write(scope, note, { expiresAtMs: view.nowMs + idempotencyKeptMs });
}

function chargedOf(view: View, key: string): string | undefined {
  return live(view, charged, key);
}

/** A store may keep an expired row, but it no longer counts. */
function live<V>(view: View, table: RowTable<V>, key: string): V | undefined {
  const expiresAtMs = view.row(table.rt, 0, key)?.expiresAtMs;
  return expiresAtMs !== undefined && expiresAtMs <= view.nowMs ? undefined : table.read(view, key);
}

function removalKey(documentHash: string): string {
  return `removal:${documentHash}`;
}

function pushKey(pushId: string): string {
  return `push:${pushId}`;
}

function digestKey(digest: string): string {
  return `digest:${digest}`;
}
