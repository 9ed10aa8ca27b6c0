// What `svc ops` prints of nodes and actors, and its exit codes, by which scripts and monitors know what it found.

import { expect, it } from "vitest";
import type { ActorRow, AttentionList, NodeAttention, NodeState } from "../../ops/inspection-shapes.ts";
import { noInspection, noLedgers, report, since } from "../../ops/ops.fixture.ts";
import type { Command } from "../command.ts";
import { blocks, brands, group } from "../groups.ts";
import { ledger, opsAccounts } from "../ledger.ts";
import { purges } from "../purges.ts";
import { revoke } from "../revoke.ts";
import { opsAct } from "./act.ts";
import { opsActors, opsAudit, opsNodes, opsPushes, opsRefusals, opsSearch } from "./lists.ts";
import { opsLists } from "./operator-lists.ts";
import { serveOps } from "./ops-commands.fixture.ts";
import { opsShow } from "./show.ts";
import { opsTakedown } from "./takedown.ts";

const node: NodeState = {
  incarnation: "f00d",
  region: "eu-west1",
  address: "10.0.0.5:7390",
  state: "active",
  is_self: true,
  reachable: true,
  detail: null,
  version: "1.2.3",
  started_at: since,
  lease: { held: true, age_ms: 90, remaining_ms: 1_910 },
  readiness: { ready: true, degraded: ["disk"], checks: { store: "ok", disk: "It is full." }, disks: [] },
  load: null,
};
const silent = { version: null, started_at: null, lease: null, readiness: null, is_self: false };
const older: NodeState = { ...node, ...silent, incarnation: "01d", detail: "it is of an earlier release" };
const away: NodeState = { ...older, incarnation: "dead", reachable: false, detail: "no answer" };
const row: ActorRow = {
  party: { kind: "business", legal_name: "Lindqvist AB" },
  kind: "push",
  id: "b.p",
  business_uuid: "b",
  region: "eu-west1",
  node: "f00d",
  status: "active",
  states: ["held"],
  head: 3,
  mailbox: 0,
  outbox: 0,
  waits: "It waits for a decision.",
  attention: { reason: "held", since },
};
const missing = [{ incarnation: "dead", region: "us-east1", detail: "no answer" }];

it("nodes: says which checks fail, and exits with 1 for one that does not answer or is not ready, not for an older one", async () => {
  let nodes = [node, older];
  await using ops = await serveOps({ inspection: { ...noInspection, nodes: async () => nodes } });
  const healthy = await ops.run(opsNodes, []);
  expect(healthy.code).toBe(0);
  expect(healthy.text).toMatch(/^f00d +10\.0\.0\.5:7390 +eu-west1 +active .*yes \(disk\) +90 ms old$/m);
  expect(healthy.text).toMatch(/^01d .*it is of an earlier release$/m);
  const { readiness } = node;
  nodes = [{ ...node, readiness: readiness === null ? null : { ...readiness, ready: false } }];
  expect((await ops.run(opsNodes, [])).code).toBe(1);
  nodes = [node, away];
  const partly = await ops.run(opsNodes, []);
  expect([partly.code, partly.text]).toEqual([1, expect.stringMatching(/^dead .*no answer$/m)]);
});

