// Checks the histories of keys, pushes and businesses against what an actor that handles one command at a time could have
// answered. Independent parts of an actor are judged separately: each nonce, each Idempotency-Key, the seq of a key.

import type { AdmitReply } from "../../actors/messages/admission.ts";
import type { BusinessCommand, PublishingFacts } from "../../actors/messages/business.ts";
import type { IntegrationKeyCommand, NonceReply } from "../../actors/messages/integration-key.ts";
import type { AcceptReply, PushCommand, PushReport } from "../../actors/messages/push.ts";
import type { World } from "../world/world.ts";
import type { Asked } from "./history.ts";

export function checkHistories(world: World): void {
  const { history } = world.parts;
  const readsCount = !world.mayReadOld;
  const isRepeated = world.parts.faults.fired.has("message_duplicated");
  for (const actor of history.actors()) {
    const asked = history.of(actor).flatMap((each) => {
      if (each.status !== "not_applied") return [each];
      // A command sent to another node may be delivered to it a second time, after the first was refused.
      const mayHappen = isRepeated && !actor.startsWith("integration-key/");
      return mayHappen ? [{ ...each, status: "open" as const, end: Number.POSITIVE_INFINITY }] : [];
    });
    if (actor.startsWith("integration-key/")) checkKey(world, actor, asked, readsCount);
    else if (actor.startsWith("push/")) checkPush(world, actor, asked, readsCount);
    else if (actor.startsWith("business/")) checkBusiness(world, actor, asked, readsCount);
  }
}

function judge<S>(
  world: World,
  what: string,
  operations: readonly Asked[],
  specification: Specification<S, Asked>,
): void {
  if (operations.length < 2) return;
  const verdict = linearize(operations, specification);
  world.observed.mark(`history.${verdict.status}`);
  if (verdict.status !== "violated") return;
  const { command, reply, begin, end } = verdict.operation;
  world.observed.violate(
    "linearizable",
    `${what}: no order explains that ${JSON.stringify(command).slice(0, 200)} (${begin}–${end}) answered ${JSON.stringify(reply)?.slice(0, 200)}`,
  );
}

function groupBy(
  asked: readonly Asked[],
  keyOf: (command: IntegrationKeyCommand) => string | null,
): Map<string, Asked[]> {
  const groups = new Map<string, Asked[]>();
  for (const each of asked) {
    const key = keyOf(each.command as IntegrationKeyCommand);
    if (key === null) continue;
    const known = groups.get(key);
    if (known === undefined) groups.set(key, [each]);
    else known.push(each);
  }
  return groups;
}

function checkKey(world: World, actor: string, asked: readonly Asked[], readsCount: boolean): void {
  const nonces = groupBy(asked, (command) => (command.type === "nonce.claim" ? command.nonce : null));
  for (const [nonce, of] of nonces) judge(world, `${actor} nonce ${nonce}`, of, nonceSpecification);
  const scopes = groupBy(asked, (command) => ("scope" in command ? command.scope : null));
  for (const [scope, of] of scopes) judge(world, `${actor} ${scope}`, of, idempotencySpecification);
  const sequence = asked.filter(
    ({ command, status }) =>
      command.type === "push.charge" ||
      command.type === "push.uncharge" ||
      (readsCount && command.type === "seq.check" && status === "answered"),
  );
  judge(world, `${actor} seq`, sequence, sequenceSpecification);
}

const nonceSpecification: Specification<boolean, Asked> = {
  initial: false,
  step: (claimed, { status, reply }) => {
    if (status === "open") return [true];
    const { status: said } = reply as NonceReply;
    // The answer does not reveal whether it was claimed before.
    if (said === "expired") return [claimed];
    return (said === "reused") === claimed ? [true] : [];
  },
  keyOf: String,
};

interface Note {
  readonly digest: string;
  /** Token of the worker that holds the claim; null once it is answered. */
  readonly token: string | null;
  /** JSON text of the answer; null while in progress. */
  readonly answer: string | null;
}

