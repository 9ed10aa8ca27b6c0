import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { StoreError } from "../actor-store.ts";
import { registerStoreConformance } from "../register-store.conformance.ts";
import type { RegisterEntry, RegisterFeed, RegisterStore } from "../register-store.ts";
import { hasCassandra, openStoreIn, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { recordTables } from "./migrations.ts";
import { farMs, openCassandraRegisterStore, overlapMs, pageRows, slotMs, tickMs } from "./register-store.ts";
import type { CassandraSession, ReadOptions } from "./session.ts";

/** Rounds through all older references, and through all entries of these tests. */
const farTicks = farMs / slotMs + 2;
const roundsMax = 200;

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  beforeAll(async () => {
    keyspace = await openTestKeyspace(recordTables);
  });
  afterAll(async () => await keyspace?.[Symbol.asyncDispose]());

  registerStoreConformance("the Cassandra store", () => openStoreIn(keyspace, openCassandraRegisterStore));
  describe("the feed of the Cassandra register", () => feedTests(() => keyspace));
  describe("a put into the Cassandra register", () => putTests(() => keyspace));
});

let counter = 0;
function entry(changes: Partial<RegisterEntry> = {}): RegisterEntry {
  counter += 1;
  return { table: "key", partition: "party", key: `k${counter}`, change: 1, body: "{}", ...changes };
}

/** Forwards everything except what `drops` selects: as if that had not been replicated yet. */
function lossy(session: CassandraSession, drops: (cql: string) => boolean): CassandraSession {
  return {
    ...session,
    execute: async (cql, params, options) =>
      drops(cql) ? { rows: [], pageState: null, applied: true } : await session.execute(cql, params, options),
  };
}

const isPass = (cql: string): boolean => /FROM register_entry (LIMIT|WHERE token)/.test(cql);

