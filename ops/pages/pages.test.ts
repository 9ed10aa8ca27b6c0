import { createHash } from "node:crypto";
import { h } from "preact";
import { renderToString } from "preact-render-to-string";
import { describe, expect, it } from "vitest";
import { StoreError } from "../../storage/actor-store.ts";
import { english } from "../../web/texts/catalogue.ts";
import type { ActorActing, ClusterOps } from "../cluster.ts";
import type { ActorDetail, ActorRow, NodeAttention, NodeState } from "../inspection-shapes.ts";
import { act, authorization, noInspection, openOps, report, since } from "../ops.fixture.ts";
import type { ClusterState } from "../shapes.ts";
import { firstValues } from "./views/act-form.ts";
import { Actor } from "./views/actor.ts";
import { historyOf } from "./views/actor-facts.ts";
import { clusterChoices } from "./views/nodes.ts";

const server = openOps({
  inspection: {
    ...noInspection,
    nodes: async () => [],
  },
});
const get = async (url: string) => server.inject({ url, headers: { host: "localhost:80" } });

describe("the operators' pages", () => {
  it("are found from the root of the surface", async () => {
    const answer = await get("/");
    expect([answer.statusCode, answer.headers.location]).toEqual([302, "/ui/"]);
  });

  it("have a policy without anything inline, and with Trusted Types", async () => {
    const answer = await get("/ui/");
    expect(answer.statusCode).toBe(200);
    const policy = String(answer.headers["content-security-policy"]);
    expect(policy.split("; ").sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "img-src 'self'",
      "require-trusted-types-for 'script'",
      "script-src 'self'",
      "style-src 'self'",
      "trusted-types 'none'",
    ]);
    expect(answer.body).not.toMatch(
      /<style| style=| on[a-z]+="|<script(?! type="module" src="\/ui\/assets\/)/,
    );
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  it("OP2: load assets whose address has the hash of their content", async () => {
    const { body } = await get("/ui/");
    const found = [...body.matchAll(/"(\/ui\/assets\/[a-z]+\.([0-9a-f]{16})\.(?:css|js|svg))"/g)];
    expect(found).toHaveLength(3);
    for (const [, path = "", hash = ""] of found) {
      const asset = await get(path);
      expect(asset.headers["cache-control"]).toContain("immutable");
      expect(createHash("sha256").update(asset.rawPayload).digest("hex").slice(0, 16)).toBe(hash);
    }
    expect((await get("/ui/assets/app.0000000000000000.js")).statusCode).toBe(404);
  });

  it("draw the machines of what an actor keeps, with the states that some of it is in", () => {
    const drawn = (path: string) => ({
      path,
      name: path,
      isLeaf: true,
      isInitial: false,
      takes: [],
      x: 0,
      y: 0,
      width: 1,
      height: 1,
    });
    const layout = { width: 9, height: 9, lines: [], anywhere: null, everywhere: [] };
    const props = {
      ...({ language: "en", journal: null, isLate: false } as const),
      detail: { ...report, context: { items: [{ state: "clicked" }] } },
      layout: { ...layout, states: [drawn("processing")] },
      parts: [{ kind: "ad-item", layout: { ...layout, states: [drawn("clicked"), drawn("refused")] } }],
    };
    const shown = renderToString(h(Actor, props));
    const lit = [...shown.matchAll(/class="state leaf( lit)?" data-state="(\w+)"/g)].map(([, is, path]) => [
      path,
      is,
    ]);
    expect(lit).toEqual([
      ["processing", " lit"],
      ["clicked", " lit"],
      ["refused", undefined],
    ]);
  });

  it("OP1: say what is not there, with the status of the API", async () => {
    const answer = await get("/ui/actors/push/nobody");
    expect(answer.statusCode).toBe(404);
    expect(answer.headers["content-type"]).toContain("text/html");
    expect(answer.body).toContain("No actor of this kind and id was ever claimed.");
  });

  it("OP1: say that the store does not answer, ask again by themselves, and show what does not need it", async () => {
    const away = (): Promise<never> => Promise.reject(new StoreError("not_applied", "Nobody is there."));
    const there = openOps({ inspection: { ...noInspection, counts: away, attention: away, detail: away } });
    const ask = (url: string) => there.inject({ url, headers: { host: "localhost:80" } });
    const page = await ask("/ui/actors/push/x");
    expect([page.statusCode, page.headers["refresh"]]).toEqual([503, "5"]);
    expect(page.body).toContain("This page cannot be made at the moment: the store does not answer.");
    const overview = await ask("/ui/");
    expect(overview.statusCode).toBe(200);
    expect(overview.body).toContain(english.operations.node.caption);
    expect(overview.body.split(english.operations.overview.notRead)).toHaveLength(5);
    expect((await ask("/ui/?x=1")).statusCode).toBe(400);
    const bug = openOps({
      inspection: { ...noInspection, detail: () => Promise.reject(new Error("A secret.")) },
    });
    const failed = await bug.inject({ url: "/ui/actors/push/x", headers: { host: "localhost:80" } });
    expect(failed.statusCode).toBe(500);
    expect(failed.body).not.toContain("A secret.");
  });

  it("say first of all which region or node does not answer, and never that nothing needs a look then", async () => {
    const words = "No node of us-east1 answers.";
    const lost = {
      region: "us-east1",
      incarnation: null,
      address: null,
      reason: "region_away",
      words,
    } as const;
    const found = async (nodes: readonly NodeAttention[]) => {
      const attention = async () => ({ nodes, actors: [], total: 0, is_complete: true, missing: [] });
      const there = openOps({ inspection: { ...noInspection, attention } });
      return (await there.inject({ url: "/ui/", headers: { host: "localhost:80" } })).body;
    };
    const { overview } = english.operations;
    const [told, quiet] = [await found([lost]), await found([])];
    for (const text of [words, overview.nodeReasons.region_away]) expect(told).toContain(text);
    expect([told, quiet].map((page) => page.includes(overview.nothing))).toEqual([false, true]);
  });

  it("show who had an actor, and what was refused to whom, or that nothing was", () => {
    const shown = (more: Partial<ActorDetail>) =>
      renderToString(h("div", null, historyOf({ ...report, ...more }, english.operations)));
    const body = shown({
      activations: [{ epoch: 2, owner: "eu-west1/b", since }],
      refused_writes: [{ epoch: 1, superseded_by: 2, owner: "eu-west1/a", at: since }],
    });
    expect(body).toMatch(/eu-west1\/b.*1, superseded by epoch 2.*eu-west1\/a/s);
    const { noRefused } = english.operations.actor;
    expect(body).not.toContain(noRefused);
    expect(shown({})).toContain(noRefused);
  });

  it("write what somebody searches for as text, in the title as well", async () => {
    const { body } = await get(`/ui/search?q=${encodeURIComponent('</title><script>alert(1)</script>"')}`);
    expect(body).not.toContain("<script>");
    expect(body.match(/&lt;script>alert/g)?.length).toBeGreaterThanOrEqual(2);
  });

  it("say whose an actor is, and lead from an empty list to what is not in memory", async () => {
    const party = { kind: "ai_company", legal_name: "Parallax Answers" } as const;
    const row: ActorRow = {
      kind: "business",
      id: "u",
      business_uuid: "u",
      party,
      region: "eu-west1",
      node: null,
      status: "passive",
      states: [],
      head: 1,
      mailbox: 0,
      outbox: 0,
      waits: null,
      attention: null,
    };
    const there = openOps({
      inspection: {
        ...noInspection,
        search: async () => ({ actors: [row], is_complete: true, missing: [] }),
      },
    });
    const ask = async (url: string) =>
      (await there.inject({ url, headers: { host: "localhost:80" } })).body.replaceAll("&amp;", "&");
    expect(await ask("/ui/search?q=parallax")).toMatch(/AI company.*Parallax Answers/s);
    const { noneInMemory, none } = english.operations.actors;
    const list = await ask("/ui/actors?kind=push&state=held");
    expect(list).toContain(noneInMemory);
    expect(list).toContain("/ui/actors?scope=known&kind=push&state=held&after=");
    expect(await ask("/ui/actors?kind=push&state=held&scope=known")).toContain(none);
  });

  it("lead a browser that may not read to where one signs in, from another machine", async () => {
    const hosts = ["localhost:80"];
    const far = openOps({ access: { hosts, token: "t".repeat(40), isLoopback: false } });
    const ask = (url: string) => far.inject({ url, headers: { host: "localhost:80" } });
    const answer = await ask("/ui/actors?kind=push");
    expect(answer.statusCode).toBe(303);
    const next = encodeURIComponent("/ui/actors?kind=push");
    expect(answer.headers.location).toBe(`/ui/sign-in?next=${next}`);
    const page = await ask(String(answer.headers.location));
    expect(page.statusCode).toBe(200);
    const [, style = ""] = /href="(\/ui\/assets\/style[^"]+)"/.exec(page.body) ?? [];
    expect((await ask(style)).statusCode).toBe(200);
    for (const closed of ["/ops/nodes", "/ops/live/counts", "/metrics"])
      expect((await ask(closed)).statusCode, closed).toBe(401);
  });

  it("lead to their own pages alone after signing in", async () => {
    for (const next of [
      "https://elsewhere.example/",
      "//elsewhere.example/",
      "/ui/\\elsewhere",
      "/ops/session",
    ]) {
      const { body } = await get(`/ui/sign-in?next=${encodeURIComponent(next)}`);
      expect(body).toContain("&quot;next&quot;:&quot;/ui/&quot;");
    }
    expect((await get("/ui/sign-in?next=%2Fui%2Factors")).body).toContain(
      "&quot;next&quot;:&quot;/ui/actors&quot;",
    );
  });
});

