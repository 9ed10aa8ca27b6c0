// The turns and the paces of simulated nodes, where no time passes while a node works.

import type { PushPorts } from "../../actors/push/ports.ts";
import type { SearchTurns } from "../../service/search.ts";
import type { Pace } from "../../std/pace.ts";

/** No time passes while an index searches, so none waits for another. */
export const turns: SearchTurns = (_, query) => query();

/** No time passes while a node works, so others have their turn by the number of records. */
export function pacesOf(): PushPorts["paces"] {
  const byItems = (items: number): Pace => {
    let done = 0;
    return () => {
      done += 1;
      return done % items === 0 ? Promise.resolve() : null;
    };
  };
  return { inline: byItems(50), queued: byItems(20) };
}
