// What an event would do in the state that is shown: the pure machine is asked, and nothing is committed.

import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import { badge } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { JournalPage, WhatIf } from "../../inspection-shapes.ts";
import { type ActorName, apiOf, readJson } from "./addresses.ts";
import { changesTable } from "./compare.ts";

export interface WhatIfProps {
  readonly actor: ActorName;
  /** In the state after this event; null for now. */
  readonly seq: number | null;
  /** The types of the events that its machine takes. */
  readonly events: readonly string[];
  /** Its newest events, which are proposed as they happened. */
  readonly journal: JournalPage | null;
  readonly texts: Texts["operations"];
}

interface Typed {
  readonly currentTarget: { readonly value: string };
}

export function WhatIfForm(props: WhatIfProps): ComponentChild {
  const { actor: ref, seq, events, journal, texts } = props;
  const { actor, none } = texts;
  const [text, setText] = useState(eventText(events[0] ?? "", journal));
  const [found, setFound] = useState<WhatIf | string | null>(null);
  const onSubmit = (submit: { preventDefault(): void }): void => {
    submit.preventDefault();
    const event = parsed(text);
    if (event === null) setFound(actor.invalidJson);
    else
      askMachine(ref, event, seq).then(setFound, (error: unknown) => setFound(actor.failed(String(error))));
  };
  return h(
    "form",
    { onSubmit },
    h("p", { class: "quiet small" }, actor.whatIfHelp),
    h(
      "label",
      null,
      actor.event,
      h(
        "select",
        { onChange: ({ currentTarget }: Typed) => setText(eventText(currentTarget.value, journal)) },
        events.map((each) => h("option", { value: each }, each)),
      ),
    ),
    h(
      "label",
      null,
      actor.eventJson,
      h("textarea", {
        value: text,
        spellcheck: false,
        onInput: ({ currentTarget }: Typed) => setText(currentTarget.value),
      }),
    ),
    h("p", null, h("button", { type: "submit" }, actor.try)),
    h("div", { "aria-live": "polite" }, shownAnswer(found, actor, none)),
  );
}

function eventText(type: string, journal: JournalPage | null): string {
  const known = journal?.events.findLast((each) => each.type === type)?.event;
  return JSON.stringify(known ?? { type }, null, 2);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function askMachine(ref: ActorName, event: unknown, seq: number | null): Promise<WhatIf> {
  const query = { event: JSON.stringify(event), ...(seq === null ? {} : { seq }) };
  return readJson<WhatIf>(apiOf(ref, "/what-if", query));
}

function shownAnswer(
  found: WhatIf | string | null,
  actor: Texts["operations"]["actor"],
  none: string,
): ComponentChild {
  if (found === null) return null;
  if (typeof found === "string") return h("p", { class: "badge bad" }, found);
  if (found.fault !== null) return h("p", { class: "badge bad" }, found.fault);
  if (!found.taken) return h("p", null, badge("warn", actor.notTaken));
  const actions = found.actions.map(({ name }) => name).join(", ");
  return [
    h("p", null, badge("good", actor.taken(found.after.states.join(", ")))),
    h("p", { class: "quiet" }, `${actor.actions}: ${actions === "" ? none : actions}`),
    changesTable(actor.whatIf, found.changes, actor),
  ];
}
