// Periodically reports the progress of fetching an engine: a few hundred megabytes take minutes on a slow connection.

export interface FetchReport {
  /** What is currently being done, or how far it is. */
  phase(text: string | (() => string)): void;
  /** Reports that everything is there. */
  done(): void;
  stop(): void;
}

export interface FetchReporting {
  readonly tell: (line: string) => void;
  /** Whether a person watches at a terminal; a log gets fewer lines. */
  readonly isWatched: boolean;
}

const watchedEveryMs = 2_000;
const loggedEveryMs = 10_000;

/** Starts to report: at once, and then every few seconds until it is stopped. */
export function reportFetch(what: string, { tell, isWatched }: FetchReporting): FetchReport {
  const beganMs = performance.now();
  let phase = (): string => "beginning";
  const seconds = (): string => `${Math.round((performance.now() - beganMs) / 1_000)} s`;
  tell(`Fetching ${what}: it is kept for later starts …`);
  const timer = setInterval(
    () => tell(`Fetching ${what}: ${phase()}, ${seconds()}`),
    isWatched ? watchedEveryMs : loggedEveryMs,
  );
  let fetched = "";
  return {
    phase: (text) => {
      if (typeof text === "string") fetched = `: ${phase()}`;
      phase = typeof text === "string" ? () => text : text;
    },
    done: () => tell(`Fetched ${what}${fetched === "" ? `: ${phase()}` : fetched} in ${seconds()}`),
    stop: () => clearInterval(timer),
  };
}
