// The lists that operators set at a running node, over HTTP and with the program: what is set counts at once, on every node of the
// store and after a restart, whatever the file of a node says; and what is refused changes nothing.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { LogEntry } from "../../actors/system/ports.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import { newCaller, send } from "../../api/surfaces.fixture.ts";
import { opsLists } from "../../cli/ops/operator-lists.ts";
import { openOperatorFiles } from "../../node/configuration/operator-files.ts";
import type { ListState } from "../../ops/shapes.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { listBytesMax } from "../../protocol/limits.ts";
import { noCertifiedNames } from "../../protocol/records/name-index.ts";
import { product, type TestBusiness } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  batchBody,
  giveMandate,
  newBusiness,
  openAttackNode,
  outcomesOf,
  publishOver,
} from "../retrieval/attack.fixture.ts";
import { runRevoke } from "./revocations.fixture.ts";

let node: AttackNode;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-lists-"));
  await writeFile(join(folder, "urls.txt"), "of-the-file.example\n");
  vi.stubEnv("SVC_BLOCKED_URLS", join(folder, "urls.txt"));
  node = await openAttackNode();
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await node.close();
  await rm(folder, { recursive: true, force: true });
});

const reason = "Complaint 4713";
const why = ["--by", "Ada at the desk", "--reason", reason];
const lists = (words: readonly string[], reply: string | null = "yes") =>
  runRevoke(words, { home: node.running.config.home, reply, command: opsLists });

async function fileOf(name: string, text: string | Uint8Array): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

/** A request of the operator, whose answer is as the document says. */
async function ops(path: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
  const token = (await readFile(join(node.running.config.home, "ops-token"), "utf8")).trim();
  const own = { authorization: signedIn(token), "content-type": "application/json", ...headers };
  const init = body === undefined ? { headers: own } : { method: "POST", body: JSON.stringify(body) };
  const answer = await contractFetch(`${node.running.urls.ops_url}${path}`, { headers: own, ...init });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
}

async function stateOf(list: string): Promise<ListState> {
  const { json } = await ops("/ops/lists");
  const found = (json["lists"] as readonly ListState[]).find((each) => each.list === list);
  if (found === undefined) throw new Error(list);
  return found;
}

const seenOf = async (list: string) => ({ expected: (await stateOf(list)).version });

let seq = 0;
async function publish(business: TestBusiness, host: string): Promise<readonly string[]> {
  seq += 1;
  const link = { destination_url: `https://${host}/`, display_domain: host };
  const { body } = await batchBody(business, [product(`p${seq}`, link)], { seq });
  const [outcome] = outcomesOf(await publishOver(node, business, body));
  return [outcome?.outcome ?? "", ...new Set(outcome?.errors.map(({ code }) => code))];
}

