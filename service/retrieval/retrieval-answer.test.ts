import { describe, expect, it, vi } from "vitest";
import { problem } from "../../protocol/problem.ts";
import type { CommitOutcome } from "../../storage/actor-store.ts";
import { type Outcome, type Refused, refused } from "../answer.ts";
import type { NonceDecided } from "../authentication/authenticate.ts";
import {
  answerWithReceipt,
  NotAnswered,
  type Prepared,
  type Receipts,
  type SignedReceipt,
} from "./receipts.ts";

const prepared = { body: "{}", receipt: { envelope: "e" } as SignedReceipt, answered: () => {} };
const wrong = refused(problem("request_invalid", "wrong"));
const reused = refused(problem("nonce_reused", "used"));
const answered: Outcome = {
  kind: "answer",
  status: 200,
  headers: { "content-type": "application/json", "cache-control": "no-store" },
  body: "{}",
};

/** Everything that an answer waits for, settled by the test; `told` lists what was started, in order. */
function world(sharesCommits: boolean) {
  const told: string[] = [];
  const made = Promise.withResolvers<Prepared | Refused>();
  const claimed = Promise.withResolvers<Refused | null>();
  const decided = Promise.withResolvers<NonceDecided>();
  const kept = Promise.withResolvers<void>();
  let retracting: Promise<void> = Promise.resolve();
  const retract = (): Promise<void> => {
    told.push("retract");
    return retracting;
  };
  let isClaiming = false;
  const claimNonce = () => {
    if (!isClaiming) told.push("claim");
    isClaiming = true;
    return { claimed: claimed.promise, decided: decided.promise };
  };
  const commits: unknown[] = [];
  const keep: Receipts["keep"] = (receipt, after) => {
    told.push(`keep ${receipt.envelope}`);
    commits.push(after);
    return kept.promise.then(() => ({ retract }));
  };
  const prepare = () => {
    told.push("prepare");
    return made.promise;
  };
  const answer = answerWithReceipt({ sharesCommits, keep } as unknown as Receipts, claimNonce, prepare);
  answer.then(
    () => told.push("answered"),
    () => {},
  );
  const cannotRetract = (): void => {
    retracting = Promise.reject(new NotAnswered());
    retracting.catch(() => {});
  };
  return { told, made, claimed, decided, kept, commits, answer, cannotRetract };
}

/** What was started once everything settled so far has taken effect. */
async function toldNow(told: readonly string[]): Promise<readonly string[]> {
  for (let i = 0; i < 20; i += 1) await null;
  return [...told];
}

describe("an answer with its receipt", () => {
  it.each([
    [true, ["prepare"], ["prepare", "claim"]],
    [false, ["claim", "prepare"], ["claim", "prepare"]],
  ])(
    "claims the nonce when it is prepared, or meanwhile (R3; shared commits: %s)",
    async (shares, before, after) => {
      const { told, made } = world(shares);
      expect(await toldNow(told)).toEqual(before);
      made.resolve(prepared);
      expect(await toldNow(told)).toEqual(after);
    },
  );

  it("leaves when receipt and claim are durable, and not before (R2)", async () => {
    const { told, made, claimed, decided, kept, commits, answer } = world(true);
    const commit = Promise.resolve<CommitOutcome>({ status: "applied" });
    made.resolve(prepared);
    decided.resolve({ refused: null, commit });
    const begun = ["prepare", "claim", "keep e"];
    expect(await toldNow(told)).toEqual(begun);
    expect(commits).toEqual([commit]);
    kept.resolve();
    expect(await toldNow(told)).toEqual(begun);
    claimed.resolve(null);
    expect(await answer).toEqual(answered);
  });

  it("waits for its receipt when the claim is durable first (R2)", async () => {
    const { told, made, claimed, decided, kept, answer } = world(false);
    made.resolve(prepared);
    claimed.resolve(null);
    decided.resolve({ refused: null, commit: null });
    expect(await toldNow(told)).toEqual(["claim", "prepare", "keep e"]);
    kept.resolve();
    expect(await answer).toEqual(answered);
  });

  it("keeps no receipt of a replay (R1)", async () => {
    const { told, made, claimed, decided, answer } = world(true);
    made.resolve(prepared);
    decided.resolve({ refused: reused, commit: null });
    claimed.resolve(reused);
    expect(await answer).toBe(reused);
    expect(told).toEqual(["prepare", "claim", "answered"]);
  });

  it.each([
    [null, wrong],
    [reused, reused],
  ])("says what is wrong only after the claim, and of a replay only that (R2)", async (claim, said) => {
    const { told, made, claimed, answer } = world(true);
    made.resolve(wrong);
    expect(await toldNow(told)).toEqual(["prepare", "claim"]);
    claimed.resolve(claim);
    expect(await answer).toBe(said);
  });

  it.each([
    ["fails", new Error("lost")],
    ["is a replay after all", reused],
  ])("takes its receipt back before it is refused, if the claim %s (R5)", async (_what, ending) => {
    const { told, made, claimed, decided, kept, answer } = world(true);
    const putBack = vi.fn();
    made.resolve({ ...prepared, payment: { putBack } });
    decided.resolve({ refused: null, commit: null });
    kept.resolve();
    if (ending instanceof Error) claimed.reject(ending);
    else claimed.resolve(ending);
    if (ending instanceof Error) await expect(answer).rejects.toBe(ending);
    else expect(await answer).toBe(ending);
    expect(told.slice(0, 4)).toEqual(["prepare", "claim", "keep e", "retract"]);
    expect(putBack).toHaveBeenCalledTimes(1);
  });

  it("is not refused if its receipt cannot be taken back: what was paid stays paid (R5)", async () => {
    const { made, claimed, decided, kept, answer, cannotRetract } = world(true);
    const putBack = vi.fn();
    cannotRetract();
    made.resolve({ ...prepared, payment: { putBack } });
    decided.resolve({ refused: null, commit: null });
    kept.resolve();
    claimed.reject(new Error("lost"));
    await expect(answer).rejects.toThrow(NotAnswered);
    expect(putBack).not.toHaveBeenCalled();
  });

  it.each(["made", "decided", "kept", "claimed"] as const)(
    "fails when what it needs does (%s)",
    async (step) => {
      const all = world(true);
      const lost = new Error("lost");
      for (const each of ["made", "decided", "kept", "claimed"] as const) {
        all[each].promise.catch(() => {});
        if (each === step) all[each].reject(lost);
      }
      all.made.resolve(prepared);
      all.decided.resolve({ refused: null, commit: null });
      all.kept.resolve();
      all.claimed.resolve(null);
      await expect(all.answer).rejects.toBe(lost);
    },
  );
});
