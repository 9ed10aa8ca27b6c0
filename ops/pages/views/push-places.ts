// Where a push has arrived: the index of each region, and the public log.

import { type ComponentChild, h } from "preact";
import { code, dataTable, type Fact, facts, shortTime, shownNumber } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { PushRoad } from "../../push-road-shape.ts";

type PushTexts = Texts["operations"]["push"];

export function regionsOf({ regions }: PushRoad, { regions: texts }: PushTexts): ComponentChild {
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

export function logOf(log: PushRoad["log"], { log: texts }: PushTexts): ComponentChild {
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
