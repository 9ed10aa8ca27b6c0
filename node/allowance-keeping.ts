// The allowances that this node spends, and what becomes of slices that nobody needs any more.

import type { TimerPort } from "../actors/system/ports.ts";
import { type Allowance, createAllowance } from "../service/allowance.ts";
import { repeat } from "../std/repeat.ts";
import type { NodeServices } from "./services.ts";

const giveBackEveryMs = 5_000;

/** Null where nothing is charged: in a sandbox, and without prices. */
export function allowanceOf({
  config,
  actors,
  operatorFiles,
  lease,
  clock,
  elapsedMs,
}: Pick<
  NodeServices,
  "config" | "actors" | "operatorFiles" | "lease" | "clock" | "elapsedMs"
>): Allowance | null {
  if (config.environment !== "production" || config.prices === null) return null;
  const holder = (): string | null => {
    const incarnation = lease();
    return incarnation === null ? null : `${config.region}/${incarnation}`;
  };
  return createAllowance({ actors, prices: operatorFiles.prices, holder, clock, elapsedMs });
}

/** Gives back what is idle; the returned function stops that and gives back everything. */
export function keepAllowance(allowance: Allowance | null, timers: TimerPort): () => Promise<void> {
  if (allowance === null) return () => Promise.resolve();
  const stop = repeat({ everyMs: giveBackEveryMs, timers, run: () => allowance.giveBack("idle") });
  return async () => {
    const given = allowance.giveBack("all");
    await stop();
    await given;
  };
}
