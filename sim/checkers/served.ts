// Checks every answer of a search or a fetch: its receipt verifies, names exactly what was served, and every row in it
// verifies (specification, «Receipt», «Search row»). Received receipts are kept, to be looked up in the store at the end.

import { hashOf, parseBase64, utf8 } from "../../protocol/bytes.ts";
import { type Envelope, openEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import { leafHash, merkleRoot } from "../../protocol/merkle.ts";
import { openReceipt, type ReceiptV3 } from "../../protocol/receipt.ts";
import { parseRow, rowSigningText } from "../../protocol/row.ts";
import type { ClosedBatch, ReceiptRow } from "../../storage/receipt-store.ts";
import type { Heard } from "../workload/client.ts";
import type { SimRequest } from "../workload/signed-request.ts";
import type { World } from "../world/world.ts";

export interface HeardReceipt {
  readonly region: string;
  readonly retrievalId: string;
  readonly keyId: string;
  readonly nonce: string;
  /** As sent with the search; null without one. */
  readonly clientQueryId: string | null;
  /** JSON text of the envelope. */
  readonly envelope: string;
}

export class ServedChecker {
  readonly receipts: HeardReceipt[] = [];
  readonly #world: World;
  /** Texts of rows that are already verified: most are served many times. */
  readonly #verified = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  check(request: SimRequest, heard: Heard, region: string): void {
    const body = heard.body as { readonly receipt: Envelope; readonly rows?: readonly JsonObject[] };
    const receipt = this.#receipt(body.receipt, request, region);
    if (receipt === null) return;
    const nonce = request.nonce;
    const envelope = JSON.stringify(body.receipt);
    const { keyId, clientQueryId = null } = request;
    this.receipts.push({ region, retrievalId: receipt.retrieval_id, keyId, nonce, clientQueryId, envelope });
    if (request.route === "search") this.#rows(receipt, body.rows ?? []);
    else this.#record(receipt, heard.body as JsonObject, request.subject);
  }

  #fail(detail: string): void {
    this.#world.observed.violate("receipts-verify", detail);
  }

  #receipt(envelope: Envelope, request: SimRequest, region: string): ReceiptV3 | null {
    const { parts } = this.#world;
    const opened = openReceipt(envelope);
    const payload = openEnvelope(envelope, payloadTypes["receipt.v3"]);
    const key = parts.keys.receipts.get(region);
    const sig = parseBase64(envelope.signatures[0]?.sig ?? "");
    if (!opened.ok || opened.value.v !== 3 || !payload.ok || key === undefined || sig === null) {
      this.#fail(`a ${request.route} was answered without a readable receipt`);
      return null;
    }
    if (!parts.crypto.verify(key.publicJwk, pae(envelope.payloadType, payload.value), sig))
      this.#fail(`the receipt ${opened.value.retrieval_id} is not signed by the receipt key of ${region}`);
    if (opened.value.key_id !== request.keyId)
      this.#fail(`${opened.value.retrieval_id} names another caller`);
    return opened.value;
  }

  #rows(receipt: ReceiptV3, rows: readonly JsonObject[]): void {
    if (rows.length !== receipt.rows.length) {
      this.#fail(`${receipt.retrieval_id} names ${receipt.rows.length} rows, ${rows.length} were served`);
      return;
    }
    rows.forEach((served, index) => {
      const row = parseRow(served);
      const named = receipt.rows[index];
      if (!row.ok || named === undefined) this.#fail(`row ${index} of ${receipt.retrieval_id} is no row`);
      else if (
        named.record_id !== row.value.record_id ||
        named.adl_origin !== row.value.adl_origin ||
        named.adl_row_sig !== row.value.adl_row_sig
      )
        this.#fail(`row ${index} of ${receipt.retrieval_id} is not the one that the receipt names`);
      else this.#verifyRow(row.value.adl_row_sig, served);
    });
  }

  #verifyRow(signature: string, served: JsonObject): void {
    if (this.#verified.has(signature)) return;
    const { parts } = this.#world;
    const sig = parseBase64(signature);
    const jwk: PublicJwk = parts.keys.projection.publicJwk;
    if (sig === null || !parts.crypto.verify(jwk, utf8(rowSigningText(served)), sig))
      this.#fail(`the row of ${String(served["record_id"])} does not verify`);
    else this.#verified.add(signature);
  }

  #record(receipt: ReceiptV3, body: JsonObject, recordId: string): void {
    const [named, ...more] = receipt.rows;
    if (
      named === undefined ||
      more.length > 0 ||
      named.record_id !== recordId ||
      body["record_id"] !== recordId
    ) {
      this.#fail(`${receipt.retrieval_id} is not about ${recordId} alone`);
      return;
    }
    // In these worlds products are written as JSON.stringify writes them, so their text gives their bytes.
    const hash = hashOf(utf8(JSON.stringify(body["record"])), this.#world.parts.crypto.sha256);
    if (hash !== named.adl_origin)
      this.#fail(`${recordId} was served with other bytes than ${named.adl_origin}`);
  }
}

// Receipts at rest: every receipt that a caller received is stored unchanged, every batch is closed over all its rows,
// nothing is billed twice, and nothing that was refused is billed.

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
