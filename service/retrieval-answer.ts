// The end of every search and fetch: what was prepared becomes an answer only once its receipt and the claim of its
// request's nonce are durable, in a single commit if the store supports it (specification, «Authentication», check 7).
//   R1. No receipt is kept without the claim, and none after a replay.
//   R2. Nothing is answered before the claim is durable. A replay is refused with `nonce_reused`, whatever else there
//       was to say.
//   R3. If both share a commit, the claim waits until the answer is prepared; otherwise it runs in parallel.
//   R4. What was paid for an answer is put back unless its receipt may be kept: what is refused, has no row or fails is free.
//   R5. What fails after the receipt was kept is refused only once the receipt is taken back.

import type { Priced } from "../protocol/price-list.ts";
import type { Allowance, Payment } from "./allowance.ts";
import { type AnswerBody, isRefused, type Outcome, type Refused } from "./answer.ts";
import type { Authenticated } from "./authenticate.ts";
import { NotAnswered, type Receipts, type SignedReceipt } from "./receipts.ts";

/** Everything in an answer; it is not handed out before its receipt is kept. */
export interface Prepared {
  readonly body: AnswerBody;
  readonly receipt: SignedReceipt;
  /** What was paid for it; absent if nothing was. */
  readonly payment?: Payment;
  /** What else has to be durable before it is handed out, if it has begun; a failure refuses the answer. */
  readonly kept?: Promise<void>;
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
  // It is awaited below; if the answer is refused before, nobody handles its failure.
  if ("kept" in prepared) prepared.kept?.catch(() => {});
  if ("kind" in prepared) return (await claimed) ?? prepared;
  const { refused, commit } = await decided.catch((error: unknown) => {
    prepared.payment?.putBack();
    throw error;
  });
  if (refused !== null) {
    prepared.payment?.putBack();
    return (await claimed) ?? refused;
  }
  try {
    const reused = await keep(receipts, prepared, { commit, claimed });
    if (reused !== null) {
      prepared.payment?.putBack();
      return reused;
    }
  } catch (error) {
    // Otherwise nobody knows whether the receipt is there; if it is, it is charged.
    if (!(error instanceof NotAnswered)) prepared.payment?.putBack();
    throw error;
  }
  prepared.answered();
  return { kind: "answer", status: 200, headers, body: prepared.body };
}

async function keep(
  receipts: Receipts,
  { receipt, kept }: Prepared,
  {
    commit,
    claimed,
  }: { readonly commit: Parameters<Receipts["keep"]>[1]; readonly claimed: Promise<Refused | null> },
): Promise<Refused | null> {
  const { retract } = await receipts.keep(receipt, commit);
  try {
    const reused = await claimed;
    if (reused === null) {
      await kept;
      return null;
    }
    await retract();
    return reused;
  } catch (error) {
    if (!(error instanceof NotAnswered)) await retract();
    throw error;
  }
}

/** Pays for an answer before it is prepared (R4). */
export async function preparePaid(
  {
    allowance,
    company,
    ...priced
  }: Omit<Priced, "atMs"> & {
    /** Null where nothing is charged. */
    readonly allowance: Allowance | null;
    readonly company: string;
  },
  prepare: () => Promise<Prepared | Refused>,
): Promise<Prepared | Refused> {
  if (allowance === null) return prepare();
  const payment = await allowance.pay(company, priced);
  if (isRefused(payment)) return payment;
  const prepared = await prepare().catch((error: unknown) => {
    payment.putBack();
    throw error;
  });
  if (!isRefused(prepared) && prepared.receipt.served.rows.length > 0) return { ...prepared, payment };
  payment.putBack();
  return prepared;
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