describe("what operators set", () => {
  it("blocks a host from the next push on, in the place of the node's file, also after a restart", async () => {
    const business = await newBusiness(node);
    expect(await publish(business, "of-the-file.example")).toEqual(["rejected", "url_flagged"]);
    expect(await publish(business, "by-act.example")).toEqual(["accepted"]);
    const text = "# ours\nby-act.example\n";
    expect(await stateOf("blocked-urls")).toMatchObject({
      source: "file",
      version: null,
      sha256: hashOf(utf8("of-the-file.example\n")),
      holds: "1 blocked host or address",
      unused_file: false,
    });
    const file = await fileOf("by-act.txt", text);
    expect(await lists(["set", "blocked-urls", file, ...why], "no")).toMatchObject({ code: 1 });
    expect(await publish(business, "by-act.example")).toEqual(["accepted"]);
    const run = await lists(["set", "blocked-urls", file, ...why]);
    expect(run).toMatchObject({
      code: 0,
      printed: expect.stringContaining("Done. Of blocked-urls version 1"),
    });
    expect(await publish(business, "by-act.example")).toEqual(["rejected", "url_flagged"]);
    expect(await publish(business, "of-the-file.example")).toEqual(["accepted"]);
    const after = {
      source: "act",
      version: 1,
      sha256: hashOf(utf8(text)),
      bytes: text.length,
      holds: "1 blocked host or address",
      by: "Ada at the desk",
      reason,
      unused_file: true,
      fault: null,
    };
    expect(await stateOf("blocked-urls")).toMatchObject(after);
    await node.restart();
    expect(await publish(business, "by-act.example")).toEqual(["rejected", "url_flagged"]);
    expect(await publish(business, "of-the-file.example")).toEqual(["accepted"]);
    expect(await stateOf("blocked-urls")).toMatchObject(after);
  });

  it("is shown with all that was set before, and given back byte for byte", async () => {
    const second = await fileOf("second.txt", "by-act.example\r\nb.example # why\n");
    expect(await lists(["set", "blocked-urls", second, ...why, "--yes"])).toMatchObject({ code: 0 });
    expect((await lists(["set", "blocked-urls", second, ...why, "--yes"])).printed).toBe(
      "It was so before.\n",
    );
    const history = await lists(["history", "blocked-urls"]);
    expect(history.printed).toMatch(
      /^VERSION.*\n2 .*2 blocked hosts.*\n1 .*1 blocked host or address.*Complaint 4713/,
    );
    for (const [words, text] of [
      [[], "by-act.example\r\nb.example # why\n"],
      [["--version", "1"], "# ours\nby-act.example\n"],
    ] as const) {
      const out = join(folder, `out${words.length}`);
      expect(await lists(["get", "blocked-urls", ...words, "--out", out])).toMatchObject({ code: 0 });
      expect(await readFile(out, "utf8")).toBe(text);
    }
    expect(await lists(["get", "prices", "--out", join(folder, "none")])).toMatchObject({ code: 3 });
    expect((await lists([])).printed).toMatch(/^as-table +\(nothing\)/m);
    expect((await lists([])).said).toContain("blocked-urls are not used any more");
  });

  it("protects names, admits the systems of source lists, and publishes terms", async () => {
    const business = await newBusiness(node);
    const names = { protected_names: ["Fellside Traders"], blocked_hosts: [] };
    const described = async () => {
      seq += 1;
      const { body } = await batchBody(
        business,
        [product(`n${seq}`, { short_description: "Like Fellside Traders" })],
        { seq },
      );
      return outcomesOf(await publishOver(node, business, body))[0]?.outcome;
    };
    expect(await described()).toBe("accepted");
    const protect = { text: JSON.stringify(names), reason, ...(await seenOf("content-lists")) };
    expect(await ops("/ops/lists/content-lists/set", protect)).toMatchObject({
      status: 200,
      json: { changed: true, list: { holds: "1 protected name, 0 exempt names, 0 blocked hosts" } },
    });
    expect(await described()).toBe("rejected");

    await giveMandate(node, business, { scope: { source_ip_allow_list: ["AS64500"] } });
    const code = async () => (await publishOver(node, business, "{")).json["code"];
    expect(await code()).toBe("source_not_allowed");
    const table = { text: "127.0.0.0/8 64500\n", reason, expected: null };
    expect(await ops("/ops/lists/as-table/set", table)).toMatchObject({ status: 200 });
    expect(await code()).toBe("request_invalid");

    const version = {
      version: 7,
      effective_from: "2026-01-01T00:00:00.000Z",
      language: "en",
      text: "# By act\n",
    };
    const company = await newCaller(
      node.running.services.keys.grant,
      "retrieval",
      "10000000-0000-4000-8000-000000000001",
    );
    const terms = async () => (await send(node.running.urls.base_url, company, { path: "/v1/terms" })).json;
    expect(await terms()).not.toMatchObject({ version: 7 });
    const seen = await seenOf("terms");
    const set = { text: JSON.stringify({ versions: [version] }), reason, ...seen };
    expect(await ops("/ops/lists/terms/set", set)).toMatchObject({ status: 200 });
    expect(await terms()).toMatchObject({ version: 7, text: "# By act\n" });
    const other = { text: JSON.stringify({ versions: [{ ...version, text: "# Other\n" }] }), reason };
    const changed = { ...other, ...(await seenOf("terms")) };
    expect(await ops("/ops/lists/terms/set", changed)).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining("version 7 was published and is changed or missing") },
    });
    expect(await terms()).toMatchObject({ text: "# By act\n" });
  });

  it("reaches another node of the store at its next look, and one that starts before it judges anything", async () => {
    const log: LogEntry[] = [];
    const { listStore: store, clock } = node.running.services;
    const none = { contentLists: null, asTable: null, terms: null, prices: null };
    const other = await openOperatorFiles({ ...none, blockedUrls: join(folder, "urls.txt") }, (entry) =>
      log.push(entry),
    );
    const blocked = () => [...(other.listsWith(noCertifiedNames).blockedUrls?.hosts ?? [])].sort();
    expect(blocked()).toEqual(["of-the-file.example"]);
    await other.follow({ store, clock });
    expect(blocked()).toEqual(["b.example", "by-act.example"]);
    const { version } = other.listsWith(noCertifiedNames);
    expect(version).toBeGreaterThan(0);
    expect(log).toContainEqual({
      level: "warn",
      event: "lists.file_unused",
      actor: "",
      detail: `SVC_BLOCKED_URLS: ${join(folder, "urls.txt")} is not used any more, because operators set blocked-urls; unset it`,
    });
    // The file may change as it likes.
    await writeFile(join(folder, "urls.txt"), "of-the-file.example\nmore.example\n");
    const third = { text: "third.example\n", reason, ...(await seenOf("blocked-urls")) };
    expect(await ops("/ops/lists/blocked-urls/set", third)).toMatchObject({
      status: 200,
    });
    for (let looks = 0; looks < 2; looks += 1) await other.look();
    expect(blocked()).toEqual(["third.example"]);
    expect(log.map(({ event }) => event)).not.toContain("lists.reloaded");
    expect(log.at(-1)?.detail).toMatch(/^blocked-urls: 1 blocked host .* version 3, sha256:/);
  });

  it("is in the audit log with who, why, hash and counts, and without its text", async () => {
    const acted = async () => {
      const log = await readFile(join(node.running.config.home, "audit.log"), "utf8");
      const entries = log.trim().split("\n");
      return entries
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ act }) => act === "POST /ops/lists/blocked-urls/set")
        .slice(-2);
    };
    // Its outcome is written once the answer has left.
    await expect.poll(acted).toMatchObject([
      { msg: "ops.asked", reason, asked: { text_bytes: 14 } },
      {
        msg: "ops.acted",
        reason,
        outcome: {
          changed: true,
          version: 3,
          sha256: hashOf(utf8("third.example\n")),
          bytes: 14,
          holds: "1 blocked host or address",
        },
      },
    ]);
    expect(JSON.stringify(await acted())).not.toContain("third.example");
  });
});

