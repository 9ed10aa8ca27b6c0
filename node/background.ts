// Background processing of this node: queued pushes, unless an operator has switched them off or too many chunks wait.

import type { ActorSystemStats } from "../actors/system/definition.ts";
import type { Background } from "../service/background.ts";
import { ConfigError } from "./config-error.ts";

/** Number of chunks that wait for their turn on this node above which nobody should wait for a further push. */
export const chunksWaitingMax = 1_024;

export interface NodeBackground extends Background {
  /** False if an operator has switched it off: no queued push is processed here. */
  readonly isOn: boolean;
}

export function createBackground(
  isOn: boolean,
  stats: () => Pick<ActorSystemStats, "activitiesWaiting">,
): NodeBackground {
  return { isOn, isAvailable: () => isOn && stats().activitiesWaiting <= chunksWaitingMax };
}

/** Throws {@link ConfigError}. */
export function parseBackground(env: Readonly<Record<string, string | undefined>>): boolean {
  const text = env["SVC_BACKGROUND"] ?? "on";
  if (text === "on" || text === "off") return text === "on";
  throw new ConfigError("SVC_BACKGROUND", `is ${JSON.stringify(text)}; use on or off`);
}
