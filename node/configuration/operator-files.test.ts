import { randomUUID } from "node:crypto";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { LogEntry } from "../../actors/system/ports.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { contentFaults } from "../../protocol/records/judge-record.ts";
import { type ContentLists, noCertifiedNames } from "../../protocol/records/name-index.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteListStore } from "../../storage/sqlite/list-store.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  sealAndPublish,
  type TestBusiness,
} from "../../stories/publishing/publishing.fixture.ts";
import { type OperatorFiles, type OperatorPaths, openOperatorFiles } from "./operator-files.ts";

let folder: string;
let paths: { contentLists: string; blockedUrls: string; asTable: string };
let lines: LogEntry[];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-operator-files-"));
});

afterAll(() => rm(folder, { recursive: true }));

beforeEach(async () => {
  const at = (name: string) => join(folder, name);
  paths = { contentLists: at("lists.json"), blockedUrls: at("urls.txt"), asTable: at("as.txt") };
  lines = [];
  await writeFile(paths.contentLists, names("Fellside Traders"));
  await writeFile(
    paths.blockedUrls,
    "# hosts\nbad.example\n*.tenants.example # their customers\n\nhttps://sites.example/phish\n",
  );
  await writeFile(paths.asTable, "203.0.113.0/24\tAS64496\n2001:db8::/32 64497\r\n");
});

function names(...protectedNames: readonly string[]): string {
  return JSON.stringify({ protected_names: protectedNames, blocked_hosts: [] });
}

interface Opened extends OperatorFiles {
  readonly lists: ContentLists;
}

async function open(changes: Partial<OperatorPaths> = {}): Promise<Opened> {
  const files = await openOperatorFiles({ terms: null, prices: null, ...paths, ...changes }, (entry) =>
    lines.push(entry),
  );
  return { ...files, lists: files.listsWith(noCertifiedNames) };
}

/** Replaces a file as a whole, as operators should. */
async function replace(path: string, text: string | Uint8Array): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}

/** A change is taken over by the second look that sees it. */
async function lookTwice(files: Pick<OperatorFiles, "look">): Promise<void> {
  await files.look();
  await files.look();
}

function codes({ lists }: Opened, short_description: string): readonly string[] {
  const record = { ...sampleRecords.products, short_description };
  return contentFaults("products", record, lists).map(({ code }) => code);
}

function reading(files: OperatorFiles, name: string): number | undefined {
  return files.readings().find((each) => each.name === name)?.value;
}

