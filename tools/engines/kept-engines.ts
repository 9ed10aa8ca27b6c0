// Keeps the engines of a profile running: an engine that ends is restarted on its data.

import { keepRunning } from "../keep-running.ts";
import type { EngineProfile } from "./profiles.ts";

/** Long enough to see how nodes continue without it. */
const restartMs = 10_000;
const restartMaxMs = 120_000;

export interface KeptEngines {
  readonly tell: (line: string) => void;
  /** Stops the restarts; the engines keep running until the profile is stopped. */
  readonly stop: AbortSignal;
  readonly restartMs?: number;
}

/** Starts to keep the engines running; reports what happens. */
export function keepEngines(
  { parts }: Pick<EngineProfile, "parts">,
  { tell, stop, restartMs: firstMs = restartMs }: KeptEngines,
): void {
  for (const { name, process, start } of parts) {
    const restart = async () => {
      const started = await start();
      tell(`${name} answers again`);
      return started;
    };
    void keepRunning(process(), { name, start: restart, tell, restartMs: firstMs, restartMaxMs, stop });
  }
}
