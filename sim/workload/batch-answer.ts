// What the answer to a batch must be, and what its business remembers of it.

import type { SimSigner } from "../crypto/sim-crypto.ts";
import type { World } from "../world/world.ts";
import type { HeardResult, SentBatch } from "./batch.ts";
import { type Heard, passing } from "./client.ts";
import type { Journal } from "./journal.ts";
import type { Moment } from "./key-standing.ts";

interface Sender {
  readonly world: World;
  readonly journal: Journal;
  readonly key: SimSigner;
}

/** `sent` is when the request was sent. */
export function noteAnswer(
  { world, journal, key }: Sender,
  batch: SentBatch,
  heard: Heard,
  { name, sent }: { readonly name: string; readonly sent: Moment },
): void {
  const sentAt = sent.at;
  const { observed, parts } = world;
  observed.mark(`publish.${heard.code}`);
  if (heard.status === 200 || heard.status === 202) {
    const revokedAt = journal.revocations.get(key.keyId)?.doneAt ?? Number.POSITIVE_INFINITY;
    // An earlier acceptance may be reported again; a new batch may not be accepted.
    if (batch.sentAt > revokedAt && sentAt > revokedAt)
      observed.violate("revocation-holds", `${batch.pushId} was accepted although its key had been revoked`);
    if (batch.key !== key) observed.mark("publish.resumed");
    batch.acknowledgedAt ??= parts.kernel.events;
    if (heard.status === 200) noteOutcomes({ world, journal }, batch, heard, name);
  } else if (!passing.has(heard.code)) {
    const isWithout = heard.code === "mandate_missing";
    // A replayed refusal says what was in force when it was first given.
    const isNew = heard.outcome.kind === "problem";
    if (
      isWithout &&
      isNew &&
      !world.mayReadOld &&
      journal.standing.isCovered(key.keyId, sent, parts.kernel.now())
    )
      observed.violate("in-force-publishes", `${batch.pushId} was refused although a mandate is in force`);
    // A request in flight in parallel with the accepted one may have been judged before it.
    const wasAcknowledged = batch.acknowledgedAt !== null && sentAt > batch.acknowledgedAt;
    const isLost = wasAcknowledged && heard.code !== "idempotency_key_reused" && !isWithout;
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
