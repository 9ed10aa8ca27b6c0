// What operators read of an actor's past: its journal in pages, and its newest state. Everything is a run of the pure machine over
// what is stored; nothing is ever committed.

import type { AnyMachineSnapshot } from "xstate";
import type { ActorDefinition } from "../../actors/system/definition.ts";
import {
  type KnownState,
  type Walk,
  type WalkedEvent,
  type WalkOptions,
  walkJournal,
} from "../../actors/system/journal.ts";
import { MachineDriver } from "../../actors/system/machine-driver.ts";
import { leavesOf } from "../../machines/chart.ts";
import type { JournalPage } from "../../ops/inspection-shapes.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { ActorHead, ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { redact } from "./look.ts";

export type PastFault = "unknown" | "no_journal";

export interface JournalReads {
  journal(
    ref: ActorRef,
    page: { readonly before: number; readonly limit: number },
  ): Promise<Past<JournalPage>>;
  newest(ref: ActorRef): Promise<Past<NewestState>>;
}

/** The state that a journal ends with; all but `unreadable` is null where it cannot be read. */
export interface NewestState {
  readonly state: unknown;
  readonly context: unknown;
  readonly unreadable: string | null;
}

export type Past<T> = Result<T, PastFault>;

export interface JournalReadsDeps {
  readonly store: ActorStore;
  readonly definitions: readonly ActorDefinition[];
  readonly pause: () => Promise<void>;
}

interface Deps extends JournalReadsDeps {
  readonly walkJournal: WalkJournal;
}

export function createJournalReads(given: JournalReadsDeps): JournalReads {
  const deps: Deps = { ...given, walkJournal: createJournalStates() };
  const drivers = new Map(deps.definitions.map((each) => [each.kind, new MachineDriver(each)]));
  const reading = async <T>(
    ref: ActorRef,
    read: (driver: MachineDriver) => Promise<Past<T>>,
  ): Promise<Past<T>> => {
    const driver = drivers.get(ref.kind);
    if (driver === undefined) return refuse("unknown", "There is no such kind of actor.");
    if (driver.definition.durability !== "journal")
      return refuse("no_journal", `Actors of kind ${ref.kind} have no journal.`);
    return read(driver);
  };
  return {
    journal: (ref, page) => reading(ref, (driver) => readPage(deps, driver, ref, page)),
    newest: (ref) => reading(ref, (driver) => readNewest(deps, driver, ref)),
  };
}

const unknown = refuse("unknown", "This actor does not exist.");

async function readPage(
  deps: Deps,
  driver: MachineDriver,
  ref: ActorRef,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<Past<JournalPage>> {
  let walked: WalkedEvent[] = [];
  const walk = await deps.walkJournal(ref, {
    store: deps.store,
    pause: deps.pause,
    driver,
    before: before === Number.MAX_SAFE_INTEGER ? null : before - limit,
    again: () => {
      walked = [];
    },
    visit: (event) => {
      if (event.seq >= before) return false;
      if (walked.length === limit) walked.shift();
      walked.push(event);
      return true;
    },
  });
  if (walk === null) return unknown;
  const events = walked.map(toEvent);
  const first = events[0]?.seq ?? 0;
  return ok({
    kind: ref.kind,
    id: ref.id,
    head: walk.head.head,
    last_seq: walk.endSeq,
    pruned_up_to: walk.prunedUpTo,
    events,
    unreadable: walk.unreadable,
    next_before: first > walk.prunedUpTo + 1 ? first : null,
  });
}

function toEvent({
  seq,
  atMs,
  commit,
  epoch,
  event,
  before,
  after,
}: WalkedEvent): JournalPage["events"][number] {
  const about = { seq, at: new Date(atMs).toISOString(), commit, epoch, type: event.type };
  return { ...about, event: redact(event), from: pathsOf(before), to: pathsOf(after) };
}

async function readNewest(deps: Deps, driver: MachineDriver, ref: ActorRef): Promise<Past<NewestState>> {
  const walk = await deps.walkJournal(ref, {
    store: deps.store,
    pause: deps.pause,
    driver,
    before: null,
    again: () => {},
    visit: () => true,
  });
  if (walk === null) return unknown;
  const { end, unreadable } = walk;
  return ok({ state: end?.value ?? null, context: end === null ? null : redact(end.context), unreadable });
}

function pathsOf(snapshot: AnyMachineSnapshot | null): readonly string[] | null {
  return snapshot === null ? null : leavesOf(snapshot.value);
}

// Walks of journals that remember states on their way, so that a long journal is run through once, and not again for each look.
//   JS1. Of the four long journals that were walked last, 256 states at most are kept: every thousandth, and every other of them is
//        dropped whenever there are more.
//   JS2. A state is used only for the actor that it was made of: one whose head or epoch is a former one, or that was pruned
//        beyond it, begins again. The id of an actor that was forgotten is not used again.
//   JS3. Walks of one actor come one after another, so that the second finds what the first remembered.

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
