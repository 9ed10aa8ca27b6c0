// The resident memory of a measured process while something happens.

import { setTimeout as delay } from "node:timers/promises";
import type { Child } from "./child.ts";

export const memorySampleMs = 10;

/** Reads a child's resident memory until stopped; returns by how much its highest reading exceeds the first. */
export function watchMemory(child: Child): { stop(): Promise<number | null> } {
  let stopped = false;
  const watch = async (): Promise<number | null> => {
    const before = await child.residentBytes();
    if (before === null) return null;
    let highest = before;
    while (!stopped) {
      highest = Math.max(highest, (await child.residentBytes()) ?? 0);
      await delay(memorySampleMs);
    }
    return highest - before;
  };
  const watching = watch();
  return {
    stop: () => {
      stopped = true;
      return watching;
    },
  };
}
