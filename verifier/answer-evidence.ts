import type { JsonValue } from "../protocol/canonical-json.ts";
import type { Receipt } from "../protocol/receipt.ts";
import type { ReceiptSubject } from "./receipt.ts";

/**
 * Evidence that a caller may hold in addition to an answer. It is parsed JSON of the verification surface unless stated
 * otherwise.
 */
export interface AnswerEvidence {
  /** The caller's own key: the receipt must name it. */
  readonly callerKeyId?: string;
  /** SHA-256 of the signature base that the caller sent. */
  readonly requestHash?: string;
  /** The answer of `GET /v1/certificates/{uuid}`. */
  readonly certificate?: JsonValue;
  /** The answer of `GET /v1/certificates/{uuid}/keys`. */
  readonly businessKeys?: JsonValue;
  /** The answer of `GET /v1/certificates/{uuid}/key-custody`. */
  readonly keyCustody?: JsonValue;
  /** The mandate envelope. */
  readonly mandate?: JsonValue;
  /** The address of the verification surface, without a trailing slash, to which the addresses in the answer have to lead. */
  readonly verifyUrl?: string;
  /**
   * The exact bytes of the record and of the AI policy record, for an answer whose text is no longer the one served. Bytes of
   * another content than the answer shows are refused.
   */
  readonly record?: Uint8Array;
  readonly policyRecord?: Uint8Array;
}

/** What the receipt is checked against, given who presents it. */
export function presenterOf({ callerKeyId, requestHash }: AnswerEvidence): ReceiptSubject {
  return {
    ...(callerKeyId === undefined ? {} : { callerKeyId }),
    ...(requestHash === undefined ? {} : { requestHash }),
  };
}

/** A human-readable summary of a valid receipt. */
export function receiptFound(receipt: Receipt): string {
  return `Served at ${receipt.served_at} by ${receipt.region} to ${receipt.ai_company_uuid}.`;
}
