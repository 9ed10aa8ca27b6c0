// The steps of a push as a timeline: a table with the place of each between the first and the last.

import { type ComponentChild, h } from "preact";
import { dataTable, shortTime } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { PushRoad } from "../../push-road-shape.ts";
import { actorPath } from "./frame.ts";

type Step = PushRoad["steps"][number];
type PushTexts = Texts["operations"]["push"];

export function stepsOf({ steps }: PushRoad, { push }: Texts["operations"]): ComponentChild {
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
export function unknownOf({ unknown }: PushRoad, push: PushTexts): ComponentChild {
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
export function isOfLog(what: string): boolean {
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
export function offsetOf(at: string | null, steps: readonly Step[]): string {
  const ms = at === null ? Number.NaN : Date.parse(at) - Date.parse(steps[0]?.at ?? at);
  return Number.isNaN(ms) ? "–" : tookWords(ms);
}

export function tookWords(ms: number): string {
  if (Math.abs(ms) >= 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  return Number.isInteger(ms) ? `${ms} ms` : `${ms.toFixed(1)} ms`;
}
