// What anybody can read of the log at rest: that it contains what it does, and that it only grew. Every proof that a node answers
// verifies as a stranger verifies it, with nothing but the anchors and the key set.

import { utf8 } from "../../protocol/bytes.ts";
import { hashOf } from "../../protocol/hash.ts";
import type { LogEntry } from "../../protocol/log/entries.ts";
import { createLogReads, type LogReads } from "../../service/log-reads.ts";
import type { ReceiptRow } from "../../storage/receipt-store.ts";
import {
  type InclusionEvidence,
  type ReceiptBatchEvidence,
  verifyLogConsistency,
  verifyLogInclusion,
  verifyReceiptInclusion,
} from "../../verifier/log.ts";
import type { Trust } from "../../verifier/trust.ts";
import { openSimLogStore } from "../store/log-store.ts";
import { openSimReceiptStore } from "../store/receipt-store.ts";
import type { World } from "../world/world.ts";

/** At most so many of a kind are asked for: they cost time, and any leaf is as good as another. */
const asked = 24;

export async function checkProofs(world: World, entries: readonly LogEntry[]): Promise<void> {
  const { parts } = world;
  const [region = ""] = parts.regions;
  const client = { model: parts.stores, life: null, region };
  const reads = createLogReads({
    log: parts.variation.log(openSimLogStore(client)),
    receipts: openSimReceiptStore(client),
    sha256: parts.crypto.sha256,
    policy: parts.witnesses.policy,
    keys: () => [],
  });
  const trust: Trust = {
    ...parts.keys.trust,
    ...parts.witnesses.crypto,
    witnessPolicy: parts.witnesses.policy,
  };
  await checkInclusion(world, reads, trust, spread(entries));
  await checkReceipts(world, reads, trust, region);
  await checkConsistency(world, reads, trust);
}

async function checkInclusion(
  { observed }: World,
  reads: LogReads,
  trust: Trust,
  entries: readonly LogEntry[],
): Promise<void> {
  for (const entry of entries) {
    const evidence = await bodyOf<InclusionEvidence>(
      reads.inclusion({ leaf: entry.leaf, region: null, name: null }),
    );
    const verdict = evidence && verifyLogInclusion(trust, entry, evidence);
    if (verdict?.ok) observed.mark("log.proven");
    else
      observed.violate("proofs-verify", `inclusion of ${entry.leaf_type} ${entry.leaf}: ${verdict?.detail}`);
  }
}

/** In two levels: in the batch, and the batch in the log. Late receipts are in no closed batch. */
async function checkReceipts(
  { parts, observed }: World,
  reads: LogReads,
  trust: Trust,
  region: string,
): Promise<void> {
  const rows = parts.stores.tables.of<ReceiptRow>("receipt").values(region);
  for (const { batch: name, envelope } of spread(rows.filter((row) => row.region === region))) {
    const bytes = utf8(envelope);
    const query = { leaf: hashOf(bytes, parts.crypto.sha256), region, name };
    const evidence = await bodyOf<InclusionEvidence & { readonly batch: ReceiptBatchEvidence }>(
      reads.inclusion(query),
    );
    if (evidence === null) continue;
    const verdict = verifyReceiptInclusion(trust, bytes, evidence);
    if (verdict.ok) observed.mark("log.receipt_proven");
    else observed.violate("proofs-verify", `inclusion of a receipt in ${name}: ${verdict.detail}`);
  }
}

/** From each checkpoint that was published to the next, and from the first to the last. */
async function checkConsistency({ observed }: World, reads: LogReads, trust: Trust): Promise<void> {
  const bySize = new Map(observed.checkpoints.map((each) => [each.size, each.note]));
  const published = [...bySize].sort(([a], [b]) => a - b);
  const [first] = published;
  const last = published.at(-1);
  const pairs = published.slice(1).map((later, at) => [published[at] ?? later, later] as const);
  if (first !== undefined && last !== undefined && published.length > 2) pairs.push([first, last]);
  for (const [[from, earlier], [to, later]] of spread(pairs)) {
    const answer = reads.consistency({ first: String(from), second: String(to) });
    const proof = (await bodyOf<{ readonly proof: readonly string[] }>(answer))?.proof;
    const verdict = proof && verifyLogConsistency(trust, earlier, later, proof);
    if (verdict?.ok) observed.mark("log.consistent");
    else observed.violate("proofs-verify", `consistency of ${from} and ${to} leaves: ${verdict?.detail}`);
  }
}

/** Null for a refusal. */
async function bodyOf<T>(answering: ReturnType<LogReads["inclusion"]>): Promise<T | null> {
  const answer = await answering;
  return answer.kind === "answer" ? (JSON.parse(String(answer.body)) as T) : null;
}

/** Not more than are asked for, from all over the list. */
function spread<T>(list: readonly T[]): readonly T[] {
  const step = Math.max(1, Math.ceil(list.length / asked));
  return list.filter((_each, at) => at % step === 0 || at === list.length - 1);
}
