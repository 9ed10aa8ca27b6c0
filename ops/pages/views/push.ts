// The page of a push: its road as a timeline over all actors and regions.

import { type ComponentChild, h } from "preact";
import { badge, dataTable, type Fact, facts, section, shortTime } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { ActorDetail } from "../../inspection-shapes.ts";
import type { PushRoad } from "../../push-road-shape.ts";
import { waitsOf } from "./actor-facts.ts";
import { actorPath } from "./frame.ts";

type Step = PushRoad["steps"][number];
type PushTexts = Texts["operations"]["push"];

export function pushView(detail: ActorDetail, road: PushRoad, texts: Texts["operations"]): ComponentChild {
  const { push } = texts;
  const { steps, pruned } = road;
  const [, pushId = detail.ref.id] = detail.ref.id.split(".");
  return [
    h(
      "div",
      { class: "title" },
      h("h1", null, h("code", null, push.title(pushId))),
      detail.states.map((each) => badge("lit", each)),
      h("a", { class: "end small", href: actorPath(detail.ref.kind, detail.ref.id) }, push.actorPage),
    ),
    section("waits", texts.actor.waits, waitsOf(detail, texts)),
    section("facts", texts.actor.facts, facts(summaryOf(detail, steps, push))),
    section(
      "road",
      push.road,
      pruned.length === 0 ? null : h("p", { class: "quiet" }, push.earlierGone(pruned.join(", "))),
      stepsTable(steps, texts),
    ),
  ];
}

function summaryOf(
  { context, states, ref }: ActorDetail,
  steps: readonly Step[],
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
    [summary.records, String(records ?? "–")],
    [summary.took, `${offsetOf(steps.at(-1)?.at ?? "", steps) ?? "–"}`],
    [summary.actor, link(ref.kind, ref.id)],
  ];
}

function stepsTable(steps: readonly Step[], { push }: Texts["operations"]): ComponentChild {
  const columns = [
    { name: push.time, kind: "nowrap" as const },
    { name: push.after, kind: "number" as const },
    { name: push.when },
    { name: push.step },
    { name: push.actor, kind: "nowrap" as const },
    { name: push.owner, kind: "nowrap" as const },
  ];
  const rows = steps.map((step, index) => ({
    key: String(index),
    cells: [
      shortTime(step.at),
      offsetOf(step.at, steps),
      mark(step, steps),
      step.words,
      actorLink(step),
      step.node ?? "–",
    ],
  }));
  return dataTable(push.caption, columns, rows);
}

/** An actor is named `kind/id`. */
function actorLink({ actor }: Step): ComponentChild {
  const at = actor.indexOf("/");
  const [kind, id] = [actor.slice(0, at), actor.slice(at + 1)];
  return h("a", { href: actorPath(kind, id) }, kind);
}

/** Where the step stands between the first and the last. */
function mark({ at }: Step, steps: readonly Step[]): ComponentChild {
  const [from, to] = [Date.parse(steps[0]?.at ?? at), Date.parse(steps.at(-1)?.at ?? at)];
  const share = to === from ? 0 : (Date.parse(at) - from) / (to - from);
  return h(
    "svg",
    { class: "timeline", viewBox: "0 0 200 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    h("rect", { class: "track", x: 0, y: 6, width: 200, height: 4 }),
    h("rect", { class: "mark", x: 0, y: 6, width: Math.max(share * 200, 1), height: 4 }),
    h("rect", { class: "mark", x: Math.min(share * 200, 197), y: 2, width: 3, height: 12 }),
  );
}

function offsetOf(at: string, steps: readonly Step[]): string | null {
  const ms = Date.parse(at) - Date.parse(steps[0]?.at ?? at);
  if (Number.isNaN(ms)) return null;
  return ms < 10_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
