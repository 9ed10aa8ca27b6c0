// The end of every search and fetch: what was prepared becomes an answer only once its receipt and the claim of its
// request's nonce are durable, in a single commit if the store supports it (specification, «Authentication», check 7).
//   R1. No receipt is kept without the claim, and none after a replay.
//   R2. Nothing is answered before the claim is durable. A replay is refused with `nonce_reused`, whatever else there
//       was to say.
//   R3. If both share a commit, the claim waits until the answer is prepared; otherwise it runs in parallel.

import type { Outcome, Refused } from "./answer.ts";
import type { Authenticated } from "./authenticate.ts";
import type { Receipts, SignedReceipt } from "./receipts.ts";

/** Everything in an answer; it is not handed out before its receipt is kept. */
export interface Prepared {
  readonly body: string;
  readonly receipt: SignedReceipt;
  /** Called once nothing can keep the answer back any more. */
  readonly answered: () => void;
}

const headers = Object.freeze({ "content-type": "application/json", "cache-control": "no-store" });

/** If `prepare` refuses, that refusal is returned once the nonce is claimed. */
export async function answerWithReceipt(
  receipts: Receipts,
  claimNonce: Authenticated["claimNonce"],
  prepare: () => Promise<Prepared | Refused>,
): Promise<Outcome> {
  if (!receipts.sharesCommits) claimNonce();
  const prepared = await prepare();
  const { claimed, decided } = claimNonce();
  if ("kind" in prepared) return (await claimed) ?? prepared;
  const { refused, commit } = await decided;
  if (refused === null) await receipts.keep(prepared.receipt, commit);
  const reused = await claimed;
  if (reused !== null) return reused;
  prepared.answered();
  return { kind: "answer", status: 200, headers, body: prepared.body };
}

/** The same without a body, with the length that it would have: nothing is delivered, so there is no receipt to keep. */
export async function answerWithoutBody(
  claimNonce: Authenticated["claimNonce"],
  measure: () => Promise<number | Refused>,
): Promise<Outcome> {
  const { claimed } = claimNonce();
  const measured = await measure();
  const reused = await claimed;
  if (reused !== null || typeof measured !== "number") return reused ?? (measured as Refused);
  return {
    kind: "answer",
    status: 200,
    headers: { ...headers, "content-length": String(measured) },
    body: "",
  };
}
