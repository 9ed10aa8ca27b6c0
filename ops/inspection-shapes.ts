// The shapes of what operators see of nodes and actors, as pages and scripts read them.

import type { JsonObject } from "../protocol/json/canonical-json.ts";
import {
  anyObject,
  anyText,
  anything,
  described,
  flag,
  integer,
  listOf,
  named,
  nullable,
  type Of,
  object,
  oneOf,
  type Shape,
  timestamp,
} from "../protocol/shape.ts";
import { readyMembers } from "./shapes.ts";

// The shapes of what operators see of nodes: membership, lease, load, and whether each is ready.

/** Of one run of a node as a member; other shapes name nodes by it. */
const incarnation = described(anyText, "Incarnation of a node, as `/ops/nodes` lists it.");

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

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
const region = anyText;

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

// The shapes of what operators see of actors.

/** A state or event, whose form depends on the actor's machine. */
const anyValue: Shape<unknown> = anything;

export const attentionReasons = [
  "quarantined",
  "backing_off",
  "unreadable",
  "stalled",
  "log_held",
  "unwitnessed",
  "outbox_failing",
  "index_lag",
  "held",
] as const;
export const actorStatuses = ["active", "passive", "backing_off", "quarantined"] as const;

/** A node that did not answer, so that what it has in memory is missing. */
const missingNode = object({ incarnation, region, detail: anyText });
export type MissingNode = Of<typeof missingNode>;
export const missing = described(
  listOf(missingNode),
  "Nodes that did not answer in time: what they have in memory is missing here.",
);

const stateCount = object({ state: anyText, count });
export const actorCounts = named(
  "ActorCounts",
  object({
    at: timestamp,
    kinds: listOf(
      object({
        kind: anyText,
        active: described(count, "In memory, on the nodes that answered."),
        known: described(count, "Ever claimed, as the store lists them; counted at most every ten seconds."),
        known_is_exact: described(
          flag,
          "False where there may be more than were counted: of kinds whose actors end within hours, and while the store refuses to count, those in memory are counted.",
        ),
        states: described(listOf(stateCount), "Of the active ones, by the paths of their states."),
        nodes: listOf(object({ incarnation, region, count })),
      }),
    ),
    attention: listOf(object({ reason: oneOf(attentionReasons), count })),
    pushes_under_way: described(
      listOf(object({ business_uuid: anyText, key_id: anyText, pushes: count, records: count })),
      "The keys with the most pushes under way, 20 at most, with the number of their records.",
    ),
    missing,
  }),
);
export type ActorCounts = Of<typeof actorCounts>;

/** Why and since when it needs a look; null if it does not. */
const attention = nullable(object({ reason: oneOf(attentionReasons), since: nullable(timestamp) }));

const wait = object({
  code: described(anyText, "Stable: what it waits for. `nothing`: it is over; `calls`: it only answers."),
  words: anyText,
  until: described(nullable(timestamp), "When `next` happens by itself; null where nothing does."),
  next: described(
    nullable(oneOf(["goes_on", "tries_again", "fails", "ends", "stalls"])),
    "What happens at `until`: `goes_on` with its work, `tries_again` what failed, `fails`, `ends` because its time is over, or `stalls`: from then on it counts as stalled, and nothing else happens.",
  ),
  attention,
});
export type WaitState = Of<typeof wait>;

/** Who a party is. */
const partyName = described(
  nullable(object({ kind: oneOf(["business", "ai_company"]), legal_name: anyText })),
  "Who the party is; null where it belongs to none, or to one that the register does not have.",
);

export const actorRow = named(
  "ActorRow",
  object({
    kind: anyText,
    id: anyText,
    business_uuid: described(
      nullable(anyText),
      "The party that it belongs to; null where it belongs to a region.",
    ),
    party: partyName,
    region: described(nullable(region), "Where it lives, as far as the answering node knows."),
    node: described(nullable(incarnation), "The node that has it in memory; null if none was found."),
    status: oneOf(actorStatuses),
    states: described(
      listOf(anyText),
      "The paths of its states, such as `working.step.queued`; none if unknown.",
    ),
    head: described(count, "Number of its commits."),
    mailbox: count,
    outbox: count,
    waits: described(nullable(anyText), "Why it waits, in words; null if unknown."),
    attention,
  }),
);
export type ActorRow = Of<typeof actorRow>;

