import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { sealedRemoval } from "../../actors/facts.fixture.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import type { NodeServices } from "../../node/composition/services.ts";
import {
  jsonOf,
  openBusiness,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../publishing/publishing.fixture.ts";
import { openCrashedNode, untilNothingWaits } from "./crash-points.fixture.ts";
import { proveStored } from "./crash-proof.fixture.ts";

let folder = "";
let home = "";
let business: TestBusiness;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-index-"));
  await twoDays();
});

beforeEach(() => {
  home = join(folder, "node");
  rmSync(home, { recursive: true, force: true });
  cpSync(join(folder, "day-two"), home, { recursive: true });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Opens the node for `use`, closes it, and returns what it logged. */
async function run(use: (services: NodeServices) => Promise<void>): Promise<readonly LogEntry[]> {
  const logged: LogEntry[] = [];
  const services = await openCrashedNode(home, {}, (entry) => logged.push(entry));
  try {
    await use(services);
    await untilNothingWaits(services);
  } finally {
    await services[Symbol.asyncDispose]();
  }
  return logged;
}

async function push(
  services: NodeServices,
  seq: number,
  ids: readonly string[],
  name: string,
): Promise<void> {
  const records = ids.map((id) => product(id, { product_name: `${name} ${id}` }));
  expect(jsonOf(await sealAndPublish(services, business, records, { seq }))).toMatchObject({ status: 200 });
}

async function withdraw(services: NodeServices, id: string): Promise<void> {
  const { uuid } = business.party;
  const record_id = services.recordIdOf(uuid, "products", id);
  const command = {
    type: "record.remove",
    record_id,
    action: "withdraw",
    at: "",
    document_hash: id,
    sealed: sealedRemoval,
  } as const;
  await services.actors.ask(businessRef(uuid), command);
  // The answer comes before the index knows of it.
  await untilNothingWaits(services);
}

/** The ids and names of the rows that a search finds. */
async function names(services: NodeServices): Promise<readonly string[]> {
  const hits = await services.index.search({
    collection: "products",
    country: "US",
    clauses: [],
    sort: [{ field: "published_at", direction: "asc" }],
    limit: 50,
    excludeBusinesses: [],
  });
  return hits.map((hit) => (JSON.parse(hit.row) as { product_name: string }).product_name).sort();
}

/** Restores a file of the stopped node to its state on the first day. */
function restore(file: string): void {
  removeFile(file);
  cpSync(join(folder, "day-one", file), join(home, file));
}

function removeFile(file: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(home, file + suffix), { force: true });
}

const repairs = (logged: readonly LogEntry[]): readonly string[] =>
  logged.filter((entry) => entry.event === "index.repaired").map((entry) => entry.detail);

/** Three products in one version; on the next day one is updated, one withdrawn and one added. */
async function twoDays(): Promise<void> {
  home = join(folder, "day-one");
  await run(async (services) => {
    business = await openBusiness(services);
    await push(services, 1, ["a", "b", "c"], "old");
  });
  home = join(folder, "day-two");
  cpSync(join(folder, "day-one"), home, { recursive: true });
  await run(async (services) => {
    await push(services, 2, ["a", "d"], "new");
    await withdraw(services, "b");
    expect(await names(services)).toEqual(["new a", "new d", "old c"]);
  });
}

describe("the row index of a node that is started again", () => {
  it.each([
    ["deleted", () => removeFile("rows.db")],
    ["emptied", () => writeFileSync(join(home, "rows.db"), "")],
  ])("is made again from the records when its file was %s", async (_, damage) => {
    damage();
    const logged = await run(async (services) => {
      expect(await names(services)).toEqual(["new a", "new d", "old c"]);
      expect(await services.index.count("products")).toBe(3);
    });
    // The tombstone is repaired too: a late row of the withdrawn record must stay out.
    expect(repairs(logged)).toEqual(["4 rows were missing"]);
    proveStored(home);
    expect(repairs(await run(async () => {}))).toEqual([]);
  });

  it.each([
    ["in its first page", 0],
    ["in a page of its rows", 3 * 4_096],
  ])("is made again, and said to be, when its file is damaged %s", async (_, from) => {
    const path = join(home, "rows.db");
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill("rubbish ", from, from + 4_096));
    const logged = await run(async (services) => {
      expect(await names(services)).toEqual(["new a", "new d", "old c"]);
    });
    expect(repairs(logged)).toEqual([
      "4 rows were missing: rows.db was damaged and was made again from store.db",
    ]);
    proveStored(home);
    expect(repairs(await run(async () => {}))).toEqual([]);
  });

  it("is brought up to the records when its file is of an earlier day", async () => {
    restore("rows.db");
    const logged = await run(async (services) => {
      expect(await names(services)).toEqual(["new a", "new d", "old c"]);
    });
    expect(repairs(logged)).toEqual(["3 rows were missing"]);
    proveStored(home);
  });

  it("is made anew when the records are of an earlier day, so that later changes are not taken for stale", async () => {
    restore("store.db");
    // The log belongs to the store, and so do the sandbox's own witnesses: they would refuse to see it become another one.
    for (const name of ["log", "witnesses"]) {
      rmSync(join(home, name), { recursive: true });
      cpSync(join(folder, "day-one", name), join(home, name), { recursive: true });
    }
    const logged = await run(async (services) => {
      expect(await names(services)).toEqual(["old a", "old b", "old c"]);
      await push(services, 2, ["a"], "other");
      expect(await names(services)).toEqual(["old b", "old c", "other a"]);
    });
    expect(repairs(logged)).toEqual(["3 rows were missing: the file belonged to another store"]);
    proveStored(home);
  });

  it("is left alone when nothing happened to it", async () => {
    expect(repairs(await run(async () => {}))).toEqual([]);
  });
});
