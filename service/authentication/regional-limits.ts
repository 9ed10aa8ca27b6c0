// The request rate and the query-cost budget of a key at all nodes of a region together (specification, «Errors», 429):
// each node leases slices of both from the key's actor in the region.

import type {
  LeasedLimitName,
  LeaseReply,
  LimitLease,
  LimitRule,
} from "../../actors/messages/integration-key.ts";
import { keyLimitsRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { Refused } from "../answer.ts";
import type { MaybeLater } from "../register/register.ts";
import {
  budgetPolicy,
  limitedKeysMax,
  minuteMs,
  queryCostMax,
  ratePolicy,
  tooManyRequests,
  usedUp,
} from "./request-rate.ts";

/** The request rate of a key, counted by one node or by a region. */
export interface KeyRate {
  /** Null for a request that passes. */
  readonly take: (keyId: string) => MaybeLater<Refused | null>;
  /** The RateLimit-Policy item, and the RateLimit item for a key. */
  readonly policy: string;
  readonly standing: (keyId: string) => string;
}

/** The query-cost budget of a key, likewise. */
export interface KeyBudget extends Pick<KeyRate, "policy" | "standing"> {
  /** Null for a request that passes. */
  readonly spend: (keyId: string, cost: number) => MaybeLater<Refused | null>;
}

export interface RegionalLimitDeps extends Pick<LeasedLimitOptions, "nodes" | "elapsedMs"> {
  readonly actors: ActorSystem;
  readonly region: string;
}

/** How long a request waits for a lease at most; then the node spends its own share. */
const leaseWithinMs = 1_000;

/** The request rate of a key, counted by all nodes of the region together. */
export function createRegionalRate(
  deps: RegionalLimitDeps,
  rate: { readonly perSecond: number; readonly burst: number },
): KeyRate {
  const { perSecond, burst } = rate;
  const limit = createLeasedLimit({
    ...commonOf(deps, "request_rate"),
    rule: { kind: "bucket", units: burst, per_second: perSecond },
    costMax: 1,
  });
  const refusalOf = (retryMs: number | null): Refused | null =>
    retryMs === null ? null : tooManyRequests(rate, secondsOf(retryMs));
  return {
    policy: ratePolicy(rate),
    standing: (keyId) => `"request_rate";r=${limit.standing(keyId)?.left ?? burst};t=1`,
    take: (keyId) => {
      const taken = limit.take(keyId, 1);
      return taken instanceof Promise ? taken.then(refusalOf) : refusalOf(taken);
    },
  };
}

/** The query budget of a key per minute, counted by all nodes of the region together. */
export function createRegionalBudget(deps: RegionalLimitDeps, perMinute: number): KeyBudget {
  if (perMinute < queryCostMax) throw new Error("The most expensive request must fit into the budget.");
  const limit = createLeasedLimit({
    ...commonOf(deps, "query_cost"),
    rule: { kind: "window", units: perMinute, window_ms: minuteMs },
    costMax: queryCostMax,
  });
  return {
    policy: budgetPolicy(perMinute),
    standing: (keyId) => {
      const { left, moreInMs } = limit.standing(keyId) ?? { left: perMinute, moreInMs: minuteMs };
      return `"query_cost";r=${left};t=${secondsOf(moreInMs)}`;
    },
    spend: (keyId, cost) => {
      const refusalOf = (retryMs: number | null): Refused | null =>
        retryMs === null ? null : usedUp(perMinute, cost, retryMs);
      const taken = limit.take(keyId, cost);
      return taken instanceof Promise ? taken.then(refusalOf) : refusalOf(taken);
    },
  };
}

function commonOf({ actors, region, nodes, elapsedMs }: RegionalLimitDeps, name: LeasedLimitName) {
  const lease: LeasedLimitOptions["lease"] = (keyId, request) =>
    actors.ask(
      keyLimitsRef(keyId, region),
      { type: "limit.lease", limit: name, ...request },
      { timeoutMs: leaseWithinMs },
    );
  return { lease, nodes, elapsedMs, keysMax: limitedKeysMax };
}

function secondsOf(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1_000));
}

// One limit of each key, for all nodes of a region together: a node spends slices that it leases from the key's actor there
// (actors/key-limits). A request waits for the actor only if the node's slice is used up.
//   E1. In a window of the actor, all nodes together let at most the limit through, and at most one slice more for each node:
//       what it let through before it heard of the window.
//   E2. The next slice is asked for while the last one is being spent. A key that one node alone serves has its whole limit
//       there; on several nodes it may be refused while each of the others still has a slice.
//   E3. A request is refused only by what the actor has just answered, so a refusal says when something is free again, no
//       matter which nodes spent it. What was spent without a lease is reported at once, also while the limit is used up:
//       reported later, it would be taken from what is free by then.
//       A new activation of the actor, which knows of nothing, leases the limit once more at most.
//   E4. While the actor cannot be reached, a node lets its own share of the limit through in each period, without waiting for
//       each request.
//   E5. Keys that have not been used for long are forgotten: memory is bounded.

