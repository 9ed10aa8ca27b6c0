// Inspection and acts in a cluster: any node answers for any actor, and a node that dies is said to be away until another has its
// actors. The nodes are those of the cluster's own world, with an actor system each on one store.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ActorDefinition } from "../../actors/system/definition.ts";
import type { LocalActorSystem } from "../../actors/system/ports.ts";
import { createActorSystem } from "../../actors/system/runtime.ts";
import { counterActor } from "../../actors/system/world.fixture.ts";
import { type RoutedNode, RoutedWorld } from "../../cluster/routed-world.fixture.ts";
import { act, authorization, openOps, token } from "../../ops/ops.fixture.ts";
import { createRefusedRequests } from "../../ops/refused-requests.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import type { AnsweredRequest } from "../../service/request-observer.ts";
import { MemoryActorStore } from "../../storage/memory/actor-store.ts";
import { remoteFailure } from "../../transport/actor-transport.ts";
import { createInspection } from "./inspection.ts";

type Json = ReturnType<typeof JSON.parse>;

/** A counter under the name of a kind that has a party for its home. */
const definition: ActorDefinition = { ...counterActor, kind: "ledger" };

interface OpsNode {
  readonly routed: RoutedNode;
  readonly system: LocalActorSystem;
  readonly server: ReturnType<typeof openOps>;
  readonly base: string;
  drained: number;
  /** What its checks say besides \`ok\`. */
  checks: Record<string, string>;
  /** Notes that a request was refused there. */
  refuse(request: Pick<AnsweredRequest, "key_id" | "from">): void;
}

let world: RoutedWorld;
let store: MemoryActorStore;
let nodes: OpsNode[];

async function open(): Promise<OpsNode> {
  const routed = await world.join();
  const { incarnation, membership, placement, region, timers } = routed.node;
  const clock = { now: () => world.epochMs + world.time.now() };
  let operations = 0;
  const system = createActorSystem({
    ...{ store, definitions: [definition], activities: {}, clock, timers, owner: `${region}/${incarnation}` },
    entropy: {
      newOperationId: () => {
        operations += 1;
        return `${incarnation}-${operations}`;
      },
    },
    limits: { restartMs: 10, crashesMax: 2 },
    log: () => {},
  });
  const node: OpsNode = {
    routed,
    system,
    server: rubbish(null),
    base: "",
    drained: 0,
    checks: {},
    refuse: () => {},
  };
  const cluster = {
    ...{ region, regionNames: world.regions, membership, placement, router: routed.router },
    answerOperators: (answer: RoutedNode["operators"]) => {
      routed.operators = answer;
    },
  };
  const services = {
    ...{ actors: system, actorStore: store, clock, incarnation, cluster, config: { region } },
    records: { stagedPushes: async () => [] },
    fence: { refusedCommits: () => [] },
    pause: async () => {},
    drain: () => {
      node.drained += 1;
    },
    elapsedMs: () => world.time.now(),
  };
  const refused = createRefusedRequests(() => clock.now());
  const made = createInspection(rubbish(services), {
    ...{ version: "1.2.3", definitions: [definition], refused },
    check: async () => ({
      report: { ready: !("store" in node.checks), degraded: [], checks: { store: "ok", ...node.checks } },
      spaces: [{ place: "home", freeBytes: 2 ** 30, sizeBytes: 2 ** 40 }],
    }),
  });
  const hosts = ["localhost:80"];
  const server = openOps({
    ...made,
    access: { hosts, token, isLoopback: true },
    live: { everyMs: 5, beatMs: 10_000, lastsMs: 60_000 },
  });
  // The host of a connection over a socket is only known once it listens.
  const base = await server.listen({ port: 0, host: "127.0.0.1" });
  hosts.push(new URL(base).host);
  const refuse: OpsNode["refuse"] = (request) =>
    refused.observe({
      ...{ surface: "business", method: "POST", route: "/", status: 401, code: "key_unknown", durationMs: 1 },
      ...request,
    });
  return Object.assign(node, { server, base, refuse });
}

