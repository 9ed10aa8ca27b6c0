// One push of a business, which is live in the browser while it is on its way.

import { type ComponentChild, h } from "preact";
import type { OwnPush, PushedRecord } from "../../service/portal/own-push.ts";
import {
  code,
  dataTable,
  facts,
  link,
  paragraph,
  section,
  shownNumber,
  time,
  withNumbers,
} from "../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../web/texts/catalogue.ts";
import { causeTable, isOpen, saidFault, stateBadge, useNewest } from "./pushes.ts";

export interface PushShown {
  /** Where the newest state is asked for, the address of this page without a cursor, and that of held pushes. */
  readonly address: string;
  readonly self: string;
  readonly holds: string;
  readonly language: Language;
  readonly push: OwnPush;
}

export function Push({ address, self, holds, language, push: first }: PushShown): ComponentChild {
  const texts = textsOf(language);
  const { push: words } = texts.business;
  const push = useNewest(address, first, isOpen);
  const { state, settled, records, error, remedy, causes, judged, next } = push;
  const progress = texts.portal.pushes.progress(shownNumber(settled), shownNumber(records));
  return h(
    "div",
    null,
    section(
      "state",
      words.state,
      h("p", { role: "status" }, stateBadge(state, texts), " ", progress),
      h("progress", { max: Math.max(1, records), value: settled, "aria-label": words.progress }),
      isOpen(push) ? h("noscript", null, paragraph(words.reload)) : null,
      push.stalled ? paragraph(words.stalled) : null,
      state === "held" ? paragraph(link(holds, words.held)) : null,
      error === null
        ? null
        : paragraph(texts.said(`${error.detail} ${remedy ?? ""}`.trim()), " ", code(error.code)),
      facts(factsOf(push, texts)),
    ),
    section(
      "causes",
      texts.portal.pushes.causes,
      judged === 0 ? null : paragraph(words.judged(shownNumber(judged))),
      causeTable(causes, texts, (place) => nameOf(place, texts)),
    ),
    section(
      "rejected",
      words.rejected.title,
      rejectedTable(push, texts),
      next === null ? null : paragraph(link(`${self}?cursor=${next}`, words.rejected.next)),
    ),
  );
}

function factsOf({ type, counts, key_id, received_at, completed_at }: OwnPush, texts: Texts) {
  const { outcomes, facts: names } = texts.business.push;
  return [
    ...(["accepted", "updated", "rejected", "held", "pending"] as const).map(
      (outcome) => [outcomes[outcome], shownNumber(counts[outcome])] as const,
    ),
    [names.type, texts.portal.records.types[type]] as const,
    [names.key, code(key_id)] as const,
    [names.received, time(received_at)] as const,
    [names.completed, time(completed_at)] as const,
  ];
}

/** A record without an id of the business's own is named by its place in the push. */
function nameOf({ own_id, leaf_index }: PushedRecord, texts: Texts): string {
  return own_id ?? texts.business.push.place(shownNumber(leaf_index + 1));
}

function rejectedTable({ rejected }: OwnPush, texts: Texts): ComponentChild {
  const { none, caption, columns } = texts.business.push.rejected;
  if (rejected.length === 0) return paragraph(none);
  const rows = rejected.map((each) => ({
    key: String(each.leaf_index),
    cells: [
      nameOf(each, texts),
      shownNumber(each.leaf_index + 1),
      h(
        "ul",
        null,
        each.errors.map(({ code: fault, pointer, detail, suggestion = null }) =>
          h(
            "li",
            null,
            pointer === "" ? null : [code(pointer), " "],
            `${saidFault(texts, detail, suggestion)} `,
            code(fault),
          ),
        ),
      ),
    ],
  }));
  return dataTable(caption, withNumbers(columns, 1), rows);
}