function feedTests(keyspace: () => TestKeyspace): void {
  let session: CassandraSession;
  let feed: RegisterFeed;
  const clock = { nowMs: 0 };
  const now = (): number => clock.nowMs;
  const storeWith = (drops: (cql: string) => boolean): RegisterStore =>
    openCassandraRegisterStore(lossy(session, drops), { now });
  const [entryRows, listRows, references] = ["register_entry", "register_of_party", "register_feed"].map(
    (table) => (cql: string) => cql.startsWith(`INSERT INTO ${table} `),
  ) as [(cql: string) => boolean, (cql: string) => boolean, (cql: string) => boolean];

  /** Everything that the feed delivers now. */
  const drain = async (): Promise<readonly RegisterEntry[]> => {
    const given: RegisterEntry[] = [];
    for (let rounds = 0; rounds < roundsMax; rounds += 1) {
      const { entries, more } = await feed.next(100);
      given.push(...entries);
      if (!more) return given;
    }
    throw new Error("the feed has always more to give");
  };
  /** The number of ticks until the feed delivers the entry at this change. */
  const ticksUntil = async (wanted: RegisterEntry): Promise<number> => {
    for (let ticks = 1; ticks <= roundsMax; ticks += 1) {
      clock.nowMs += tickMs;
      if ((await drain()).some((each) => each.key === wanted.key && each.change === wanted.change))
        return ticks;
    }
    throw new Error("the feed never gave the entry");
  };

  beforeEach(async () => {
    session = await keyspace().connect();
    clock.nowMs = Date.parse("2026-05-06T07:08:09.000Z") + counter * 86_400_000;
    feed = storeWith(() => false).follow();
    await drain();
  });
  afterEach(() => session.close());

  it.each([overlapMs + slotMs, farMs - slotMs])(
    "gives an entry whose reference comes %i ms late within a round, without the pass",
    async (lateMs) => {
      feed = storeWith((cql) => isPass(cql)).follow();
      const late = entry();
      await drain();
      clock.nowMs -= lateMs;
      await storeWith(() => false).put([late]);
      clock.nowMs += lateMs;
      expect(await drain()).toEqual([]);
      expect(await ticksUntil(late)).toBeLessThanOrEqual(farTicks);
    },
  );

  it("walks through more older references than a page holds", async () => {
    feed = storeWith((cql) => isPass(cql)).follow();
    const many = Array.from({ length: 2 * pageRows + 1 }, () => entry());
    await drain();
    clock.nowMs -= farMs / 2;
    await storeWith(() => false).put(many);
    clock.nowMs += farMs / 2;
    const seen = new Set<string>();
    for (let ticks = 0; ticks < farTicks + 3; ticks += 1) {
      clock.nowMs += tickMs;
      for (const each of await drain()) seen.add(each.key);
    }
    expect(many.filter((each) => !seen.has(each.key))).toEqual([]);
  });

  it("gives an entry whose reference never comes, when the pass meets it", async () => {
    const silent = entry();
    await drain();
    await storeWith(references).put([silent]);
    await ticksUntil(silent);
    await storeWith(references).put([{ ...silent, change: 2 }]);
    await ticksUntil({ ...silent, change: 2 });
  });

  it("waits with a reference until the entry and the party's list are there (F1)", async () => {
    const early = entry();
    await storeWith((cql) => !references(cql)).put([early]);
    expect(await drain()).toEqual([]);
    await storeWith((cql) => !entryRows(cql)).put([early]);
    expect(await drain()).toEqual([]);
    await storeWith((cql) => !listRows(cql)).put([early]);
    expect(await drain()).toEqual([early]);
    await storeWith((cql) => !references(cql)).put([{ ...early, change: 2 }]);
    expect(await drain()).toEqual([]);
    await storeWith(references).put([{ ...early, change: 2 }]);
    expect(await drain()).toEqual([{ ...early, change: 2 }]);
    const other = entry();
    await storeWith(references).put([other]);
    await storeWith(entryRows).put([{ ...other, change: 2 }]);
    expect(await drain()).toEqual([]);
  });

  it("gives what a failed call looked for with the next one (F2)", async () => {
    let isDown = false;
    const broken = openCassandraRegisterStore(
      {
        ...session,
        execute: async (cql, params, options) => {
          if (isDown && cql.includes("FROM register_of_party")) throw new StoreError("not_applied", "down");
          if (isPass(cql)) return { rows: [], pageState: null, applied: true };
          return await session.execute(cql, params, options);
        },
      },
      { now },
    );
    feed = broken.follow();
    await drain();
    isDown = true;
    const wanted = entry();
    await broken.put([wanted]);
    clock.nowMs += 2 * overlapMs;
    await expect(feed.next(10)).rejects.toThrow(StoreError);
    clock.nowMs += overlapMs;
    isDown = false;
    expect(await drain()).toContainEqual(wanted);
  });

  it("gives nothing twice while it remembers, and the state of now (F3)", async () => {
    const store = storeWith(() => false);
    const changing = entry();
    for (const change of [1, 2, 3]) await store.put([{ ...changing, change }]);
    expect(await drain()).toEqual([{ ...changing, change: 3 }]);
    for (let ticks = 0; ticks < 5; ticks += 1) {
      clock.nowMs += tickMs;
      expect((await drain()).filter((each) => each.key === changing.key)).toEqual([]);
    }
  });

  it("begins anew after a pause longer than references are looked for, without looking for them (F4)", async () => {
    let looks = 0;
    const counted = lossy(session, (cql) => {
      if (cql.includes("FROM register_feed")) looks += 1;
      return false;
    });
    feed = openCassandraRegisterStore(counted, { now }).follow();
    const before = entry();
    await storeWith(() => false).put([before]);
    expect(await drain()).toContainEqual(before);
    const during = entry();
    await storeWith(references).put([during]);
    clock.nowMs += 100 * farMs;
    looks = 0;
    expect(await drain()).toContainEqual(during);
    expect(looks).toBeLessThan(farTicks);
  });

  it("sees what clocks ahead and behind wrote, at the edge of a slot too", async () => {
    clock.nowMs = (Math.floor(clock.nowMs / slotMs) + 1) * slotMs - 1_000;
    await drain();
    for (const offMs of [2_000, -2_000]) {
      const skewed = entry();
      await openCassandraRegisterStore(session, { now: () => clock.nowMs + offMs }).put([skewed]);
      expect(await drain()).toEqual([skewed]);
    }
    clock.nowMs += 2_000;
    const after = entry();
    await openCassandraRegisterStore(session, { now: () => clock.nowMs - 2_000 }).put([after]);
    expect(await drain()).toContainEqual(after);
  });
}