type Begin = Extract<IntegrationKeyCommand, { type: "idempotency.begin" }>;

const idempotencySpecification: Specification<Note | null, Asked> = {
  initial: null,
  step: (note, { command, status, reply }) => {
    const given = command as IntegrationKeyCommand;
    if (given.type === "idempotency.release")
      return [note?.token === undefined || note.token !== given.token ? note : null];
    if (given.type === "idempotency.settle") {
      const answered = { digest: given.digest, token: null, answer: JSON.stringify(given.answer) };
      return [note?.answer != null || (note && note.digest !== given.digest) ? note : answered];
    }
    return given.type === "idempotency.begin" ? begin(note, given, { status, reply }) : [note];
  },
  keyOf: (note) => (note === null ? "" : `${note.digest} ${note.token} ${note.answer}`),
};

/** A claim ends on its own and with the activation that recorded it, which outsiders cannot see; its request is kept. */
function begin(
  note: Note | null,
  { digest, token = "", renewal = false }: Begin,
  { status, reply }: Pick<Asked, "status" | "reply">,
): readonly (Note | null)[] {
  const begun: Note = { digest, token, answer: null };
  const isOther = note !== null && note.digest !== digest;
  const isFree = renewal ? note?.token === token : note === null || (!isOther && note.answer === null);
  if (status === "open") return isFree ? [begun, note] : [note];
  const said = reply as { status: string; answer?: unknown };
  if (said.status === "fresh") return isFree ? [begun] : [];
  if (said.status === "conflict") return isOther ? [note] : [];
  if (isOther) return [];
  if (said.status === "in_progress") {
    const isHeld = renewal || note?.answer === null;
    return isHeld && note?.token !== token ? [note] : [];
  }
  return note !== null && note.answer === JSON.stringify(said.answer) ? [note] : [];
}

interface Sequence {
  /** The charges that stand, by push. */
  readonly charged: Readonly<Record<string, { readonly seq: number; readonly attempt: string }>>;
}

const sequenceSpecification: Specification<Sequence, Asked> = {
  initial: { charged: {} },
  step: (state, { command, status, reply }) => {
    const given = command as Extract<
      IntegrationKeyCommand,
      { type: "push.charge" | "push.uncharge" | "seq.check" }
    >;
    const { [given.push_id]: known, ...others } = state.charged;
    if (given.type === "push.uncharge") {
      const next = known?.attempt === given.attempt ? { charged: others } : state;
      return status === "open" ? [next, state] : [next];
    }
    const last = Math.max(-1, ...Object.values(state.charged).map(({ seq }) => seq));
    const isCharge = given.type === "push.charge";
    const standing = (seq: number): Sequence =>
      isCharge ? { charged: { ...others, [given.push_id]: { seq, attempt: given.attempt } } } : state;
    const fits = given.seq > last;
    if (status === "open") {
      if (known !== undefined) return [standing(known.seq), state];
      return fits ? [standing(given.seq), state] : [state];
    }
    const said = reply as { status: string; last_seq?: number };
    if (said.status === "known") return known !== undefined ? [standing(known.seq)] : [];
    if (known !== undefined) return [];
    // Of a revoked key, nothing that was not charged before is charged.
    if (said.status === "retired") return [state];
    if (said.status === "seq_not_increasing") return !fits && said.last_seq === last ? [state] : [];
    if (!fits) return [];
    return said.status === "over" ? [state] : [standing(given.seq)];
  },
  keyOf: ({ charged }) =>
    JSON.stringify(Object.entries(charged).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))),
};

