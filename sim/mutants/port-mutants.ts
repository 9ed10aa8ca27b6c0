// Mutants of what surrounds the actors (journal, activities, stores, indexes, sweeps, leases), each with one guard removed.

import type { ActivityContext } from "../../actors/system/definition.ts";
import { StoreError, storeWith } from "../../storage/actor-store.ts";
import type { PurgedVersion, VersionRow } from "../../storage/record-store.ts";
import { mayHaveNight } from "../world/paces.ts";
import { bound, commanding, type Mutant, mutant, omitting, withMembers, withoutGuard } from "./mutant.ts";

const journal: readonly Mutant[] = [
  withoutGuard("commitChecksEpoch", "a commit does not check the epoch", { seedsMax: 1_500 }),
  withoutGuard("commitChecksHead", "a commit does not check head and operation"),
  withoutGuard("refusalComparesOperation", "a refused commit is not recognised as its own"),
  withoutGuard("claimRaisesConditionally", "a claim raises the epoch without a condition"),
  withoutGuard("claimReadsAgain", "a claim does not read serially once more", { seedsMax: 1_500 }),
  withoutGuard("replayIsLowerBounded", "a replay begins with what the snapshot contains"),
  withoutGuard("pruneIsFenced", "events are pruned outside the fence", { seedsMax: 1_000 }),
  mutant("outboxIsForgotten", "effects that a former activation left are not sent", (changed) => ({
    actorStore: (store) => ({
      ...bound(store),
      claim: async (ref, owner, firstEpoch) => {
        const activation = await store.claim(ref, owner, firstEpoch);
        if (activation.outbox.length > 0) changed();
        return { ...activation, outbox: [] };
      },
    }),
  })),
  mutant("headIsBroughtAlone", "a claim has the newest head without the events of its commit", (changed) => ({
    actorStore: (store) => ({
      ...bound(store),
      claim: async (ref, owner, firstEpoch) => {
        const activation = await store.claim(ref, owner, firstEpoch);
        if (activation.events.length > 0) changed();
        return { ...activation, events: activation.events.slice(0, -1) };
      },
    }),
  })),
  mutant("inboxIsForgotten", "what was heard of a sender is not kept", (changed) => ({
    actorStore: (store) => ({
      ...bound(store),
      claim: async (ref, owner, firstEpoch) => {
        const activation = await store.claim(ref, owner, firstEpoch);
        if (activation.inbox.length > 0) changed();
        return { ...activation, inbox: [] };
      },
    }),
  })),
  mutant("joinedIsDropped", "of commits that are sent together only the first is applied", (changed) => ({
    actorStore: (store) =>
      storeWith(store, {
        commit: ({ with: others, ...commit }) => {
          if (others !== undefined) changed();
          return store.commit(commit);
        },
      }),
  })),
  mutant("joinedIsToldAgain", "what a receiver took within a commit is delivered as well", (changed) => ({
    actorStore: (store) =>
      storeWith(store, {
        commit: async (commit) => {
          const [other] = commit.with ?? [];
          if (other === undefined) return store.commit(commit);
          changed();
          const outcome = await store.commit(other);
          const { epoch, expectedHead: head, op } = other;
          return outcome.status === "applied" ? { status: "refused", epoch, head, op, other } : outcome;
        },
      }),
  })),
  mutant("unknownIsFailed", "an unknown outcome is taken for a failure", (changed) => ({
    actorStore: (store) => ({
      ...bound(store),
      commit: (commit) =>
        store.commit({ ...commit }).catch((error: unknown) => {
          if (!(error instanceof StoreError && error.effect === "unknown")) throw error;
          changed();
          const { epoch, expectedHead: head, expectedOp: op } = commit;
          return { status: "refused" as const, epoch, head, op };
        }),
    }),
  })),
  mutant("effectBeforeCommit", "replies leave before the commit is true", (changed) => ({
    actorStore: (store) => ({
      ...bound(store),
      commit: async (commit) => {
        changed();
        store.commit(commit).catch(() => {});
        return { status: "applied" };
      },
    }),
  })),
];

