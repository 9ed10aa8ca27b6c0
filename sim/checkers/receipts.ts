// Receipts at rest: every receipt that a caller received is stored unchanged, every batch is closed over all its rows,
// nothing is billed twice, and nothing that was refused is billed.

import { utf8 } from "../../protocol/bytes.ts";
import { leafHash, merkleRoot } from "../../protocol/merkle.ts";
import type { ClosedBatch, ReceiptRow } from "../../storage/receipt-store.ts";
import type { World } from "../world/world.ts";
import type { HeardReceipt } from "./served.ts";

export function checkReceipts(world: World, heard: readonly HeardReceipt[]): void {
  for (const region of world.parts.regions) checkRegion(world, region, heard);
}

function checkRegion(world: World, region: string, heard: readonly HeardReceipt[]): void {
  const { observed, parts } = world;
  const { tables } = parts.stores;
  const rows = tables
    .of<ReceiptRow>("receipt")
    .values(region)
    .filter((row) => row.region === region);
  const byId = new Map(rows.map((row) => [row.retrieval_id, row]));
  for (const receipt of heard) {
    if (receipt.region !== region) continue;
    const row = byId.get(receipt.retrievalId);
    if (row === undefined || row.envelope !== receipt.envelope)
      observed.violate(
        "receipts-are-kept",
        `${receipt.retrievalId} was answered in ${region} and is not stored`,
      );
  }
  checkBilled(world, region, rows);
  checkRefused(world, region, rows);
  const batches = new Map<string, ReceiptRow[]>();
  for (const row of rows) batches.set(row.batch, [...(batches.get(row.batch) ?? []), row]);
  const closed = tables.of<ClosedBatch>("receipt_batch_closed");
  const answered = new Set(heard.map((receipt) => receipt.retrievalId));
  for (const [batch, of] of batches) {
    const closing = closed.read(region, `${region}/${batch}`);
    const needed = of.filter((row) => answered.has(row.retrieval_id)).length;
    if (closing === null) {
      if (needed > 0) observed.violate("receipts-are-closed", `${batch} in ${region} is not closed`);
    } else if (!isClosedOver(world, closing, of, answered))
      observed.violate(
        "receipts-are-closed",
        `${batch} in ${region} was closed over ${closing.tree_size} of ${of.length} receipts, ${needed} of them were answered`,
      );
  }
}

/** Receipts whose answers were never sent may have come too late; up to this many are tried both included and left out. */
const unansweredMax = 10;

/** Whether the root covers all receipts that were answered, and any subset of the others. */
function isClosedOver(
  world: World,
  closing: ClosedBatch,
  rows: readonly ReceiptRow[],
  answered: ReadonlySet<string>,
): boolean {
  const { sha256 } = world.parts.crypto;
  const sorted = [...rows].sort((a, b) => (a.retrieval_id < b.retrieval_id ? -1 : 1));
  const hashes = sorted.map((row) => leafHash(utf8(row.envelope), sha256));
  const optional = sorted.flatMap((row, index) => (answered.has(row.retrieval_id) ? [] : [index]));
  if (optional.length > unansweredMax) return closing.tree_size >= sorted.length - optional.length;
  for (let left = 0; left < 1 << optional.length; left += 1) {
    const out = new Set(optional.filter((_, bit) => (left & (1 << bit)) !== 0));
    if (sorted.length - out.size !== closing.tree_size) continue;
    const root = merkleRoot(
      hashes.filter((_, index) => !out.has(index)),
      sha256,
    );
    if (closing.root === `sha256:${root.toHex()}`) return true;
  }
  return false;
}

/** Nonces are accepted per region: within one, a nonce is answered once, so at most one of its receipts is billed. */
function checkBilled(world: World, region: string, rows: readonly ReceiptRow[]): void {
  const billed = new Map<string, string>();
  for (const row of rows) {
    if (!row.billable) continue;
    const key = `${row.key_id} ${row.nonce}`;
    const known = billed.get(key);
    if (known !== undefined)
      world.observed.violate(
        "billed-once",
        `${known} and ${row.retrieval_id} in ${region} bill the same nonce`,
      );
    billed.set(key, row.retrieval_id);
  }
}

/** A request that was refused, however often it came, is not in a closed batch as a billable receipt (specification, «Errors»). */
function checkRefused({ observed, parts }: World, region: string, rows: readonly ReceiptRow[]): void {
  const closed = parts.stores.tables.of<{ readonly ids: ReadonlySet<string> }>("receipt_batch_counted");
  for (const row of rows) {
    if (!row.billable) continue;
    const { begun, refused } = observed.refusals.get(`${region} ${row.key_id} ${row.nonce}`) ?? noneRefused;
    if (begun === 0 || begun > refused) continue;
    observed.mark("receipt.retracted");
    if (closed.read(region, `${region}/${row.batch}`)?.ids.has(row.retrieval_id) === true)
      observed.violate(
        "refused-is-free",
        `${row.retrieval_id} in ${region} bills a request that was refused`,
      );
  }
}

const noneRefused = { begun: 0, refused: 0 };