describe("the operator's files", () => {
  it("are in force from the start", async () => {
    const files = await open();
    expect(codes(files, "Like Fellside Traders")).toEqual(["scope_violation"]);
    expect(codes(files, "See bad.example, a.tenants.example")).toEqual(["url_flagged"]);
    expect(codes(files, "See a.tenants.example")).toEqual(["url_flagged"]);
    expect(codes(files, "See https://sites.example/phish/1")).toEqual(["url_flagged"]);
    expect(codes(files, "See malware.test")).toEqual(["url_flagged"]);
    expect(files.asTable()?.systemsOf("203.0.113.9")).toEqual([64496]);
    expect(files.asTable()?.systemsOf("2001:db8::9")).toEqual([64497]);
    expect(reading(files, "svc_blocked_urls")).toBe(3);
    expect(reading(files, "svc_as_prefixes")).toBe(2);
    expect(reading(files, "svc_operator_file_faults")).toBe(0);
  });

  it("are not needed", async () => {
    const files = await open({ contentLists: null, blockedUrls: null, asTable: null });
    await lookTwice(files);
    expect(codes(files, "See bad.example of Fellside Traders")).toEqual([]);
    expect(codes(files, "See malware.test")).toEqual(["url_flagged"]);
    expect(files.asTable()).toBeNull();
  });

  it("come into force again when they change, each on its own", async () => {
    const files = await open();
    const before = files.lists.version;
    await lookTwice(files);
    expect(files.lists.version).toBe(before);
    await replace(paths.contentLists, names("Moorland"));
    await lookTwice(files);
    expect(files.lists.version).not.toBe(before);
    expect(codes(files, "Like Fellside Traders")).toEqual([]);
    expect(codes(files, "Like Moorland, see bad.example")).toEqual(["scope_violation", "url_flagged"]);
    await replace(paths.blockedUrls, "worse.example\n");
    await replace(paths.asTable, "203.0.113.0/24 64500\n");
    await lookTwice(files);
    expect(codes(files, "See bad.example")).toEqual([]);
    expect(codes(files, "See worse.example")).toEqual(["url_flagged"]);
    expect(files.asTable()?.systemsOf("203.0.113.9")).toEqual([64500]);
    expect(reading(files, "svc_operator_file_reloads_total")).toBe(3);
    expect(lines.map(({ level, event }) => `${level} ${event}`)).toEqual(
      Array(3).fill("info lists.reloaded"),
    );
    expect(lines[0]?.detail).toBe("SVC_CONTENT_LISTS: 1 protected name, 0 exempt names, 0 blocked hosts");
  });

  it("are read only once they have stayed the same for a look", async () => {
    const files = await open();
    await writeFile(paths.blockedUrls, "half.example\n");
    await files.look();
    expect(codes(files, "See half.example")).toEqual([]);
    await writeFile(paths.blockedUrls, "half.example\nwhole.example\n");
    await files.look();
    expect(codes(files, "See half.example")).toEqual([]);
    await files.look();
    expect(codes(files, "See half.example")).toEqual(["url_flagged"]);
    expect(codes(files, "See whole.example")).toEqual(["url_flagged"]);
  });

  it.each<readonly [name: string, file: keyof typeof paths, text: string | Uint8Array | null, fault: RegExp]>(
    [
      ["is not JSON", "contentLists", '{"protected_names":[', /SVC_CONTENT_LISTS: .*strict JSON/],
      ["is gone", "contentLists", null, /SVC_CONTENT_LISTS: .*cannot be read/],
      [
        "has a bad line",
        "blockedUrls",
        "ok.example\nfile:///x\n",
        /SVC_BLOCKED_URLS: .*line 2: "file:\/\/\/x" is no host/,
      ],
      ["would block a whole domain", "blockedUrls", "com\n", /SVC_BLOCKED_URLS: .*line 1: "com"/],
      ["is empty", "blockedUrls", "# nothing\n", /SVC_BLOCKED_URLS: .*has no entry/],
      [
        "is cut off",
        "asTable",
        "203.0.113.0/24 64496\n2001:db",
        /SVC_AS_TABLE: .*line 2: "2001:db" is not a range/,
      ],
      ["has a bad range", "asTable", "203.0.113.0/33 64496\n", /SVC_AS_TABLE: .*line 1/],
      ["has a bad number", "asTable", "203.0.113.0/24 4294967296\n", /SVC_AS_TABLE: .*line 1/],
      ["is not UTF-8", "asTable", Uint8Array.of(0xc3, 0x28), /SVC_AS_TABLE: .*UTF-8/],
      ["has a line without an end", "blockedUrls", "a".repeat(10_000), /SVC_BLOCKED_URLS: .*too long/],
    ],
  )("keep what is in force when one %s, and say so once", async (_name, file, text, fault) => {
    const files = await open();
    if (text === null) await rm(paths[file]);
    else await replace(paths[file], text);
    await lookTwice(files);
    await lookTwice(files);
    expect(codes(files, "Like Fellside Traders, see bad.example")).toEqual([
      "scope_violation",
      "url_flagged",
    ]);
    expect(files.asTable()?.systemsOf("203.0.113.9")).toEqual([64496]);
    expect(reading(files, "svc_operator_file_faults")).toBe(1);
    expect(lines.map(({ level, event }) => `${level} ${event}`)).toEqual(["error lists.not_reloaded"]);
    expect(lines[0]?.detail).toMatch(fault);
    await expect(open()).rejects.toThrow(fault);
    // A good file ends that.
    const good = {
      contentLists: names("Moorland"),
      blockedUrls: "worse.example\n",
      asTable: "203.0.113.0/24 7\n",
    };
    await replace(paths[file], good[file]);
    await lookTwice(files);
    expect(reading(files, "svc_operator_file_faults")).toBe(0);
    expect(lines.at(-1)?.event).toBe("lists.reloaded");
  });

  it("load hundreds of thousands of lines, and look one up", async () => {
    const octets = (index: number) => `${10 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}.0/24`;
    const prefixes = Array.from({ length: 300_000 }, (_, index) => `${octets(index)} ${index + 1}`);
    await writeFile(paths.asTable, prefixes.join("\n"));
    const hosts = Array.from({ length: 200_000 }, (_, index) => `host${index}.bad.example`);
    await writeFile(paths.blockedUrls, hosts.join("\n"));
    const files = await open();
    expect(files.asTable()?.systemsOf("10.1.2.3")).toEqual([259]);
    expect(codes(files, "See host199999.bad.example")).toEqual(["url_flagged"]);
  });
});