const node: NodeState = {
  incarnation: "f00d",
  region: "eu-west1",
  address: "10.0.0.1:7406",
  state: "active",
  is_self: true,
  reachable: true,
  detail: null,
  version: "1.2.3",
  started_at: null,
  lease: null,
  load: null,
  readiness: {
    ready: true,
    degraded: ["disk"],
    disks: [{ place: "home", free_bytes: 2 ** 27, size_bytes: 2 ** 40 }],
    checks: { store: "ok", keys: "ok", disk: "home has 128 MiB left; a node needs 256 MiB" },
  },
};
const nodes = [
  node,
  { ...node, incarnation: "beef", region: "us-east1", state: "leaving" as const, is_self: false },
  {
    ...node,
    incarnation: "dead",
    is_self: false,
    reachable: false,
    readiness: null,
    detail: "The connection failed.",
  },
];
const standing = { version: 1, successor: null, status: "active" as const };
const state: ClusterState = {
  region: "eu-west1",
  self: null,
  holds_lease: true,
  transport: null,
  fence_refusals: [{ region: "eu-west1", incarnation: "0ld", refusals: 1_234, last_at_ms: 0 }],
  regions: [
    { region: "eu-west1", version: 1, members: [], standing: { ...standing, region: "eu-west1" } },
    {
      region: "us-east1",
      version: 1,
      members: [],
      standing: { region: "us-east1", status: "dead", successor: "eu-west1", version: 2 },
    },
  ],
};
const regions = state.regions.map(({ region }) => region);

