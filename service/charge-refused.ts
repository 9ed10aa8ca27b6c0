// What the key's actor refuses to charge: a `seq` already used, or records and bytes over a cap of its mandate.

import type { CapUsedUp, ChargeReply, SeqReply } from "../actors/messages/integration-key.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";
import { keyRevoked } from "./find-mandate.ts";
import { rateLimited } from "./rate-limited.ts";
import type { StagedBatch } from "./staged-batch.ts";

type SeqUsed = Extract<SeqReply, { status: "seq_not_increasing" }>;

/** What is charged, and under which caps; without `records` for a body that was not parsed yet. */
interface Charge {
  readonly records?: number;
  readonly bytes: number;
  readonly caps: { readonly records_per_hour: number; readonly bytes_per_day: number };
}

/** What each cap counts, and for how long. */
const capWords = {
  records_per_hour: { unit: "records", window: "hour" },
  bytes_per_day: { unit: "bytes", window: "day" },
} as const;

export function capRefused(
  { cap, left, retry_after_seconds }: CapUsedUp,
  { records = 0, bytes, caps }: Charge,
): Refused {
  const { unit, window } = capWords[cap];
  const isLarger = (cap === "records_per_hour" ? records : bytes) > caps[cap];
  const usedUp =
    left === 0
      ? `The mandate's cap ${cap} is used up.`
      : `The mandate's cap ${cap} has room for ${left} more ${unit} in this ${window}.`;
  const detail = isLarger
    ? `This has more ${unit} than the mandate allows in a whole ${window} (${cap} is ${caps[cap]}), so waiting does not help: send less at once, or under a mandate with a higher cap.`
    : usedUp;
  return rateLimited(detail, { retry_after_seconds, reason: cap });
}

export function seqRefused({ last_seq }: SeqUsed): Refused {
  const detail =
    last_seq === Number.MAX_SAFE_INTEGER
      ? "The last accepted seq of this key is the greatest that there is: publish with another key."
      : `seq must exceed ${last_seq}, the last accepted seq of this key.`;
  return refused(problem("seq_not_increasing", detail, { last_seq }));
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