const activities: readonly Mutant[] = [
  // The service tells the index itself before it answers; only where its node dies meanwhile is the actor's own work missed.
  mutant("removalIsUntold", "a removal does not reach the index", omitting("removeRecord"), {
    seedsMax: 1_500,
  }),
  mutant(
    "settlementWaitsForIndexes",
    "a chunk is settled when every index has confirmed, or its answer is late",
    (changed) => ({
      activities: (given) => ({
        ...given,
        processInlineChunk: async (params: unknown, context: ActivityContext) => {
          const patient: ActivityContext = {
            ...context,
            ask: (to, command, options) => {
              if (options?.timeoutMs !== undefined) changed();
              return context.ask(to, command);
            },
          };
          return (await given["processInlineChunk"]?.(params, patient)) ?? null;
        },
      }),
    }),
  ),
  mutant("settledTooEarly", "a chunk counts as settled before its versions are stored", (changed) => ({
    records: (records) => ({
      ...bound(records),
      putVersions: async (versions, heads) => {
        changed();
        records.putVersions(versions, heads).catch(() => {});
      },
    }),
  })),
  mutant("stagedIsDroppedEarly", "staged leaves go before the push is finished", (changed) => ({
    records: (records) => ({
      ...bound(records),
      putSeal: async (seal) => {
        await records.putSeal(seal);
        for (const { push_id } of (await records.stagedPushes(null, 100)).pushes) {
          changed();
          await records.dropStaged(push_id);
        }
      },
    }),
  })),
];

const purging: readonly Mutant[] = [
  mutant("purgeIsOnlyProved", "a purge is proved and the bytes stay", (changed) => ({
    records: (records) => ({
      ...bound(records),
      purgeVersions: async (versions) => {
        if (versions.length > 0) changed();
      },
    }),
  })),
  mutant("purgeTakesTheNext", "a purge also takes the version published after the deletion", (changed) => ({
    records: (records) => ({
      ...bound(records),
      purgeVersions: async (versions) => {
        const more: PurgedVersion[] = [];
        for (const { record_id, remains } of versions) {
          for (const { generation, hash } of await records.listVersions(record_id, null, 100)) {
            if (versions.some((each) => each.record_id === record_id && each.generation === generation))
              continue;
            changed();
            more.push({ record_id, generation, hash, remains });
          }
        }
        await records.purgeVersions([...versions, ...more]);
      },
    }),
  })),
];

const serving: readonly Mutant[] = [
  mutant(
    "companiesAreNotFollowed",
    "a node that starts does not read which companies there are",
    (changed) => ({
      register: (store) => ({
        ...bound(store),
        follow: () => {
          const feed = store.follow();
          return {
            next: async (limit) => {
              const { entries, more } = await feed.next(limit);
              const left = entries.filter(({ table }) => table !== "certificate");
              if (left.length < entries.length) changed();
              return { entries: left, more };
            },
          };
        },
      }),
    }),
  ),
  mutant("noTombstone", "a removed row leaves no tombstone", (changed) => ({
    indexed: (change) => {
      if (change.kind !== "remove") return change;
      changed();
      return { ...change, change: 0 };
    },
    index: (index) => ({
      ...bound(index),
      apply: (changes) =>
        index.apply(changes.map((change) => (change.kind === "put" ? change : { ...change, change: 1e9 }))),
    }),
  })),
  mutant("anyVersionWithTheBytes", "a row is found by its bytes, whichever version has them", (changed) => ({
    records: (records) => ({
      ...bound(records),
      readRows: async (ids) => {
        const rows: VersionRow[] = [];
        for (const { record_id, hash, generation } of ids) {
          const versions = await records.listVersions(record_id, null, 100);
          const found = versions.find((version) => version.hash === hash);
          const row = found && (await records.readPublished({ record_id, ...found }));
          if (!row) continue;
          if (row.generation !== generation) changed();
          rows.push({ ...row, generation });
        }
        return rows;
      },
    }),
  })),
  mutant("headsTakeAnyChange", "a head is replaced by whatever comes last", (changed) => ({
    records: (records) => {
      let writes = 0;
      return {
        ...bound(records),
        putVersions: async (versions, heads) => {
          if (heads.length > 0) changed();
          writes += 1_000_000;
          await records.putVersions(
            versions,
            heads.map((head) => ({ ...head, change: head.change + writes })),
          );
        },
      };
    },
  })),
  mutant("keyIsEverybodys", "a key belongs to everyone who claims it", (changed) => ({
    register: (register) => ({
      ...bound(register),
      claimKey: async (keyId, party) => {
        if ((await register.claimKey(keyId, party)) !== party) changed();
        return party;
      },
    }),
  })),
  mutant("receiptIsNotAwaited", "an answer leaves before its receipt is durable", (changed) => ({
    receipts: (receipts) => ({
      ...bound(receipts),
      append: async (row, after) => {
        changed();
        receipts.append(row, after).catch(() => {});
      },
    }),
  })),
  mutant("refusedIsBilled", "a receipt whose request is refused stays", (changed) => ({
    receipts: (receipts) => ({
      ...bound(receipts),
      retract: async () => {
        changed();
        return true;
      },
    }),
  })),
  mutant(
    "receiptWithoutLease",
    "a node without a lease still writes receipts",
    (changed) => ({
      lease: (given, process) => () => {
        if (given() === null) changed();
        return process;
      },
    }),
    { seedsMax: 1_500 },
  ),
];

