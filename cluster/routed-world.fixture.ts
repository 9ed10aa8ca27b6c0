// Nodes that call each other over a transport that the test can break, with a stand-in for the actor system that records
// who did what, and when.

import type { Message } from "../actors/system/definition.ts";
import type { Member } from "../storage/cluster-store.ts";
import { type RemoteFailure, type RemoteTarget, remoteFailure } from "../transport/actor-transport.ts";
import { type ActorRouter, createActorRouter } from "./actor-router.ts";
import { type NodeTraits, World, type WorldNode } from "./world.fixture.ts";

/** One piece of work, from start to end in true time. */
export interface Work {
  readonly actor: string;
  readonly node: string;
  readonly command: string;
  readonly fromMs: number;
  readonly toMs: number;
}

const wayMs = 2;
const workMs = 5;

export class RoutedNode {
  readonly node: WorldNode;
  readonly router: ActorRouter;
  /** The calls that arrived from other nodes. */
  readonly arrived: string[] = [];
  readonly #world: RoutedWorld;
  #underWay = 0;
  /** Whether it acts; like the composition root, it stops when its lease is lost. */
  isActing = true;
  /** Whether other nodes can reach it. */
  isReachable = true;
  /** What answers other nodes for their operators. */
  operators: (command: Message) => Promise<unknown> = async () => {
    throw failed("not_applied");
  };
  /** How many of the next calls to this node are carried out but not answered. */
  answersLost = 0;

  constructor(world: RoutedWorld, traits: NodeTraits) {
    this.#world = world;
    this.node = world.node(traits);
    const { placement, membership, monotonic, timers } = this.node;
    this.router = createActorRouter({
      placement,
      membership,
      monotonic,
      timers,
      mayCross: (_kind, type) => type !== "kept.inside",
      local: () =>
        this.isActing ? { askHere: (to, command) => this.#work(to, command), deliver: async () => 7 } : null,
      targetOf: (member) => world.targetOf(member, this),
      operators: (command) => this.operators(command),
    });
    membership.onViewWritten(() => this.router.announce());
    membership.onChange(() => this.idle());
  }

  /** Routes the call from here, as an actor system does. */
  ask(party: string, command: string, timeoutMs = 10_000): Promise<unknown> {
    const to = { kind: "business", id: party };
    const target = this.router.route(to);
    return target === "local"
      ? this.#work(to, { type: command })
      : target.ask(to, { type: command }, timeoutMs);
  }

  /** Resolves when no work is under way. */
  async idle(): Promise<void> {
    while (this.#underWay > 0) await this.#world.pass(1);
  }

  /** Leaves like a node that is asked to stop, and ends. */
  async leave(): Promise<void> {
    await this.node.membership.leave(() => this.idle());
    await this.#world.pass(300);
    this.node.membership.stop();
    this.node.kill();
  }

  async #work(to: { id: string }, command: Message): Promise<unknown> {
    const fromMs = this.#world.time.now();
    this.#underWay += 1;
    await this.#world.pass(workMs);
    this.#underWay -= 1;
    const node = this.node.membership.address;
    this.#world.works.push({
      actor: to.id,
      node,
      command: command.type,
      fromMs,
      toMs: this.#world.time.now(),
    });
    return `${command.type} by ${node}`;
  }
}

export class RoutedWorld extends World {
  readonly routed: RoutedNode[] = [];
  readonly works: Work[] = [];

  async join(traits: NodeTraits = {}): Promise<RoutedNode> {
    const node = new RoutedNode(this, traits);
    this.routed.push(node);
    await this.time.run(node.node.membership.join());
    return node;
  }

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => void this.time.schedule(ms, resolve));
  }

  /** The connection of `from` to the incarnation that `member` names. */
  targetOf(member: Member, from: RoutedNode): RemoteTarget {
    const call = async <T>(work: (to: RoutedNode) => Promise<T>): Promise<T> => {
      await this.pass(wayMs);
      const to = this.routed.find((each) => each.node.incarnation === member.incarnation);
      if (to === undefined || to.node.isKilled || !to.isReachable || !from.isReachable)
        throw failed("not_applied");
      const answer = await work(to);
      await this.pass(wayMs);
      if (to.node.isKilled) throw failed("unknown");
      if (to.answersLost > 0) {
        to.answersLost -= 1;
        throw failed("unknown");
      }
      return answer;
    };
    return {
      ask: (to, command, timeoutMs) =>
        call((node) => {
          if (to.kind === "business") node.arrived.push(command.type);
          return node.router.handlers.ask(to, command, timeoutMs);
        }),
      deliver: (to, sender, messages) => call((node) => node.router.handlers.deliver(to, sender, messages)),
    };
  }
}

function failed(effect: "not_applied" | "unknown"): RemoteFailure {
  return remoteFailure("unreachable", { retryAfterSeconds: 1, effect });
}
