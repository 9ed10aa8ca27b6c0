// Keeps the engines of a profile running: what ends is started again, on its data.

import { keepRunning } from "../keep-running.ts";
import type { EngineProfile } from "./profiles.ts";

/** Long enough to see how nodes go on without it. */
const restartMs = 10_000;
const restartMaxMs = 120_000;

export interface KeptEngines {
  readonly tell: (line: string) => void;
  /** Ends the keeping; the engines go on until the profile is stopped. */
  readonly stop: AbortSignal;
  readonly restartMs?: number;
}

/** Begins; what happens is told. */
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
