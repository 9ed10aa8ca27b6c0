// What the key's actor refuses to charge: a `seq` already used, or records and bytes over a cap of its mandate.

import type { CapUsedUp, ChargeReply, SeqReply } from "../actors/messages/integration-key.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";
import { keyRevoked } from "./find-mandate.ts";
import { rateLimited } from "./rate-limited.ts";
import type { StagedBatch } from "./staged-batch.ts";

type SeqUsed = Extract<SeqReply, { status: "seq_not_increasing" }>;

/** What is charged, and under which caps. */
interface Charge {
  readonly bytes: number;
  readonly caps: { readonly bytes_per_day: number };
}

export function capRefused({ cap, retry_after_seconds }: CapUsedUp, { bytes, caps }: Charge): Refused {
  const isLarger = cap === "bytes_per_day" && bytes > caps.bytes_per_day;
  const detail = isLarger
    ? `This has more bytes than the mandate allows in a whole day (bytes_per_day is ${caps.bytes_per_day}), so waiting does not help: send less at once, or under a mandate with a higher cap.`
    : `The mandate's cap ${cap} is used up.`;
  return rateLimited(detail, { retry_after_seconds, reason: cap });
}

export function seqRefused({ last_seq }: SeqUsed): Refused {
  return refused(
    problem("seq_not_increasing", `seq must exceed ${last_seq}, the last accepted seq of this key.`),
  );
}

/**
 * A cap that frees up this soon may admit the same batch when it is resent, and the staged bytes belong to that resend
 * as well.
 */
const soonFreeSeconds = 60;

/** The refusal of a batch that was staged but not charged; what was staged of it is dropped. */
export async function notCharged(
  staged: StagedBatch,
  charged: Exclude<ChargeReply, { status: "accepted" | "known" }>,
  charge: Charge,
): Promise<Refused> {
  if (charged.status === "over") {
    // If the cap frees up soon, the sweep of abandoned pushes drops it instead.
    if (charged.retry_after_seconds > soonFreeSeconds) await staged.dropOwn();
    return capRefused(charged, charge);
  }
  // Another batch used the seq in the meantime, or the key was revoked: this batch can never be accepted.
  await staged.drop();
  return charged.status === "retired" ? keyRevoked : seqRefused(charged);
}
