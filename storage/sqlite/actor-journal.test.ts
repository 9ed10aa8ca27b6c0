import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { dose } from "../../tools/test-dose.ts";
import { actorStoreConformance, type OpenActorStore } from "../actor-store.conformance.ts";
import { after, event, following, keyed, operationId } from "../actor-store.fixture.ts";
import { type ActorCommit, type ActorHead, type ActorStore, newActor, rowTable } from "../actor-store.ts";
import type { ActorJournalOptions } from "./actor-journal.ts";
import { openSqliteActorStore } from "./actor-store.ts";
import { type CommitPhase, SqliteDatabase } from "./database.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-actor-journal-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

function freshFile(): string {
  files += 1;
  return join(folder, `${files}.db`);
}

/** Every transaction shares a row, and little waits. */
const eager = { sharedMin: 1, waitingMax: 3 } as const;
const off = { sharedMin: Number.POSITIVE_INFINITY } as const;

interface Opened {
  readonly database: SqliteDatabase;
  readonly store: ActorStore;
  /** The phase in which the next COMMIT fails. */
  failing: CommitPhase | null;
}

function open(path: string, journal: ActorJournalOptions): Opened {
  const opened: { failing: CommitPhase | null } = { failing: null };
  const onCommit = (phase: CommitPhase): void => {
    if (phase === opened.failing) throw new Error(`failed ${phase} it was made`);
  };
  // Whatever waits for the disk waits in another test.
  const database = SqliteDatabase.open(path, { onCommit, synchronous: "NORMAL" });
  const store = openSqliteActorStore(database, { now: () => 0, journal });
  return Object.assign(opened, { database, store });
}

/** The files as a process leaves them that dies now. */
function copyFiles(from: string): string {
  const to = freshFile();
  for (const end of ["", "-wal"]) if (existsSync(`${from}${end}`)) cpSync(`${from}${end}`, `${to}${end}`);
  return to;
}

actorStoreConformance("the SQLite store whose commits all share rows", async () => {
  const path = freshFile();
  const openFile = (): OpenActorStore => {
    const { database, store } = open(path, eager);
    return {
      store,
      reopen: async () => {
        const next = openFile();
        return {
          ...next,
          close: async () => Promise.all([next.close(), database.close()]).then(() => undefined),
        };
      },
      close: async () => database.close(),
    };
  };
  return openFile();
});

// Random histories in which every transaction may end in any way, beside a store without shared rows.

type Op = (typeof ops)[number];
const ops = [
  "event",
  "event",
  "event",
  "event",
  "event",
  "two events",
  "keyed",
  "unkeyed",
  "created again",
  "snapshot",
  "wake",
  "claim",
  "stale",
  "stale snapshot",
  "again",
  "spoiled",
  "forget",
] as const;
const ends = ["well", "well", "well", "before", "after", "throws", "dies", "other connection"] as const;

interface Step {
  readonly works: readonly (readonly [actor: number, op: string])[];
  readonly end: (typeof ends)[number];
}

const actors = 4;
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    works: fc.array(fc.tuple(fc.nat({ max: actors - 1 }), fc.constantFrom<Op>(...ops)), {
      minLength: 1,
      maxLength: 12,
    }),
    end: fc.constantFrom(...ends),
  }),
  { minLength: 1, maxLength: 24 },
);

/** What a writer believes of its actor; null of one that is not there. */
interface Writer extends Pick<ActorHead, "epoch" | "head" | "op"> {
  readonly k: number;
  readonly wakeAtMs: number | null;
  readonly last: ActorCommit | null;
}

const refOf = (actor: number) => ({ kind: "counter", id: `${actor}` });

type Act = (store: ActorStore) => Promise<unknown>;

