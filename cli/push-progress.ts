// What a running push reports: a progress bar for a person at a screen, otherwise plain lines, or NDJSON for a program.

import type { PushEvent } from "../client/push-run.ts";
import type { Terminal } from "./terminal.ts";

const barWidth = 24;

/** Creates a handler that takes the events of one push, in order. */
export function createPushProgress(terminal: Terminal, style: "people" | "json"): (event: PushEvent) => void {
  if (style === "json") return (event) => terminal.print(JSON.stringify(event));
  let total = 0;
  let batches = 0;
  let settledBefore = 0;
  const settled = new Map<number, number>();
  const show = (what: string): void => {
    const done = settledBefore + [...settled.values()].reduce((sum, count) => sum + count, 0);
    terminal.status(`${bar(total === 0 ? 0 : done / total)} ${number(done)} of ${number(total)}  ${what}`);
  };
  return (event) => {
    switch (event.type) {
      case "push.opened":
        total = event.records;
        batches = event.batches;
        settledBefore = event.settled_records;
        if (event.settled_batches === batches)
          terminal.note("All of this was pushed before; nothing is sent.");
        else if (event.settled_batches > 0)
          terminal.note(`Continuing: ${event.settled_batches} of ${batches} batches are done.`);
        break;
      case "batch.sealed":
        if (event.sealed_again) terminal.note(`Batch ${event.batch + 1} was sealed again.`);
        show(`sealed batch ${event.batch + 1} of ${batches}`);
        break;
      case "batch.sent":
        if (!terminal.isWatched)
          terminal.note(
            `Sent batch ${event.batch + 1} of ${batches}: ${number(event.records)} ${event.records === 1 ? "record" : "records"}.`,
          );
        show(`sent batch ${event.batch + 1} of ${batches}`);
        break;
      case "batch.progress":
        settled.set(event.batch, event.settled);
        show(`batch ${event.batch + 1} of ${batches}`);
        break;
      case "batch.finished":
        settled.set(event.batch, event.records);
        if (!terminal.isWatched)
          terminal.note(`Batch ${event.batch + 1} of ${batches}: ${event.result.state}.`);
        show(`batch ${event.batch + 1} of ${batches} ${event.result.state}`);
        break;
      case "waiting":
        if (!terminal.isWatched) terminal.note(`Waiting ${event.seconds} s: ${event.reason}`);
        show(`waiting ${event.seconds} s: ${event.reason}`);
        break;
    }
  };
}

function bar(share: number): string {
  const filled = Math.round(barWidth * Math.min(1, share));
  return `[${"#".repeat(filled)}${"-".repeat(barWidth - filled)}]`;
}

export function number(value: number): string {
  return value.toLocaleString("en");
}
