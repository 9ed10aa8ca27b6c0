// The newest moment at which this home was in use, by the node's own clock, kept in a file: a clock that is behind it was set back, and
// then callers are refused, whose own clocks are right. A node of a cluster compares its clock with the store's instead.

import { join } from "node:path";
import type { TimerPort } from "../actors/system/ports.ts";
import { readFileIfThere, replaceFile } from "../crypto/durable-file.ts";
import type { Clock } from "../crypto/port.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";

export interface NewestMoment {
  /** Throws, in words, while the clock is behind. */
  assertReached(): void;
  stop(): Promise<void>;
}

const fileName = "newest-moment";
const everyMs = 60_000;
/** As much as nodes of a cluster may differ. */
const behindMaxMs = 2_000;

/** `onFailed` is told of a file that cannot be written. */
export async function keepNewestMoment(
  home: string,
  {
    clock,
    timers,
    onFailed,
  }: { readonly clock: Clock; readonly timers: TimerPort; readonly onFailed: (error: unknown) => void },
): Promise<NewestMoment> {
  let newestMs = await readNewest(home);
  const write = async (): Promise<void> => {
    if (clock.now() <= newestMs) return;
    newestMs = clock.now();
    await replaceFile(join(home, fileName), `${formatTimestamp(newestMs)}\n`).catch(onFailed);
  };
  let writing = write();
  let cancel = (): void => {};
  const wait = (): void => {
    cancel = timers.schedule(everyMs, () => {
      writing = write();
      wait();
    });
  };
  wait();
  return {
    assertReached: () => {
      const words = behindWords(newestMs, clock.now());
      if (words !== null) throw new Error(words);
    },
    stop: async () => {
      cancel();
      await writing;
      await write();
    },
  };
}

/** How far the clock is behind the newest moment of a home, in words; null if it is not. */
export async function clockFault(home: string, clock: Clock): Promise<string | null> {
  return behindWords(await readNewest(home), clock.now());
}

function behindWords(newestMs: number, nowMs: number): string | null {
  const behindMs = newestMs - nowMs;
  if (behindMs <= behindMaxMs) return null;
  return `this machine's clock says ${formatTimestamp(nowMs)}, ${Math.ceil(behindMs / 1_000)} s before ${formatTimestamp(newestMs)}, at which this node was in use: correct it (NTP). Callers whose clocks are right are refused meanwhile`;
}

async function readNewest(home: string): Promise<number> {
  const moment = Date.parse((await readFileIfThere(join(home, fileName)))?.trim() ?? "");
  return Number.isNaN(moment) ? 0 : moment;
}