function putTests(keyspace: () => TestKeyspace): void {
  /** A session whose writes to every region fail while `isCut`. */
  const open = async () => {
    const session = await keyspace().connect();
    const state = {
      isCut: false,
      isDown: false,
      nowMs: 1_800_000_000_000,
      levels: [] as unknown[],
      behind: 0,
    };
    const execute = async (cql: string, params: never, options: ReadOptions) => {
      if (cql.startsWith("INSERT")) state.levels.push(options.consistency ?? "LOCAL_QUORUM");
      const isCut = state.isCut && options.consistency === "EACH_QUORUM";
      if (state.isDown || isCut) throw new StoreError("unknown", "no answer from us-east1");
      return await session.execute(cql, params, options);
    };
    const store = openCassandraRegisterStore({ ...session, execute } as CassandraSession, {
      now: () => state.nowMs,
      onBehind: (entries) => {
        state.behind += entries;
      },
    });
    return { state, store, session };
  };

  it("waits for all regions (E2)", async () => {
    const { state, store, session } = await open();
    await store.put([entry()]);
    expect(state).toMatchObject({ levels: ["EACH_QUORUM", "EACH_QUORUM", "EACH_QUORUM"], behind: 0 });
    await session.close();
  });

  it("is content with its own region while another is cut off, tells so, and tries again later (E2)", async () => {
    const { state, store, session } = await open();
    state.isCut = true;
    const [one, two, three] = [entry(), entry(), entry()];
    await store.put([one]);
    expect(await store.get("key", one.key)).toEqual(one);
    expect(state.behind).toBe(1);
    state.levels = [];
    await store.put([two, three]);
    expect(new Set(state.levels)).toEqual(new Set(["LOCAL_QUORUM"]));
    expect(state.behind).toBe(3);
    state.nowMs += 10_000;
    state.levels = [];
    await store.put([entry(), entry()]);
    expect(state.levels.filter((level) => level === "EACH_QUORUM")).toHaveLength(1);
    expect(state.behind).toBe(5);
    state.isCut = false;
    state.nowMs += 10_000;
    await store.put([entry()]);
    state.behind = 0;
    state.levels = [];
    await store.put([entry(), entry()]);
    expect(new Set(state.levels)).toEqual(new Set(["EACH_QUORUM"]));
    expect(state.behind).toBe(0);
    await session.close();
  });

  it("claims a key once more where neither the claim nor a look at it was answered (O3)", async () => {
    const session = await keyspace().connect();
    let [claims, looks] = [0, 0];
    const execute = async (cql: string, params: never, options: ReadOptions) => {
      if (options.consistency === "SERIAL") {
        looks += 1;
        throw new StoreError("not_applied", "no answer to the look");
      }
      const answer = await session.execute(cql, params, options);
      if (!cql.startsWith("INSERT INTO key_owner")) return answer;
      claims += 1;
      if (claims === 1) throw new StoreError("unknown", "no answer to the claim");
      return answer;
    };
    const store = openCassandraRegisterStore({ ...session, execute } as CassandraSession);
    expect(await store.claimKey("claimed twice", "one")).toBe("one");
    expect([claims, looks]).toEqual([2, 1]);
    expect(await store.claimKey("claimed twice", "another")).toBe("one");
    await session.close();
  });

  it("fails when its own region fails", async () => {
    const { state, store, session } = await open();
    state.isDown = true;
    await expect(store.put([entry()])).rejects.toThrow(StoreError);
    expect(state.behind).toBe(0);
    await session.close();
  });

  it("refuses what is no change number, before anything is written", async () => {
    const { state, store, session } = await open();
    for (const change of [-1, 1.5, Number.MAX_SAFE_INTEGER + 1]) {
      await expect(store.put([entry({ change })])).rejects.toThrow(RangeError);
    }
    expect(state.levels).toEqual([]);
    await session.close();
  });
}
