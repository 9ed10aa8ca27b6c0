// The integration-key actor: seq, caps and idempotency of a registered key at home; its nonces in each region.
// Keyed rows: 16 nonces, 17 idempotency, 18 charged pushes and the digests of their bodies.
//   Q1. A nonce is claimed at most once while its signature lives by the clock of any node of the region, and is free
//       once it has expired by the clock of the node that has the actor (specification, «Authentication», check 7). A
//       claim whose signature has expired by that clock is refused for it, so a node that is behind cannot have it
//       claimed again; and a claim outlives its signature in the store, so a node that is behind and takes the actor
//       over finds it. This holds while no two clocks of a region are `nonceSpareMs` apart.
//   Q2. A (seq, push_id) pair is charged once, whoever repeats it.
//   Q3. An answer is replayed only for the same request. Another request under the same Idempotency-Key is refused for 24
//       hours, whatever became of the first one, unless that one was released without an answer to keep.
//   Q4. «In progress» is a claim of one worker, which renews it for as long as it works: the node that is answering may be
//       another one, and be gone. A claim that is not renewed ends, and so does one with the activation that noted it,
//       until its worker renews it in the next. The same request then goes on where it ended.

import {
  dayMs,
  hourMs,
  type IntegrationKeyContext,
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
  NonceReply,
  SeqReply,
} from "../messages/integration-key.ts";
import type { ActorDefinition, ActorView, Decision } from "../system/definition.ts";

const rt = { nonce: 16, idempotency: 17, charged: 18 } as const;

/** A claim is kept this long after it has ended, many times what the clocks of a region may differ by. */
const nonceSpareMs = 60_000;
/** Answers are kept this long, and the digests of requests that nobody answered. */
const idempotencyKeptMs = dayMs;
/** A claim ends so long after its worker renewed it last. It need not be long: every step of an answer can be repeated. */
const claimedMs = 6_000;
/** A charged push is remembered this long after its charge, in addition to the push actor itself. */
const chargedKeptMs = 30 * dayMs;

type Reply = NonceReply | IdempotencyReply | CapsReply | ChargeReply | { readonly status: "done" };

interface IdempotencyNote {
  readonly digest: string;
  /** Epoch of the activation that noted the claim; null once answered. */
  readonly epoch: number | null;
  /** Absent once answered, and on notes of earlier releases, whose rows expire with their claim. */
  readonly claim?: { readonly token: string; readonly until_ms: number };
  readonly answer: IdempotentAnswer | null;
}

export const integrationKeyActor: ActorDefinition<IntegrationKeyCommand, Reply> = {
  kind: "integration-key",
  schemaVersion: 1,
  machine: integrationKeyMachine,
  durability: "journal",
  input: (id) => ({ keyId: id }),
  rows: rowsFor,
  decide,
  effects: {},
};

function rowsFor(command: IntegrationKeyCommand): readonly RowSelection[] {
  switch (command.type) {
    case "nonce.claim":
      return [{ rt: rt.nonce, keys: [command.nonce] }];
    case "idempotency.begin":
    case "idempotency.settle":
    case "idempotency.release":
      return [{ rt: rt.idempotency, keys: [command.scope] }];
    case "caps.check":
      return [{ rt: rt.charged, keys: [digestKey(command.digest)] }];
    case "seq.check":
      return [{ rt: rt.charged, keys: [pushKey(command.push_id)] }];
    case "push.charge":
      return [{ rt: rt.charged, keys: [pushKey(command.push_id)] }];
    case "key.retire":
      return [];
  }
}

function decide(command: IntegrationKeyCommand, view: ActorView): Decision<Reply> {
  switch (command.type) {
    case "nonce.claim":
      return claimNonce(command, view);
    case "idempotency.begin":
      return beginIdempotent(command, view);
    case "idempotency.settle":
      return settleIdempotent(command, view);
    case "idempotency.release":
      return {
        reply: { status: "done" },
        deletes: isHolder(noteOf(command.scope, view), command.token)
          ? [{ rt: rt.idempotency, k: 0, k2: command.scope }]
          : [],
      };
    case "caps.check":
      return { reply: checkCaps(command, view) };
    case "seq.check":
      return { reply: checkSeq(command, view) };
    case "push.charge":
      return chargePush(command, view);
    case "key.retire":
      return { reply: { status: "done" }, events: [{ type: "key.retired" }] };
  }
}

function claimNonce(
  command: Extract<IntegrationKeyCommand, { type: "nonce.claim" }>,
  view: ActorView,
): Decision<NonceReply> {
  const { nonce, expires_ms: expiresMs } = command;
  if (expiresMs <= view.nowMs) return { reply: { status: "expired" } };
  const row = view.row(rt.nonce, 0, nonce);
  if (row !== undefined && heldUntilMs(row) > view.nowMs) return { reply: { status: "reused" } };
  return {
    reply: { status: "claimed" },
    puts: [{ rt: rt.nonce, k: 0, k2: nonce, body: String(expiresMs), expiresAtMs: expiresMs + nonceSpareMs }],
  };
}

/** Rows of earlier versions are empty, and hold their nonce for as long as they are there. */
function heldUntilMs({ body, expiresAtMs = 0 }: PartitionRow): number {
  return body === "" ? expiresAtMs : Number(body);
}

