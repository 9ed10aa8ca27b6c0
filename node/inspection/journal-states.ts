// Walks of journals that remember states on their way, so that a long journal is run through once, and not again for each look.
//   JS1. Of the four long journals that were walked last, 256 states at most are kept: every thousandth, and every other of them is
//        dropped whenever there are more.
//   JS2. A state is used only for the actor that it was made of: one whose head or epoch is a former one, or that was pruned
//        beyond it, begins again. The id of an actor that was forgotten is not used again.
//   JS3. Walks of one actor come one after another, so that the second finds what the first remembered.

import {
  type KnownState,
  type Walk,
  type WalkOptions,
  walkJournal,
} from "../../actors/system/journal-walk.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { ActorHead, ActorRef } from "../../storage/actor-store.ts";

export interface JournalWalk extends Omit<WalkOptions, "from"> {
  /** The walk may begin anywhere before this event; null: anywhere before the last thousand. */
  readonly before: number | null;
}

export type WalkJournal = (ref: ActorRef, walk: JournalWalk) => Promise<Walk | null>;

export interface JournalStatesLimits {
  readonly every: number;
  readonly statesMax: number;
  readonly journalsMax: number;
}

const defaultLimits: JournalStatesLimits = { every: 1_000, statesMax: 256, journalsMax: 4 };

interface Kept {
  readonly states: KnownState[];
  /** One of this many states is kept. */
  every: number;
  head: Pick<ActorHead, "head" | "epoch">;
}

export function createJournalStates(limits = defaultLimits): WalkJournal {
  const journals = new BoundedMap<string, Kept>(limits.journalsMax);
  const turns = new Map<string, Promise<unknown>>();
  const walk: WalkJournal = async (ref, { before, visit, ...options }) => {
    const name = `${ref.kind}/${ref.id}`;
    let kept: Kept | null = null;
    return walkJournal(ref, {
      ...options,
      from: (head) => {
        kept = keptOf(journals.get(name), head, limits);
        return startOf(kept, head, before);
      },
      visit: (event) => {
        const { seq, after } = event;
        if (
          kept !== null &&
          after !== null &&
          seq % kept.every === 0 &&
          seq > (kept.states.at(-1)?.seq ?? 0)
        ) {
          remember(kept, { seq, snapshot: after }, limits);
          journals.set(name, kept);
        }
        return visit(event);
      },
    });
  };
  return (ref, options) => {
    const name = `${ref.kind}/${ref.id}`;
    const turn = (turns.get(name) ?? Promise.resolve()).then(
      () => walk(ref, options),
      () => walk(ref, options),
    );
    turns.set(name, turn);
    const end = (): void => {
      if (turns.get(name) === turn) turns.delete(name);
    };
    turn.then(end, end);
    return turn;
  };
}

/** What is kept of this very actor (JS2). */
function keptOf(
  found: Kept | undefined,
  { head, epoch, snapshotSeq }: ActorHead,
  { every }: JournalStatesLimits,
): Kept {
  if (found === undefined || head < found.head.head || epoch < found.head.epoch)
    return { states: [], every, head: { head, epoch } };
  found.head = { head, epoch };
  const pruned = found.states.findIndex(({ seq }) => seq > snapshotSeq);
  found.states.splice(0, pruned < 0 ? found.states.length : pruned);
  return found;
}

function startOf({ states }: Kept, { snapshotSeq }: ActorHead, before: number | null): KnownState | null {
  const last = states.at(-2)?.seq ?? 0;
  const limit = before ?? last + 1;
  return states.findLast(({ seq }) => seq < limit && seq > snapshotSeq) ?? null;
}

function remember(kept: Kept, state: KnownState, { statesMax }: JournalStatesLimits): void {
  kept.states.push(state);
  if (kept.states.length <= statesMax) return;
  kept.every *= 2;
  kept.states.splice(0, kept.states.length, ...kept.states.filter(({ seq }) => seq % kept.every === 0));
}
