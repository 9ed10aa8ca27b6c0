// Why the sequencer of the transparency log waits: one sentence for each of its three parts.

import type { LogSequencerContext } from "../log-sequencer.ts";
import { at, atTime, counted, timerEnd, type Waits, type WaitView, wait } from "./wait.ts";

type View = WaitView<LogSequencerContext>;

export const logWaits: Waits<LogSequencerContext> = {
  "sequencing.idle": () => wait("calls", "No leaf waits to be appended."),
  "sequencing.waiting": (view) =>
    wait("due", `${leaves(view)} until ${atTime(dueOf(view))}, so that they share a tree head.`, {
      next: at("goes_on", dueOf(view)),
    }),
  "sequencing.choosing": (view) => wait("batch", `${leaves(view)} for the choice of the next batch.`),
  "sequencing.writing": ({ context: { batch } }) =>
    wait(
      "tiles",
      `A batch of ${counted(batch?.count ?? 0, "leaf", "leaves")} waits for its tiles to be written.`,
    ),
  "sequencing.stopped": (view) =>
    wait("head", `${leaves(view)} until it is certain which tree head is the newest.`),
  "sequencing.resting": () => wait("calls", "A batch was finished."),
  "publication.current": () => wait("calls", "The newest tree head is published."),
  "publication.publishing": ({ context: { publishing } }) =>
    wait("publication", `The tree head of size ${publishing?.size ?? 0} waits to be cosigned and published.`),
  "publication.unwitnessed": (view) => unwitnessed(view),
  "publication.stopped": () => wait("head", "Nothing is published until the newest tree head is certain."),
  "head.known": () => wait("calls", "Its tree head is the newest."),
  "head.checking": () => wait("check", "It compares its tree head with what was published."),
  "head.held": (view) => held(view),
};

function leaves({ context: { pending, oldestMs } }: View): string {
  const since = oldestMs === null ? "" : `, the oldest since ${atTime(oldestMs)},`;
  return `${counted(pending, "leaf", "leaves")}${since} ${pending === 1 ? "waits" : "wait"}`;
}

function dueOf(view: View): number | null {
  return timerEnd(view, "after.due.") ?? view.context.dueMs;
}

function unwitnessed(view: View) {
  const failed = view.context.unwitnessed;
  const untilMs = timerEnd(view, "after.retry.");
  const words = `Too few witnesses cosigned the newest tree head (${counted(failed?.attempts ?? 0, "attempt")}; ${failed?.detail ?? ""}). It asks them again at ${atTime(untilMs)}; appending goes on.`;
  return wait("witnesses", words, {
    next: at("tries_again", untilMs),
    attention: { reason: "unwitnessed", sinceMs: failed?.sinceMs ?? null },
  });
}

function held(view: View) {
  const { held: fault } = view.context;
  const untilMs = timerEnd(view, "retryHead");
  const words = `Nothing is appended: its tree head may not be the newest (${fault?.reason ?? "unknown"}; ${fault?.detail ?? ""}). An operator supplies the newest checkpoint, or it looks again at ${atTime(untilMs)}.`;
  return wait("checkpoint", words, {
    next: at("tries_again", untilMs),
    attention: { reason: "log_held", sinceMs: fault?.sinceMs ?? null },
  });
}
