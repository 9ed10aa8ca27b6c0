// The shapes of what operators see of nodes: membership, lease, load, and whether each is ready.

import {
  anyText,
  described,
  flag,
  integer,
  listOf,
  named,
  nullable,
  type Of,
  object,
  oneOf,
  timestamp,
} from "../protocol/shape.ts";
import { readyMembers } from "./shapes.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const region = anyText;
/** Of one run of a node as a member; other shapes name nodes by it. */
export const incarnation = described(anyText, "Incarnation of a node, as `/ops/nodes` lists it.");

const load = object({
  active: described(count, "Actors in memory."),
  mailboxed: described(count, "Messages and callers that wait."),
  outbox: described(count, "Effects that are not settled."),
  activities_waiting: count,
  quarantined: count,
  commands: described(count, "Handled since the process started; as the counters below."),
  commits: count,
  crashes: count,
  refused_commits: count,
  resident_bytes: count,
  busy_percent: described(
    integer({ min: 0, max: 100 }),
    "Of the time of its event loop since the last look.",
  ),
});

const readiness = object({
  ...readyMembers,
  disks: described(
    listOf(object({ place: oneOf(["home", "bulk"]), free_bytes: count, size_bytes: count })),
    "The room on each disk on which it writes; none where it could not be read in time.",
  ),
});
export type Readiness = Of<typeof readiness>;

export const nodeState = named(
  "NodeState",
  object({
    incarnation,
    region,
    address: described(nullable(anyText), "Of its transport; null for a standalone node."),
    state: described(
      oneOf(["standalone", "joining", "active", "leaving", "gone"]),
      "`gone`: it did not leave in order, and is no member any more since `detail` says; for an hour, or until its address has a member again.",
    ),
    is_self: described(flag, "Whether it is the node that answers."),
    reachable: described(flag, "True also of a node of an earlier release, which cannot say the rest yet."),
    detail: described(
      nullable(anyText),
      "Why it was not reached, or why it did not say how it is; null if it said all.",
    ),
    readiness: described(
      nullable(readiness),
      "What its own `/readyz` says, at most ten seconds old, and two while anything fails; null if it did not say so in time.",
    ),
    version: described(nullable(anyText), "The release; null if it was not reached or cannot say, as below."),
    started_at: nullable(timestamp),
    lease: nullable(
      object({
        held: flag,
        age_ms: described(nullable(count), "Since it was last renewed; null for a node without one."),
        remaining_ms: nullable(count),
      }),
    ),
    load: nullable(load),
  }),
);
export type NodeState = Of<typeof nodeState>;
export const nodeList = object({ nodes: listOf(nodeState) });
export type NodeList = Of<typeof nodeList>;
