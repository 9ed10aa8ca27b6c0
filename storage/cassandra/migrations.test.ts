import { describe, expect, it } from "vitest";
import { StoreError } from "../actor-store.ts";
import { FaultySession } from "./faulty-session.fixture.ts";
import { type Migrations, migrate } from "./migrations.ts";
import type { CassandraSession, CqlParam, CqlResult } from "./session.ts";

const known: Migrations = [["CREATE TABLE IF NOT EXISTS one (id text PRIMARY KEY)"]];
const unknownMax = 5;

/** A keyspace where another node has begun to create `schema_state`: the table is listed. */
function newKeyspace() {
  const state: { version: number | null; holder: CqlParam } = { version: null, holder: null };
  const defined: string[] = [];
  const take = (cql: string, [first]: readonly CqlParam[]): boolean => {
    if (cql.startsWith("INSERT INTO schema_state (part, version)")) state.version ??= Number(first);
    else if (cql.startsWith("DELETE")) state.holder = null;
    else if (state.holder !== null && state.holder !== first) return false;
    else state.holder = first;
    return true;
  };
  const engine: CassandraSession = {
    keyspace: "test",
    localDc: "eu-west1",
    execute: async (cql, params): Promise<CqlResult> => {
      if (!cql.startsWith("SELECT")) return { rows: [], pageState: null, applied: take(cql, params) };
      const tables = params.includes("schema_state") ? [{ table_name: "schema_state" }] : [];
      const rows = cql.includes("system_schema") ? tables : [{ version: state.version }];
      return { rows, pageState: null, applied: true };
    },
    batch: () => Promise.reject(new Error("nobody sends a batch here")),
    define: async (cql, options) => {
      defined.push(`${cql.split(/[\s(]+/)[5]}${options?.settle === false ? "" : ", and all know it"}`);
    },
    close: async () => {},
  };
  return { session: new FaultySession(engine), state, defined };
}

const stateTable = "schema_state, and all know it";

describe("a table schema_state that is listed and not known yet (S5)", () => {
  it.each([
    ["its version is first read", "SELECT version", [stateTable, "one", stateTable]],
    ["the lock is taken", "(part, holder)", [stateTable, "one", stateTable]],
    ["the version is recorded", "(part, version)", ["one", stateTable, stateTable, "one", stateTable]],
  ])("is created as well, and awaited, when %s", async (_, part, expected) => {
    const { session, state, defined } = newKeyspace();
    session.failNext(part, "unknown_table");
    expect(await migrate(session, known)).toBe(1);
    expect(defined).toEqual(expected);
    expect(state).toEqual({ version: 1, holder: null });
  });

  it("is awaited a number of times, and then no more", async () => {
    const { session, defined } = newKeyspace();
    for (let times = 1; times < unknownMax; times += 1) session.failNext("SELECT version", "unknown_table");
    expect(await migrate(session, [])).toBe(0);
    expect(defined).toEqual(Array.from({ length: unknownMax - 1 }, () => stateTable));

    for (let times = 1; times <= unknownMax; times += 1) session.failNext("SELECT version", "unknown_table");
    const error = await migrate(session, []).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({
      effect: "not_applied",
      message: expect.stringContaining("does not know the table schema_state"),
      cause: { message: "Cassandra: table schema_state does not exist" },
    });
    expect(await migrate(session, [])).toBe(0);
  });

  it("is not what any other failure is taken for", async () => {
    const { session, defined } = newKeyspace();
    session.failNext("SELECT version", "refused");
    await expect(migrate(session, known)).rejects.toThrow("scripted: refused");
    expect(defined).toEqual([]);
  });
});
