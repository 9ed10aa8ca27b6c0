// The page of a push: its road as a timeline over all actors, regions and chunks. It moves by itself while the push is under way.

import { type ComponentChild, h } from "preact";
import {
  badge,
  code,
  dataTable,
  type Fact,
  facts,
  section,
  shortTime,
  shownNumber,
} from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { ActorDetail } from "../../inspection-shapes.ts";
import { type PushRoad, type RoadSpan, roadChunksMax } from "../../push-road-shape.ts";
import { missingNodes, waitsOf } from "./actor-facts.ts";
import { actorPath, livePush, pushPath } from "./frame.ts";
import { liveBadge, useLive } from "./live.ts";

export interface PushView {
  readonly detail: ActorDetail;
  readonly road: PushRoad;
}

export interface PushProps extends PushView {
  readonly language: Language;
  /** The first chunk that was asked for; null for the newest ones. */
  readonly fromChunk: number | null;
}

type PushTexts = Texts["operations"]["push"];

export function Push({ language, fromChunk, ...first }: PushProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { push } = texts;
  const { business_uuid: uuid, push_id: pushId } = first.road;
  const live = useLive<PushView>(livePush(uuid, pushId, fromChunk), "push", first);
  const { detail, road } = live.data;
  return h(
    "div",
    null,
    h(
      "div",
      { class: "title" },
      h("h1", null, h("code", null, push.title(pushId))),
      detail.states.map((each) => badge("lit", each)),
      liveBadge(live.state, texts),
      h("a", { class: "end small", href: actorPath(detail.ref.kind, detail.ref.id) }, push.actorPage),
    ),
    missingNodes(road.missing ?? [], texts),
    section("waits", texts.actor.waits, waitsOf(detail, texts)),
    section("facts", texts.actor.facts, facts(summaryOf(detail, road, push))),
    section("road", push.road, prunedOf(road, push), stepsOf(road, texts), unknownOf(road, push)),
    section("chunks", push.chunks.title, chunksOf(road, detail.ref.id, push)),
    h(
      "div",
      { class: "columns" },
      section("regions", push.regions.title, regionsOf(road, push)),
      section("log", push.log.title, logOf(road.log, push)),
    ),
    section("traces", push.traces.title, tracesOf(road.traces, push)),
  );
}

function prunedOf({ pruned }: PushRoad, push: PushTexts): ComponentChild {
  return pruned.length === 0 ? null : h("p", { class: "quiet" }, push.earlierGone(pruned.join(", ")));
}

function summaryOf(
  { context, states, ref }: ActorDetail,
  { steps, chunks_total: chunks }: PushRoad,
  { summary }: PushTexts,
): readonly Fact[] {
  const of = (context as { readonly facts?: Readonly<Record<string, unknown>> | null } | null)?.facts ?? {};
  const { business_uuid: uuid, key_id: key, collection, records } = of;
  const link = (kind: string, id: string) => h("a", { href: actorPath(kind, id) }, h("code", null, id));
  return [
    [summary.state, states.join(", ")],
    ...(uuid === undefined ? [] : [[summary.business, link("business", String(uuid))] as const]),
    ...(key === undefined ? [] : [[summary.key, link("integration-key", `${uuid}.${key}`)] as const]),
    [summary.collection, String(collection ?? "–")],
    [summary.records, summary.inChunks(String(records ?? "–"), shownNumber(chunks))],
    [summary.took, offsetOf(lastOf(steps), steps)],
    [summary.actor, link(ref.kind, ref.id)],
  ];
}

/** The log goes on after the push: it is not part of how long that took. */
function lastOf(steps: PushRoad["steps"]): string | null {
  return steps.filter(({ what }) => !isOfLog(what)).at(-1)?.at ?? null;
}

// Where a push has arrived: the index of each region, and the public log.

function regionsOf({ regions }: PushRoad, { regions: texts }: PushTexts): ComponentChild {
  const columns = [
    { name: texts.region, kind: "nowrap" as const },
    { name: texts.confirmed, kind: "number" as const },
    { name: texts.waiting, kind: "number" as const },
    { name: texts.last, kind: "nowrap" as const },
  ];
  const rows = regions.map(({ region, confirmed, waiting, last_at }) => ({
    key: region,
    cells: [region, shownNumber(confirmed), shownNumber(waiting), shortTime(last_at)],
  }));
  return dataTable(texts.caption, columns, rows);
}

