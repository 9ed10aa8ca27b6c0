// What this node's actors report again and again while it lasts, for the node's operators: the newest report of each subject.
//   O1. A subject that was not reported for some time is over, or is reported on another node by now.
//   O2. At most a fixed number of subjects are kept; those that were reported last stay.

import type { Clock } from "../crypto/port.ts";
import { BoundedMap } from "../std/bounded-map.ts";

export interface Reported<T> {
  note(id: string, report: T): void;
  forget(id: string): void;
  get(id: string): T | undefined;
  list(): readonly T[];
}

export function createReported<T>(options: {
  readonly clock: Clock;
  /** For how long a report counts (O1). */
  readonly knownForMs: number;
  readonly subjectsMax: number;
}): Reported<T> {
  const { clock, knownForMs, subjectsMax } = options;
  const known = new BoundedMap<string, { readonly report: T; readonly untilMs: number }>(subjectsMax);
  let ids: readonly string[] = [];
  const current = (id: string) => {
    const found = known.get(id);
    return found !== undefined && found.untilMs > clock.now() ? [found.report] : [];
  };
  return {
    note: (id, report) => {
      const isNew = current(id).length === 0;
      known.set(id, { report, untilMs: clock.now() + knownForMs });
      if (isNew) ids = [...new Set([...ids, id])].filter((each) => known.has(each));
    },
    forget: (id) => {
      if (known.delete(id)) ids = ids.filter((each) => each !== id);
    },
    get: (id) => current(id)[0],
    list: () => ids.flatMap(current),
  };
}
