// The road of one push over the actors that it touches, from their journals: its own, its business's and its key's.
//   TL1. Steps are in the order of their times, which different nodes may have taken from different clocks.
//   TL2. What is pruned, or further back than is read, is said to be missing.

import type { Inspection } from "../inspection.ts";
import type { ActorDetail, JournalPage } from "../inspection-shapes.ts";

type JournalEvent = JournalPage["events"][number];

export interface Step {
  readonly at: string;
  readonly kind: string;
  readonly id: string;
  readonly seq: number;
  readonly type: string;
  /** From 0; null for a step of the whole push. */
  readonly chunk: number | null;
  readonly region: string | null;
  /** Regions whose index had not confirmed the chunk when it was stored; null for any other step. */
  readonly unindexed: readonly string[] | null;
  /** The node that committed it; null if it is not known any more. */
  readonly owner: string | null;
}

export interface Timeline {
  readonly steps: readonly Step[];
  readonly isPruned: boolean;
  /** Whether all of the business's journal since the push was read. */
  readonly isComplete: boolean;
}

const pageLimit = 200;
/** A push has at most 500 chunks, each with a step for every region. */
const pagesMax = 20;

export async function timelineOf({ detail: read, past }: Inspection, push: ActorDetail): Promise<Timeline> {
  const { ref } = push;
  const [uuid = "", pushId = ""] = ref.id.split(".");
  const own = await journalOf(past, ref, null);
  const since = own.events[0]?.at ?? null;
  const others = await Promise.all(
    [{ kind: "business", id: uuid }, ...keyOf(push)].map(async (other) => {
      const { events, isComplete } = await journalOf(past, other, since);
      const about = events.filter(({ event }) => memberOf(event, "push_id") === pushId);
      return { other, about, isComplete, owners: about.length === 0 ? null : await read(other) };
    }),
  );
  const steps = [
    ...own.events.map((event) => stepOf(ref, event, push)),
    ...others.flatMap(({ other, about, owners }) => about.map((event) => stepOf(other, event, owners))),
  ];
  return {
    steps: steps.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)),
    isPruned: own.isPruned,
    isComplete: own.isComplete && others.every(({ isComplete }) => isComplete),
  };
}

/** The key's actor counts its pushes; a push whose facts are not known names none. */
function keyOf({ ref, context }: ActorDetail): readonly ActorDetail["ref"][] {
  const id = memberOf(memberOf(context, "facts"), "key_id");
  const [uuid = ""] = ref.id.split(".");
  return typeof id === "string" ? [{ kind: "integration-key", id: `${uuid}.${id}` }] : [];
}

/** A minute more, because clocks of nodes differ. */
const spareMs = 60_000;

async function journalOf(
  past: Inspection["past"],
  ref: ActorDetail["ref"],
  since: string | null,
): Promise<{
  readonly events: readonly JournalEvent[];
  readonly isPruned: boolean;
  readonly isComplete: boolean;
}> {
  const sinceMs = since === null ? Number.NEGATIVE_INFINITY : Date.parse(since) - spareMs;
  let events: readonly JournalEvent[] = [];
  let before = Number.MAX_SAFE_INTEGER;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const page = await past.journal(ref, { before, limit: pageLimit });
    if (!page.ok) return { events, isPruned: false, isComplete: page.code === "unknown" };
    const { events: found, next_before, pruned_up_to } = page.value;
    events = [...found, ...events];
    const isFar = Date.parse(found[0]?.at ?? "") < sinceMs;
    if (next_before === null || isFar) return { events, isPruned: pruned_up_to > 0, isComplete: true };
    before = next_before;
  }
  return { events, isPruned: false, isComplete: false };
}

function stepOf({ kind, id }: ActorDetail["ref"], each: JournalEvent, actor: ActorDetail | null): Step {
  const { at, seq, type, event, epoch } = each;
  const [chunk, region, unindexed] = ["chunk", "region", "unindexed"].map((name) => memberOf(event, name));
  return {
    ...{ at, kind, id, seq, type },
    chunk: typeof chunk === "number" ? chunk : null,
    region: typeof region === "string" ? region : null,
    unindexed: type === "chunk.settled" && Array.isArray(unindexed) ? unindexed.map(String) : null,
    owner: actor?.activations.find((activation) => activation.epoch === epoch)?.owner ?? null,
  };
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : null;
}