beforeEach(async () => {
  world = new RoutedWorld();
  store = new MemoryActorStore({ now: () => world.epochMs + world.time.now() });
  nodes = [];
  for (let count = 0; count < 3; count += 1) nodes.push(await open());
  await world.time.advance(1_000);
});
afterEach(async () => {
  for (const { routed, server } of nodes) {
    routed.node.kill();
    await server.close();
  }
});

/** A party whose actor lives on a node that is not the first, with that node and the first. */
async function partyElsewhere(): Promise<{ party: string; owner: OpsNode; asked: OpsNode; third: OpsNode }> {
  const parties = await world.parties(12, "east");
  for (const party of parties) {
    const [asked, ...others] = nodes;
    const owner = others.find(({ routed }) => routed.node.has(party));
    const third = others.find((each) => each !== owner);
    if (asked !== undefined && owner !== undefined && third !== undefined)
      return { party, owner, asked, third };
  }
  throw new Error("every party lives on the first node");
}

const tell = (node: OpsNode, party: string, command: object): Promise<unknown> =>
  world.time.run(node.system.ask(rubbish({ kind: "ledger", id: party }), rubbish(command)));

async function read(node: OpsNode, url: string): Promise<Json> {
  const answer = await world.time.run(node.server.inject({ url }).then((given) => given));
  return answer.json();
}

async function doAct(node: OpsNode, url: string, expected: object): Promise<readonly unknown[]> {
  const payload = { expected, ...act };
  const sent = node.server.inject({ method: "POST", url, payload, headers: { authorization } });
  const answer = await world.time.run(sent.then((given) => given));
  const { outcome, code, reason } = answer.json();
  return [answer.statusCode, outcome ?? reason ?? code];
}

