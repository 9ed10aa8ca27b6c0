// `svc ops` on a running sandbox: what an operator sees of its actors, and does to them.

import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseJournal } from "../sim/parse-journal.ts";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

let sandbox: RunningSandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const ops = (...words: readonly string[]) => sandbox.svc("ops", ...words);
const why = ["--by", "Ada", "--reason", "A test."];
type Json = ReturnType<typeof JSON.parse>;
const linesOf = (output: string): readonly Json[] =>
  output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));

it("lists nodes, counts and actors", async () => {
  const nodes = await ops("nodes", "--json");
  expect(nodes.code, nodes.output).toBe(0);
  expect(linesOf(nodes.output)).toEqual([expect.objectContaining({ state: "standalone", reachable: true })]);
  expect((await ops("nodes")).output).toMatch(/^NODE +ADDRESS +REGION +STATE/);
  expect((await ops("list")).output).toMatch(/^business +\d+ +\d+ +.*active \d+/m);
  const kept = linesOf((await ops("list", "business", "--known", "--json")).output);
  expect(kept.length).toBeGreaterThan(1);
  expect(kept.every(({ kind }) => kind === "business")).toBe(true);
  expect((await ops("list", "push", "--known", "--limit", "1")).output.trim().split("\n")).toHaveLength(2);
  const found = await ops("search", kept[0].id, "--json");
  expect(linesOf(found.output).map(({ id }) => id)).toContain(kept[0].id);
  expect((await ops("search", "no-actor-has-this")).code).toBe(1);
});

it("lists pushes under way, and what was refused", async () => {
  const pushes = await ops("pushes");
  expect(pushes.code, pushes.output).toBe(0);
  const urls = JSON.parse(await readFile(join(sandbox.home, "sandbox.json"), "utf8"));
  await fetch(new URL("/nowhere", urls.verify_url));
  const refused = await ops("refusals", "--code", "not_found", "--json");
  expect(linesOf(refused.output)).toEqual([
    expect.objectContaining({ surface: "verification", code: "not_found", key_id: null, count: 1 }),
  ]);
  expect((await ops("refusals")).output).toMatch(/^1 +not_found +verification +– +127\.0\.0\.1 +\d{4}-/m);
  for (const none of [
    ["--surface", "business"],
    ["--key", "nobody"],
  ])
    expect((await ops("refusals", ...none)).output).toContain("No such request was refused.");
});

it("shows one actor and its journal", async () => {
  const [push] = linesOf((await ops("list", "push", "--known", "--json")).output);
  const name = `push/${push.id}`;
  const shown = await ops("show", name);
  expect(shown.code, shown.output).toBe(0);
  expect(shown.output).toContain("It is complete");
  expect((await ops("show", name, "--journal")).output).toMatch(/push\.accepted +received → /);
  expect((await ops("show", "push/nothing")).code).toBe(3);
  expect((await ops("show", "nothing")).code).toBe(2);
});

it("acts on what it showed, and on nothing that nobody confirmed", async () => {
  const [push] = linesOf((await ops("list", "push", "--known", "--json")).output);
  const name = `push/${push.id}`;
  expect((await ops("act", "release", name)).output).toContain("--by is missing");
  expect((await ops("act", "release", name, ...why)).output).toContain("use --yes");
  expect((await ops("act", "dance", name, ...why, "--yes")).output).toContain("is not an act");
  const refused = await ops("act", "release", name, ...why, "--yes");
  expect([refused.code, refused.output]).toEqual([3, expect.stringContaining("not quarantined")]);
  const [active] = linesOf((await ops("list", "region", "--json")).output);
  const retried = await ops("act", "retry", `region/${active.id}`, ...why, "--yes");
  expect([retried.code, retried.output]).toEqual([0, expect.stringContaining("Done: retried.")]);
});

it("exports the journals of a business as the start of a simulation, and overwrites no file", async () => {
  const [push] = linesOf((await ops("list", "push", "--known", "--json")).output);
  const out = join(sandbox.home, "journal.ndjson");
  expect((await ops("export", `push/${push.id}`)).output).toContain("--out is missing");
  const exported = await ops("export", `push/${push.id}`, "--out", out, "--by", "Ada");
  expect([exported.code, exported.output.trim()]).toEqual([0, out]);
  const { actors } = parseJournal(await readFile(out, "utf8"));
  expect(actors.map(({ kind, id }) => `${kind}/${id}`)).toContain(`push/${push.id}`);
  expect((await stat(out)).mode & 0o777).toBe(0o600);
  expect((await ops("export", `push/${push.id}`, "--out", out, "--by", "Ada")).output).toContain(
    "is not overwritten",
  );
  expect((await ops("export", "push/nothing", "--out", `${out}.2`, "--by", "Ada")).code).toBe(3);
});
