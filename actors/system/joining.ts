// A commit that several actors share: the receiver of a message takes its turn while the sender's commit is made, and the store applies
// the commits of both or of neither (S10 of storage/actor-store.ts). Such a message needs no row in the outbox, no acknowledgement, and no
// note at its receiver.
//   JC1. A message is joined or has a row, never both. Where a commit was refused for the sake of a receiver, nothing of it was applied
//        or can be any more, and the sender commits its turn again, with rows.
//   JC2. Only a receiver at rest joins, before which nothing waits, and nothing earlier from this sender is unsettled. So messages keep
//        their order (E2 of outbox.ts).
//   JC3. The receiver's turn must change it, or its fence would not be asked.
//   JC4. A receiver whose turn was not applied, or not known to be, leaves memory: the next activation claims it, and so finds out. The
//        sender finds out as alone (A5).

import type { ActorCommit, ActorRef, CommitOutcome } from "../../storage/actor-store.ts";
import type { Effect, Message } from "./definition.ts";
import type { OutboxItem } from "./journal.ts";
import type { Outbox } from "./outbox.ts";

/** A message that its receiver may join, and its trace. */
export interface Joining {
  readonly message: Message;
  readonly traceparent: string | null;
}

/** A turn that becomes true with the commit of another actor. */
export interface JoinedTurn {
  readonly commit: ActorCommit;
  /** To be called with what becomes of the commit that carries it. */
  sent(carrier: Promise<CommitOutcome>): void;
}

export interface Joined {
  readonly turns: readonly JoinedTurn[];
  /** The effects that need a row. */
  readonly items: readonly OutboxItem[];
}

export interface Receivers {
  /** Whether the receiver's kind ever joins with such a message. */
  mayJoin(effect: Effect): boolean;
  /** Has an actor take a turn that joins; null if it is not in memory here, or cannot now. */
  join(to: ActorRef, messages: readonly Joining[]): JoinedTurn | null;
}

/** Lets the receivers of messages join. */
export function joinReceivers(
  items: readonly OutboxItem[],
  outbox: Outbox | null,
  receivers: Receivers,
): Joined {
  if (!items.some(({ effect }) => receivers.mayJoin(effect))) return { turns: [], items };
  const turns: JoinedTurn[] = [];
  const joined = new Set<OutboxItem>();
  for (const [key, { to, told }] of receiversOf(items)) {
    // JC2.
    if (outbox?.isSettledTo(key) === false || !told.every(({ item }) => receivers.mayJoin(item.effect)))
      continue;
    const turn = receivers.join(to, told);
    if (turn === null) continue;
    turns.push(turn);
    for (const { item } of told) joined.add(item);
  }
  return { turns, items: turns.length === 0 ? items : items.filter((item) => !joined.has(item)) };
}

/** What each receiver is told, in order. */
function receiversOf(items: readonly OutboxItem[]) {
  const receivers = new Map<string, { to: ActorRef; told: (Joining & { readonly item: OutboxItem })[] }>();
  for (const item of items) {
    const { effect, traceparent } = item;
    if (effect.kind !== "tell") continue;
    const { to, message } = effect;
    const key = `${to.kind}/${to.id}`;
    const told = { item, message, traceparent };
    const known = receivers.get(key);
    if (known === undefined) receivers.set(key, { to, told: [told] });
    else known.told.push(told);
  }
  return receivers;
}
