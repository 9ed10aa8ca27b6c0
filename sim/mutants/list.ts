// The mutant list. Every one must be caught: a survivor is a hole in the checkers or in what the worlds do.

import type { LeafClaim } from "../../actors/messages/business.ts";
import type { IntegrationKeyProtocol } from "../../actors/messages/integration-key.ts";
import type { CommandOf } from "../../actors/messages/protocol.ts";
import type { PushCommand } from "../../actors/messages/push.ts";
import type { Activity, ActivityContext } from "../../actors/system/definition.ts";
import { StoreError } from "../../storage/actor-store.ts";
import type { VersionRow } from "../../storage/record-store.ts";
import { changed, changingRows, deciding, hidingRows, type Mutant, mutant, withoutGuard } from "./mutant.ts";

/** Keyed rows of the kinds, as they number them. */
const business = { head: 16, answer: 17, admission: 19 } as const;
const key = { nonce: 16, idempotency: 17, charged: 18 } as const;

const journal: readonly Mutant[] = [
  withoutGuard("commitChecksEpoch", "a commit does not check the epoch"),
  withoutGuard("commitChecksHead", "a commit does not check head and operation"),
  withoutGuard("refusalComparesOperation", "a refused commit is not recognised as its own"),
  withoutGuard("claimRaisesConditionally", "a claim raises the epoch without a condition"),
  withoutGuard("claimReadsAgain", "a claim does not read serially once more"),
  withoutGuard("replayIsLowerBounded", "a replay begins with what the snapshot contains"),
  withoutGuard("pruneIsFenced", "events are pruned outside the fence"),
  mutant("outboxIsForgotten", "effects that a former activation left are not sent", {
    actorStore: (store) => ({
      ...bound(store),
      claim: async (ref, owner) => ({ ...(await store.claim(ref, owner)), outbox: [] }),
    }),
  }),
  mutant("inboxIsForgotten", "what was heard of a sender is not kept", {
    actorStore: (store) => ({
      ...bound(store),
      claim: async (ref, owner) => ({ ...(await store.claim(ref, owner)), inbox: [] }),
    }),
  }),
  mutant("unknownIsFailed", "an unknown outcome is taken for a failure", {
    actorStore: (store) => ({
      ...bound(store),
      commit: (commit) =>
        store.commit({ ...commit }).catch((error: unknown) => {
          if (error instanceof StoreError && error.effect === "unknown")
            return {
              status: "refused" as const,
              epoch: commit.epoch,
              head: commit.expectedHead,
              op: commit.expectedOp,
            };
          throw error;
        }),
    }),
  }),
  mutant("effectBeforeCommit", "replies leave before the commit is true", {
    actorStore: (store) => ({
      ...bound(store),
      commit: async (commit) => {
        store.commit(commit).catch(() => {});
        return { status: "applied" };
      },
    }),
  }),
];

const keys: readonly Mutant[] = [
  mutant("nonceOnlyInMemory", "a nonce is claimed and not kept", {
    ...deciding("integration-key", (truly, command, view) => {
      const decision = truly(command, view);
      return command.type === "nonce.claim" ? { ...decision, puts: [] } : decision;
    }),
  }),
  mutant("seqIsNotChecked", "a used seq is charged again", {
    ...deciding("integration-key", (truly, command, view) => {
      if (command.type === "seq.check") {
        const decision = truly(command, view);
        const { status } = decision.reply as { status: string };
        return status === "seq_not_increasing" ? { reply: { status: "accepted" } } : decision;
      }
      if (command.type !== "push.charge") return truly(command, view);
      return truly(
        changed(command, { seq: Number.MAX_SAFE_INTEGER - 1_000_000 + (view.nowMs % 1_000_000) }),
        view,
      );
    }),
  }),
  mutant("chargeIsNotRemembered", "a charged push is charged anew", {
    ...deciding("integration-key", (truly, command, view) =>
      truly(
        command,
        hidingRows(view, (rt) => rt === key.charged),
      ),
    ),
  }),
  mutant("capsAreNotChecked", "caps refuse nothing", {
    ...deciding("integration-key", (truly, command, view) => {
      const caps = { records_per_hour: 1e12, bytes_per_day: 1e12 };
      return truly("caps" in command ? changed(command, { caps }) : command, view);
    }),
  }),
  mutant("answersAreNotKept", "an idempotent answer is forgotten", {
    ...deciding("integration-key", (truly, command, view) => {
      if (command.type !== "idempotency.settle") return truly(command, view);
      const { scope } = command as CommandOf<IntegrationKeyProtocol, "idempotency.settle">;
      return { reply: { status: "done" }, deletes: [{ rt: key.idempotency, k: 0, k2: scope }] };
    }),
  }),
  mutant("claimForgetsItsRequest", "another request is begun under an Idempotency-Key that is in use", {
    ...deciding("integration-key", (truly, command, view) => {
      const decision = truly(command, view);
      if ((decision.reply as { status?: string } | undefined)?.status !== "conflict") return decision;
      return truly(
        command,
        hidingRows(view, (rt) => rt === key.idempotency),
      );
    }),
  }),
];

