// The chunks of a push: what each took, as bars on one scale, and the same as numbers.

import { type ComponentChild, h } from "preact";
import { dataTable, shortTime, shownNumber } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import { type PushRoad, roadChunksMax } from "../../push-road-shape.ts";
import { pushPath } from "./frame.ts";
import { tookWords } from "./push-steps.ts";

type Chunk = PushRoad["chunks"][number];
type PushTexts = Texts["operations"]["push"];

/** A part of a chunk's bar: from one of its times to another. */
interface Part {
  readonly name: "judged" | "numbered" | "signed" | "stored" | "settled";
  readonly from: string | null;
  readonly to: string | null;
}

const partNames: readonly Part["name"][] = ["judged", "numbered", "signed", "stored", "settled"];

export function chunksOf(road: PushRoad, id: string, push: PushTexts): ComponentChild {
  const texts = push.chunks;
  const { chunks } = road;
  const scale = scaleOf(chunks);
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
      bar(chunk, scale),
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

interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
}

/** From the first to the last instant of the chunks that are shown. */
function scaleOf(chunks: readonly Chunk[]): Scale {
  const times = chunks.flatMap((chunk) => [
    ...partsOf(chunk).flatMap(({ from, to }) => [from, to]),
    ...chunk.indexes.map(({ at }) => at),
  ]);
  const ms = times.flatMap((time) => (time === null ? [] : [Date.parse(time)]));
  return { fromMs: Math.min(...ms), toMs: Math.max(...ms) };
}

function bar(chunk: Chunk, { fromMs, toMs }: Scale): ComponentChild {
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
