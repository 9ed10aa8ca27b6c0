// Tests that change a register and then ask the node what it answers.

import { setImmediate as turn } from "node:timers/promises";
import type { NodeServices } from "../../node/composition/services.ts";

/**
 * Once what businesses decided has reached the register of this node. A decision is answered when it is committed; it is
 * projected into the register after that, so a refresh alone may come too early.
 */
export async function registerInForce({
  actors,
  register,
}: Pick<NodeServices, "actors" | "register">): Promise<void> {
  while (actors.stats().outboxPending > 0) await turn();
  await register.refresh();
}