describe("any node answers for any actor", () => {
  it("shows what another node has in memory, the same from all", async () => {
    const { party, owner } = await partyElsewhere();
    await tell(owner, party, { type: "add", by: 7 });
    const place = { region: "east", node: owner.routed.node.incarnation, detail: null };
    for (const node of nodes) {
      const at = node === owner ? "here" : "node";
      expect(await read(node, `/ops/actors/ledger/${party}`)).toMatchObject({
        ...{ status: "active", context: { n: 7 }, place: { at, ...place } },
      });
      const list = await read(node, "/ops/actors?kind=ledger");
      expect(list.actors).toMatchObject([
        { id: party, node: owner.routed.node.incarnation, status: "active" },
      ]);
      const { kinds, missing } = await read(node, "/ops/counts");
      expect([kinds[0].active, missing]).toEqual([1, []]);
      expect((await read(node, `/ops/search?q=${party}`)).actors).toMatchObject([{ id: party }]);
      const journal = await read(node, `/ops/actors/ledger/${party}/journal`);
      expect(journal.events).toMatchObject([{ type: "added", commit: 1 }]);
    }
    const all = await read(nodes[0] as OpsNode, "/ops/nodes");
    expect(all.nodes.map(({ reachable }: Json) => reachable)).toEqual([true, true, true]);
  });

  it("leaves out what nobody is shown, whichever node is asked and whichever has the actor", async () => {
    const { party, owner } = await partyElsewhere();
    const secret = "what-only-its-owner-knows";
    const job = { token: secret, title: secret, leaves: [secret], session_label: secret, signature: secret };
    await tell(owner, party, { type: "work.done", job: { ...job, place: 7 } });
    const actor = `/ops/actors/ledger/${party}`;
    const event = encodeURIComponent('{"type":"work.finished","job":1}');
    const paths = [
      "",
      "/journal",
      "/states/newest",
      "/states/1",
      "/changes?from=0",
      `/what-if?event=${event}`,
    ];
    for (const node of nodes) {
      const answers = await Promise.all(paths.map((path) => read(node, `${actor}${path}`)));
      answers.push(await read(node, "/ops/actors?kind=ledger"), await read(node, `/ops/search?q=${party}`));
      expect(JSON.stringify(answers)).not.toContain(secret);
      // What is no secret of the same event is shown, and that something is not.
      expect(answers[0].context.done).toEqual([
        { ...Object.fromEntries(Object.keys(job).map((name) => [name, "(not shown)"])), place: 7 },
      ]);
      expect(answers[1].events[0].event.job.place).toBe(7);
    }
  });

  it("shows what every node refused, as one", async () => {
    for (const [at, node] of nodes.entries()) {
      node.refuse({ key_id: "k", from: "192.0.2.1" });
      node.refuse({ key_id: null, from: `192.0.2.${at + 2}` });
    }
    const { codes, requests, missing } = await read(nodes[1] as OpsNode, "/ops/refusals?key_id=k");
    expect([codes, requests, missing]).toMatchObject([
      [{ surface: "business", code: "key_unknown", count: 6 }],
      [{ key_id: "k", from: "192.0.2.1", count: 3 }],
      [],
    ]);
  });

  it("acts where the actor is, on what was seen there", async () => {
    const { party, owner, asked } = await partyElsewhere();
    const actor = `/ops/actors/ledger/${party}`;
    await tell(owner, party, { type: "add", by: 1 });
    expect(await doAct(asked, `${actor}/passivate`, { status: "passive" })).toEqual([409, "state_changed"]);
    expect(await doAct(asked, `${actor}/retry`, { status: "active", head: 1 })).toEqual([200, "retried"]);
    expect(await doAct(asked, `${actor}/passivate`, { status: "active" })).toEqual([200, "leaving"]);
    await world.time.advance(1_000);
    expect((await read(asked, actor)).status).toBe("passive");
    expect(owner.system.stats().active).toBe(0);
  });

  it("releases an actor from quarantine where it is", async () => {
    const { party, owner, asked } = await partyElsewhere();
    const actor = `/ops/actors/ledger/${party}`;
    await tell(owner, party, { type: "add", by: 3 });
    for (let crash = 0; crash < 2; crash += 1) {
      await tell(owner, party, { type: "explode" }).catch(() => {});
      await world.time.advance(1_000);
    }
    expect(await read(asked, actor)).toMatchObject({
      status: "quarantined",
      waits: [{ code: "release" }, {}],
    });
    expect((await read(asked, "/ops/attention")).actors).toMatchObject([
      { id: party, attention: { reason: "quarantined" } },
    ]);
    await expect(tell(owner, party, { type: "add", by: 1 })).rejects.toMatchObject({ reason: "quarantined" });
    expect(await doAct(asked, `${actor}/release`, { status: "quarantined" })).toEqual([200, "released"]);
    expect(await tell(owner, party, { type: "add", by: 1 })).toBe(4);
    expect(await read(asked, actor)).toMatchObject({ status: "active", failure: null, context: { n: 4 } });
    const again = await doAct(asked, `${actor}/release`, { status: "active" });
    expect(again).toEqual([400, "not_possible"]);
  });

  it("drains the node that was named, if it is in the state that was seen", async () => {
    const [asked, other] = nodes as [OpsNode, OpsNode];
    const path = `/ops/nodes/${other.routed.node.incarnation}/drain`;
    expect(await doAct(asked, path, { state: "leaving" })).toEqual([409, "state_changed"]);
    expect(await doAct(asked, path, { state: "active" })).toEqual([200, "draining"]);
    expect(nodes.map(({ drained }) => drained)).toEqual([0, 1, 0]);
  });
});