function beginIdempotent(
  command: Extract<IntegrationKeyCommand, { type: "idempotency.begin" }>,
  view: ActorView,
): Decision<IdempotencyReply> {
  const { scope, digest, token = withoutToken, renewal = false } = command;
  const note = noteOf(scope, view);
  if (note && note.digest !== digest) return { reply: { status: "conflict" } };
  if (note?.answer) return { reply: { status: "replay", answer: note.answer } };
  const isOwn = token !== withoutToken && isHolder(note, token);
  if (renewal ? !isOwn : !isOwn && note && isClaimed(note, view)) return { reply: { status: "in_progress" } };
  const claim = { token, until_ms: view.nowMs + claimedMs };
  return {
    reply: { status: "fresh" },
    puts: [noteRow(scope, view, { digest, epoch: view.epoch, answer: null, claim })],
  };
}

/** Of workers on nodes of earlier releases, which cannot be told apart. */
const withoutToken = "";

/** Whether the claim is the worker's, alive or not. */
function isHolder(note: IdempotencyNote | undefined, token = withoutToken): boolean {
  return note?.answer === null && (note.claim?.token ?? withoutToken) === token;
}

function isClaimed({ epoch, claim }: IdempotencyNote, view: ActorView): boolean {
  return epoch === view.epoch && (claim === undefined || claim.until_ms > view.nowMs);
}

function settleIdempotent(
  command: Extract<IntegrationKeyCommand, { type: "idempotency.settle" }>,
  view: ActorView,
): Decision<{ status: "done" }> {
  const note = noteOf(command.scope, view);
  // The first answer stays, and another request's note is not this worker's.
  if (note && (note.answer || note.digest !== command.digest)) return { reply: { status: "done" } };
  return {
    reply: { status: "done" },
    puts: [noteRow(command.scope, view, { digest: command.digest, epoch: null, answer: command.answer })],
  };
}

type CapsCheck = Extract<IntegrationKeyCommand, { type: "caps.check" }>;

function checkCaps(command: CapsCheck, view: ActorView): CapsReply {
  const known = live(view, view.row(rt.charged, 0, digestKey(command.digest)));
  if (known) return { status: "within", known_push_id: known.body };
  return usedUp(view, command.caps, command.content_length) ?? { status: "within", known_push_id: null };
}

/** The cap that leaves no room for a body of so many bytes; null when none does. */
function usedUp(view: ActorView, caps: CapsCheck["caps"], bytes: number): CapUsedUp | null {
  const context = view.snapshot.context as IntegrationKeyContext;
  const hour = usageAt(context.recordsThisHour, view.nowMs, hourMs);
  if (hour.used >= caps.records_per_hour) return over("records_per_hour", view.nowMs, hourMs);
  const day = usageAt(context.bytesToday, view.nowMs, dayMs);
  if (day.used >= caps.bytes_per_day || day.used + bytes > caps.bytes_per_day)
    return over("bytes_per_day", view.nowMs, dayMs);
  return null;
}

function over(cap: CapUsedUp["cap"], nowMs: number, windowMs: number): CapUsedUp {
  return {
    status: "over",
    cap,
    retry_after_seconds: Math.max(1, Math.ceil((windowMs - (nowMs % windowMs)) / 1000)),
  };
}

function checkSeq(command: Extract<IntegrationKeyCommand, { type: "seq.check" }>, view: ActorView): SeqReply {
  if (live(view, view.row(rt.charged, 0, pushKey(command.push_id)))) return { status: "known" };
  const lastSeq = lastSeqOf(view);
  return command.seq > lastSeq ? { status: "accepted" } : { status: "seq_not_increasing", last_seq: lastSeq };
}

/** What a seq must exceed: the last accepted one; before there is any, every seq does. */
function lastSeqOf(view: ActorView): number {
  const { lastSeq, lastPushId } = view.snapshot.context as IntegrationKeyContext;
  return lastPushId === null ? -1 : lastSeq;
}

function chargePush(
  command: Extract<IntegrationKeyCommand, { type: "push.charge" }>,
  view: ActorView,
): Decision<ChargeReply> {
  if (live(view, view.row(rt.charged, 0, pushKey(command.push_id)))) return { reply: { status: "known" } };
  const lastSeq = lastSeqOf(view);
  if (command.seq <= lastSeq) return { reply: { status: "seq_not_increasing", last_seq: lastSeq } };
  // The caps were within when they were checked; of several batches checked together only those that fit are charged.
  const over = usedUp(view, command.caps, command.bytes);
  if (over) return { reply: over };
  const expiresAtMs = view.nowMs + chargedKeptMs;
  return {
    reply: { status: "accepted" },
    events: [
      {
        type: "push.charged",
        seq: command.seq,
        push_id: command.push_id,
        records: command.records,
        bytes: command.bytes,
        at_ms: view.nowMs,
      } as { type: string },
    ],
    puts: [
      { rt: rt.charged, k: 0, k2: pushKey(command.push_id), body: String(command.seq), expiresAtMs },
      { rt: rt.charged, k: 0, k2: digestKey(command.digest), body: command.push_id, expiresAtMs },
    ],
  };
}

function noteOf(scope: string, view: ActorView): IdempotencyNote | undefined {
  const row = live(view, view.row(rt.idempotency, 0, scope));
  return row && (JSON.parse(row.body) as IdempotencyNote);
}

function noteRow(scope: string, view: ActorView, note: IdempotencyNote): PartitionRow {
  return {
    rt: rt.idempotency,
    k: 0,
    k2: scope,
    body: JSON.stringify(note),
    expiresAtMs: view.nowMs + idempotencyKeptMs,
  };
}

/** A store may keep an expired row; it counts no longer. */
function live(view: ActorView, row: PartitionRow | undefined): PartitionRow | undefined {
  return row?.expiresAtMs !== undefined && row.expiresAtMs <= view.nowMs ? undefined : row;
}

function pushKey(pushId: string): string {
  return `push:${pushId}`;
}

function digestKey(digest: string): string {
  return `digest:${digest}`;
}