export const actorPage = named(
  "ActorPage",
  object({
    scope: oneOf(["active", "known"]),
    actors: listOf(actorRow),
    next_after: described(nullable(anyText), "For the next page; null on the last."),
    missing,
  }),
);
export type ActorPage = Of<typeof actorPage>;

const nodeAttention = named(
  "NodeAttention",
  object({
    region,
    incarnation: described(nullable(incarnation), "Null where it is about a whole region."),
    address: nullable(anyText),
    reason: described(
      oneOf(["region_away", "away", "not_ready", "degraded"]),
      "`region_away`: no node of the region answers.",
    ),
    words: anyText,
  }),
);
export type NodeAttention = Of<typeof nodeAttention>;

export const attentionList = named(
  "AttentionList",
  object({
    nodes: described(
      listOf(nodeAttention),
      "Regions and nodes that need a look before any actor: they do not answer, or a check of theirs fails.",
    ),
    actors: described(listOf(actorRow), "Those that need a look, the most urgent first, 200 at most."),
    total: count,
    is_complete: described(
      flag,
      "False where more pushes that are not in memory were left unread than are read at once.",
    ),
    missing,
  }),
);
export type AttentionList = Of<typeof attentionList>;

export const searchResult = named(
  "SearchResult",
  object({
    actors: listOf(actorRow),
    is_complete: described(
      flag,
      "False where more was left unread than is read for one search. Actors in a state are found where they are in memory alone.",
    ),
    missing,
  }),
);
export type SearchResult = Of<typeof searchResult>;

const activation = object({
  epoch: count,
  owner: described(anyText, "`region/incarnation` of the node."),
  since: described(timestamp, "When it first committed."),
});

const refusedWrite = object({
  epoch: described(count, "Of the activation that was refused."),
  superseded_by: count,
  owner: anyText,
  at: timestamp,
});
export type RefusedWrite = Of<typeof refusedWrite>;

/** What the detail of an actor has besides its report. */
const detailMembers = {
  states: described(listOf(anyText), "The paths of its states; none if unknown."),
  waits: described(listOf(wait), "Why it waits: one entry for each state, then one for each failing effect."),
  place: object({
    at: oneOf(["here", "node", "nowhere"]),
    region: nullable(region),
    node: described(nullable(incarnation), "The node where it lives now."),
    detail: described(
      nullable(anyText),
      "Why the node did not answer, so that the report is what the store has; null if it answered.",
    ),
  }),
  durability: oneOf(["journal", "memory"]),
  machine_version: described(count, "Version of the machine that this release runs."),
  stored_version: described(nullable(count), "Version that wrote the snapshot; null where there is none."),
  activations: described(listOf(activation), "The newest 32 that wrote anything, the newest first."),
  refused_writes: described(
    listOf(refusedWrite),
    "Writes of earlier owners that the fence refused, as far as running nodes remember them.",
  ),
};
const detailParts = object(detailMembers);
export type DetailParts = Of<typeof detailParts>;

export const actorDetail = named(
  "ActorDetail",
  object({
    ref: object({ kind: anyText, id: anyText }),
    party: partyName,
    status: oneOf(actorStatuses),
    state: described(anyValue, "As its machine names it."),
    context: described(anyValue, "What its machine keeps, without what operators are not shown."),
    epoch: count,
    head: described(count, "Number of its commits."),
    owner: described(
      anyText,
      "`region/incarnation` of the node that claimed the epoch; empty without a journal.",
    ),
    mailbox: described(count, "Messages and callers that wait in memory."),
    timers: listOf(object({ id: anyText, dueMs: integer({ min: -1e15, max: 1e15 }), event: anyText })),
    outbox: described(
      listOf(
        object({
          seq: count,
          to: anyText,
          attempts: count,
          lastError: nullable(anyText),
          sinceMs: described(count, "When it was decided."),
        }),
      ),
      "Effects that are not acknowledged yet.",
    ),
    lastEvents: described(listOf(anyValue), "The newest events, oldest first."),
    failure: nullable(anyText),
    crash: described(
      nullable(
        object({
          atMs: count,
          command: described(nullable(anyText), "Type of the command that it handled; null for none."),
          stack: described(nullable(anyText), "Where in the program it happened."),
        }),
      ),
      "The newest crash of an actor that is quarantined or restarts; null for any other.",
    ),
    ...detailMembers,
  }),
);
export type ActorDetail = Of<typeof actorDetail>;