describe("a version that this node cannot use", () => {
  const act = { by: "Ada", reason: "Complaint 4713" };
  const clock = { now: () => 0 };
  const versionOf = (version: number, text: string, sha256 = hashOf(utf8(text))) => ({
    list: "blocked-urls",
    version,
    file: randomUUID(),
    sha256,
    size: text.length,
    holds: "",
    ...act,
    set_at: "2026-11-20T03:00:00.000Z",
  });

  it("stops a start, changes nothing in a running node, is said once, and is replaced from any node (SL4)", async () => {
    await using database = SqliteDatabase.open(join(folder, "lists.db"));
    const store = openSqliteListStore(database, clock.now);
    const files = await open();
    const lists = await files.follow({ store, clock });
    const good = utf8("worse.example\n");
    expect(await lists.set({ list: "blocked-urls", bytes: good, act })).toMatchObject({ ok: true });
    for (const [version, text, sha256, said] of [
      [2, "file:///x\n", undefined, /line 1: "file:\/\/\/x" is no host/],
      [3, "other.example\n", hashOf(good), /its bytes have another SHA-256/],
    ] as const) {
      await store.set(versionOf(version, text, sha256), utf8(text), null);
      lines = [];
      for (let looks = 0; looks < 3; looks += 1) await files.look();
      expect(lines.map(({ level, event }) => [level, event])).toEqual([["error", "lists.not_taken_up"]]);
      expect(lines[0]?.detail).toMatch(said);
      expect(codes(files, "See worse.example")).toEqual(["url_flagged"]);
      expect(reading(files, "svc_operator_file_faults")).toBe(1);
      expect(lists.all().find(({ list }) => list === "blocked-urls")).toMatchObject({
        version: 1,
        fault: expect.stringMatching(said),
      });
      await expect((await open()).follow({ store, clock })).rejects.toThrow(said);
    }
    expect(await lists.set({ list: "blocked-urls", bytes: utf8("good.example\n"), act })).toMatchObject({
      value: { changed: true, subject: { version: 4, fault: null } },
    });
    expect(reading(files, "svc_operator_file_faults")).toBe(0);
    expect(codes(files, "See good.example, worse.example")).toEqual(["url_flagged"]);
    await (await open()).follow({ store, clock });
  });

  it("keeps no other list from being taken up, where its bytes are not here", async () => {
    await using database = SqliteDatabase.open(join(folder, "absent.db"));
    const store = openSqliteListStore(database, clock.now);
    const files = await open();
    const lists = await files.follow({ store, clock });
    const absent = { ...versionOf(1, "{}"), list: "content-lists", size: 3 };
    await store.set(absent, utf8("{}"), null);
    await store.set(versionOf(1, "worse.example\n"), utf8("worse.example\n"), null);
    await expect(files.look()).rejects.toThrow("the bytes of version 1 of content-lists are not there");
    expect(lists.all().map(({ list, version }) => [list, version])).toContainEqual(["blocked-urls", 1]);
    expect(codes(files, "See worse.example")).toEqual(["url_flagged"]);
  });

  it("is one of prices that lacks what the node charged by its file (SL3)", async () => {
    await using database = SqliteDatabase.open(join(folder, "first.db"));
    const store = openSqliteListStore(database, clock.now);
    const search = { products: "1", business_files: "1", events: "1", jobs: "1", updates: "1" };
    const price = (version: number, effective_from: string) => ({
      version,
      effective_from,
      search,
      fetch: "2",
    });
    const past = price(1, "1969-01-01T00:00:00.000Z");
    const later = price(2, "1970-02-01T00:00:00.000Z");
    const textOf = (currency: string, ...versions: readonly object[]) =>
      JSON.stringify({ currency, versions });
    const path = join(folder, "prices.json");
    await writeFile(path, textOf("EUR", past, price(2, "1970-01-31T00:00:00.000Z")));
    const files = await open({ prices: path });
    const lists = await files.follow({ store, clock });
    const elsewhere = await (await open()).follow({ store, clock });
    const setOf = (text: string) => ({ list: "prices", bytes: utf8(text), act }) as const;
    expect(await elsewhere.set(setOf(textOf("EUR", later)))).toMatchObject({ ok: true });
    await files.look();
    expect(files.prices()?.versions).toHaveLength(2);
    const said = /version 1 of prices: it lacks what .*prices.json has: version 1 is or was in force/;
    expect(lists.all().find(({ list }) => list === "prices")?.fault).toMatch(said);
    await expect((await open({ prices: path })).follow({ store, clock })).rejects.toThrow(said);
    // What had not begun when the list was set may be another.
    expect(await lists.set(setOf(textOf("EUR", past, later)))).toMatchObject({ ok: true });
    await (await open({ prices: path })).follow({ store, clock });
  });
});

describe("a node whose lists change", () => {
  let node: PublishingNode;
  let business: TestBusiness;
  let seq = 0;

  beforeAll(async () => {
    const path = join(folder, "node.txt");
    await writeFile(path, "bad.example\n");
    node = await openPublishingNode({ SVC_BLOCKED_URLS: path });
    business = await openBusiness(node.services);
  });

  afterAll(() => node.close());

  it("judges the next push by the new ones, without a restart, and leaves what was settled", async () => {
    const link = (host: string) => ({ destination_url: `https://${host}/`, display_domain: host });
    const publish = async (id: string, host: string) => {
      seq += 1;
      const answer = jsonOf(
        await sealAndPublish(node.services, business, [product(id, link(host))], { seq }),
      );
      const [result] = answer["results"] as readonly {
        outcome: string;
        errors: readonly { code: string }[];
      }[];
      return [result?.outcome, ...(result?.errors ?? []).map(({ code }) => code)];
    };
    expect(await publish("a", "worse.example")).toEqual(["accepted"]);
    expect(await publish("b", "bad.example")).toEqual(["rejected", "url_flagged", "url_flagged"]);
    await replace(join(folder, "node.txt"), "worse.example\n");
    await lookTwice(node.services.operatorFiles);
    expect(await publish("b", "bad.example")).toEqual(["accepted"]);
    expect(await publish("c", "worse.example")).toEqual(["rejected", "url_flagged", "url_flagged"]);
  });
});
