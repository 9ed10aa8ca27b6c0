// The page of a push: its road as a timeline over all actors, regions and chunks. It moves by itself while the push is under way.

import { type ComponentChild, h } from "preact";
import { badge, type Fact, facts, section, shownNumber } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { ActorDetail } from "../../inspection-shapes.ts";
import type { PushRoad } from "../../push-road-shape.ts";
import { waitsOf } from "./actor-facts.ts";
import { missingNodes } from "./actor-rows.ts";
import { livePush } from "./addresses.ts";
import { actorPath } from "./frame.ts";
import { liveBadge, useLive } from "./live.ts";
import { chunksOf } from "./push-chunks.ts";
import { logOf, regionsOf } from "./push-places.ts";
import { isOfLog, offsetOf, stepsOf, unknownOf } from "./push-steps.ts";
import { tracesOf } from "./push-traces.ts";

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
