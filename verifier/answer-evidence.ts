import type { JsonValue } from "../protocol/canonical-json.ts";
import type { Receipt } from "../protocol/receipt.ts";
import type { ReceiptSubject } from "./receipt.ts";

/** What a caller may hold beside an answer; parsed JSON of the verification surface, except where stated. */
export interface AnswerEvidence {
  /** The caller's own key: the receipt must name it. */
  readonly callerKeyId?: string;
  /** SHA-256 of the signature base that the caller sent. */
  readonly requestHash?: string;
  /** Answer of `GET /v1/certificates/{uuid}`. */
  readonly certificate?: JsonValue;
  /** Answer of `GET /v1/certificates/{uuid}/keys`. */
  readonly businessKeys?: JsonValue;
  /** Answer of `GET /v1/certificates/{uuid}/key-custody`. */
  readonly keyCustody?: JsonValue;
  /** Mandate envelope. */
  readonly mandate?: JsonValue;
  /** Exact bytes of the record and of the AI policy record, where the answer's text is no longer the one served. */
  readonly record?: Uint8Array;
  readonly policyRecord?: Uint8Array;
}

/** What the receipt is held against because of who presents it. */
export function presenterOf({ callerKeyId, requestHash }: AnswerEvidence): ReceiptSubject {
  return {
    ...(callerKeyId === undefined ? {} : { callerKeyId }),
    ...(requestHash === undefined ? {} : { requestHash }),
  };
}

/** What a receipt that holds says, for a person. */
export function receiptFound(receipt: Receipt): string {
  return `Served at ${receipt.served_at} by ${receipt.region} to ${receipt.ai_company_uuid}.`;
}
