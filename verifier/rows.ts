// The public API of the small entry: rows and receipts, under keys that the whole verifier accepted before. It takes no anchors, has no
// ML-DSA and follows no certificate; README.md describes it.

import { sha256 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { verifyEd25519 } from "../protocol/keys/signatures.ts";
import type { ReasonCode, Verdict } from "../protocol/reason-codes.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { ok, refuse } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import { parseAcceptedKeys } from "./accepted-keys.ts";
import { judgeReceipt, type ReceiptSubject, verifyReceipt } from "./receipt.ts";
import { verifyProjection, verifyRowSignature } from "./row.ts";
import type { Verifier } from "./verifier.ts";

export type { IndexRow, JsonValue, ReasonCode, Receipt, ReceiptSubject, Verdict };

/** The checks of rows and receipts, as the whole verifier makes them. */
export interface RowVerifier extends Pick<Verifier, "rowSignature" | "projection" | "receipt"> {
  /** When the key set was issued under which everything is judged. */
  readonly issuedAt: string;
  /**
   * Verifies the receipt of an answer, each row under the time that the receipt states, and that the receipt names these rows.
   * `ai_policy_bits` and `sponsored`, which no signature covers, are not judged. A refusal for a row has its place, such as `/rows/3`.
   */
  served(
    receipt: JsonValue,
    rows: readonly JsonValue[],
    subject?: Omit<ReceiptSubject, "rows">,
  ): Verdict<{ readonly receipt: Receipt; readonly rows: readonly IndexRow[] }>;
}

/** Verification under what `acceptedKeys` of the whole verifier returned, parsed. Refuses with the reasons of `parseAcceptedKeys`. */
export function createRowVerifier(
  accepted: unknown,
  { allowSandbox = false }: { readonly allowSandbox?: boolean } = {},
): Verdict<RowVerifier> {
  const read = parseAcceptedKeys(accepted, allowSandbox);
  if (!read.ok) return read;
  const keys = new Map(read.value.keys.map((key) => [key.key_id, key]));
  const trust = { verify: verifyEd25519, sha256, keys };
  return ok({
    issuedAt: read.value.issued_at,
    rowSignature: (row, servedAt) => verifyRowSignature(trust, row, servedAt),
    projection: (row, bytes) => verifyProjection(trust, row, bytes),
    receipt: (envelope, subject) => verifyReceipt(trust, envelope, subject),
    served: (envelope, values, given) => {
      const subject = { kind: "search", ...given } as const;
      if (!Array.isArray(values))
        return refuse("payload_malformed", "The rows of an answer are a list.", "/rows");
      const stated = verifyReceipt(trust, envelope);
      if (!stated.ok) return stated;
      const rows: IndexRow[] = [];
      for (const [index, value] of values.entries()) {
        const row = verifyRowSignature(trust, value, stated.value.served_at);
        if (!row.ok) return refuse(row.code, row.detail, `/rows/${index}${row.pointer ?? ""}`);
        if (row.value.type !== stated.value.collection)
          return refuse("receipt_row_mismatch", "The row is of another collection.", `/rows/${index}`);
        rows.push(row.value);
      }
      const receipt = judgeReceipt(stated.value, { ...subject, rows });
      return receipt.ok ? ok({ receipt: receipt.value, rows }) : receipt;
    },
  });
}