const businesses: readonly Mutant[] = [
  mutant("chunkAnswerIsForgotten", "a chunk asked again gets new generations", {
    ...deciding("business", (truly, command, view) =>
      truly(
        command,
        command.type === "chunk.assign" ? hidingRows(view, (rt) => rt === business.answer) : view,
      ),
    ),
  }),
  mutant("supersededIsNotChecked", "an earlier push is applied over a later change", {
    ...deciding("business", (truly, command, view) =>
      truly(
        command,
        command.type === "chunk.assign"
          ? changingRows(view, business.head, (body) => body.replace(/"number":\d+/, '"number":0'))
          : view,
      ),
    ),
  }),
  mutant("admissionIsForgotten", "a push admitted again gets another number", {
    ...deciding("business", (truly, command, view) =>
      truly(
        command,
        command.type === "push.admit" ? hidingRows(view, (rt) => rt === business.admission) : view,
      ),
    ),
  }),
  mutant("generationRestarts", "a record that was removed begins at generation 1 again", {
    ...deciding("business", (truly, command, view) => {
      if (command.type !== "chunk.assign") return truly(command, view);
      const { leaves } = command as unknown as { leaves: readonly LeafClaim[] };
      const removed = new Set(
        leaves
          .map((leaf) => leaf.record_id)
          .filter((id) => (view.row(business.head, 0, id)?.body ?? "").includes('"live":false')),
      );
      return truly(
        command,
        hidingRows(view, (rt, k2) => rt === business.head && removed.has(k2)),
      );
    }),
  }),
  mutant("revocationIsIgnored", "a revoked key still publishes", {
    ...deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      if (command.type !== "publishing.facts") return decision;
      const facts = decision.reply as { key: string };
      return { ...decision, reply: facts.key === "revoked" ? { ...facts, key: "live" } : facts };
    }),
  }),
  mutant(
    "removalIsUntold",
    "a removal does not reach the index",
    activity("removeRecord", async () => null),
  ),
];

const pushes: readonly Mutant[] = [
  mutant("unindexedIsForgotten", "a region that could not be told is not told again", {
    ...deciding("push", (truly, command, view) =>
      truly(command.type === "chunk.settle" ? changed(command, { unindexed: [] }) : command, view),
    ),
  }),
  mutant("answerWaitsForIndexes", "a caller waits until every index has confirmed", {
    ...deciding("push", (truly, command, view) =>
      command.type === "push.await" && view.snapshot.matches("indexing")
        ? { wait: true }
        : truly(command, view),
    ),
  }),
  mutant(
    "settlementWaitsForIndexes",
    "a chunk is settled when every index has confirmed, or its answer is late",
    {
      activities: (given) => ({
        ...given,
        processChunk: async (params: unknown, context: ActivityContext) => {
          const patient: ActivityContext = { ...context, ask: (to, command) => context.ask(to, command) };
          return (await given["processChunk"]?.(params, patient)) ?? null;
        },
      }),
    },
  ),
  mutant("companiesAreNotFollowed", "a node that starts does not read which companies there are", {
    register: (store) => ({
      ...bound(store),
      follow: () => {
        const feed = store.follow();
        return {
          next: async (limit) => {
            const { entries, more } = await feed.next(limit);
            return { entries: entries.filter(({ table }) => table !== "certificate"), more };
          },
        };
      },
    }),
  }),
  mutant("acceptedTwice", "a known push is accepted anew", {
    ...deciding("push", (truly, command, view) => {
      const decision = truly(command, view);
      const reply = decision.reply as { status?: string } | undefined;
      return command.type === "push.accept" && reply?.status === "known"
        ? { ...decision, reply: { ...reply, status: "accepted" } }
        : decision;
    }),
  }),
  mutant("settledTooEarly", "a chunk counts as settled before its versions are stored", {
    activities: (given) => ({
      ...given,
      processChunk: async (params: unknown, context: ActivityContext) => {
        const quiet = { ...context, ask: context.ask };
        const settled = (await given["processChunk"]?.(params, quiet)) as PushCommand | null;
        return settled;
      },
    }),
    records: (records) => ({
      ...bound(records),
      putVersions: async (versions, heads) => {
        records.putVersions(versions, heads).catch(() => {});
      },
    }),
  }),
  mutant("stagedIsDroppedEarly", "staged leaves go before the push is finished", {
    records: (records) => ({
      ...bound(records),
      putSeal: async (seal) => {
        await records.putSeal(seal);
        for (const { push_id } of await records.stagedPushes("", 100)) await records.dropStaged(push_id);
      },
    }),
  }),
];

