// Checks every answer of a search or a fetch: its receipt verifies, names exactly what was served, and every row in it
// verifies (specification, «Receipt», «Search row»). Received receipts are kept, to be looked up in the store at the end.

import { parseBase64, utf8 } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import { type Envelope, openEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { hashOf } from "../../protocol/hash.ts";
import type { PublicJwk } from "../../protocol/jwk.ts";
import { openReceipt, type ReceiptV3 } from "../../protocol/receipt.ts";
import { parseRow, rowSigningText } from "../../protocol/row.ts";
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