/** A push is accepted once; after that its state and what is settled only advance. */
function checkPush(world: World, actor: string, asked: readonly Asked[], readsCount: boolean): void {
  const accepts = asked.filter(({ command }) => command.type === "push.accept");
  judge(world, actor, accepts, {
    initial: false,
    step: (accepted, { status, reply }) => {
      if (status === "open") return [true];
      const said = (reply as AcceptReply).status;
      if (said === "late") return accepted ? [] : [false];
      return (said === "known") === accepted ? [true] : [];
    },
    keyOf: String,
  });
  if (!readsCount) return;
  const seen = asked.filter(({ command, status }) => {
    const { type } = command as PushCommand;
    return status === "answered" && (type === "push.status" || type === "push.await");
  });
  forward(world, actor, seen, ({ reply }) => {
    const report = reply as PushReport | null;
    return report === null ? 0 : progressOf(report) * 1_000_000 + report.settled;
  });
}

/**
 * A push whose records are in a file is queued until it is known whether it is held; afterwards it is queued again. One that will be
 * held is judged before that, and processed once it was decided.
 */
function progressOf({ state, facts, held_reasons, hold_decision }: PushReport): number {
  if (state === "complete" || state === "failed") return 4;
  if (state === "held") return 2;
  if (held_reasons.length > 0 && hold_decision === null) return 1;
  return state === "queued" && facts.file !== undefined && held_reasons.length === 0 ? 1 : 3;
}

/** Reads are monotonic: a read that began after another ended shows at least as much. */
function forward(
  world: World,
  what: string,
  reads: readonly Asked[],
  progress: (read: Asked) => number,
): void {
  const byEnd = [...reads].sort((a, b) => a.end - b.end);
  let next = 0;
  let most = 0;
  for (const read of [...reads].sort((a, b) => a.begin - b.begin)) {
    for (
      let earlier = byEnd[next];
      earlier !== undefined && earlier.end < read.begin;
      earlier = byEnd[next]
    ) {
      most = Math.max(most, progress(earlier));
      next += 1;
    }
    if (progress(read) < most)
      world.observed.violate(
        "linearizable",
        `${what}: ${read.command.type} (${read.begin}–${read.end}) went back from ${most} to ${progress(read)}`,
      );
  }
}

/** Each push has one number, in the order of the admissions; facts are never undone. */
function checkBusiness(world: World, actor: string, asked: readonly Asked[], readsCount: boolean): void {
  const firstBegin = new Map<string, number>();
  const admitted = new Map<string, { number: number; end: number }>();
  for (const { command, status, reply, begin, end } of asked) {
    if (command.type !== "push.admit") continue;
    const { push_id } = command as Extract<BusinessCommand, { type: "push.admit" }>;
    firstBegin.set(push_id, Math.min(begin, firstBegin.get(push_id) ?? begin));
    const said = reply as AdmitReply;
    if (status !== "answered" || said.status !== "admitted") continue;
    const known = admitted.get(push_id);
    // A push admitted again after it was finished gets another number, which no longer has any effect.
    if (known === undefined) admitted.set(push_id, { number: said.number, end });
    else known.end = Math.min(known.end, end);
  }
  const list = [...admitted].sort((a, b) => a[1].number - b[1].number);
  list.forEach(([pushId, { number }], index) => {
    const before = list[index - 1];
    if (before === undefined) return;
    if (before[1].number === number)
      world.observed.violate(
        "linearizable",
        `${actor}: ${before[0]} and ${pushId} are both number ${number}`,
      );
    // `pushId` has the higher number: it must not have been answered before the other was first requested.
    const own = admitted.get(pushId);
    if (own !== undefined && own.end < (firstBegin.get(before[0]) ?? 0))
      world.observed.violate(
        "linearizable",
        `${actor}: ${pushId} was numbered ${number} before ${before[0]} (${before[1].number}) was asked for`,
      );
  });
  if (!readsCount) return;
  const facts = asked.filter(
    ({ command, status }) => command.type === "publishing.facts" && status === "answered",
  );
  forward(world, `${actor} policy`, facts, ({ reply }) => (reply as PublishingFacts).policy.version);
  const byKey = new Map<string, Asked[]>();
  for (const each of facts) {
    const { key_id } = each.command as Extract<BusinessCommand, { type: "publishing.facts" }>;
    byKey.set(key_id, [...(byKey.get(key_id) ?? []), each]);
  }
  for (const [keyId, of] of byKey)
    forward(world, `${actor} key ${keyId}`, of, ({ reply }) =>
      ["unknown", "live", "revoked"].indexOf((reply as PublishingFacts).key),
    );
}

