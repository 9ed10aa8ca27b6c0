import { describe, expect, it } from "vitest";
import type { PartyFacts } from "../../actors/messages/business.ts";
import type { RegisterEntry, RegisterStore } from "../../storage/register-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteRegisterStore } from "../../storage/sqlite/register-store.ts";
import { businessUuid, companyUuid, entry, keyFacts, partyFacts } from "../authentication.fixture.ts";
import { createRegister, freshMs, keptMs, missingMs } from "./register.ts";

const jwk = { kty: "OKP", crv: "Ed25519", x: "A".repeat(43) } as const;
const at = "2026-01-03T00:00:00.000Z";
const key = (changes: object = {}) =>
  keyFacts("k1", jwk, { role: "retrieval", party: companyUuid, ...changes });

/** A store whose reads can be held back. */
function openStore(): RegisterStore & { reads: number; hold: Promise<void> | null } {
  const store = openSqliteRegisterStore(SqliteDatabase.open(":memory:"));
  const counted = {
    reads: 0,
    hold: null as Promise<void> | null,
    claimKey: (keyId: string, party: string) => store.claimKey(keyId, party),
    put: (entries: readonly RegisterEntry[]) => store.put(entries),
    get: async (table: RegisterEntry["table"], name: string) => {
      counted.reads += 1;
      const found = await store.get(table, name);
      await counted.hold;
      return found;
    },
    list: (table: RegisterEntry["table"], partition: string) => {
      counted.reads += 1;
      return store.list(table, partition);
    },
    follow: () => store.follow(),
  };
  return counted;
}

const noFeed = { next: async () => ({ entries: [], more: false }) };

async function open(entriesMax = 100) {
  const store = openStore();
  const clock = { nowMs: 1_000_000 };
  const register = createRegister({ store, clock: { now: () => clock.nowMs }, entriesMax });
  await register.refresh();
  return { store, clock, register };
}