function logOf(log: PushRoad["log"], { log: texts }: PushTexts): ComponentChild {
  const size = (value: number | null): ComponentChild => (value === null ? "–" : shownNumber(value));
  const isIn = log.leaf_index !== null;
  const rows: readonly Fact[] = [
    [texts.leaf, log.leaf === null ? "–" : code(log.leaf)],
    [texts.index, size(log.leaf_index)],
    [
      texts.appended,
      [shortTime(log.appended_at, isIn ? texts.forgotten : "–"), inTree(log.appended_size, texts)],
    ],
    [
      texts.published,
      [
        shortTime(log.published_at, log.state === "published" ? texts.forgotten : "–"),
        inTree(log.published_size, texts),
      ],
    ],
    [texts.newest, size(log.newest_size)],
    [texts.signers, log.cosigned_by.length === 0 ? "–" : log.cosigned_by.join(", ")],
  ];
  return [h("p", { "data-log": log.state }, texts.states[log.state]), facts(rows)];
}

function inTree(size: number | null, texts: PushTexts["log"]): ComponentChild {
  return size === null ? null : h("span", { class: "quiet" }, ` · ${texts.tree(shownNumber(size))}`);
}

// The traces of a push: the spans that nodes still have in memory, each under the one that caused it, on one scale.

type Traces = PushRoad["traces"];

function tracesOf(traces: Traces, { traces: texts, owner, region }: PushTexts): ComponentChild {
  const { ids, spans, recording, link, is_complete: isComplete } = traces;
  if (ids.length === 0) return h("p", { class: "quiet" }, recording ? texts.notThis : texts.off);
  const named = ids.map((id) =>
    h(
      "li",
      { key: id },
      link === null
        ? h("code", null, id)
        : h("a", { href: link.replace("{trace_id}", id), rel: "noreferrer" }, h("code", null, id)),
    ),
  );
  const columns = [
    { name: texts.span },
    { name: texts.bar },
    { name: texts.after, kind: "number" as const },
    { name: texts.took, kind: "number" as const },
    { name: region, kind: "nowrap" as const },
    { name: owner, kind: "nowrap" as const },
  ];
  const ordered = underParents(spans);
  const scale = scaleOf(spans);
  const rows = ordered.map(({ span, depth }) => ({
    key: span.span_id,
    cells: [
      [
        depth === 0 ? null : h("span", { class: "quiet", "aria-hidden": "true" }, `${"· ".repeat(depth)}`),
        span.name,
        span.failure === null ? null : h("span", { class: "badge bad" }, span.failure),
      ],
      bar(span, scale),
      tookWords(Date.parse(span.at) - scale.fromMs),
      tookWords(Math.round(span.took_us / 100) / 10),
      span.region,
      span.node,
    ],
  }));
  return [
    h("ul", null, named),
    spans.length === 0 ? h("p", { class: "quiet" }, texts.gone) : dataTable(texts.caption, columns, rows),
    isComplete ? null : h("p", { class: "quiet" }, texts.cut),
  ];
}

interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
}

function scaleOf(spans: readonly RoadSpan[]): Scale {
  const from = spans.map(({ at }) => Date.parse(at));
  const to = spans.map(({ at, took_us }) => Date.parse(at) + took_us / 1_000);
  return { fromMs: Math.min(...from), toMs: Math.max(...to) };
}

