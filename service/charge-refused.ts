// What the actor of a key does not charge: a `seq` that was used, or records and bytes over a cap of its mandate.

import type { CapUsedUp, ChargeReply, SeqReply } from "../actors/messages/integration-key.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";
import { keyRevoked } from "./find-mandate.ts";
import { rateLimited } from "./rate-limited.ts";
import type { StagedBatch } from "./staged-batch.ts";

type SeqUsed = Extract<SeqReply, { status: "seq_not_increasing" }>;

export function capRefused({ cap, retry_after_seconds }: CapUsedUp): Refused {
  return rateLimited(`The mandate's cap ${cap} is used up.`, { retry_after_seconds, reason: cap });
}

export function seqRefused({ last_seq }: SeqUsed): Refused {
  return refused(
    problem("seq_not_increasing", `seq must exceed ${last_seq}, the last accepted seq of this key.`),
  );
}

/** A cap that is free again so soon may let the same batch in, sent twice, whose bytes these are too. */
const soonFreeSeconds = 60;

/** The refusal of a batch that was staged and not charged. What was staged of it goes. */
export async function notCharged(
  staged: StagedBatch,
  charged: Exclude<ChargeReply, { status: "accepted" | "known" }>,
): Promise<Refused> {
  if (charged.status === "over") {
    // Where the cap is soon free, the look at abandoned pushes drops it.
    if (charged.retry_after_seconds > soonFreeSeconds) await staged.dropOwn();
    return capRefused(charged);
  }
  // Another batch used the seq meanwhile, or the key was revoked: this one can never be accepted.
  await staged.drop();
  return charged.status === "retired" ? keyRevoked : seqRefused(charged);
}
