// A question to an owner once nothing is under way. A node whose memory has room for few actors may still be busy for a moment
// with what it was asked before, and says so. The question is then asked again, as every caller in production does.

import { Unavailable } from "../../std/unavailable.ts";
import { anyNode, pause } from "../set-up.ts";
import type { SimNode } from "../world/sim-node.ts";
import type { World } from "../world/world.ts";

/** No owner is busy for longer than these attempts take. */
const attemptsMax = 50;
const waitMs = 200;

/** The reply. Throws what the last attempt threw, and at once what no later attempt can change. */
export async function askAtRest<T>(world: World, ask: (node: SimNode) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask(await anyNode(world, world.parts.regions[0] ?? ""));
    } catch (error) {
      if (!(error instanceof Unavailable) || attempt === attemptsMax) throw error;
      world.observed.mark(`rest.${error.reason}`);
      await pause(world, waitMs);
    }
  }
}
