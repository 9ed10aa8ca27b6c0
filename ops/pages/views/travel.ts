// Going back in time: a slider over the events of the journal, which the arrow keys move as well.

import { type ComponentChild, h } from "preact";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { JournalPage, StateThen } from "../../inspection-shapes.ts";

export interface TravelProps {
  readonly journal: JournalPage;
  readonly past: StateThen | null;
  readonly texts: Texts["operations"];
  /** Null for now. */
  readonly goTo: (seq: number | null) => void;
}

export function Travel({ journal, past, texts: { actor }, goTo }: TravelProps): ComponentChild {
  const { pruned_up_to: first, last_seq: last } = journal;
  const at = past?.seq ?? last;
  const step = (to: number, name: string) =>
    h("button", { type: "button", disabled: to < first || to > last, onClick: () => goTo(to) }, name);
  return h(
    "div",
    { class: "travel" },
    step(at - 1, actor.previous),
    h(
      "label",
      null,
      `${actor.atEvent} ${at}`,
      h("input", {
        ...{ type: "range", min: first, max: last, step: 1, value: at },
        onChange: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
          goTo(Number(currentTarget.value)),
      }),
    ),
    step(at + 1, actor.next),
    h("button", { type: "button", disabled: past === null, onClick: () => goTo(null) }, actor.now),
  );
}
