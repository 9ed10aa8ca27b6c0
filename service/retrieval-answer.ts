// The end of every search and fetch: what was prepared becomes an answer only once its receipt and the claim of its
// request's nonce are durable, in a single commit if the store supports it (specification, «Authentication», check 7).
//   R1. No receipt is kept without the claim, and none after a replay.
//   R2. Nothing is answered before the claim is durable. A replay is refused with `nonce_reused`, whatever else there
//       was to say.
//   R3. If both share a commit, the claim waits until the answer is prepared; otherwise it runs in parallel.
//   R4. What was paid for an answer is put back unless its receipt may be kept: what is refused, has no row or fails is free.

import type { Priced } from "../protocol/price-list.ts";
import { StoreError } from "../storage/actor-store.ts";
import type { Allowance, Payment } from "./allowance.ts";
import { isRefused, type Outcome, type Refused } from "./answer.ts";
import type { Authenticated } from "./authenticate.ts";
import type { Receipts, SignedReceipt } from "./receipts.ts";

/** Everything in an answer; it is not handed out before its receipt is kept. */
export interface Prepared {
  readonly body: string;
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
  if (refused === null) await keep(receipts, prepared, commit);
  else prepared.payment?.putBack();
  const reused = await claimed;
  if (reused !== null) return reused;
  await prepared.kept;
  prepared.answered();
  return { kind: "answer", status: 200, headers, body: prepared.body };
}

async function keep(
  receipts: Receipts,
  { receipt, payment }: Prepared,
  commit: Parameters<Receipts["keep"]>[1],
): Promise<void> {
  try {
    await receipts.keep(receipt, commit);
  } catch (error) {
    // Otherwise nobody knows whether the receipt is there; if it is, it is charged.
    if (error instanceof StoreError && error.effect === "not_applied") payment?.putBack();
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