/** A cluster that does what it is asked, and what that was. */
function openCluster() {
  const asked: unknown[] = [];
  const noted =
    (name: string, outcome: string) =>
    async (...given: readonly unknown[]) => {
      asked.push([name, ...given.map((each) => (each instanceof Object ? { ...each } : each))]);
      return outcome;
    };
  const cluster: ClusterOps = {
    state: () => state,
    move: noted("move", "moved"),
    declareDead: noted("declareDead", "declared"),
    putIn: noted("putIn", "put_in"),
    rejoin: noted("rejoin", "rejoined"),
    supplyCheckpoint: noted("supplyCheckpoint", "taken"),
    rebuild: noted("rebuild", "begun"),
  };
  const acting: ActorActing = {
    act: async () => ({ refused: "unknown" }),
    drain: async (...given) => {
      asked.push(["drain", ...given]);
      return { outcome: "draining" };
    },
  };
  const inspection = { ...noInspection, nodes: async () => nodes };
  return { asked, server: openOps({ inspection, acting, cluster }) };
}

describe("the page of the nodes", () => {
  it("shows nodes and regions, with a form for each act on them that asks for a reason", async () => {
    const { body, statusCode } = await openCluster().server.inject({
      url: "/ui/nodes",
      headers: { host: "localhost:80" },
    });
    expect(statusCode).toBe(200);
    for (const shown of ["f00d", "beef", "us-east1", "declared dead", "eu-west1/0ld", "1,234"])
      expect(body).toContain(shown);
    for (const words of Object.values(english.operations.clusterActs.names))
      expect(body).toContain(`>${words}</option>`);
    expect(body).toContain(english.operations.acts.reason);
    expect(body).toContain('<a href="/ui/nodes" aria-current="page">');
  });

  it("shows whether each node is ready, with every check, why it fails, and the room on its disks", async () => {
    const { body } = await openCluster().server.inject({
      url: "/ui/nodes",
      headers: { host: "localhost:80" },
    });
    const row = (incarnation: string): string => {
      const [, table = ""] = body.split('id="readiness"');
      const rows = table.split("</table>")[0]?.split("<tr>") ?? [];
      return (rows.find((each) => each.includes(incarnation)) ?? "").replaceAll(/<[^>]*>/g, "|");
    };
    for (const shown of [
      "ready without disk",
      "home has 128 MiB left; a node needs 256 MiB",
      "store, keys",
      "home: 0.12 of 1024.00 GiB free",
    ])
      expect(row("f00d")).toContain(shown);
    expect(row("dead")).toContain("It did not say: The connection failed.");
    const overview = await openCluster().server.inject({ url: "/ui/", headers: { host: "localhost:80" } });
    expect(overview.body).toContain("ready without disk");
  });

  it("offers on a standalone node to drain it, and nothing of a cluster", async () => {
    const { body } = await get("/ui/nodes");
    const { names } = english.operations.clusterActs;
    expect(body).toContain(names.drain);
    expect(body).not.toContain(names.declareDead);
  });

  it("declares no region dead that nobody chose, nor without a successor, and says what follows", () => {
    const regions = ["eu-west1", "us-east1"];
    const choices = clusterChoices({ nodes: [], regions }, english.operations);
    const choice = choices.find(({ key }) => key === "declareDead");
    if (choice === undefined) throw new Error("It is not offered.");
    expect(firstValues(choice)).toMatchObject({ region: "", successor: "" });
    const { consequences } = choice.request({ region: "us-east1", successor: "eu-west1" });
    expect(consequences).toMatch(
      /cannot be taken back.* us-east1 leaves the keyspace.*eu-west1 serves its parties.* is lost/s,
    );
  });

  const party = "20000000-0000-4000-8000-000000000001";
  it.each([
    ["drain", {}, ["drain", "f00d", { state: "active" }], "f00d"],
    ["drain", { node: "beef" }, ["drain", "beef", { state: "leaving" }], "beef"],
    ["move", { party: ` ${party}`, to: "us-east1" }, ["move", party, "us-east1"], `${party} → us-east1`],
    [
      "declareDead",
      { region: "us-east1", successor: "eu-west1" },
      ["declareDead", { region: "us-east1", successor: "eu-west1", force: false }],
      "us-east1 → eu-west1",
    ],
    [
      "declareDead",
      { region: "us-east1", successor: "eu-west1", force: "yes" },
      ["declareDead", { region: "us-east1", successor: "eu-west1", force: true }],
      "us-east1 → eu-west1 (it is declared dead all the same; what it took and no other region has is lost)",
    ],
    ["putIn", { region: "us-east1" }, ["putIn", "us-east1"], "us-east1"],
    ["rejoin", { region: "us-east1" }, ["rejoin", "us-east1"], "us-east1"],
    ["rebuild", {}, ["rebuild", "products"], "products"],
  ] as const)("%s %j is a request that the API takes", async (key, values, wanted, subject) => {
    const { asked, server: there } = openCluster();
    const choice = clusterChoices({ nodes, regions }, english.operations).find((each) => each.key === key);
    if (choice === undefined) throw new Error(`${key} is not offered`);
    const request = choice.request({ ...firstValues(choice), ...values });
    expect(request.subject).toBe(subject);
    const send = (headers: object) =>
      there.inject({
        method: "POST",
        url: request.address,
        payload: { ...request.members, ...act },
        headers: { ...headers },
      });
    expect((await send({})).statusCode).toBe(401);
    expect(asked).toEqual([]);
    const answer = await send({ authorization });
    expect([answer.statusCode, asked]).toEqual([200, [wanted]]);
  });
});