describe("each node says of itself whether it is ready", () => {
  it("with its checks and the room on its disks, on any node", async () => {
    const [asked, sick] = nodes as [OpsNode, OpsNode];
    sick.checks = { store: "The store is away." };
    const found = (await read(asked, "/ops/nodes")).nodes;
    const disks = [{ place: "home", free_bytes: 2 ** 30, size_bytes: 2 ** 40 }];
    const ready = { ready: true, degraded: [], checks: { store: "ok" }, disks };
    expect(found.map(({ readiness }: Json) => readiness)).toEqual(
      nodes.map((node) => (node === sick ? { ...ready, ready: false, checks: sick.checks } : ready)),
    );
    expect(found.map(({ incarnation }: Json) => incarnation)).toEqual(
      nodes.map(({ routed }) => routed.node.incarnation),
    );
  });

  it("unless it does not answer: then why is said, and the others are shown", async () => {
    const [asked, dead, third] = nodes as [OpsNode, OpsNode, OpsNode];
    dead.routed.node.kill();
    const found = (await read(asked, "/ops/nodes")).nodes;
    const of = ({ routed }: OpsNode) =>
      found.find(({ incarnation }: Json) => incarnation === routed.node.incarnation);
    expect(of(dead)).toMatchObject({ reachable: false, readiness: null, detail: expect.any(String) });
    expect([of(asked).readiness.ready, of(third).readiness.ready]).toEqual([true, true]);
  });

  it("also when it has lost its lease, and is no member: it is on its own list", async () => {
    const [asked, cut] = nodes as [OpsNode, OpsNode];
    const [one, former, third] = nodes.map(({ routed }) => routed.node.incarnation);
    cut.checks = { cluster: "no lease: the node joins again" };
    cut.routed.node.cut();
    await world.time.advance(10_000);
    const seen = (await read(asked, "/ops/nodes")).nodes;
    expect(seen.map(({ state, incarnation }: Json) => [incarnation, state])).toEqual([
      [one, "active"],
      [third, "active"],
      [former, "gone"],
    ]);
    expect(seen.at(-1)).toMatchObject({
      ...{ incarnation: former, reachable: false, readiness: null },
      detail: expect.stringContaining("did not leave in order"),
    });
    const [self, ...others] = (await read(cut, "/ops/nodes")).nodes;
    expect(self).toMatchObject({
      ...{ is_self: true, state: "joining", lease: { held: false }, reachable: true },
      readiness: { checks: cut.checks },
    });
    expect(others.map(({ is_self }: Json) => is_self)).not.toContain(true);
  });
});

describe("while a cluster is upgraded", () => {
  /** From now on it refuses what it is asked for operators, as the router of a release does that had no such questions. */
  const makeOlder = ({ routed }: OpsNode): void => {
    routed.operators = async ({ type }) => {
      const detail = `"${type}" is not a command that another node may send here`;
      throw remoteFailure("refused", { retryAfterSeconds: 1, effect: "not_applied", detail });
    };
  };

  it("NA2: a node of an earlier release is not taken for one that is away, and what it lacks is said", async () => {
    const { party, owner, asked } = await partyElsewhere();
    const actor = `/ops/actors/ledger/${party}`;
    await tell(owner, party, { type: "add", by: 5 });
    makeOlder(owner);
    const { incarnation } = owner.routed.node;
    const detail = expect.stringContaining("earlier release");
    const seen = (await read(asked, "/ops/nodes")).nodes;
    expect(seen.find((each: Json) => each.incarnation === incarnation)).toMatchObject({
      ...{ state: "active", reachable: true, version: null, readiness: null, load: null, detail },
    });
    expect((await read(asked, "/ops/counts")).missing).toMatchObject([{ incarnation, detail }]);
    expect(await read(asked, actor)).toMatchObject({
      ...{ status: "passive", context: { n: 5 }, place: { at: "node", node: incarnation, detail } },
    });
  });

  it("AC3: what a node of an earlier release cannot do was not done, and the answer says so", async () => {
    const { party, owner, asked } = await partyElsewhere();
    await tell(owner, party, { type: "add", by: 5 });
    makeOlder(owner);
    const retry = `/ops/actors/ledger/${party}/retry`;
    expect(await doAct(asked, retry, { status: "active" })).toEqual([503, "upgrading"]);
    const drain = `/ops/nodes/${owner.routed.node.incarnation}/drain`;
    expect(await doAct(asked, drain, { state: "active" })).toEqual([503, "upgrading"]);
    expect(owner.drained).toBe(0);
  });

  it("this release refuses a question of a later one in the way that nodes understand", async () => {
    const [asked, other] = nodes as [OpsNode, OpsNode];
    const member = rubbish(other.routed.node.membership.self());
    const question = { type: "operators.of_a_later_release" };
    const answer = asked.routed.router.askNode(member, question, 2_000);
    await expect(world.time.run(answer)).rejects.toMatchObject({ reason: "refused", effect: "not_applied" });
  });
});