it("list --attention: exits with 1 if anything needs a look or was not read, and says what", async () => {
  let actors = [row];
  let isComplete = false;
  let missed: AttentionList["missing"] = missing;
  let nodes: readonly NodeAttention[] = [];
  const attention = async () => ({
    nodes,
    actors,
    total: actors.length,
    is_complete: isComplete,
    missing: missed,
  });
  await using ops = await serveOps({ inspection: { ...noInspection, attention } });
  const found = await ops.run(opsActors, ["--attention"]);
  expect(found.code).toBe(1);
  expect(found.text).toMatch(
    /^push\/b\.p +Lindqvist AB +active +held +f00d +\[held\] It waits for a decision\.$/m,
  );
  expect(found.text).toContain("The node dead of us-east1 does not answer: no answer");
  expect(found.text).toContain("More pushes are unfinished than were read");
  [actors, isComplete] = [[], true];
  // A node that did not answer may have what needs a look.
  const unknown = await ops.run(opsActors, ["--attention"]);
  expect([unknown.code, unknown.text]).toEqual([1, expect.not.stringContaining("Nothing needs a look")]);
  missed = [];
  const words = "No node of us-east1 answers.";
  nodes = [{ region: "us-east1", incarnation: null, address: null, reason: "region_away", words }];
  const lost = await ops.run(opsActors, ["--attention"]);
  expect([lost.code, lost.text]).toEqual([
    1,
    expect.stringMatching(/^all +us-east1 +region_away +No node of/m),
  ]);
  nodes = [];
  const nothing = await ops.run(opsActors, ["--attention"]);
  expect([nothing.code, nothing.text]).toEqual([0, expect.stringContaining("Nothing needs a look.")]);
  expect(nothing.text).not.toContain("More pushes");
});

it("list: hands each filter to the surface, and reads page after page up to the limit", async () => {
  const asked: unknown[] = [];
  const list: (typeof noInspection)["list"] = async (query) => {
    asked.push(query);
    const actors = Array.from({ length: query.limit }, (_, at) => ({ ...row, id: `${asked.length}-${at}` }));
    return { scope: query.scope, actors, next_after: `page ${asked.length}`, missing };
  };
  await using ops = await serveOps({ inspection: { ...noInspection, list } });
  const filters = ["--state", "working", "--region", "eu-west1", "--node", "f00d", "--part", "b."];
  const { text } = await ops.run(opsActors, ["push", ...filters, "--limit", "250", "--json"]);
  expect(text.trim().split("\n")).toHaveLength(250);
  const query = { kind: "push", state: "working", region: "eu-west1", node: "f00d", part: "b." };
  expect(asked).toMatchObject([
    { ...query, scope: "active", after: "", limit: 200 },
    { ...query, scope: "active", after: "page 1", limit: 50 },
  ]);
});

it("search: says that there may be more, and exits with 1 where nothing was found", async () => {
  const search = async (text: string) => ({
    actors: text === "b.p" ? [row] : [],
    is_complete: text !== "b.p",
    missing,
  });
  await using ops = await serveOps({ inspection: { ...noInspection, search } });
  const found = await ops.run(opsSearch, ["b.p"]);
  expect([found.code, found.text]).toEqual([0, expect.stringContaining("There may be more")]);
  const nothing = await ops.run(opsSearch, ["b.q"]);
  expect([nothing.code, nothing.text]).toEqual([1, expect.stringContaining("The node dead of us-east1")]);
  expect(nothing.text).toContain('No actor is known by "b.q".');
});

it("list: refuses a kind that does not exist, and says so where nothing fits", async () => {
  await using ops = await serveOps({});
  const refused = ops.run(opsActors, ["pusch"]);
  await expect(refused).rejects.toMatchObject({ status: 400, problem: { suggestion: "push" } });
  const nothing = await ops.run(opsActors, ["push", "--state", "held"]);
  expect([nothing.code, nothing.text]).toEqual([0, "No actor in memory fits; --known lists the others.\n"]);
});

const by = ["--by", "Ada", "--reason", "A test.", "--yes"];