/** What a work does in both stores, and what the writer believes then. */
function plan(writer: Writer | null, actor: number, op: string, no: number): [Act, Writer | null] {
  const ref = refOf(actor);
  const epoch = no + 1_000;
  if (writer === null) {
    const first = following(
      ref,
      { epoch, ...newActor },
      { op: operationId(no), creates: "a", puts: [event(1)] },
    );
    if (op !== "claim") return [commitOf(first), { ...after(first), k: 1, wakeAtMs: null, last: first }];
    const claimed = { epoch, ...newActor, k: 0, wakeAtMs: null, last: null };
    return [(store) => store.claim(ref, "a", epoch), claimed];
  }
  const { k, wakeAtMs, last } = writer;
  const next = (changes: Partial<ActorCommit>, events = 0): [Act, Writer] => {
    const commit = following(ref, writer, { op: operationId(no), wakeAtMs, ...changes });
    return [commitOf(commit), { ...after(commit), k: k + events, wakeAtMs: commit.wakeAtMs, last: commit }];
  };
  switch (op) {
    case "claim":
      return [(store) => store.claim(ref, "b"), { ...writer, epoch: writer.epoch + 1 }];
    case "stale":
      return [
        commitOf(following(ref, { ...writer, op: "x" }, { op: operationId(no), puts: [event(99)] })),
        writer,
      ];
    case "stale snapshot": {
      const snapshot = { seq: k, body: "stale", schemaVersion: 1 };
      return [commitOf(following(ref, { ...writer, op: "x" }, { op: operationId(no), snapshot })), writer];
    }
    case "spoiled": {
      // SQLite takes no such value, so the work fails half done.
      const row = { ...keyed(0, "spoiled"), body: rubbish(["no text"]) };
      return [commitOf(following(ref, writer, { op: operationId(no), puts: [event(k + 1), row] })), writer];
    }
    case "again":
      return [last === null ? async () => null : commitOf(last), writer];
    case "forget":
      return [next({ forget: true })[0], null];
    case "keyed":
      return next({ puts: [event(k + 1), keyed(0, "x", `${no}`)] }, 1);
    case "unkeyed":
      return next({ puts: [event(k + 1)], deletes: [{ rt: rowTable.firstKeyed, k: 0, k2: "x" }] }, 1);
    case "created again": {
      const again = { op: operationId(no), creates: "c", puts: [event(77)] };
      return [commitOf(following(ref, { epoch, ...newActor }, again)), writer];
    }
    case "snapshot":
      return next({ puts: [event(k + 1)], snapshot: { seq: k, body: `${no}`, schemaVersion: 1 } }, 1);
    case "wake":
      return next({ puts: [event(k + 1)], wakeAtMs: no }, 1);
    case "two events":
      return next({ puts: [event(k + 1), event(k + 2)] }, 2);
    default:
      return next({ puts: [event(k + 1, `{"by":${no}}`)] }, 1);
  }
}

function commitOf(commit: ActorCommit): Act {
  return (store) => store.commit(commit);
}

/** What everybody can see of the actors without claiming one. */
async function seenIn(store: ActorStore): Promise<unknown> {
  const each = Array.from({ length: actors }, async (_, actor) => {
    const rows = await store.readRows(refOf(actor), [
      { rt: rowTable.event, limit: 1_000 },
      { rt: rowTable.event, after: { k: 2, k2: "" }, limit: 2 },
      { rt: rowTable.firstKeyed, limit: 10 },
    ]);
    return [await store.readHead(refOf(actor)), rows];
  });
  return [await Promise.all(each), await store.dueActors(1_000_000, 100)];
}

async function claimedIn(store: ActorStore): Promise<unknown> {
  const all: unknown[] = [];
  for (let actor = 0; actor < actors; actor += 1) all.push(await store.claim(refOf(actor), "end", 7_000));
  return all;
}

function statusOf(settled: PromiseSettledResult<unknown>): string {
  if (settled.status === "rejected") return "failed";
  const { value } = settled;
  return typeof value === "object" && value !== null && "status" in value ? String(value.status) : "claimed";
}

function answerOf(settled: PromiseSettledResult<unknown>): unknown {
  return settled.status === "rejected" ? "failed" : settled.value;
}

