// The difference between two points of an actor's journal.

import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import { dataTable } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { JournalPage, StateChanges } from "../../inspection-shapes.ts";
import { type ActorName, apiOf, readJson } from "./addresses.ts";

export interface CompareProps {
  readonly actor: ActorName;
  readonly journal: JournalPage;
  readonly texts: Texts["operations"];
}

export function Compare({ actor: ref, journal, texts: { actor } }: CompareProps): ComponentChild {
  const { pruned_up_to: first, last_seq: last } = journal;
  const [found, setFound] = useState<StateChanges | string | null>(null);
  const [points, setPoints] = useState({ from: first, to: last });
  const point = (name: "from" | "to", label: string) =>
    h(
      "label",
      null,
      label,
      h("input", {
        ...{ type: "number", min: first, max: last, value: points[name], required: true },
        onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
          setPoints({ ...points, [name]: Number(currentTarget.value) }),
      }),
    );
  const onSubmit = (event: { preventDefault(): void }): void => {
    event.preventDefault();
    readJson<StateChanges>(apiOf(ref, "/changes", points)).then(setFound, (error: unknown) =>
      setFound(actor.failed(String(error))),
    );
  };
  return h(
    "div",
    null,
    h(
      "form",
      { class: "row", onSubmit },
      point("from", actor.compareFrom),
      point("to", actor.compareTo),
      h("button", { type: "submit" }, actor.compareButton),
    ),
    h("div", { "aria-live": "polite" }, shownChanges(found, actor)),
  );
}

function shownChanges(
  found: StateChanges | string | null,
  actor: Texts["operations"]["actor"],
): ComponentChild {
  if (found === null) return null;
  if (typeof found === "string") return h("p", { class: "badge bad" }, found);
  return [
    h("h3", null, actor.changes(found.from.seq, found.to.seq)),
    changesTable(actor.changes(found.from.seq, found.to.seq), found.changes, actor),
  ];
}

export function changesTable(
  caption: string,
  changes: StateChanges["changes"],
  actor: Texts["operations"]["actor"],
): ComponentChild {
  if (changes.length === 0) return h("p", { class: "quiet" }, actor.noChanges);
  const columns = [{ name: actor.where }, { name: actor.before }, { name: actor.after }];
  const rows = changes.map(({ pointer, before, after }) => ({
    key: pointer,
    cells: [h("code", null, pointer), shownValue(before), shownValue(after)],
  }));
  return dataTable(caption, columns, rows);
}

function shownValue(value: unknown): ComponentChild {
  return value === undefined ? "–" : h("code", null, JSON.stringify(value));
}