describe("the register", () => {
  it("answers from memory what it has read once", async () => {
    const { store, register } = await open();
    await store.put([entry("key", companyUuid, "k1", key())]);
    await register.refresh();
    expect(await register.key("k1")).toMatchObject({ key_id: "k1" });
    const again = register.key("k1");
    expect(again).not.toBeInstanceOf(Promise);
    expect(store.reads).toBe(1);
  });

  it("does not keep a value that changed while it was read (G1)", async () => {
    const { store, register } = await open();
    await store.put([entry("key", companyUuid, "k1", key())]);
    await register.refresh();
    let release = (): void => {};
    store.hold = new Promise((resolve) => {
      release = resolve;
    });
    const reading = register.key("k1");
    await store.put([entry("key", companyUuid, "k1", key({ revoked_at: "2026-01-02T00:00:00.000Z" }))]);
    await register.refresh();
    release();
    expect(await reading).toMatchObject({ revoked_at: null });
    expect(await register.key("k1")).toMatchObject({ revoked_at: "2026-01-02T00:00:00.000Z" });
  });

  it("asks the store again when it has not been refreshed for too long (G2)", async () => {
    const { store, clock, register } = await open();
    await store.put([entry("key", companyUuid, "k1", key())]);
    await register.refresh();
    await register.key("k1");
    await store.put([entry("key", companyUuid, "k1", key({ revoked_at: "2026-01-02T00:00:00.000Z" }))]);
    clock.nowMs += freshMs;
    expect(await register.key("k1")).toMatchObject({ revoked_at: null });
    clock.nowMs += 1;
    expect(await register.key("k1")).toMatchObject({ revoked_at: "2026-01-02T00:00:00.000Z" });
  });

  it("does not ask for a key again that is not there, for a second (G5)", async () => {
    const { store, clock, register } = await open();
    expect(await register.key("k1")).toBeNull();
    await store.put([entry("key", companyUuid, "k1", key())]);
    clock.nowMs += missingMs - 1;
    expect(register.key("k1")).toBeNull();
    expect(store.reads).toBe(1);
    clock.nowMs += 1;
    expect(await register.key("k1")).toMatchObject({ key_id: "k1" });
  });

  it("asks for a missing key again once something is heard of it (G5)", async () => {
    const { store, register } = await open();
    expect([await register.key("k1"), await register.key("k2")]).toEqual([null, null]);
    await store.put([entry("key", companyUuid, "k1", key())]);
    await register.refresh();
    expect(await register.key("k1")).toMatchObject({ key_id: "k1" });
    register.learn("k2");
    expect(register.key("k2")).toBeInstanceOf(Promise);
  });

  it("does not note as missing what came while it was read (G1, G5)", async () => {
    const { store, register } = await open();
    let release = (): void => {};
    store.hold = new Promise((resolve) => {
      release = resolve;
    });
    const reading = register.key("k1");
    await store.put([entry("key", companyUuid, "k1", key())]);
    await register.refresh();
    release();
    expect(await reading).toBeNull();
    expect(await register.key("k1")).toMatchObject({ key_id: "k1" });
  });

  it("notes a bounded number of missing keys", async () => {
    const { store, register } = await open();
    for (let index = 0; index < 20_100; index += 1) await register.key(`none-${index}`);
    const { reads } = store;
    await register.key("none-0");
    expect(store.reads).toBe(reads + 1);
  });

  it("reads what it keeps again after a while, for a change that the feed has not told (G4)", async () => {
    const { store, clock, register } = await open();
    await store.put([entry("key", companyUuid, "k1", key())]);
    await register.refresh();
    await register.key("k1");
    await register.keys(companyUuid);
    // The feed omits what is put from here on.
    const mute = createRegister({
      store: { ...store, follow: () => noFeed },
      clock: { now: () => clock.nowMs },
    });
    await mute.refresh();
    expect([await mute.key("k1"), (await mute.keys(companyUuid)).length]).toMatchObject([
      { revoked_at: null },
      1,
    ]);
    await store.put([entry("key", companyUuid, "k1", key({ revoked_at: "2026-01-02T00:00:00.000Z" }))]);
    await store.put([entry("key", companyUuid, "k2", { ...key(), key_id: "k2" })]);
    clock.nowMs += keptMs;
    await mute.refresh();
    expect([await mute.key("k1"), (await mute.keys(companyUuid)).length]).toMatchObject([
      { revoked_at: null },
      1,
    ]);
    clock.nowMs += 1;
    await mute.refresh();
    expect(await mute.key("k1")).toMatchObject({ revoked_at: "2026-01-02T00:00:00.000Z" });
    expect(await mute.keys(companyUuid)).toHaveLength(2);
  });

  it("turns the pages that the feed says there are, even empty ones, and minds no repeated entry", async () => {
    const party = (groups: readonly string[], change: number): RegisterEntry => ({
      ...entry("party", businessUuid, businessUuid, partyFacts(businessUuid, { blocked_groups: groups })),
      change,
    });
    const pages = [
      { entries: [party(["g1"], 1)], more: true },
      { entries: [], more: true },
      { entries: [party(["g2"], 2)], more: false },
      { entries: [party(["g2"], 2), party(["g2"], 2)], more: false },
    ];
    const feed = { next: async () => pages.shift() ?? { entries: [], more: false } };
    const register = createRegister({
      store: { ...openStore(), follow: () => feed },
      clock: { now: () => 0 },
    });
    await register.refresh();
    expect([
      register.hasBlocked(businessUuid, { group: "g1" }),
      register.hasBlocked(businessUuid, { group: "g2" }),
    ]).toEqual([false, true]);
    expect(pages).toHaveLength(1);
    await register.refresh();
    expect(register.blockedBusinesses({ group: "g2" })).toEqual([businessUuid]);
  });

  it("keeps the keys used last, as many as it may", async () => {
    const { store, register } = await open(2);
    await store.put(
      ["k1", "k2", "k3"].map((name) => entry("key", companyUuid, name, { ...key(), key_id: name })),
    );
    await register.refresh();
    for (const name of ["k1", "k2", "k1", "k3"]) await register.key(name);
    expect(register.key("k1")).not.toBeInstanceOf(Promise);
    expect(register.key("k2")).toBeInstanceOf(Promise);
  });

  it.each([
    ["a key that was only revoked", false, "key", { revoked_at: "2026-01-02T00:00:00.000Z" }],
    ["a key in other hands", true, "key", { compromised_from: "2026-01-02T00:00:00.000Z" }],
    ["an end from when it was decided", false, "certificate", { status_effective_from: at }],
    ["an end from before", true, "certificate", { status_effective_from: "2026-01-01T00:00:00.000Z" }],
    [
      "an active certificate from before",
      false,
      "certificate",
      { status: "active", status_effective_from: "2026" },
    ],
  ] as const)("knows that something may have fallen by %s: %s", async (_what, may, table, facts) => {
    const { store, register } = await open();
    const certificate = { legal_name: "A", status: "revoked", issued_at: at, envelope: "{}", cert_id: "c" };
    const integration = { ...keyFacts("k1", jwk, { role: "integration", party: businessUuid }), ...facts };
    const body = table === "key" ? integration : { ...certificate, ...facts };
    await store.put([entry(table, businessUuid, table === "key" ? "k1" : "c", body)]);
    await register.refresh();
    expect([register.mayHaveFallen(businessUuid), register.mayHaveFallen(companyUuid)]).toEqual([may, false]);
  });

  it("knows which AI policy is in force after others fell, in whatever order it hears of them", async () => {
    const day = (at: number) => `2026-01-0${at}T00:00:00.000Z`;
    const bits = { use: 1, action: 1, blocked: 0 };
    const policy = (version: number, changes: object = {}) =>
      entry("policy", businessUuid, `${businessUuid}/${version}`, {
        business_uuid: businessUuid,
        version,
        bits,
        live_from: day(version),
        ...changes,
      });
    const fallen = { fallen_at: day(5) };
    const heard = [policy(1, { again_from: day(5) }), policy(2, fallen), policy(3, fallen)];
    for (const order of [heard, heard.toReversed()]) {
      const { store, register } = await open();
      await store.put([1, 2, 3].map((version) => policy(version)));
      await register.refresh();
      expect(register.policyInForce(businessUuid).version).toBe(3);
      for (const each of order) {
        await store.put([{ ...each, change: each.change + 10 }]);
        await register.refresh();
      }
      expect(register.policyInForce(businessUuid).version).toBe(1);
      // A node that begins now hears of all of them at once.
      const fresh = createRegister({ store, clock: { now: () => 0 } });
      await fresh.refresh();
      expect(fresh.policyInForce(businessUuid).version).toBe(1);
      const last = policy(1, fallen);
      await store.put([{ ...last, change: last.change + 20 }]);
      await register.refresh();
      expect(register.policyInForce(businessUuid).version).toBe(0);
    }
  });

  it("knows every block and policy without asking (G3), however many pages they fill", async () => {
    const store = openStore();
    const group = "a-group";
    const businesses = Array.from({ length: 2_500 }, (_, index) => `business-${index}`);
    await store.put(
      businesses.map((uuid) => entry("party", uuid, uuid, partyFacts(uuid, { blocked_groups: [group] }))),
    );
    const bits = { use: 127, action: 3, blocked: 2 };
    await store.put(
      [1, 2].map((version) =>
        entry("policy", businessUuid, `${businessUuid}/${version}`, {
          business_uuid: businessUuid,
          version,
          bits,
          live_from: `2026-01-0${version}T00:00:00.000Z`,
        }),
      ),
    );
    const register = createRegister({ store, clock: { now: () => 0 } });
    await register.refresh();
    expect(new Set(register.blockedBusinesses({ group }))).toEqual(new Set(businesses));
    expect(register.policyInForce(businessUuid)).toMatchObject({
      version: 2,
      bitsText: '{"action":3,"ai_policy_schema":2,"ai_policy_version":2,"blocked":2,"use":127}',
    });
    expect(register.policyInForce(companyUuid)).toMatchObject({ version: 0 });
    expect(store.reads).toBe(0);
  });

  it("follows blocks and unblocks", async () => {
    const { store, register } = await open();
    const blocking = (...groups: readonly string[]) =>
      store.put([
        entry("party", businessUuid, businessUuid, partyFacts(businessUuid, { blocked_groups: groups })),
      ]);
    await blocking("g1", "g2");
    await register.refresh();
    expect([
      register.hasBlocked(businessUuid, { group: "g1" }),
      register.hasBlocked(businessUuid, { group: "g3" }),
    ]).toEqual([true, false]);
    await blocking("g2", "g3");
    await register.refresh();
    expect(["g1", "g2", "g3"].map((group) => register.blockedBusinesses({ group }))).toEqual([
      [],
      [businessUuid],
      [businessUuid],
    ]);
  });

  it("lets a block follow a company to its next group, and knows who is or was in each group", async () => {
    const { store, register } = await open();
    const others = ["business-a", "business-b"];
    await store.put([
      entry("party", businessUuid, businessUuid, partyFacts(businessUuid, { blocked_groups: ["a"] })),
      ...others.map((uuid) => entry("party", uuid, uuid, partyFacts(uuid, { blocked_groups: ["a", "b"] }))),
    ]);
    await register.refresh();
    const moved = { group: "b", former_groups: ["a"] };
    expect([...register.blockedBusinesses(moved)].sort()).toEqual([businessUuid, ...others].sort());
    expect([...register.blockedBusinesses({ group: "b" })].sort()).toEqual(others);
    expect(register.hasBlocked(businessUuid, moved)).toBe(true);
    expect(register.hasBlocked(businessUuid, { group: "b" })).toBe(false);
    expect(register.hasBlocked(businessUuid, { group: "b", former_groups: ["c"] })).toBe(false);

    expect(register.companyGroups.membersOf("a")).toEqual([]);
    const facts = (change: Partial<PartyFacts>) =>
      partyFacts(companyUuid, { kind: "ai_company", group: "a", legal_name: "Answers", ...change });
    await store.put([entry("party", companyUuid, companyUuid, facts({}))]);
    await register.refresh();
    const named = { uuid: companyUuid, legal_name: "Answers" };
    expect(register.companyGroups.membersOf("a")).toEqual([{ ...named, former: false }]);
    await store.put([entry("party", companyUuid, companyUuid, facts(moved))]);
    await register.refresh();
    expect(register.companyGroups.membersOf("a")).toEqual([{ ...named, former: true }]);
    expect(register.companyGroups.membersOf("b")).toEqual([{ ...named, former: false }]);
    // A business is in no group.
    expect(register.companyGroups.membersOf(businessUuid)).toEqual([]);
  });

  it("follows who chose to be in the key directory, by the highest change alone", async () => {
    const chosen = (uuid: string, change: number, listed?: boolean): RegisterEntry => ({
      ...entry("party", uuid, uuid, partyFacts(uuid, listed === undefined ? {} : { listed })),
      change,
    });
    const entries = [
      chosen(companyUuid, 1),
      chosen(companyUuid, 3, true),
      chosen(companyUuid, 2, false),
      chosen(businessUuid, 2, false),
      chosen(businessUuid, 1, true),
    ];
    const feed = { next: async () => ({ entries: entries.splice(0, 1), more: entries.length > 0 }) };
    const store = { ...openStore(), follow: () => feed };
    const register = createRegister({ store, clock: { now: () => 0 } });
    expect(register.listedCompanies.all()).toEqual([]);
    await register.refresh();
    expect(register.listedCompanies.all()).toEqual([companyUuid]);
  });

  it("answers a refresh that was asked for during another with what was written before it was asked", async () => {
    const { store, register } = await open();
    const first = register.refresh();
    await store.put([
      entry("party", businessUuid, businessUuid, partyFacts(businessUuid, { blocked_groups: ["g1"] })),
    ]);
    await Promise.all([first, register.refresh()]);
    expect(register.blockedBusinesses({ group: "g1" })).toEqual([businessUuid]);
  });

  it("lists what changed last first, and sees a new entry after the next refresh", async () => {
    const { store, register } = await open();
    const certificate = (id: string) => entry("certificate", businessUuid, id, { cert_id: id });
    await store.put([certificate("c2"), certificate("c1")]);
    await register.refresh();
    expect((await register.certificates(businessUuid)).map((facts) => facts.cert_id)).toEqual(["c1", "c2"]);
    await store.put([certificate("c0")]);
    await register.refresh();
    expect((await register.certificates(businessUuid)).map((facts) => facts.cert_id)).toEqual([
      "c0",
      "c1",
      "c2",
    ]);
  });
});
