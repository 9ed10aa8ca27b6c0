// Forgets images of ads that nothing needs, for as long as a node runs, and says in the log how that went.

import type { LogEntry } from "../../actors/system/ports.ts";
import { type ForgettingDeps, forgetFromTimeToTime } from "../../service/unneeded-images.ts";
import type { NodeServices } from "../services.ts";

/** The interval between two looks. */
const everyMs = 6 * 3_600_000;

/** In a cluster, every node looks: what one of them finds needed is renewed for all. The returned function stops it. */
export function forgetImages(
  { imageStore: images, records, register, clock }: Images,
  platform: Pick<ForgettingDeps, "timers"> & { readonly log: (entry: LogEntry) => void },
): () => Promise<void> {
  const note = (level: LogEntry["level"], event: string, detail: string): void =>
    platform.log({ level, event, actor: "", detail });
  return forgetFromTimeToTime({
    ...{ images, book: register.ads, records, clock, timers: platform.timers, everyMs },
    forgotten: (count) => note("info", "image.forgotten", `${count} images of ads were named by no live ad`),
    failed: (error) => note("warn", "image.forgetting_failed", String(error)),
  });
}

type Images = Pick<NodeServices, "imageStore" | "records" | "register" | "clock">;