// Whether an object that performs one operation at a time could have produced a history (linearizability, Herlihy and
// Wing 1990), by just-in-time linearization: an operation is put in order no later than its answer, so that only the
// orders of concurrently open operations are tried (after Lowe, «Testing for linearizability», 2017).

export interface Operation {
  readonly begin: number;
  /** Infinity for one that was never answered: it may have happened at any time after its start, or never. */
  readonly end: number;
}

export interface Specification<S, O extends Operation> {
  readonly initial: S;
  /** States after `operation`, given its answer; empty when that answer is impossible in `state`. */
  step(state: S, operation: O): readonly S[];
  keyOf(state: S): string;
}

/** An order that explains the history so far: a state, and the open operations that it contains. */
interface Configuration<S> {
  readonly state: S;
  readonly done: readonly number[];
}

const configurationsMax = 4_000;

export type Verdict<O> =
  | { readonly status: "linearizable" }
  /** No order explains the answer of this operation. */
  | { readonly status: "violated"; readonly operation: O }
  /** Too many operations were open at once to decide. */
  | { readonly status: "undecided" };

export function linearize<S, O extends Operation>(
  operations: readonly O[],
  specification: Specification<S, O>,
): Verdict<O> {
  const points = operations
    .flatMap((operation, index) => [
      { at: operation.begin, index, isEnd: false },
      ...(operation.end === Number.POSITIVE_INFINITY ? [] : [{ at: operation.end, index, isEnd: true }]),
    ])
    .sort((a, b) => a.at - b.at);
  const open = new Set<number>();
  let configurations: readonly Configuration<S>[] = [{ state: specification.initial, done: [] }];
  for (const { index, isEnd } of points) {
    if (!isEnd) {
      open.add(index);
      continue;
    }
    const next = new Map<string, Configuration<S>>();
    const search = { operations, specification, open, target: index, next };
    for (const configuration of configurations) extend(search, configuration);
    if (next.size > configurationsMax) return { status: "undecided" };
    const operation = operations[index];
    if (next.size === 0 && operation !== undefined) return { status: "violated", operation };
    configurations = [...next.values()];
    open.delete(index);
  }
  return { status: "linearizable" };
}

interface Search<S, O extends Operation> {
  readonly operations: readonly O[];
  readonly specification: Specification<S, O>;
  readonly open: ReadonlySet<number>;
  readonly target: number;
  readonly next: Map<string, Configuration<S>>;
}

/** Adds every configuration that `configuration` becomes once its order contains the target. */
function extend<S, O extends Operation>(search: Search<S, O>, configuration: Configuration<S>): void {
  const seen = new Set<string>();
  const stack: Configuration<S>[] = [configuration];
  for (let current = stack.pop(); current !== undefined; current = stack.pop()) {
    const { state, done } = current;
    if (done.includes(search.target)) {
      const rest = done.filter((index) => index !== search.target);
      search.next.set(`${rest.join(",")} ${search.specification.keyOf(state)}`, { state, done: rest });
      continue;
    }
    if (search.next.size > configurationsMax || seen.size > configurationsMax) return;
    for (const index of search.open) {
      const operation = search.operations[index];
      if (operation === undefined || done.includes(index)) continue;
      for (const after of search.specification.step(state, operation)) {
        const following = { state: after, done: [...done, index].sort((a, b) => a - b) };
        const key = `${following.done.join(",")} ${search.specification.keyOf(after)}`;
        if (seen.has(key)) continue;
        seen.add(key);
        stack.push(following);
      }
    }
  }
}
