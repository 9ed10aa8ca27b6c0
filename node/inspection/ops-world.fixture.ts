// Nodes of the cluster's own world, with an actor system each on one store, and an operators' surface on top. For tests.

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
import { MemoryFenceLedger } from "../../storage/memory/fence-ledger.ts";
import { FenceWitness } from "../keeping/fence-refusals.ts";
import { createInspection } from "./inspection.ts";

export type Json = ReturnType<typeof JSON.parse>;

/** A counter under the name of a kind that has a party for its home. */
const definition: ActorDefinition = { ...counterActor, kind: "ledger" };

export interface OpsNode {
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

/** Three nodes, whose first is asked mostly. */
export interface OpsWorld extends AsyncDisposable {
  readonly world: RoutedWorld;
  /** Their one store, without any fence of a node. */
  readonly store: MemoryActorStore;
  readonly nodes: readonly OpsNode[];
  /** A party whose actor lives on a node that is not the first, with that node, the first and the other one. */
  partyElsewhere(): Promise<{
    readonly party: string;
    readonly owner: OpsNode;
    readonly asked: OpsNode;
    readonly third: OpsNode;
  }>;
  tell(node: OpsNode, party: string, command: object): Promise<unknown>;
  read(node: OpsNode, url: string): Promise<Json>;
  /** The status, and what was done or else why it was not. */
  doAct(node: OpsNode, url: string, expected: object): Promise<readonly unknown[]>;
}

const noAudit = async () => ({ readable: false, entries: [] });
/** No party, record or ad is there to be found. */
const nobodyRegistered = {
  records: { stagedPushes: async () => ({ pushes: [], cursor: null }), readHead: async () => null },
  register: {
    party: () => null,
    mandates: async () => [],
    ads: { live: () => [] },
    certifiedNames: { named: () => [] },
  },
  recordIdOf: () => "",
};

async function openNode(world: RoutedWorld, store: MemoryActorStore): Promise<OpsNode> {
  const routed = await world.join();
  const { incarnation, membership, placement, region, timers } = routed.node;
  const clock = { now: () => world.epochMs + world.time.now() };
  let operations = 0;
  const fence = new FenceWitness({
    ledger: new MemoryFenceLedger(),
    region,
    clock,
    timers,
    log: () => {},
    monotonic: { nowMs: () => world.time.now() },
  });
  const system = createActorSystem({
    store: fence.watch(store, incarnation),
    definitions: [definition],
    activities: {},
    clock,
    timers,
    owner: `${region}/${incarnation}`,
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
    region,
    regionNames: world.regions,
    membership,
    placement,
    router: routed.router,
    answerOperators: (answer: RoutedNode["operators"]) => {
      routed.operators = answer;
    },
  };
  const services = {
    actors: system,
    actorStore: store,
    clock,
    incarnation,
    cluster,
    config: { region },
    ...nobodyRegistered,
    fence,
    pause: async () => {},
    drain: () => {
      node.drained += 1;
    },
    elapsedMs: () => world.time.now(),
  };
  const refused = createRefusedRequests(() => clock.now());
  const made = createInspection(rubbish(services), {
    version: "1.2.3",
    definitions: [definition],
    refused,
    audit: noAudit,
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
      surface: "business",
      method: "POST",
      route: "/",
      status: 401,
      code: "key_unknown",
      durationMs: 1,
      ...request,
    });
  return Object.assign(node, { server, base, refuse });
}

export async function openOpsWorld(): Promise<OpsWorld> {
  const world = new RoutedWorld();
  const store = new MemoryActorStore({ now: () => world.epochMs + world.time.now() });
  const nodes: OpsNode[] = [];
  for (let count = 0; count < 3; count += 1) nodes.push(await openNode(world, store));
  await world.time.advance(1_000);
  return {
    world,
    store,
    nodes,
    partyElsewhere: async () => {
      const [asked, ...others] = nodes;
      for (const party of await world.parties(12, "east")) {
        const owner = others.find(({ routed }) => routed.node.has(party));
        const third = others.find((each) => each !== owner);
        if (asked !== undefined && owner !== undefined && third !== undefined)
          return { party, owner, asked, third };
      }
      throw new Error("every party lives on the first node");
    },
    tell: (node, party, command) =>
      world.time.run(node.system.ask(rubbish({ kind: "ledger", id: party }), rubbish(command))),
    read: async (node, url) => {
      const answer = await world.time.run(node.server.inject({ url }).then((given) => given));
      return answer.json();
    },
    doAct: async (node, url, expected) => {
      const payload = { expected, ...act };
      const sent = node.server.inject({ method: "POST", url, payload, headers: { authorization } });
      const answer = await world.time.run(sent.then((given) => given));
      const { outcome, code, reason } = answer.json();
      return [answer.statusCode, outcome ?? reason ?? code];
    },
    [Symbol.asyncDispose]: async () => {
      for (const { routed, server } of nodes) {
        routed.node.kill();
        await server.close();
      }
    },
  };
}