describe("a node that dies while it is watched", () => {
  it("is said to be away, and its actor is shown from the store until another node has it", async () => {
    const { party, owner, asked } = await partyElsewhere();
    const actor = `/ops/actors/ledger/${party}`;
    await tell(owner, party, { type: "add", by: 5 });
    const dead = owner.routed.node.incarnation;
    const watched = await watch(asked, `/ops/live/actors/ledger/${party}`);
    expect(await watched.until(({ place }) => place.node === dead)).toMatchObject({
      ...{ status: "active", context: { n: 5 }, place: { at: "node", detail: null } },
    });
    owner.routed.node.kill();
    // What its memory had is gone; what it committed is there, and the page says why it is not live.
    expect(await watched.until(({ place }) => place.detail !== null)).toMatchObject({
      ...{ status: "passive", context: { n: 5 }, place: { at: "node", node: dead } },
    });
    const counts = await read(asked, "/ops/counts");
    expect(counts.missing).toMatchObject([{ incarnation: dead }]);
    expect(await doAct(asked, `${actor}/retry`, { status: "passive" })).toEqual([503, "node"]);
    // Once its lease is over, a node that lives has the actor; nobody loaded the page again.
    const moved = await watched.until(({ place }) => place.node !== null && place.node !== dead);
    const successor = nodes.find(({ routed }) => routed.node.incarnation === moved.place.node) as OpsNode;
    expect(await tell(successor, party, { type: "add", by: 1 })).toBe(6);
    expect(await watched.until(({ head }) => head === 2)).toMatchObject({
      ...{ status: "active", context: { n: 6 }, owner: `east/${moved.place.node}` },
    });
    expect((await read(asked, "/ops/counts")).missing).toEqual([]);
    await watched.end();
  });
});

interface Watched {
  /** The first view that fits. */
  until(fits: (view: Json) => boolean): Promise<Json>;
  end(): Promise<void>;
}

/** Watches over a socket, while the world's time goes on. */
async function watch({ base }: OpsNode, path: string): Promise<Watched> {
  const stop = new AbortController();
  const sent = fetch(`${base}${path}`, { signal: stop.signal });
  const answer = await worldGoesOn(sent);
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = "";
  return {
    until: async (fits) => {
      for (;;) {
        const end = text.indexOf("\n\n");
        if (end < 0) {
          const { done, value } = await worldGoesOn(reader.read());
          if (done) throw new Error("the view ended");
          text += decoder.decode(value, { stream: true });
          continue;
        }
        const [, event, data = ""] = /^event: (\w+)\ndata: (.*)$/s.exec(text.slice(0, end)) ?? [];
        text = text.slice(end + 2);
        const view: Json = event === "actor" ? JSON.parse(data) : null;
        if (view !== null && fits(view)) return view;
      }
    },
    end: async () => {
      stop.abort();
      await reader.cancel().catch(() => {});
    },
  };
}

async function worldGoesOn<T>(promise: Promise<T>): Promise<T> {
  let isOver = false;
  const done = promise.finally(() => {
    isOver = true;
  });
  done.catch(() => {});
  while (!isOver) await world.time.advance(1);
  return done;
}
