// What operators read of an actor's past: its journal in pages, and its newest state. Everything is a run of the pure machine over
// what is stored; nothing is ever committed.

import type { AnyMachineSnapshot } from "xstate";
import type { ActorDefinition } from "../../actors/system/definition.ts";
import type { WalkedEvent } from "../../actors/system/journal-walk.ts";
import { MachineDriver } from "../../actors/system/machine-driver.ts";
import { leavesOf } from "../../machines/chart.ts";
import type { JournalPage } from "../../ops/inspection-shapes.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { createJournalStates, type WalkJournal } from "./journal-states.ts";
import { redact } from "./redact.ts";

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
  readonly store: Pick<ActorStore, "readHead" | "readRows">;
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
    ...{ store: deps.store, pause: deps.pause, driver },
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
    ...{ kind: ref.kind, id: ref.id, head: walk.head.head, last_seq: walk.endSeq },
    ...{ pruned_up_to: walk.prunedUpTo, events, unreadable: walk.unreadable },
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
    ...{ store: deps.store, pause: deps.pause, driver, before: null },
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
