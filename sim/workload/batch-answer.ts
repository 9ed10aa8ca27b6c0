// What the answer to a batch must be, and what its business remembers of it.

import type { SimSigner } from "../crypto/sim-crypto.ts";
import type { World } from "../world/world.ts";
import type { HeardResult, SentBatch } from "./batch.ts";
import { type Heard, passing } from "./client.ts";
import type { Journal } from "./journal.ts";

interface Sender {
  readonly world: World;
  readonly journal: Journal;
  readonly key: SimSigner;
}

/** `sentAt` is the position in the world's events at which the request was sent. */
export function noteAnswer(
  { world, journal, key }: Sender,
  batch: SentBatch,
  heard: Heard,
  { name, sentAt }: { readonly name: string; readonly sentAt: number },
): void {
  const { observed, parts } = world;
  observed.mark(`publish.${heard.code}`);
  if (heard.status === 200 || heard.status === 202) {
    const revokedAt = journal.revocations.get(key.keyId)?.doneAt ?? Number.POSITIVE_INFINITY;
    // An earlier acceptance may be reported again; a new batch may not be accepted.
    if (batch.sentAt > revokedAt && sentAt > revokedAt)
      observed.violate("revocation-holds", `${batch.pushId} was accepted although its key had been revoked`);
    batch.acknowledgedAt ??= parts.kernel.events;
    if (heard.status === 200) noteOutcomes({ world, journal }, batch, heard, name);
  } else if (!passing.has(heard.code)) {
    // A request in flight in parallel with the accepted one may have been judged before it.
    const wasAcknowledged = batch.acknowledgedAt !== null && sentAt > batch.acknowledgedAt;
    const isLost = wasAcknowledged && heard.code !== "idempotency_key_reused";
    if (isLost && !world.mayReadOld)
      observed.violate(
        "acknowledged-is-kept",
        `${batch.pushId} was acknowledged, then refused: ${heard.code}`,
      );
    batch.refused ??= heard.code;
  }
}

function noteOutcomes(
  { world: { observed }, journal }: Omit<Sender, "key">,
  batch: SentBatch,
  heard: Heard,
  name: string,
): void {
  const { results, batch_id, held } = heard.body as {
    results: HeardResult[];
    batch_id: string;
    held: boolean;
  };
  if (batch_id !== batch.pushId)
    observed.violate("answers-fit", `${batch.pushId} was answered as ${batch_id}`);
  if (held) observed.mark("publish.held");
  if (held) return;
  journal.compareResults(observed, batch, results, name);
  batch.results ??= results;
  batch.settled = true;
}
