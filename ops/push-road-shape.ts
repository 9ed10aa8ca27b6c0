// The shape of a push's road: what became of it, where and when.

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
  optional,
  timestamp,
} from "../protocol/shape.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const time = nullable(timestamp);

/** Number of chunks that one answer shows. */
export const roadChunksMax = 50;
/** Number of spans that one answer shows. */
export const roadSpansMax = 500;

const step = object({
  at: timestamp,
  what: described(
    anyText,
    "A code: received, charged, numbered, accepted, prepared, held, logged, log_published, finished and others.",
  ),
  words: anyText,
  actor: described(anyText, "`kind/id` of the actor that says so."),
  region: described(nullable(anyText), "Where it happened."),
  node: described(
    nullable(anyText),
    "The node that had the actor then; null where it is not known any more.",
  ),
});

const unknownStep = object({
  what: described(anyText, "The code of a step that was made, of which the time is not known."),
  words: described(anyText, "Why."),
});

const chunkIndex = object({
  region: anyText,
  state: oneOf(["confirmed", "waiting"]),
  at: described(time, "When it confirmed; null while it is awaited, and where that is not known any more."),
});

const chunk = object({
  chunk: described(count, "From 0."),
  first_leaf: count,
  records: count,
  state: described(
    oneOf(["open", "numbered", "settled", "given_up", "not_processed"]),
    "`numbered`: judged, with generations, and not settled yet. `not_processed`: the push ended before it.",
  ),
  region: described(nullable(anyText), "The home of the push, where it was processed."),
  node: described(nullable(anyText), "The node that settled it; null where it is not known any more."),
  begun_at: time,
  judged_at: time,
  numbered_at: described(
    time,
    "When the business gave its records their generations: for a chunk that was repeated, the first time.",
  ),
  signed_at: time,
  stored_at: described(time, "When its versions were stored; null also where nothing of it was published."),
  published: described(nullable(flag), "Whether anything of it was published; null where that is not known."),
  settled_at: time,
  indexes: described(listOf(chunkIndex), "By region; none where nothing of it was published."),
  trace_id: described(
    nullable(anyText),
    "The trace in which it was processed; null where none was recorded.",
  ),
});

const regionStanding = object({
  region: anyText,
  confirmed: described(count, "Settled chunks that its index has confirmed, or that leave it nothing to do."),
  waiting: described(count, "Settled chunks that its index has yet to confirm."),
  last_at: described(time, "The newest confirmation among the chunks that are shown."),
});

const logStanding = object({
  state: described(
    oneOf(["unknown", "waiting", "sequenced", "published"]),
    "`waiting`: the log was told of it and has not taken it up. `sequenced`: in a tree that is not published yet. `unknown`: it cannot be read now.",
  ),
  leaf: described(nullable(anyText), "The hash of the seal, which is the leaf."),
  leaf_index: nullable(count),
  appended_at: described(time, "When the tree that has it first was written; kept for a week."),
  appended_size: described(nullable(count), "The size of that tree."),
  published_at: described(
    time,
    "When a checkpoint that covers it was published first, cosigned as the policy of witnesses asks; kept for a week.",
  ),
  published_size: nullable(count),
  newest_size: described(nullable(count), "The size of the newest published tree; null before the first."),
  cosigned_by: described(
    listOf(anyText),
    "The names of those who signed the newest checkpoint, the log among them.",
  ),
});

const span = object({
  trace_id: anyText,
  span_id: anyText,
  parent_id: described(nullable(anyText), "Of the span that caused it; null for the first."),
  name: anyText,
  region: anyText,
  node: anyText,
  at: timestamp,
  took_us: described(count, "Microseconds."),
  failure: described(nullable(anyText), "A word; null if it did not fail."),
});
export type RoadSpan = Of<typeof span>;

const traces = object({
  recording: described(flag, "Whether any node that answered records traces at all."),
  ids: described(listOf(anyText), "The traces of the push that are known."),
  spans: described(
    listOf(span),
    "The spans of these traces that nodes still have in memory, by time; a restart forgets them.",
  ),
  is_complete: described(flag, "False if there are more spans than are shown."),
  link: described(
    nullable(anyText),
    "The address of a trace, with `{trace_id}` in place of its id, if the operators set one.",
  ),
});

export const pushRoad = named(
  "PushRoad",
  object({
    business_uuid: anyText,
    push_id: anyText,
    steps: described(listOf(step), "Those of the whole push, by time; those of a chunk are its times."),
    unknown: described(listOf(unknownStep), "Steps that were made, of which the time is not known."),
    chunks: described(listOf(chunk), `At most ${roadChunksMax}, from \`from_chunk\`.`),
    from_chunk: count,
    chunks_total: count,
    regions: described(listOf(regionStanding), "The regions whose indexes have to confirm."),
    log: logStanding,
    traces,
    missing: optional(
      described(
        listOf(object({ incarnation: anyText, region: anyText, detail: anyText })),
        "Nodes that did not answer, so that their spans are missing; absent if all did.",
      ),
    ),
    pruned: described(
      listOf(anyText),
      "Actors of which earlier events are only in the snapshot, so that steps may be missing.",
    ),
  }),
);
export type PushRoad = Of<typeof pushRoad>;