async function live(history: readonly Step[]): Promise<void> {
  const model = open(":memory:", off);
  let path = freshFile();
  const all: Opened[] = [open(path, eager)];
  let present = all[0] as Opened;
  let writers: (Writer | null)[] = Array.from({ length: actors }, () => null);
  let no = 0;
  for (const { works, end } of history) {
    if (end === "other connection") {
      const others = all.filter((each) => each !== present);
      present = others[0] ?? open(path, eager);
      if (!all.includes(present)) all.push(present);
      // It claims what it writes: the other one may have been replaced meanwhile.
    }
    const claimFirst = end === "other connection";
    const before = [...writers];
    const acts: Act[] = [];
    for (const [actor, drawn] of works) {
      // A process remembers the number of an actor until it forgets the actor itself.
      const op = drawn === "forget" && all.length > 1 ? "event" : drawn;
      for (const each of claimFirst ? ["claim", op] : [op]) {
        no += 1;
        const [act, writer] = plan(writers[actor] ?? null, actor, each, no);
        acts.push(act);
        writers[actor] = writer;
      }
    }
    present.failing = end === "before" || end === "after" ? end : null;
    const answers = acts.map((act) => act(present.store));
    const thrown = end === "throws" ? present.database.write(fail) : null;
    const settled = await Promise.allSettled(answers);
    if (thrown !== null) await expect(thrown).rejects.toThrow("refused");
    present.failing = null;
    if (end === "before") writers = before;
    else {
      const expected = await Promise.allSettled(acts.map((act) => act(model.store)));
      // Of a former process's refusals only that they are some.
      const told = all.length === 1 ? answerOf : statusOf;
      if (end !== "after") expect(settled.map(told)).toEqual(expected.map(told));
    }
    if (end === "dies") {
      path = copyFiles(path);
      for (const each of all.splice(0)) each.database.close();
      present = open(path, eager);
      all.push(present);
    }
    if (all.length === 1) expect(await seenIn(present.store)).toEqual(await seenIn(model.store));
  }
  expect(await claimedIn(present.store)).toEqual(await claimedIn(model.store));
  for (const each of [...all, model]) each.database.close();
  const closed = SqliteDatabase.open(path);
  expect(closed.prepare("SELECT count(*) AS rows FROM actor_journal").get()).toEqual({ rows: 0 });
  closed.close();
}

function fail(): never {
  throw new Error("refused");
}

