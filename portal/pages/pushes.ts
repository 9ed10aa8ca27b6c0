// The newest pushes of a business, which go on being live in the browser while one of them is on its way.

import { type ComponentChild, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RecentPush, RecentPushes } from "../../service/portal/recent-pushes.ts";
import { badge, code, dataTable, section, shortTime, shownNumber, type Tone } from "../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../web/texts/catalogue.ts";

export interface PushesShown {
  /** Where the newest state is asked for. */
  readonly address: string;
  readonly language: Language;
  readonly recent: RecentPushes;
}

const againMs = 2_000;
/** A page that is left open asks no longer than this, so that it keeps no session alive. */
const asksMax = 300;

/** The document of the browser; views are type-checked for the server as well, which has none. */
declare const document: { readonly hidden: boolean };

export function Pushes({ address, language, recent: first }: PushesShown): ComponentChild {
  const texts = textsOf(language);
  const words = texts.portal.pushes;
  const [recent, setRecent] = useState(first);
  useEffect(() => {
    if (!first.pushes.some(isOpen)) return;
    let asks = 0;
    let timer: ReturnType<typeof setTimeout>;
    const ask = async (): Promise<void> => {
      let goesOn = true;
      if (!document.hidden) {
        asks += 1;
        const answer = await fetch(address).catch(() => null);
        if (answer?.status === 401 || answer?.status === 404) return;
        if (answer?.ok === true) {
          const now = (await answer.json()) as RecentPushes;
          goesOn = now.pushes.some(isOpen);
          setRecent(now);
        }
      }
      if (goesOn && asks < asksMax) timer = setTimeout(() => void ask(), againMs);
    };
    timer = setTimeout(() => void ask(), againMs);
    return () => clearTimeout(timer);
  }, [address]);
  return h(
    "div",
    null,
    section(
      "newest",
      words.newest,
      h("p", { role: "status" }, words.open(recent.pushes.filter(isOpen).length)),
      pushTable(recent.pushes, texts),
    ),
    section("causes", words.causes, causeTable(recent, texts)),
  );
}

function isOpen({ state }: RecentPush): boolean {
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

function pushTable(pushes: readonly RecentPush[], texts: Texts): ComponentChild {
  const words = texts.portal.pushes;
  if (pushes.length === 0) return h("p", null, words.none);
  const rows = pushes.map(({ push_id, received_at, state, records, settled, counts, error }) => ({
    key: push_id,
    cells: [
      shortTime(received_at),
      code(push_id),
      badge(tones[state], words.states[state]),
      words.progress(shownNumber(settled), shownNumber(records)),
      shownNumber(counts.accepted + counts.updated),
      shownNumber(counts.rejected),
      error === null ? "–" : texts.said(error.detail),
    ],
  }));
  return dataTable(words.caption, words.columns, rows);
}

/** What is wrong, how to mend it, and in which records. */
function causeTable({ causes }: RecentPushes, texts: Texts): ComponentChild {
  const words = texts.portal.pushes;
  if (causes.length === 0) return h("p", null, words.noFaults);
  const rows = causes.map(({ code: cause, where, detail, suggestion, count, places }) => ({
    key: `${cause} ${where} ${suggestion}`,
    cells: [
      [texts.said(detail), suggestion === null ? "" : texts.portal.record.meant(suggestion)].join(" "),
      where === "" ? words.whole : code(where),
      shownNumber(count),
      places.map(({ own_id, push_id }) => own_id ?? push_id ?? words.refused).join(", "),
    ],
  }));
  return dataTable(words.causesCaption, words.causeColumns, rows);
}
