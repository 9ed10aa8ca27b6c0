// Random concurrent writers against a model; part of the suite in actor-store.conformance.ts.

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  after,
  event,
  following,
  freshRef,
  keyed,
  type OpenActorStore,
  operationId,
} from "./actor-store.fixture.ts";
import {
  type ActorCommit,
  type ActorHead,
  type ActorRef,
  type ActorStore,
  type CommitOutcome,
  rowTable,
} from "./actor-store.ts";

interface Applied {
  readonly commit: ActorCommit;
}

/** One writer's life: it claims, then commits until it is refused, sometimes sending a commit twice. */
async function runWriter(
  store: ActorStore,
  ref: ActorRef,
  plan: readonly number[],
  tag: number,
  applied: Applied[],
) {
  let head: Pick<ActorHead, "epoch" | "head" | "op"> | null = null;
  for (let step = 0; step < plan.length; step += 1) {
    const choice = plan[step] ?? 0;
    if (head === null || choice === 0) head = (await store.claim(ref, `writer-${tag}`)).head;
    const key = `k${choice % 4}`;
    const commit: ActorCommit = following(ref, head, {
      op: operationId(tag * 10_000 + step + 1),
      puts: choice % 3 === 0 ? [] : [keyed(0, key, `${tag}:${step}`), event(head.head + 1, `${tag}:${step}`)],
      deletes: choice % 3 === 0 ? [{ rt: rowTable.firstKeyed, k: 0, k2: key }] : [],
      wakeAtMs: choice,
    });
    const outcomes: CommitOutcome[] = await Promise.all(
      choice % 5 === 1 ? [store.commit(commit), store.commit(commit)] : [store.commit(commit)],
    );
    if (outcomes.some((outcome) => outcome.status === "applied")) {
      applied.push({ commit });
      head = after(commit);
    } else head = null;
  }
}

/** Random concurrent writers leave one chain of commits: S1–S3 and S5 under concurrency. */
export function describeConcurrency(start: () => Promise<OpenActorStore>): void {
  it("random concurrent writers leave one chain of commits, and its rows (property)", async () => {
    const { store } = await start();
    const plans = fc.array(fc.array(fc.nat({ max: 11 }), { minLength: 1, maxLength: 12 }), {
      minLength: 2,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(plans, async (writers) => {
        const ref = freshRef();
        const applied: Applied[] = [];
        await Promise.all(writers.map((plan, tag) => runWriter(store, ref, plan, tag + 1, applied)));
        const chain = applied.map((each) => each.commit).sort((a, b) => a.expectedHead - b.expectedHead);
        const rows = new Map<string, string>();
        let op = "";
        let epoch = 0;
        chain.forEach((commit, index) => {
          expect(commit.expectedHead).toBe(index);
          expect(commit.expectedOp).toBe(op);
          expect(commit.epoch).toBeGreaterThanOrEqual(epoch);
          op = commit.op;
          epoch = commit.epoch;
          for (const key of commit.deletes) rows.delete(key.k2);
          for (const row of commit.puts) if (row.rt >= rowTable.firstKeyed) rows.set(row.k2, row.body);
        });
        const activation = await store.claim(ref, "checker");
        expect(activation.head).toMatchObject({ head: chain.length, op });
        expect(activation.events.map((row) => row.body)).toEqual(
          chain.flatMap((commit) =>
            commit.puts.filter((row) => row.rt === rowTable.event).map((row) => row.body),
          ),
        );
        const kept = await store.readRows(ref, [{ rt: rowTable.firstKeyed, limit: 100 }]);
        expect(new Map(kept.map((row) => [row.k2, row.body]))).toEqual(rows);
      }),
      { numRuns: 30 },
    );
  });
}