it.each<readonly [string, Command, readonly string[]]>([
  ["nodes", opsNodes, []],
  ["list", opsActors, []],
  ["list of a kind", opsActors, ["push"]],
  ["list --attention", opsActors, ["--attention"]],
  ["search", opsSearch, ["x"]],
  ["pushes", opsPushes, []],
  ["refusals", opsRefusals, []],
  ["audit", opsAudit, []],
  ["purges", purges, []],
  ["purges of a business", purges, [since]],
  ["show", opsShow, ["push/x"]],
  ["show --journal", opsShow, ["push/x", "--journal"]],
  ["act on an actor", opsAct, ["retry", "push/x", ...by]],
  ["act on a node", opsAct, ["drain", "f00d", ...by]],
  ["act on the cluster", opsAct, ["rebuild", "events", ...by]],
  ["takedown", opsTakedown, []],
  ["takedown of a record", opsTakedown, ["x"]],
  ["takedown --lift", opsTakedown, ["x", "--lift", ...by]],
  ["lists", opsLists, []],
  ["lists history", opsLists, ["history", "terms"]],
  ["lists set", opsLists, ["set", "terms", "token", ...by]],
  ["ledger show", ledger, ["show", "x"]],
  ["ledger statement", ledger, ["statement", "x", "2026-11"]],
  ["ledger top-up", ledger, ["top-up", "x", "1", "--currency", "EUR", "--id", "1", ...by.slice(0, 4)]],
  ["blocks", blocks, ["x"]],
  ["blocks --block", blocks, ["x", "--block", "y", ...by.slice(0, 4)]],
  ["brands", brands, ["x"]],
  ["group", group, ["x"]],
  ["revoke key", revoke, ["key", "x", ...by]],
  ["revoke mandate", revoke, ["mandate", "x", "y", ...by]],
  ["revoke certificate", revoke, ["certificate", "x", "--status", "closed", "--status-reason", "a", ...by]],
  ["revoke grant", revoke, ["grant", `svc_sbxk1.${btoa('{"party":{},"role":"x"}')}`, ...by]],
])("an answer of another form is refused: %s", async (_name, command, words) => {
  for (const text of ["{}", "[]", "null", '{"nodes":[1],"kinds":{},"missing":[]}']) {
    await using ops = await serveOps({}, text);
    await expect(ops.run(command, words), text).rejects.toMatchObject({
      name: "SvcProblemError",
      code: "unexpected_answer",
    });
  }
});

it.each<readonly [Command, readonly string[], object, string]>([
  [
    opsNodes,
    [],
    { nodes: [{ ...node, lease: { ...node.lease, held: 1 } }] },
    "`/nodes/0/lease/held` is not of the type boolean",
  ],
  [opsShow, ["push/x"], { ...report, waits: [{}] }, "`/waits/0/code` is missing"],
  [
    opsAct,
    ["drain", "f00d", ...by],
    { nodes: [{ ...node, region: 5 }] },
    "`/nodes/0/region` is not of the type string",
  ],
  [opsAct, ["rebuild", "events", ...by], {}, "`/outcome` is missing. The act may have been done"],
])(
  "the error names the member that is wrong, and one that is new does no harm",
  async (command, words, answer, said) => {
    await using ops = await serveOps({}, JSON.stringify(answer));
    await expect(ops.run(command, words)).rejects.toThrow(said);
    await using later = await serveOps({}, JSON.stringify({ nodes: [{ ...node, later: 1 }], later: 1 }));
    expect((await later.run(opsNodes, [])).code).toBe(0);
  },
);

it("accounts: says how long each lasts, and exits with 1 while any runs low", async () => {
  const account = {
    company_uuid: "10000000-0000-4000-8000-000000000001",
    legal_name: "Ask Ltd",
    currency: "EUR",
    balance: "12.5",
    available: "10.5",
    used_last_day: "4",
    days_left: 3,
    is_low: true,
    last_top_up: { amount: "250", at: since },
  };
  const asked: string[] = [];
  let accounts = [account];
  const list = async (after: string) => {
    asked.push(after);
    return { accounts, next_after: account.company_uuid, is_complete: true };
  };
  await using ops = await serveOps({ ledgers: { ...noLedgers, list } });
  const low = await ops.run(opsAccounts, []);
  expect(low.code).toBe(1);
  expect(low.text).toMatch(/Ask Ltd +12\.5 EUR +4 +3 +yes +250 at /);
  expect(low.text).toContain(`More: --after ${account.company_uuid}`);
  accounts = [{ ...account, is_low: false }];
  expect((await ops.run(opsAccounts, ["--after", account.company_uuid])).code).toBe(0);
  expect(asked).toEqual(["", account.company_uuid]);
});