function bar({ at, took_us }: RoadSpan, { fromMs, toMs }: Scale): ComponentChild {
  const share = (ms: number) => (toMs > fromMs ? (ms / (toMs - fromMs)) * 200 : 0);
  const x = Math.min(share(Date.parse(at) - fromMs), 199);
  return h(
    "svg",
    { class: "timeline", viewBox: "0 0 200 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    h("rect", { class: "track", x: 0, y: 7, width: 200, height: 2 }),
    h("rect", { class: "mark", x, y: 4, width: Math.max(share(took_us / 1_000), 1), height: 8 }),
  );
}

const depthMax = 12;

/** Each span after the one that caused it; those whose cause is not here are at the margin. */
function underParents(
  spans: readonly RoadSpan[],
): readonly { readonly span: RoadSpan; readonly depth: number }[] {
  const known = new Set(spans.map(({ span_id }) => span_id));
  const children = Map.groupBy(spans, ({ parent_id }) =>
    parent_id !== null && known.has(parent_id) ? parent_id : "",
  );
  const found: { span: RoadSpan; depth: number }[] = [];
  const visit = (parent: string, depth: number): void => {
    if (depth > depthMax) return;
    for (const span of children.get(parent) ?? []) {
      found.push({ span, depth });
      visit(span.span_id, depth + 1);
    }
  };
  visit("", 0);
  return found;
}

// The chunks of a push: what each took, as bars on one scale, and the same as numbers.

type Chunk = PushRoad["chunks"][number];

/** A part of a chunk's bar: from one of its times to another. */
interface Part {
  readonly name: "judged" | "numbered" | "signed" | "stored" | "settled";
  readonly from: string | null;
  readonly to: string | null;
}

const partNames: readonly Part["name"][] = ["judged", "numbered", "signed", "stored", "settled"];

function chunksOf(road: PushRoad, id: string, push: PushTexts): ComponentChild {
  const texts = push.chunks;
  const { chunks } = road;
  const scale = chunkScale(chunks);
  const columns = [
    { name: texts.chunk, kind: "number" as const },
    { name: texts.records, kind: "nowrap" as const },
    { name: texts.state, kind: "nowrap" as const },
    { name: texts.bar },
    ...partNames.map((name) => ({ name: texts[name] })),
    { name: texts.indexed },
    { name: push.owner, kind: "nowrap" as const },
  ];
  const rows = chunks.map((chunk) => ({
    key: String(chunk.chunk),
    cells: [
      h("span", { "data-chunk": chunk.chunk, "data-chunk-state": chunk.state }, shownNumber(chunk.chunk + 1)),
      texts.leaves(chunk.first_leaf, chunk.first_leaf + chunk.records - 1),
      texts.states[chunk.state],
      chunkBar(chunk, scale),
      ...partNames.map((name) => timeCell(chunk, name, push)),
      indexCell(chunk, push),
      chunk.node ?? "–",
    ],
  }));
  return [
    pager(road, id, push),
    h(
      "ul",
      { class: "legend small", "aria-hidden": "true" },
      [...partNames, "indexed" as const].map((name) => legendOf(name, texts[name])),
    ),
    dataTable(texts.caption, columns, rows),
  ];
}

function pager(
  { from_chunk: first, chunks, chunks_total: total }: PushRoad,
  id: string,
  { chunks: texts }: PushTexts,
): ComponentChild {
  const next = first + chunks.length;
  const to = (from: number, words: string) => h("a", { href: `${pushPath(id)}?from_chunk=${from}` }, words);
  return h(
    "p",
    { class: "row small" },
    h("span", { class: "quiet" }, texts.shown(first + 1, next, total)),
    first > 0 ? to(Math.max(0, first - roadChunksMax), texts.earlier) : null,
    next < total ? to(next, texts.later) : null,
  );
}

function legendOf(name: Part["name"] | "indexed", words: string): ComponentChild {
  return h(
    "li",
    { key: name },
    h(
      "svg",
      { class: "swatch", viewBox: "0 0 12 12" },
      h("rect", { class: `part-${name}`, width: 12, height: 12 }),
    ),
    ` ${words}`,
  );
}

function partsOf(chunk: Chunk): readonly Part[] {
  const { begun_at, judged_at, numbered_at, signed_at, stored_at, settled_at } = chunk;
  // A chunk that is repeated has generations from before it was judged this time.
  const numbered = later(judged_at, numbered_at);
  return [
    { name: "judged", from: begun_at, to: judged_at },
    { name: "numbered", from: judged_at, to: numbered },
    { name: "signed", from: numbered, to: signed_at },
    { name: "stored", from: signed_at, to: stored_at },
    { name: "settled", from: stored_at ?? signed_at, to: settled_at },
  ];
}

function later(a: string | null, b: string | null): string | null {
  return a !== null && b !== null && b < a ? a : b;
}

/** From the first to the last instant of the chunks that are shown. */
function chunkScale(chunks: readonly Chunk[]): Scale {
  const times = chunks.flatMap((chunk) => [
    ...partsOf(chunk).flatMap(({ from, to }) => [from, to]),
    ...chunk.indexes.map(({ at }) => at),
  ]);
  const ms = times.flatMap((time) => (time === null ? [] : [Date.parse(time)]));
  return { fromMs: Math.min(...ms), toMs: Math.max(...ms) };
}

function chunkBar(chunk: Chunk, { fromMs, toMs }: Scale): ComponentChild {
  const placeOf = (at: string) => (toMs > fromMs ? ((Date.parse(at) - fromMs) / (toMs - fromMs)) * 200 : 0);
  const parts = partsOf(chunk).flatMap(({ name, from, to }) => {
    if (from === null || to === null) return [];
    const x = Math.min(placeOf(from), 199);
    const width = Math.max(placeOf(to) - placeOf(from), 1);
    return [h("rect", { key: name, class: `part-${name}`, x, y: 4, width, height: 8 })];
  });
  const confirmed = chunk.indexes.flatMap(({ region, at }) =>
    at === null
      ? []
      : [
          h("rect", {
            ...{ key: region, class: "part-indexed", x: Math.min(placeOf(at), 198) },
            ...{ y: 0, width: 2, height: 16 },
          }),
        ],
  );
  return h(
    "svg",
    { class: "timeline", viewBox: "0 0 200 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    h("rect", { class: "track", x: 0, y: 7, width: 200, height: 2 }),
    parts,
    confirmed,
  );
}

/** The time of a step, and how long it took since the one before. */
function timeCell(chunk: Chunk, name: Part["name"], { chunks: texts }: PushTexts): ComponentChild {
  const at = { ...chunk }[`${name}_at`];
  if (at === null) return name === "stored" && chunk.published === false ? texts.nothingPublished : "–";
  const part = partsOf(chunk).find((each) => each.name === name);
  const took = part?.from == null || part.to === null ? null : Date.parse(part.to) - Date.parse(part.from);
  return [shortTime(at), took === null ? null : h("span", { class: "quiet small" }, ` +${tookWords(took)}`)];
}

function indexCell({ indexes, published }: Chunk, { chunks: texts }: PushTexts): ComponentChild {
  if (indexes.length === 0) return published === false ? texts.nothingPublished : "–";
  return indexes.map(({ region, state, at }) =>
    h(
      "div",
      { key: region },
      `${region}: `,
      state === "waiting" ? texts.waiting : shortTime(at, texts.confirmedOnce),
    ),
  );
}

// The steps of a push as a timeline: a table with the place of each between the first and the last.

type Step = PushRoad["steps"][number];

function stepsOf({ steps }: PushRoad, { push }: Texts["operations"]): ComponentChild {
  const columns = [
    { name: push.time, kind: "nowrap" as const },
    { name: push.after, kind: "number" as const },
    { name: push.when },
    { name: push.step },
    { name: push.actor, kind: "nowrap" as const },
    { name: push.region, kind: "nowrap" as const },
    { name: push.owner, kind: "nowrap" as const },
  ];
  // The log goes on long after the push: on its scale nothing else could be told apart.
  const toMs = Math.max(...steps.filter(({ what }) => !isOfLog(what)).map(({ at }) => Date.parse(at)));
  const scale = { fromMs: Date.parse(steps[0]?.at ?? ""), toMs };
  const rows = steps.map((step, index) => ({
    key: String(index),
    cells: [
      shortTime(step.at),
      offsetOf(step.at, steps),
      mark(step, scale),
      h("span", { "data-step": step.what }, step.words),
      actorLink(step),
      step.region ?? "–",
      step.node ?? "–",
    ],
  }));
  return dataTable(push.caption, columns, rows);
}

/** The steps of which nobody knows the time any more. */
function unknownOf({ unknown }: PushRoad, push: PushTexts): ComponentChild {
  if (unknown.length === 0) return null;
  return [
    h("h3", null, push.unknown),
    h(
      "ul",
      { class: "quiet" },
      unknown.map(({ what, words }) => h("li", { key: `${what} ${words}`, "data-unknown": what }, words)),
    ),
  ];
}

/** An actor is named `kind/id`. */
function actorLink({ actor }: Step): ComponentChild {
  const at = actor.indexOf("/");
  const [kind, id] = [actor.slice(0, at), actor.slice(at + 1)];
  return h("a", { href: actorPath(kind, id) }, kind);
}

/** Whether a step is one of the log, which follows the push. */
function isOfLog(what: string): boolean {
  return what === "logged" || what === "log_published";
}

/** Where the step stands between the first and the last of the push. */
function mark(
  { at }: Step,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): ComponentChild {
  const share = toMs > fromMs ? Math.min((Date.parse(at) - fromMs) / (toMs - fromMs), 1) : 0;
  return h(
    "svg",
    { class: "timeline", viewBox: "0 0 200 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    h("rect", { class: "track", x: 0, y: 6, width: 200, height: 4 }),
    h("rect", { class: "mark", x: 0, y: 6, width: Math.max(share * 200, 1), height: 4 }),
    h("rect", { class: "mark", x: Math.min(share * 200, 197), y: 2, width: 3, height: 12 }),
  );
}

/** How long after the first step; a dash if either is unknown. */
function offsetOf(at: string | null, steps: readonly Step[]): string {
  const ms = at === null ? Number.NaN : Date.parse(at) - Date.parse(steps[0]?.at ?? at);
  return Number.isNaN(ms) ? "–" : tookWords(ms);
}

function tookWords(ms: number): string {
  if (Math.abs(ms) >= 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return Number.isInteger(ms) ? `${ms} ms` : `${ms.toFixed(1)} ms`;
}