interface LeasedLimitOptions {
  readonly rule: LimitRule;
  /** The cost of the most expensive request. */
  readonly costMax: number;
  /** Asks the key's actor in this region; rejects if it does not answer in time. */
  readonly lease: (keyId: string, request: Omit<LimitLease, "limit">) => Promise<LeaseReply>;
  /** Number of nodes of the region, for a share of the limit. */
  readonly nodes: () => number;
  /** Monotonic whole milliseconds since some instant. */
  readonly elapsedMs: () => number;
  readonly keysMax: number;
}

export interface LeasedLimit {
  /** Null for a request that passes; otherwise the milliseconds after which another would pass. */
  readonly take: (keyId: string, cost: number) => MaybeLater<number | null>;
  /** The units that are left, and in how many milliseconds there are more; null if none are known to be spent. */
  readonly standing: (keyId: string) => { readonly left: number; readonly moreInMs: number } | null;
}

/** A slice is this part of the limit, so that the slices of a few nodes are little of it. */
const slicesPerLimit = 32;
/** How fast slices grow with use: a key that is seldom used leases little in advance. */
const growth = 4;
/** How long nobody waits for an actor that could not be reached. */
const awayMs = 1_000;
/** How often a request asks again because others took what it had asked for. */
const roundsMax = 4;

interface Question {
  readonly number: number;
  /** Null if the actor could not be reached. */
  readonly answered: Promise<LeaseReply | null>;
}

interface KeyState {
  /** Leased units that are not spent, and until when they may be. */
  left: number;
  leftUntilMs: number;
  /** Units spent without a lease that the actor has not been told of. */
  debt: number;
  /** Units spent since the last lease was asked for. */
  recent: number;
  /** Units that requests wait for. */
  waiting: number;
  /** Until when the last reply says something about the limit, and until when nothing is asked for in advance. */
  knownUntilMs: number;
  fullUntilMs: number;
  /** What was free then, and when that was. */
  free: number;
  heardAtMs: number;
  asking: Question | null;
  /** Number of questions so far. */
  questions: number;
  /** Until when nobody asks an actor that could not be reached; null if the last question was answered. */
  awayUntilMs: number | null;
  /** What was spent of this node's share in the period that began then (E4). */
  shareSpent: number;
  shareBeganMs: number;
}

/**
 * A limit of each key for a whole region, of which this node takes slices from the key's actor (E1 to E4). Times are
 * elapsed milliseconds.
 */
export function createLeasedLimit(options: LeasedLimitOptions): LeasedLimit {
  const { elapsedMs, keysMax } = options;
  const states = new BoundedMap<string, KeyState>(keysMax);
  const slice = sliceOf(options);
  const ask = (keyId: string, state: KeyState): Question => {
    if (state.asking !== null) return state.asking;
    state.questions += 1;
    const answered = askActor(options, keyId, state).finally(() => {
      state.asking = null;
      // Spent since the question was put (E3).
      if (state.debt > 0 && state.awayUntilMs === null) void ask(keyId, state);
    });
    state.asking = { number: state.questions, answered };
    return state.asking;
  };
  const takeLater = async (keyId: string, state: KeyState, cost: number): Promise<number | null> => {
    const { questions: before } = state;
    state.waiting += cost;
    try {
      for (let round = 0; round < roundsMax; round += 1) {
        const { number, answered } = ask(keyId, state);
        const reply = await answered;
        const taken = takeNow(options, state, cost);
        if (taken !== "unknown") return taken;
        // A question that was under way before did not ask for this request (E3).
        if (number > before && reply?.free === 0) return reply.retry_ms;
      }
      return takeShare(options, state, cost);
    } finally {
      state.waiting -= cost;
    }
  };
  return {
    take: (keyId, cost) => {
      const state = states.get(keyId) ?? newState();
      if (!states.has(keyId)) states.set(keyId, state);
      const taken = takeNow(options, state, cost);
      if (taken === "unknown") return takeLater(keyId, state, cost);
      const nowMs = elapsedMs();
      const isLow = state.left < Math.min(slice, state.recent) && nowMs >= state.fullUntilMs;
      const mayAsk = nowMs >= (state.awayUntilMs ?? 0);
      if ((state.debt > 0 || isLow) && mayAsk) void ask(keyId, state);
      return taken;
    },
    standing: (keyId) => {
      const state = states.get(keyId);
      return state === undefined ? null : standingOf(options.rule, state, elapsedMs());
    },
  };
}

/** The largest slice that is leased in advance, and what may be spent before the actor has been heard. */
export function sliceOf({ rule, costMax }: Pick<LeasedLimitOptions, "rule" | "costMax">): number {
  return Math.max(costMax, Math.floor(rule.units / slicesPerLimit));
}

