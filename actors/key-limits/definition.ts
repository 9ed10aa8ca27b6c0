// The key-limits actor: leases slices of a key's limits in a region to its nodes, so that the limits hold for all of them.
//   L1. What is leased or reported as spent in a window, or within what a bucket drains, is never more than the limit, apart
//       from what nodes report to have spent without a lease.
//   L2. What is leased counts as spent, whether or not the node spends it: a lost reply costs the caller a slice, and gives it
//       nothing.
//   L3. It has no journal, so no lease waits for a store. An activation that begins knows of no lease, and so leases the limit
//       at most once more; one that is passivated was idle for longer than a window lasts.
// The clock is the one of the node that runs the actor. If it is set back, a window lasts at most once more.

import { type KeyLimitsEvent, keyLimitsMachine, type LimitAccount } from "../../machines/key-limits.ts";
import type { LeaseReply, LimitLease, LimitRule } from "../messages/integration-key.ts";
import { type Decision, defineActor, type ViewOf } from "../system/definition.ts";

export const keyLimitsActor = defineActor<"key-limits", typeof keyLimitsMachine>({
  kind: "key-limits",
  schemaVersion: 1,
  machine: keyLimitsMachine,
  durability: "memory",
  input: () => undefined,
  decide: { "limit.lease": leaseLimit },
  effects: {},
});

const unitParts = 1_000;
/** How long units of a bucket may be spent: what a node keeps for longer would add to what has drained meanwhile. */
const bucketLeaseMs = 1_000;

function leaseLimit(
  command: LimitLease,
  view: ViewOf<typeof keyLimitsMachine>,
): Decision<LeaseReply, KeyLimitsEvent> {
  const { limit, rule, spent, need, want } = command;
  const before = accountAt(rule, view.snapshot.context.accounts[limit], view.nowMs);
  const used = before.parts + spent * unitParts;
  const free = Math.max(0, Math.floor((rule.units * unitParts - used) / unitParts));
  const needed = Math.min(need, free);
  const granted = needed + Math.min(want, Math.floor((free - needed) / 2));
  const account = { ...before, parts: used + granted * unitParts };
  const left = free - granted;
  return {
    reply: {
      granted,
      for_ms: rule.kind === "window" ? account.at_ms + rule.window_ms - view.nowMs : bucketLeaseMs,
      free: left,
      retry_ms: left > 0 ? 0 : retryMs(rule, account, view.nowMs),
    },
    events: account.parts === before.parts ? [] : [{ type: "limit.leased", limit, account }],
  };
}

/** The account as it is now: a window that has ended, and a bucket that has drained, are empty. */
function accountAt(rule: LimitRule, known: LimitAccount | undefined, nowMs: number): LimitAccount {
  const empty = { at_ms: nowMs, parts: 0 };
  if (known === undefined) return empty;
  // The clock was set back: the account begins now, with all that it says.
  const since = Math.min(known.at_ms, nowMs);
  if (rule.kind === "window")
    return nowMs - since >= rule.window_ms ? empty : { at_ms: since, parts: known.parts };
  return { at_ms: nowMs, parts: Math.max(0, known.parts - rule.per_second * (nowMs - since)) };
}

function retryMs(rule: LimitRule, { at_ms, parts }: LimitAccount, nowMs: number): number {
  if (rule.kind === "window") return at_ms + rule.window_ms - nowMs;
  return Math.max(1, Math.ceil((parts + unitParts - rule.units * unitParts) / rule.per_second));
}