const chartState = object({
  id: anyText,
  path: described(anyText, "The path of keys, such as `working.step.queued`; empty for the root."),
  key: anyText,
  type: oneOf(["atomic", "compound", "parallel", "final", "history"]),
  initial: nullable(anyText),
  entry: listOf(anyText),
  exit: listOf(anyText),
  parent: described(nullable(anyText), "Path of the state that it is in; null for the root."),
});
export const machineChart = named(
  "MachineChart",
  object({
    kind: anyText,
    part_of: described(
      nullable(anyText),
      "The kind of actor that runs it for each of what it keeps, such as a pool for its ads; null for the machine of a kind itself.",
    ),
    version: count,
    durability: oneOf(["journal", "memory"]),
    states: described(listOf(chartState), "All states, each after the one that it is in."),
    transitions: listOf(
      object({
        from: described(anyText, "Path of a state."),
        to: described(listOf(anyText), "Paths of states; none where it leaves the state as it is."),
        event: described(anyText, "Empty where it is taken at once."),
        delay: described(nullable(anyText), "Its name, or its milliseconds."),
        guard: nullable(anyText),
        actions: listOf(anyText),
        reenters: flag,
      }),
    ),
    events: described(listOf(anyText), "Types of the events that it takes."),
  }),
);
export type MachineChart = Of<typeof machineChart>;
export const machineList = object({ machines: listOf(machineChart) });

const journalEvent = object({
  seq: count,
  at: timestamp,
  commit: described(count, "Number of the commit."),
  epoch: count,
  type: anyText,
  event: described(anyValue, "Without what operators are not shown."),
  from: described(nullable(listOf(anyText)), "Paths of the states before; null if unknown."),
  to: nullable(listOf(anyText)),
});

const unreadable = described(
  nullable(anyText),
  "Why states are unknown, for instance because a later release wrote them; null if they are known.",
);
const prunedUpTo = described(count, "The last event that only the snapshot contains: earlier ones are gone.");

export const journalPage = named(
  "JournalPage",
  object({
    kind: anyText,
    id: anyText,
    head: described(count, "Number of commits."),
    last_seq: described(count, "Of the last event that was read."),
    pruned_up_to: prunedUpTo,
    events: described(listOf(journalEvent), "The newest before `before`, in their order."),
    next_before: described(nullable(count), "For the page of earlier events; null on the last."),
    unreadable,
  }),
);
export type JournalPage = Of<typeof journalPage>;

// The shapes of refused requests, as pages and scripts read them.

const refusedTimes = { count, first_at: timestamp, last_at: timestamp };
const refusedCode = object({ surface: anyText, code: anyText, ...refusedTimes });
export type RefusedCode = Of<typeof refusedCode>;
const refusedRequest = object({
  surface: anyText,
  code: described(anyText, "The code of its problem."),
  key_id: described(
    nullable(anyText),
    "The known key that it named; null if it named none. Nothing proves that the sender has the key.",
  ),
  from: described(nullable(anyText), "The address that it came from; null if it is not known."),
  ...refusedTimes,
});
export type RefusedRequest = Of<typeof refusedRequest>;
export const refusedRequests = named(
  "RefusedRequests",
  object({
    codes: described(listOf(refusedCode), "By surface and code, since the nodes started, the newest first."),
    requests: described(
      listOf(refusedRequest),
      "By surface, code, key and address, the newest first, 100 at most: what was refused within a day.",
    ),
    forgotten: described(count, "How many of these were forgotten because there were too many."),
    missing,
  }),
);
export type RefusedRequests = Of<typeof refusedRequests>;

// The shape of the audit logs of all nodes.

export const auditPage = object({
  entries: described(
    listOf(
      object({
        at: timestamp,
        event: described(
          anyText,
          "`ops.asked` before an act is done; `ops.acted` or `ops.refused` after it. Others are about keys and homes.",
        ),
        region: anyText,
        node: anyText,
        detail: described(
          anyObject as Shape<JsonObject>,
          "Of an act: `by`, `reason`, `act` (its address), `params`, `asked`, `status`, `outcome`, `from` and `request_id`.",
        ),
      }),
    ),
    "Newest first.",
  ),
  next_before: described(nullable(timestamp), "For the next page; null on the last."),
  unreadable: described(
    listOf(anyText),
    "Nodes whose audit log goes to standard output: it is read where that is collected.",
  ),
  missing,
});
export type AuditPage = Of<typeof auditPage>;