function newState(): KeyState {
  return {
    left: 0,
    leftUntilMs: 0,
    debt: 0,
    recent: 0,
    waiting: 0,
    free: 0,
    knownUntilMs: 0,
    fullUntilMs: 0,
    heardAtMs: 0,
    asking: null,
    questions: 0,
    awayUntilMs: null,
    shareSpent: 0,
    shareBeganMs: 0,
  };
}

/** As {@link LeasedLimit.take}, as far as this node knows by itself. */
function takeNow(options: LeasedLimitOptions, state: KeyState, cost: number): number | null | "unknown" {
  const nowMs = options.elapsedMs();
  if (nowMs >= state.leftUntilMs) state.left = 0;
  if (state.left >= cost) {
    state.left -= cost;
    state.recent += cost;
    return null;
  }
  if (state.awayUntilMs !== null) return takeShare(options, state, cost);
  const isUnheard = nowMs >= state.knownUntilMs;
  if (!isUnheard || state.debt + cost > sliceOf(options)) return "unknown";
  state.debt += cost;
  state.recent += cost;
  return null;
}

/** E4: the share of this node, as if the key used all nodes alike. */
function takeShare(options: LeasedLimitOptions, state: KeyState, cost: number): number | null {
  const nowMs = options.elapsedMs();
  const share = Math.max(options.costMax, Math.ceil(options.rule.units / Math.max(1, options.nodes())));
  const period = periodMs(options.rule);
  if (state.shareSpent > 0 && nowMs - state.shareBeganMs >= period) {
    // What was spent in an earlier period is no debt of the next one.
    [state.shareSpent, state.debt] = [0, 0];
  }
  if (state.shareSpent === 0) state.shareBeganMs = nowMs;
  if (state.shareSpent + cost > share) return state.shareBeganMs + period - nowMs;
  state.shareSpent += cost;
  state.debt += cost;
  return null;
}

function periodMs(rule: LimitRule): number {
  return rule.kind === "window" ? rule.window_ms : Math.ceil((rule.units / rule.per_second) * 1_000);
}

async function askActor(
  options: LeasedLimitOptions,
  keyId: string,
  state: KeyState,
): Promise<LeaseReply | null> {
  const askedAtMs = options.elapsedMs();
  const { debt: spent } = state;
  const left = askedAtMs < state.leftUntilMs ? state.left : 0;
  const need = Math.max(0, state.waiting - left);
  const want = Math.min(sliceOf(options), growth * state.recent);
  state.recent = 0;
  let reply: LeaseReply;
  try {
    reply = await options.lease(keyId, { rule: options.rule, spent, need, want });
  } catch {
    // What was spent is reported again: if the actor had heard it, the caller has less of this window, and nobody more.
    state.awayUntilMs = options.elapsedMs() + awayMs;
    return null;
  }
  const nowMs = options.elapsedMs();
  if (nowMs >= state.leftUntilMs) state.left = 0;
  state.awayUntilMs = null;
  state.debt = Math.max(0, state.debt - spent);
  state.left += reply.granted;
  // The actor's window ends no sooner than that; by the second instant it has certainly ended.
  state.leftUntilMs = askedAtMs + reply.for_ms;
  state.knownUntilMs = nowMs + reply.for_ms;
  state.fullUntilMs = reply.free > 0 ? 0 : nowMs + reply.retry_ms;
  state.free = reply.free;
  state.heardAtMs = nowMs;
  return reply;
}

function standingOf(rule: LimitRule, state: KeyState, nowMs: number): ReturnType<LeasedLimit["standing"]> {
  if (nowMs >= state.knownUntilMs)
    return state.debt === 0 ? null : { left: Math.max(0, rule.units - state.debt), moreInMs: periodMs(rule) };
  const drained =
    rule.kind === "bucket" ? Math.floor((rule.per_second * (nowMs - state.heardAtMs)) / 1_000) : 0;
  const leased = nowMs < state.leftUntilMs ? state.left : 0;
  const left = Math.max(0, Math.min(rule.units, leased + state.free + drained - state.debt));
  return { left, moreInMs: state.knownUntilMs - nowMs };
}

// The limits reported to a key with every answer: RateLimit-Policy and RateLimit
// (draft-ietf-httpapi-ratelimit-headers-11). They promise nothing: of what other nodes of the region spend, a node knows what it
// was told with its last lease.

export type LimitFields = (keyId: string) => Readonly<Record<string, string>>;

/** Null if nothing is limited. */
export function limitFieldsOf(rate: KeyRate | null, budget: KeyBudget | null): LimitFields | null {
  if (rate === null && budget === null) return null;
  const policy = [rate?.policy, budget?.policy].filter((each) => each !== undefined).join(", ");
  return (keyId) => ({
    "ratelimit-policy": policy,
    ratelimit: [rate?.standing(keyId), budget?.standing(keyId)]
      .filter((each) => each !== undefined)
      .join(", "),
  });
}
