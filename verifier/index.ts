// The public API of the verifier's package; README.md describes it.

export { sha256 } from "../protocol/bytes.ts";
export { type Anchors, parseAnchors } from "../protocol/keys/anchors.ts";
export { type SignatureVerifier, verifySignature } from "../protocol/keys/signatures.ts";
export { type ReasonCode, reasonCodes, type Verdict } from "../protocol/reason-codes.ts";
export type { Receipt } from "../protocol/receipt.ts";
export type { IndexRow } from "../protocol/row.ts";
export type { AcceptedKeys } from "./accepted-keys.ts";
export { type AnswerKind, type EvidenceTexts, evidenceText } from "./evidence.ts";
export type { Check, Report } from "./members.ts";
export type { AnswerEvidence, ReceiptSubject } from "./receipt.ts";
export { createVerifier, type Verifier, type VerifierOptions, verifyEvidence } from "./verifier.ts";
export { AnchorsError, acceptedKeys, type VerifyOptions, verify } from "./verify.ts";
