// What a business does about a push besides sending it: it validates a batch that it does not publish, and cancels one that
// waits, is held, or is on its way.

import type { Random } from "../kernel/random.ts";
import type { World } from "../world/world.ts";
import type { SentBatch } from "./batch.ts";
import type { Heard } from "./client.ts";
import type { Journal } from "./journal.ts";

/** A product whose chunk fails for ever, for a reason of its own. */
export const poisonedId = "poisoned";

export interface LifeParts {
  readonly world: World;
  readonly journal: Journal;
  readonly random: Random;
  readonly send: (route: "validate" | "cancel", batch: SentBatch) => Promise<Heard | null>;
  readonly pause: (ms: number) => Promise<void>;
}

/** Nothing of the batch is ever published. */
export async function validateOnly({ world, journal, send }: LifeParts, batch: SentBatch): Promise<void> {
  journal.validated.push(batch);
  const heard = await send("validate", batch);
  if (heard === null) return;
  world.observed.mark(`validate.${heard.code}`);
  if (heard.status !== 200) return;
  const { results } = heard.body as { readonly results: readonly unknown[] };
  if (results.length !== batch.leaves.length)
    world.observed.violate(
      "validation-is-whole",
      `${batch.pushId} was validated with ${results.length} results of ${batch.leaves.length}`,
    );
}

/** Asks a few times: a push that is on its way does not exist yet. */
export async function cancel(parts: LifeParts, batch: SentBatch): Promise<void> {
  const { world, journal, random, send, pause } = parts;
  journal.cancelling.add(batch.pushId);
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const heard = await send("cancel", batch);
    if (heard !== null) world.observed.mark(`cancel.${heard.code}`);
    if (heard?.status === 200) {
      journal.cancelled.add(batch.pushId);
      const { state, error } = heard.body as { state: string; error: { code: string } | null };
      if (state !== "failed" || error?.code !== "cancelled")
        world.observed.violate("cancelled-is-over", `${batch.pushId} is ${state} after its cancellation`);
    }
    if (heard !== null && heard.code !== "not_found" && heard.code !== "unavailable") return;
    await pause(random.between(1, 120));
  }
}
