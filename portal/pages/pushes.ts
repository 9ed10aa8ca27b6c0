// The newest pushes of a business, live in the browser.

import { type ComponentChild, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RecentPush, RecentPushes, ShownCause } from "../../service/portal/recent-pushes.ts";
import {
  badge,
  code,
  dataTable,
  paragraph,
  section,
  shortTime,
  shownNumber,
  type Tone,
  withNumbers,
} from "../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../web/texts/catalogue.ts";

export interface PushesShown {
  /** Where the newest state is asked for, and what precedes the id of a push in the address of its page. */
  readonly address: string;
  readonly base: string;
  readonly language: Language;
  readonly recent: RecentPushes;
}

const againMs = 2_000;
/** A page that is left open asks no longer than this, so that it keeps no session alive. */
const asksMax = 300;

/** The document of the browser; views are type-checked for the server as well, which has none. */
declare const document: { readonly hidden: boolean };

/** What the page was made of, and then what is answered at `address`, for as long as that goes on changing. */
export function useNewest<T extends object>(address: string, first: T, goesOn: (now: T) => boolean): T {
  const [shown, setShown] = useState(first);
  useEffect(() => {
    if (!goesOn(first)) return;
    let asks = 0;
    let timer: ReturnType<typeof setTimeout>;
    const ask = async (): Promise<void> => {
      let isOver = false;
      if (!document.hidden) {
        asks += 1;
        const answer = await fetch(address).catch(() => null);
        if (answer?.status === 401 || answer?.status === 404) return;
        if (answer?.ok === true) {
          const now = (await answer.json()) as T;
          isOver = !goesOn(now);
          setShown(now);
        }
      }
      if (!isOver && asks < asksMax) timer = setTimeout(() => void ask(), againMs);
    };
    timer = setTimeout(() => void ask(), againMs);
    return () => clearTimeout(timer);
  }, [address]);
  return shown;
}

export function Pushes({ address, base, language, recent: first }: PushesShown): ComponentChild {
  const texts = textsOf(language);
  const { pushes: words } = texts.portal;
  const { refused: ofRefused } = texts.business.push;
  // Also while nothing is on its way: the next push is seen to come.
  const recent = useNewest(address, first, () => true);
  const { pushes, causes, refused } = recent;
  return h(
    "div",
    null,
    section(
      "newest",
      words.newest,
      h("p", { role: "status" }, words.open(pushes.filter(isOpen).length)),
      pushTable(pushes, { base, texts }),
    ),
    section(
      "causes",
      words.causes,
      causeTable(causes, texts, ({ own_id, push_id }) => own_id ?? push_id ?? words.refused),
    ),
    section("refused", ofRefused.title, paragraph(ofRefused.words), refusedTable(refused, texts)),
  );
}

export function isOpen({ state }: Pick<RecentPush, "state">): boolean {
  return state === "received" || state === "queued" || state === "processing";
}

const tones: Readonly<Record<RecentPush["state"], Tone | "lit">> = {
  received: "lit",
  queued: "lit",
  processing: "lit",
  complete: "good",
  held: "warn",
  failed: "bad",
};

export function stateBadge(state: RecentPush["state"], texts: Texts): ComponentChild {
  return badge(tones[state], texts.portal.pushes.states[state]);
}

function pushTable(
  pushes: readonly RecentPush[],
  { base, texts }: { readonly base: string; readonly texts: Texts },
): ComponentChild {
  const words = texts.portal.pushes;
  if (pushes.length === 0) return h("p", null, words.none);
  const rows = pushes.map(({ push_id, received_at, state, records, settled, counts, error }) => ({
    key: push_id,
    cells: [
      shortTime(received_at),
      h("a", { href: `${base}${push_id}` }, code(push_id)),
      stateBadge(state, texts),
      words.progress(shownNumber(settled), shownNumber(records)),
      shownNumber(counts.accepted + counts.updated),
      shownNumber(counts.rejected),
      error === null ? "–" : texts.said(error.detail),
    ],
  }));
  return dataTable(words.caption, words.columns, rows);
}

/** What is wrong, how to mend it, and in which records. */
export function causeTable<P>(
  causes: readonly ShownCause<P>[],
  texts: Texts,
  nameOf: (place: P) => string,
): ComponentChild {
  const words = texts.portal.pushes;
  if (causes.length === 0) return h("p", null, words.noFaults);
  const rows = causes.map(({ code: cause, where, detail, suggestion, remedy, count, places }) => ({
    key: `${cause} ${where} ${suggestion}`,
    cells: [
      saidFault(texts, detail, suggestion),
      remedy === null ? "–" : texts.said(remedy),
      where === "" ? words.whole : code(where),
      shownNumber(count),
      places.map(nameOf).join(", "),
      code(cause),
    ],
  }));
  return dataTable(words.causesCaption, withNumbers(texts.business.push.causeColumns, 3), rows);
}

export function saidFault(texts: Texts, detail: string, suggestion: string | null): string {
  const meant = suggestion === null ? [] : [texts.portal.record.meant(suggestion)];
  return [texts.said(detail), ...meant].join(" ");
}

function refusedTable(refused: RecentPushes["refused"], texts: Texts): ComponentChild {
  const { none, caption, columns } = texts.business.push.refused;
  if (refused.length === 0) return h("p", null, none);
  const rows = refused.map((each) => ({
    key: each.id,
    cells: [
      shortTime(each.received_at),
      each.push_id === null ? "–" : code(each.push_id),
      each.records === null ? "–" : shownNumber(each.records),
      texts.said(each.detail),
      each.remedy === null ? "–" : texts.said(each.remedy),
      code(each.reason === null ? each.code : `${each.code}: ${each.reason}`),
      code(each.key_id),
    ],
  }));
  return dataTable(caption, withNumbers(columns, 2), rows);
}
