// Why a push waits.

import { chunkCount, type PushContext } from "../push.ts";
import { at, atTime, counted, over, timerEnd, type Wait, type Waits, type WaitView, wait } from "./wait.ts";

type View = WaitView<PushContext>;

export const pushWaits: Waits<PushContext> = {
  received: () => wait("acceptance", "It was named but never accepted: nothing is published of it."),
  "working.step.queued": (view) => working(view, "its first chunk to be judged, signed and stored"),
  "working.step.preparing": () =>
    wait("preparation", "It waits until its whole file was read and it is known whether it is held."),
  "working.step.judging": () =>
    wait("judgement", "It is to be held, and waits until all its records are judged."),
  "working.step.processing": (view) => working(view, nextChunk(view)),
  "working.pace.moving": (view) =>
    wait("step", `Its last step was at ${atTime(view.context.updatedAtMs)}.`, { next: stalls(view) }),
  "working.pace.stalled": ({ context: { updatedAtMs: sinceMs } }) =>
    wait("step", `It made no step since ${atTime(sinceMs)}.`, { attention: { reason: "stalled", sinceMs } }),
  "indexing.moving": (view) => indexing(view, "index_lag", stalls(view)),
  "indexing.stalled": (view) => indexing(view, "stalled"),
  held: (view) => held(view),
  complete: over("It is complete: all of it is published and searchable in every region."),
  failed: ({ context: { error } }) =>
    wait("nothing", `It failed: ${error?.code ?? "unknown"}. ${error?.detail ?? ""}`.trim()),
  // It is left as soon as it is entered.
  settled: () => wait("indexes", "All chunks are settled."),
};

function nextChunk({ context: { facts, chunksSettled } }: View): string {
  return `chunk ${chunksSettled + 1} of ${chunkCount(facts?.records ?? 0)} to be judged, signed and stored`;
}

function working(view: View, what: string): Wait {
  const { chunksSettled, unindexed } = view.context;
  const behind = regionsOf(unindexed);
  const more = behind.length === 0 ? "" : ` The indexes of ${behind.join(", ")} are behind.`;
  return wait("chunk", `It waits for ${what}; ${counted(chunksSettled, "chunk")} settled.${more}`);
}

function indexing({ context }: View, reason: "index_lag" | "stalled", next: Wait["next"] = null): Wait {
  const { unindexed, updatedAtMs: sinceMs } = context;
  const regions = regionsOf(unindexed);
  const words = `All of it is stored. It waits until the index of ${regions.join(" and of ")} confirms ${counted(unindexed.length, "chunk")}; it is told again until then. The last step was at ${atTime(sinceMs)}.`;
  return wait("indexes", words, { next, attention: { reason, sinceMs } });
}

function held(view: View): Wait {
  const { heldReasons, holdEndsAtMs: endsMs = null, updatedAtMs } = view.context;
  const why = [...new Set(heldReasons.map(({ code }) => code))].join(", ");
  const words = `It is held (${why}) until an owner or admin of the business decides; it fails as expired at ${atTime(endsMs)}.`;
  return wait("decision", words, {
    next: at("fails", endsMs),
    attention: { reason: "held", sinceMs: updatedAtMs },
  });
}

/** When it counts as stalled. */
function stalls(view: View): Wait["next"] {
  return at("stalls", timerEnd(view, "stall"));
}

function regionsOf(unindexed: PushContext["unindexed"]): readonly string[] {
  return [...new Set(unindexed.map(([, region]) => region))].sort();
}
