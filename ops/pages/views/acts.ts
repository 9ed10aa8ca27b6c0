// Acting on an actor. The node does nothing if the actor is in another state than the one that was shown with the question. How many
// commits it made is not asked for: one that is busy makes some between the question and its answer, and could never be acted on.

import { type ComponentChild, h } from "preact";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { ActorDetail } from "../../inspection-shapes.ts";
import { type ActChoice, ActForm } from "./act-form.ts";
import { apiOf } from "./addresses.ts";
import { actorPath } from "./frame.ts";

export interface ActsProps {
  readonly detail: ActorDetail;
  readonly texts: Texts["operations"];
}

type Act = keyof Texts["operations"]["acts"]["names"];

export function Acts({ detail, texts: { acts } }: ActsProps): ComponentChild {
  const { ref } = detail;
  const choices = actorChoices(detail, acts);
  return h(ActForm, { choices, help: acts.help, page: actorPath(ref.kind, ref.id), texts: acts });
}

type Judged = Pick<ActorDetail, "ref" | "status" | "states" | "outbox">;

export function actorChoices(detail: Judged, { names }: Texts["operations"]["acts"]): readonly ActChoice[] {
  const { ref, status, states } = detail;
  return possibleActs(detail).map((act) => ({
    ...{ key: act, words: names[act], fields: [] },
    request: () => ({
      address: apiOf(ref, `/${act}`),
      members: { expected: { status, states } },
      subject: `${ref.kind}/${ref.id}`,
    }),
  }));
}

/** What makes sense for the actor as it is; the node decides. */
function possibleActs({ status, ref, states, outbox }: Judged): readonly Act[] {
  if (status === "quarantined") return ["release"];
  const acts: Act[] = [];
  if (status === "backing_off" || (status === "active" && outbox.length > 0)) acts.push("retry");
  if (status === "active") acts.push("passivate");
  if (ref.kind === "push" && states.some(isUnderWay)) acts.push("cancel");
  return acts;
}

/** Whether a push in this state may have published nothing yet. */
function isUnderWay(state: string): boolean {
  return state === "received" || state === "held" || state.startsWith("working");
}