describe("commits that share a row", () => {
  it("W1–W6: leave what commits without one leave, however each transaction ends (property)", async () => {
    await fc.assert(fc.asyncProperty(steps, live), { numRuns: dose(400) });
  });

  /** Claims actors for whom a second commit is taken. */
  async function settle({ store }: Opened, count: number): Promise<ActorCommit[]> {
    const heads = await Promise.all(
      Array.from({ length: count }, (_, actor) => store.claim(refOf(actor), "a")),
    );
    const first = heads.map(({ head }, actor) => following(refOf(actor), head, { puts: [event(1)] }));
    await Promise.all(first.map((commit) => store.commit(commit)));
    return first;
  }

  /** The commit after one of {@link settle} or of this. */
  function afterwards(commit: ActorCommit): ActorCommit {
    return following(commit.ref, after(commit), { puts: [event(commit.expectedHead + 2)] });
  }

  const rowsIn = ({ database }: Opened): unknown[] =>
    database.prepare("SELECT json_array_length(body) AS commits FROM actor_journal").all();

  it("are one row, and fewer than it takes are none", async () => {
    const opened = open(":memory:", {});
    await using _database = opened.database;
    const commits = (await settle(opened, 16)).map(afterwards);
    await Promise.all(commits.slice(0, 15).map((commit) => opened.store.commit(commit)));
    expect(rowsIn(opened)).toEqual([]);
    await Promise.all(
      [...commits.slice(0, 15).map(afterwards), ...commits.slice(15)].map((commit) =>
        opened.store.commit(commit),
      ),
    );
    expect(rowsIn(opened)).toEqual([{ commits: 16 }]);
  });

  it("W6: wait in bounded numbers, those of an actor that is silent as well", async () => {
    const opened = open(":memory:", { sharedMin: 1, waitingMax: 20 });
    await using _database = opened.database;
    let commits = (await settle(opened, 3)).map(afterwards);
    for (let time = 0; time < 40; time += 1) {
      await Promise.all(commits.map((commit) => opened.store.commit(commit)));
      if (time === 0) commits = commits.slice(1);
      commits = commits.map(afterwards);
    }
    const rows = rowsIn(opened).length;
    expect([rows > 5, rows <= 10]).toEqual([true, true]);
    expect((await opened.store.claim(refOf(0), "b")).events).toHaveLength(2);
    expect((await opened.store.claim(refOf(1), "b")).events).toHaveLength(41);
  });

  it("W6: are in a bounded number of rows, however long an actor is silent while others bring their own", async () => {
    const opened = open(":memory:", { sharedMin: 1, rowsMax: 4 });
    await using _database = opened.database;
    const second = (await settle(opened, 2)).map(afterwards);
    await Promise.all(second.map((commit) => opened.store.commit(commit)));
    let last = second[1] as ActorCommit;
    for (let time = 0; time < 20; time += 1) {
      const taken = afterwards(last);
      await opened.store.commit(taken);
      last = { ...afterwards(taken), puts: [event(taken.expectedHead + 2), keyed(0, "x")] };
      await opened.store.commit(last);
      expect(rowsIn(opened).length).toBeLessThanOrEqual(4);
    }
    expect((await opened.store.claim(refOf(0), "b")).events).toHaveLength(2);
    expect((await opened.store.claim(refOf(1), "b")).events).toHaveLength(42);
  });

  it("W6: leave nothing of an actor in any row once it is forgotten", async () => {
    const opened = open(":memory:", { sharedMin: 1 });
    await using _database = opened.database;
    const { store } = opened;
    const second = (await settle(opened, 3)).map(afterwards);
    await Promise.all(second.map((commit) => store.commit(commit)));
    const [own, others] = second.slice(0, 2).map(afterwards) as [ActorCommit, ActorCommit];
    // In one transaction with its own last commit, and beside another actor's before and after it.
    await Promise.all([
      store.commit(own),
      store.commit(others),
      store.commit({ ...afterwards(own), puts: [], forget: true }),
      store.commit(afterwards(others)),
    ]);
    expect(await store.readHead(refOf(0))).toBeNull();
    expect(rowsIn(opened)).toEqual([{ commits: 1 }]);
    expect((await store.claim(refOf(1), "b")).events).toHaveLength(4);
    expect((await store.claim(refOf(2), "b")).events).toHaveLength(2);
  });

  it("W7: are not seen twice, or after another epoch, once another connection brought them", async () => {
    const path = freshFile();
    const one = open(path, eager);
    await using _one = one.database;
    const second = (await settle(one, 2)).map(afterwards);
    await Promise.all(second.map((commit) => one.store.commit(commit)));
    const other = open(path, eager);
    await using _other = other.database;
    const events = (store: ActorStore) => store.readRows(refOf(0), [{ rt: rowTable.event, limit: 10 }]);
    expect(await events(one.store)).toEqual([event(1), event(2)]);
    const { head } = await other.store.claim(refOf(0), "b");
    await other.store.commit(following(refOf(0), head, { puts: [event(3), keyed(0, "x")] }));
    expect(await one.store.readHead(refOf(0))).toMatchObject({ epoch: 2, head: 3 });
    expect(await events(one.store)).toEqual([event(1), event(2), event(3)]);
  });

  it("W6: of another connection are not deleted by one that has recovered and written nothing since", async () => {
    const path = freshFile();
    const dead = open(path, eager);
    await using _dead = dead.database;
    const second = (await settle(dead, 2)).map(afterwards);
    for (const commit of [...second, ...second.map(afterwards)]) await dead.store.commit(commit);
    const left = copyFiles(path);
    const one = open(left, eager);
    await using _one = one.database;
    const other = open(left, eager);
    await using _other = other.database;
    const { head } = await other.store.claim(refOf(1), "b");
    const keys = following(refOf(1), head, { puts: [event(4), keyed(0, "x")] });
    await other.store.commit(keys);
    await other.store.commit(afterwards(keys));
    expect(rowsIn(other)).not.toEqual([]);
    await one.database.write(() => null);
    expect((await one.store.claim(refOf(1), "c")).head.head).toBe(5);
  });

  it("W6: are in their tables once the file is closed", async () => {
    const path = freshFile();
    const opened = open(path, eager);
    for (const commit of await settle(opened, 2)) await opened.store.commit(afterwards(commit));
    expect(rowsIn(opened)).not.toEqual([]);
    opened.database.close();
    await using database = SqliteDatabase.open(path);
    const count = (sql: string) => database.prepare(`SELECT count(*) AS rows ${sql}`).get()?.["rows"];
    expect([
      count("FROM actor_journal"),
      count("FROM actor_row"),
      count("FROM actor_head WHERE head = 2"),
    ]).toEqual([0, 4, 2]);
  });

  it("W6: leave nothing where they waited once what is unused is overwritten", async () => {
    const opened = open(freshFile(), eager);
    await using _database = opened.database;
    for (const commit of await settle(opened, 2)) await opened.store.commit(afterwards(commit));
    expect(rowsIn(opened)).not.toEqual([]);
    await opened.database.overwriteUnused();
    expect(rowsIn(opened)).toEqual([]);
    expect((await opened.store.claim(refOf(1), "b")).events).toEqual([event(1), event(2)]);
  });

  it("W5: are found by a claim of another connection, in which nothing waits", async () => {
    const path = freshFile();
    const [one, other] = [open(path, eager), open(path, eager)];
    await using _one = one.database;
    await using _other = other.database;
    const second = (await settle(one, 1)).map(afterwards);
    // The first commit after the other connection has written, to be opened, may be judged by the tables.
    const third = second.map(afterwards);
    for (const commit of [...second, ...third]) await one.store.commit(commit);
    expect(rowsIn(other)).not.toEqual([]);
    const { head, events } = await other.store.claim(refOf(0), "b");
    expect([head.head, events]).toEqual([3, [event(1), event(2), event(3)]]);
    for (const commit of third.map(afterwards))
      expect(await one.store.commit(commit)).toMatchObject({ status: "refused", epoch: 2, head: 3 });
  });

  it("W5: are not lost with a work that fails in the transaction that reads them again", async () => {
    const opened = open(":memory:", eager);
    const { database, store } = opened;
    await using _database = database;
    const second = (await settle(opened, 2)).map(afterwards);
    await Promise.all(second.map((commit) => store.commit(commit)));
    const [failing, going] = second.map(afterwards);
    if (failing === undefined || going === undefined) throw new Error("there are two actors");
    opened.failing = "before";
    await expect(store.commit(going)).rejects.toMatchObject({ effect: "unknown" });
    opened.failing = null;
    const spoiled = store.commit({ ...failing, puts: [{ ...event(3), body: rubbish(["no text"]) }] });
    const applied = store.commit(going);
    await expect(spoiled).rejects.toThrow();
    expect(await applied).toEqual({ status: "applied" });
    expect((await store.claim(refOf(0), "b")).events).toEqual([event(1), event(2)]);
    expect((await store.claim(refOf(1), "b")).events).toEqual([event(1), event(2), event(3)]);
  });

  it.each([
    ["is sent again", true],
    ["is followed by another", false],
  ])(
    "W5: are what the file says after a COMMIT that failed although it was made, and %s",
    async (_, isSentAgain) => {
      const opened = open(":memory:", eager);
      const { database, store } = opened;
      await using _database = database;
      const [first] = await settle(opened, 1);
      if (first === undefined) throw new Error("there is no first commit");
      const prepare = database.prepare.bind(database);
      database.prepare = (sql) => {
        if (sql === "COMMIT") {
          prepare(sql).run();
          database.prepare = prepare;
          throw new Error("the disk");
        }
        return prepare(sql);
      };
      const second = afterwards(first);
      await expect(store.commit(second)).rejects.toMatchObject({ effect: "unknown" });
      if (isSentAgain) expect(await store.commit(second)).toEqual({ status: "applied" });
      // The tables judge it.
      const third = { ...afterwards(second), puts: [event(3), keyed(0, "x")] };
      expect(await store.commit(third)).toEqual({ status: "applied" });
      expect((await store.claim(refOf(0), "b")).events).toEqual([event(1), event(2), event(3)]);
    },
  );
});
