// What the pushes of a node need beside its stores.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { CurrentActors } from "../actors/system/current-actors.ts";
import type { LogEntry } from "../actors/system/ports.ts";
import { platformLoop } from "../api/platform-loop.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { Clock } from "../crypto/port.ts";
import { createParsedLeaves } from "../service/parsed-leaves.ts";
import { createPushLeaves } from "../service/push-leaves.ts";
import { createUploadTokens } from "../service/upload-token.ts";
import { createBackground } from "./background.ts";
import type { NodeConfig } from "./config.ts";
import { createLatePurges } from "./late-purges.ts";
import { openNotices } from "./notices/notices.ts";
import type { NodePlatform, NodeServices } from "./services.ts";
import { createStalledPushes } from "./stalled-pushes.ts";
import { createThreadTurns } from "./thread-turns.ts";

const dayMs = 86_400_000;

type PushParts = Pick<
  NodeServices,
  | "leaves"
  | "uploadTokens"
  | "parsed"
  | "background"
  | "stalled"
  | "latePurges"
  | "notices"
  | "pause"
  | "searchTurns"
  | "pace"
  | "paces"
  | "rightOfWay"
  | "holdMs"
>;

/** Throws {@link ConfigError}. */
export function pushPartsOf(
  config: NodeConfig,
  parts: {
    readonly stores: Pick<NodeServices, "records" | "staging">;
    readonly recordIdKey: Uint8Array;
    readonly actors: Pick<CurrentActors, "stats">;
    readonly clock: Clock;
    readonly workMs: NodePlatform["workMs"];
    readonly log: (entry: LogEntry) => void;
  },
): PushParts {
  const pause = (): Promise<void> => nextTurn();
  const { nowMs } = platformLoop;
  const turns = createThreadTurns({ ...platformLoop, nowMs: parts.workMs ?? nowMs });
  const { paces } = turns;
  return {
    ...{ ...turns, pace: paces.inline },
    leaves: createPushLeaves({ ...parts.stores, sha256: nativeCrypto.sha256, pace: paces.queued }),
    uploadTokens: createUploadTokens(nativeCrypto, parts.recordIdKey),
    parsed: createParsedLeaves(),
    background: createBackground(config.background, () => parts.actors.stats()),
    stalled: createStalledPushes(parts),
    latePurges: createLatePurges(parts),
    notices: openNotices(config, parts),
    pause,
    holdMs: config.retention.holdDays * dayMs,
  };
}