/** A day passes only in worlds with a night. */
const atNight = { canShow: mayHaveNight };

const sweeping: readonly Mutant[] = [
  mutant(
    "sweepAsksNobody",
    "what was staged long ago is dropped without asking its push",
    (changed) => ({
      sweep: (deps) => ({
        ...deps,
        actors: {
          ...deps.actors,
          inspect: async () => {
            changed();
            return null;
          },
        },
      }),
    }),
    atNight,
  ),
  mutant(
    "sweepNeverComes",
    "what is abandoned stays",
    (changed) => ({
      sweep: (deps) => {
        changed();
        return { ...deps, everyMs: 1e9 };
      },
    }),
    atNight,
  ),
  mutant("sweepTakesWhatIsNew", "what was staged a moment ago is dropped as abandoned", (changed) => ({
    sweep: (deps) => {
      changed();
      return { ...deps, afterMs: 0 };
    },
  })),
  mutant(
    "sweepTakesWhatIsStagedAgain",
    "what is staged again while it is judged is dropped",
    (changed) => ({
      sweep: (deps) => ({
        ...deps,
        records: {
          ...bound(deps.records),
          dropStaged: (id, untilMs) => {
            if (untilMs !== undefined) changed();
            return deps.records.dropStaged(id);
          },
        },
      }),
    }),
    { ...atNight, seedsMax: 1_000 },
  ),
  mutant(
    "acceptedHoweverLate",
    "a push is accepted a day after it was staged",
    commanding("push", "push.accept", (command) => withMembers(command, { accept_by_ms: Infinity })),
    { ...atNight, seedsMax: 1_000 },
  ),
];

const judging: readonly Mutant[] = [
  mutant("listsAreReadOnce", "prepared lists are not prepared again when they are replaced", (changed) => ({
    lists: (given) => {
      const { version = 0 } = given;
      return {
        protectedNames: [],
        exemptNames: [],
        certified: given.certified,
        get version() {
          if (given.version !== version) changed();
          return version;
        },
        get blockedHosts() {
          return given.blockedHosts;
        },
      };
    },
  })),
  mutant("listsAreNeverReplaced", "the lists stay what they were, and say that they changed", (changed) => ({
    lists: (given) => {
      const { blockedHosts } = given;
      return {
        protectedNames: [],
        exemptNames: [],
        certified: given.certified,
        blockedHosts,
        get version() {
          if (given.blockedHosts !== blockedHosts) changed();
          return given.version ?? 0;
        },
      };
    },
  })),
];

export const portMutants: readonly Mutant[] = [
  ...journal,
  ...activities,
  ...sweeping,
  ...purging,
  ...serving,
  ...judging,
];