describe("nothing is changed", () => {
  const urls = "/ops/lists/blocked-urls/set";
  const now = async () => (await stateOf("blocked-urls")).version;

  it.each([
    ["blocked-urls", "a.example\nfile:///x\n", 'the text line 2: "file:///x" is no host, address or prefix'],
    ["blocked-urls", "# nothing\n", "the text has no entry"],
    ["as-table", "10.0.0.0/8 AS1\n2001:db 5\n", 'the text line 2: "2001:db 5" is not a range'],
    [
      "content-lists",
      '{"protected_names":[],"blocked_hosts":["com"]}',
      '/blocked_hosts/0 in the text is "com"',
    ],
    ["prices", '{"currency":"EUR","versions":[]}', "/versions in the text"],
    ["terms", '{"versions":[{"version":1}]}', "/versions/0"],
    ["content-lists", "{", "the text is not strict JSON"],
    ["blocked-urls", "a.example\n# \ud800\n", "half a character"],
  ])("by a faulty text of %s, which is refused as a file would be: %j", async (list, text, complaint) => {
    const before = await stateOf(list);
    const answer = await ops(`/ops/lists/${list}/set`, { text, reason, expected: before.version });
    expect(answer).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer: "/text", detail: expect.stringContaining(complaint) },
    });
    expect(await stateOf(list)).toEqual(before);
  });

  it("without a reason, a name or the right", async () => {
    const before = await now();
    const text = "x.example\n";
    expect((await ops(urls, { text, expected: before })).status).toBe(400);
    expect((await ops(urls, { text, reason })).status).toBe(400);
    expect(
      (await lists(["set", "blocked-urls", await fileOf("x.txt", text), "--by", "Ada", "--yes"])).code,
    ).toBe(2);
    const token = (await readFile(join(node.running.config.home, "ops-token"), "utf8")).trim();
    const nobody = { authorization: `Bearer ${token}` };
    expect(await ops(urls, { text, reason, expected: before }, nobody)).toMatchObject({
      status: 403,
      json: { code: "right_missing" },
    });
    const origin = node.running.urls.ops_url;
    const headers = { "content-type": "application/json", origin };
    const opened = Object.fromEntries(
      await Promise.all(
        (["act", "money", "parties", "takedowns", "cluster"] as const).map(async (right) => {
          const body = JSON.stringify({ token, rights: [right], by: "Ada" });
          const answer = await fetch(`${origin}/ops/session`, { method: "POST", headers, body });
          return [right, answer.headers.get("set-cookie")?.split(";")[0] ?? ""] as const;
        }),
      ),
    );
    const right = {
      "blocked-urls": "takedowns",
      "content-lists": "takedowns",
      prices: "money",
      terms: "parties",
      "as-table": "parties",
    };
    for (const [list, needed] of Object.entries(right))
      for (const [given, cookie] of Object.entries(opened)) {
        const answer = await fetch(`${origin}/ops/lists/${list}/set`, {
          method: "POST",
          headers: { ...headers, cookie },
          body: JSON.stringify({ text: "file:///faulty", reason, expected: null }),
        });
        const { code } = (await answer.json()) as { readonly code: string };
        expect([list, given, code]).toEqual([
          list,
          given,
          given === needed ? "request_invalid" : "right_missing",
        ]);
      }
    expect(await now()).toBe(before);
  });

  it("where somebody else set the list since it was looked at", async () => {
    const expected = await now();
    const both = await Promise.all(
      ["one.example\n", "two.example\n"].map((text) => ops(urls, { text, reason, expected })),
    );
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
    const before = await now();
    expect(await ops(urls, { text: "late.example\n", reason, expected })).toMatchObject({
      status: 409,
      json: { code: "state_changed", detail: expect.stringContaining(`Version ${before} is in force`) },
    });
    expect(await ops(urls, { text: "late.example\n", reason, expected: null })).toMatchObject({
      status: 409,
    });
    expect(await now()).toBe(before);
  });

  it("by one that is delivered once more after what was before is set again", async () => {
    const first = "of-before.example\n";
    await ops(urls, { text: first, reason, expected: await now() });
    const late = { text: "of-once.example\n", reason, expected: await now() };
    expect(await ops(urls, late)).toMatchObject({ status: 200, json: { changed: true } });
    expect(await ops(urls, late)).toMatchObject({ status: 200, json: { changed: false } });
    await ops(urls, { text: first, reason, expected: await now() });
    const before = await stateOf("blocked-urls");
    expect(await ops(urls, late)).toMatchObject({ status: 409, json: { code: "state_changed" } });
    expect(await stateOf("blocked-urls")).toEqual(before);
  });

  it("by a list that is too large, or is none", async () => {
    const before = await now();
    const much = "#".repeat(listBytesMax / 2);
    // As many characters as are allowed, and twice the bytes.
    const wide = `${"é".repeat(listBytesMax / 2)}${much}`;
    expect(await ops(urls, { text: wide, reason, expected: before })).toMatchObject({
      status: 400,
      json: { detail: expect.stringContaining(`use at most ${listBytesMax}`) },
    });
    expect((await ops(urls, { text: `${much}${much}#`, reason, expected: before })).status).toBe(400);
    const file = await fileOf("much.txt", `${much}${much}#`);
    expect(await lists(["set", "blocked-urls", file, ...why, "--yes"])).toMatchObject({ code: 2 });
    const bytes = await fileOf("bytes.txt", Uint8Array.of(0xc3, 0x28));
    expect(await lists(["set", "blocked-urls", bytes, ...why, "--yes"])).toMatchObject({ code: 2 });
    expect((await ops("/ops/lists/none")).status).toBe(404);
    expect(await lists(["set", "none", await fileOf("y.txt", "a.example\n"), ...why, "--yes"])).toMatchObject(
      {
        code: 3,
      },
    );
    expect(await now()).toBe(before);
  });
});
