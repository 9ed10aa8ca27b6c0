// Acting on an actor: chosen, named, reasoned, and confirmed. The node does nothing if the actor is no longer as it is shown here.

import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { ActorDetail } from "../../inspection-shapes.ts";
import { apiOf, readJson } from "./addresses.ts";
import { actorPath, signInPath } from "./frame.ts";

export interface ActsProps {
  readonly detail: ActorDetail;
  readonly texts: Texts["operations"];
}

type Act = keyof Texts["operations"]["acts"]["names"];

interface Typed {
  readonly currentTarget: { readonly value: string };
}

interface Given {
  readonly act: Act;
  readonly by: string;
  readonly reason: string;
}

type Stage =
  | { readonly is: "asking" }
  | { readonly is: "confirming" }
  | { readonly is: "done"; readonly outcome: string }
  | { readonly is: "refused"; readonly detail: string };

export function Acts({ detail, texts: { acts } }: ActsProps): ComponentChild {
  const possible = possibleActs(detail);
  const [given, setGiven] = useState<Given>({ act: possible[0] ?? "retry", by: "", reason: "" });
  const [stage, setStage] = useState<Stage>({ is: "asking" });
  const change = (part: Partial<Given>): void => {
    setGiven({ ...given, ...part });
    setStage({ is: "asking" });
  };
  const onSubmit = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    if (stage.is !== "confirming") {
      setStage({ is: "confirming" });
      return;
    }
    send(detail, given).then(
      ({ outcome }) => setStage({ is: "done", outcome }),
      (error: Error) => setStage({ is: "refused", detail: error.message }),
    );
  };
  return h(
    "form",
    { onSubmit },
    h("p", { class: "quiet small" }, acts.help),
    h(
      "label",
      null,
      acts.act,
      h(
        "select",
        {
          value: given.act,
          onChange: ({ currentTarget }: Typed) => change({ act: currentTarget.value as Act }),
        },
        possible.map((each) => h("option", { value: each }, acts.names[each])),
      ),
    ),
    text(acts.by, given.by, 200, (by) => change({ by })),
    text(acts.reason, given.reason, 500, (reason) => change({ reason })),
    h("p", null, h("button", { type: "submit" }, stage.is === "confirming" ? acts.confirm : acts.go)),
    h("div", { role: "status" }, said(stage, given, detail, acts)),
  );
}

/** What makes sense for the actor as it is; the node decides. */
function possibleActs({ status, ref }: ActorDetail): readonly Act[] {
  if (status === "quarantined") return ["release"];
  return ["retry", "passivate", ...(ref.kind === "push" ? (["cancel"] as const) : [])];
}

function send({ ref, status, states, head }: ActorDetail, { act, by, reason }: Given) {
  const body = JSON.stringify({ expected: { status, states, head }, by: by.trim(), reason: reason.trim() });
  return readJson<{ readonly outcome: string }>(apiOf(ref, `/${act}`), {
    ...{ method: "POST", headers: { "content-type": "application/json" }, body },
  });
}

function text(
  label: string,
  value: string,
  maxLength: number,
  change: (value: string) => void,
): ComponentChild {
  const onInput = ({ currentTarget }: Typed): void => change(currentTarget.value);
  return h("label", null, label, h("input", { value, maxLength, required: true, onInput }));
}

function said(
  stage: Stage,
  { act }: Given,
  { ref }: ActorDetail,
  acts: Texts["operations"]["acts"],
): ComponentChild {
  if (stage.is === "confirming") return h("p", null, acts.sure(acts.names[act], `${ref.kind}/${ref.id}`));
  if (stage.is === "done") return h("p", { class: "badge good" }, acts.done(stage.outcome));
  if (stage.is === "asking") return null;
  return [
    h("p", { class: "badge bad" }, stage.detail),
    h("p", null, h("a", { href: signInPath(actorPath(ref.kind, ref.id)) }, acts.signIn)),
  ];
}
