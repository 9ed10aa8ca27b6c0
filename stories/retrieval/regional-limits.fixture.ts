// The nodes of a region that share a key's limit, and the key's actor, in a time that a test moves; messages between them take
// time, and may be lost on either way. For tests.

import { driveActor } from "../../actors/actor.fixture.ts";
import { keyLimitsActor } from "../../actors/key-limits/definition.ts";
import type { LeaseReply, LimitLease, LimitRule } from "../../actors/messages/integration-key.ts";
import type { KeyLimitsContext } from "../../machines/key-limits.ts";
import { createLeasedLimit, type LeasedLimit } from "../../service/authentication/regional-limits.ts";

export interface LimitWorldOptions {
  readonly rule: LimitRule;
  readonly costMax: number;
  readonly nodes: number;
  /** How long the next message takes, one way; null if it is lost. */
  readonly delayMs: () => number | null;
}

export interface PassedRequest {
  readonly node: number;
  readonly cost: number;
  readonly atMs: number;
}

export interface RefusedRequest extends PassedRequest {
  /** After how long it was told that another would pass. */
  readonly retryMs: number;
}

/** After this time a node no longer waits for a reply. */
const lostAfterMs = 1_000;
/** Enough for everything that follows from one event without a delay. */
const microtasks = 50;

export class LimitWorld {
  actor = driveActor(keyLimitsActor, "key@region");
  readonly nodes: readonly LeasedLimit[];
  readonly passed: PassedRequest[] = [];
  readonly refused: RefusedRequest[] = [];
  /** The instants at which windows of the actor began. */
  readonly windowsMs = new Set<number>();
  /** Number of leases that were asked for. */
  asked = 0;
  nowMs = 0;
  readonly #options: LimitWorldOptions;
  readonly #startMs = this.actor.nowMs;
  #events: { readonly atMs: number; readonly run: () => void }[] = [];

  constructor(options: LimitWorldOptions) {
    this.#options = options;
    this.nodes = Array.from({ length: options.nodes }, () => this.open());
  }

  /** The actor is activated again: it knows nothing. */
  forget(): void {
    this.actor = driveActor(keyLimitsActor, "key@region");
  }

  /** Another node, or one that has started again: it knows nothing. */
  open(): LeasedLimit {
    const { rule, costMax, nodes } = this.#options;
    return createLeasedLimit({
      rule,
      costMax,
      nodes: () => nodes,
      keysMax: 10,
      elapsedMs: () => this.nowMs,
      lease: (_keyId, request) => this.#lease(request),
    });
  }

  /** Sends a request to a node. */
  async send(node: number, cost: number): Promise<void> {
    const answered = this.nodes[node]?.take("key", cost) ?? null;
    const retryMs = answered instanceof Promise ? await answered : answered;
    const request = { node, cost, atMs: this.nowMs };
    if (retryMs === null) this.passed.push(request);
    else this.refused.push({ ...request, retryMs });
  }

  /** Until then, everything happens that is due, in its order. */
  async until(atMs: number): Promise<void> {
    for (;;) {
      for (let turn = 0; turn < microtasks; turn += 1) await null;
      const next = this.#events.toSorted((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > atMs) break;
      this.#events = this.#events.filter((each) => each !== next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.run();
    }
    this.nowMs = Math.max(this.nowMs, atMs);
  }

  #after(delayMs: number, run: () => void): void {
    this.#events.push({ atMs: this.nowMs + delayMs, run });
  }

  #lease(request: Omit<LimitLease, "limit">): Promise<LeaseReply> {
    this.asked += 1;
    return new Promise((resolve, reject) => {
      this.#after(lostAfterMs, () => reject(new Error("No reply came.")));
      const thereMs = this.#options.delayMs();
      if (thereMs === null) return;
      this.#after(thereMs, () => {
        this.actor.nowMs = this.#startMs + this.nowMs;
        const reply = this.actor.send({ type: "limit.lease", limit: "query_cost", ...request });
        const { accounts } = this.actor.snapshot.context as KeyLimitsContext;
        const { query_cost: account } = accounts;
        if (account !== undefined) this.windowsMs.add(account.at_ms - this.#startMs);
        const backMs = this.#options.delayMs();
        if (backMs !== null) this.#after(backMs, () => resolve(reply));
      });
    });
  }
}