const serving: readonly Mutant[] = [
  mutant("noTombstone", "a removed row leaves no tombstone", {
    indexed: (change) => (change.kind === "remove" ? { ...change, change: 0 } : change),
    index: (index) => ({
      ...bound(index),
      apply: (changes) =>
        index.apply(changes.map((change) => (change.kind === "put" ? change : { ...change, change: 1e9 }))),
    }),
  }),
  mutant("anyVersionWithTheBytes", "a row is found by its bytes, whichever version has them", {
    records: (records) => ({
      ...bound(records),
      readRows: async (ids) => {
        const rows: (VersionRow | null)[] = [];
        for (const { record_id, hash } of ids) {
          const versions = await records.listVersions(record_id, null, 100);
          const found = versions.find((version) => version.hash === hash);
          rows.push(found ? await records.readPublished({ record_id, ...found }) : null);
        }
        return rows.flatMap((row, index) =>
          row === null ? [] : [{ ...row, generation: ids[index]?.generation ?? 0 }],
        );
      },
    }),
  }),
  mutant("headsTakeAnyChange", "a head is replaced by whatever comes last", {
    records: (records) => {
      let writes = 0;
      return {
        ...bound(records),
        putVersions: async (versions, heads) => {
          writes += 1_000_000;
          await records.putVersions(
            versions,
            heads.map((head) => ({ ...head, change: head.change + writes })),
          );
        },
      };
    },
  }),
  mutant("keyIsEverybodys", "a key belongs to everyone who claims it", {
    register: (register) => ({ ...bound(register), claimKey: async (_keyId, party) => party }),
  }),
  mutant("receiptIsNotAwaited", "an answer leaves before its receipt is durable", {
    receipts: (receipts) => ({
      ...bound(receipts),
      append: async (row, after) => {
        receipts.append(row, after).catch(() => {});
      },
    }),
  }),
  mutant("receiptWithoutLease", "a node without a lease still writes receipts", {
    lease: (_given, process) => () => process,
  }),
];

const sweeping: readonly Mutant[] = [
  mutant("sweepAsksNobody", "what was staged long ago is dropped without asking its push", {
    sweep: (deps) => ({ ...deps, actors: { inspect: async () => null } }),
  }),
  mutant("sweepNeverComes", "what is abandoned stays", {
    sweep: (deps) => ({ ...deps, everyMs: 1e9 }),
  }),
  mutant("sweepTakesWhatIsNew", "what was staged a moment ago is dropped as abandoned", {
    sweep: (deps) => ({ ...deps, afterMs: 0 }),
  }),
  mutant("sweepTakesWhatIsStagedAgain", "what is staged again while it is judged is dropped", {
    sweep: (deps) => ({
      ...deps,
      records: { ...bound(deps.records), dropStaged: (id) => deps.records.dropStaged(id) },
    }),
  }),
  mutant("acceptedHoweverLate", "a push is accepted a day after it was staged", {
    ...deciding("push", (truly, command, view) =>
      truly(command.type === "push.accept" ? changed(command, { accept_by_ms: Infinity }) : command, view),
    ),
  }),
];

export const mutants: readonly Mutant[] = [
  ...journal,
  ...keys,
  ...businesses,
  ...pushes,
  ...sweeping,
  ...serving,
];

function activity(name: string, instead: Activity) {
  return { activities: (given: Record<string, Activity>) => ({ ...given, [name]: instead }) };
}

/** The methods of a port as a plain object, for one of them to be replaced. */
function bound<T extends object>(port: T): T {
  const methods: Record<string, unknown> = {};
  for (let owner: object = port; owner !== Object.prototype; owner = Object.getPrototypeOf(owner) as object) {
    for (const name of Object.getOwnPropertyNames(owner)) {
      const member = (port as Record<string, unknown>)[name];
      if (name !== "constructor" && typeof member === "function") methods[name] ??= member.bind(port);
    }
  }
  return methods as T;
}
