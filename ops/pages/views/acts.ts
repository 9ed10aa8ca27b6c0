// Acting on an actor. The node does nothing if the actor is no longer as it is shown here.

import { type ComponentChild, h } from "preact";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { ActorDetail } from "../../inspection-shapes.ts";
import { ActForm } from "./act-form.ts";
import { apiOf } from "./addresses.ts";
import { actorPath } from "./frame.ts";

export interface ActsProps {
  readonly detail: ActorDetail;
  readonly texts: Texts["operations"];
}

type Act = keyof Texts["operations"]["acts"]["names"];

export function Acts({ detail, texts: { acts } }: ActsProps): ComponentChild {
  const { ref, status, states, head } = detail;
  const choices = possibleActs(detail).map((act) => ({
    ...{ key: act, words: acts.names[act], fields: [] },
    request: () => ({
      address: apiOf(ref, `/${act}`),
      members: { expected: { status, states, head } },
      subject: `${ref.kind}/${ref.id}`,
    }),
  }));
  return h(ActForm, { choices, help: acts.help, page: actorPath(ref.kind, ref.id), texts: acts });
}

/** What makes sense for the actor as it is; the node decides. */
function possibleActs({ status, ref }: ActorDetail): readonly Act[] {
  if (status === "quarantined") return ["release"];
  return ["retry", "passivate", ...(ref.kind === "push" ? (["cancel"] as const) : [])];
}
