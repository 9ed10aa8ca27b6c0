// One actor: why it waits, its statechart with the current state lit, its journal, and its state at any earlier point.
//   AV1. What is live moves as long as one looks at «now». Who goes back in time sees that point until they return.
//   AV2. A read that fails is said on the page, which keeps what it had.

import { type ComponentChild, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { badge, section } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { ActorDetail, JournalPage, StateThen } from "../../inspection-shapes.ts";
import type { ChartLayout } from "../chart/layout.ts";
import { actorFacts, historyOf, outboxOf, timersOf, waitsOf } from "./actor-facts.ts";
import { kindWords } from "./actor-rows.ts";
import { Acts } from "./acts.ts";
import { type ActorName, apiOf, liveActor, readJson } from "./addresses.ts";
import { Chart } from "./chart.ts";
import { Compare } from "./compare.ts";
import { keyPath, pushPath, searchPath } from "./frame.ts";
import { journalTable } from "./journal.ts";
import { isOnPage, pageBefore } from "./journal-pages.ts";
import { liveBadge, useLive } from "./live.ts";
import { Travel } from "./travel.ts";
import { WhatIfForm } from "./what-if.ts";

export interface ActorProps {
  readonly language: Language;
  readonly detail: ActorDetail;
  /** Null where its machine could not be drawn. */
  readonly layout: ChartLayout | null;
  /** The machines that it runs for each of what it keeps, such as the ads of a pool. */
  readonly parts: readonly { readonly kind: string; readonly layout: ChartLayout | null }[];
  /** Null for a kind without a journal, and for one that was not read in time. */
  readonly journal: JournalPage | null;
  /** The earlier state that was asked for; null for now. */
  readonly past: StateThen | null;
  readonly events: readonly string[];
  /** What was not read in time and is read now: the journal, and the state after an event if one was asked for. */
  readonly asked: { readonly seq: number | null } | null;
}

export function Actor({ language, layout, parts, events, ...first }: ActorProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { ref } = first.detail;
  const live = useLive<ActorDetail>(liveActor(ref), "actor", first.detail);
  const detail = live.data;
  const { journal, past, fault, isReading, read, goTo } = useJournal(first, detail.head);
  // States that another release made are unknown, and so is how its machine is drawn.
  const isKnown = journal?.unreadable == null || detail.state !== null;
  const hasPast = isKnown && journal !== null && journal.last_seq > 0;
  return h(
    "div",
    null,
    titleOf(detail, liveBadge(live.state, texts), texts),
    fault === null ? null : h("p", { class: "badge bad", role: "alert" }, texts.actor.failed(fault)),
    section("waits", texts.actor.waits, waitsOf(detail, texts)),
    h(
      "div",
      { class: (layout?.width ?? 0) > columnWidthMax ? "" : "columns" },
      section(
        "chart",
        texts.actor.chart,
        hasPast ? h(Travel, { journal, past, texts, goTo }) : null,
        isKnown
          ? chartsOf({ kind: ref.kind, layout, parts, ...(past ?? detail) }, texts)
          : h("p", null, texts.actor.otherMachine(detail.machine_version, detail.stored_version)),
      ),
      h(
        "div",
        { class: "facts" },
        section("facts", texts.actor.facts, actorFacts(detail, texts)),
        section("timers", texts.actor.timers, timersOf(detail, texts)),
        section("outbox", texts.actor.outbox, outboxOf(detail, texts)),
      ),
    ),
    section(
      "state",
      past === null ? texts.actor.stateNow : texts.actor.stateAfter(past.seq),
      stateShown(past ?? detail, past, texts),
      hasPast ? h(Compare, { actor: ref, journal, texts }) : null,
    ),
    section(
      "journal",
      texts.actor.journal,
      isReading ? h("p", { class: "quiet", role: "status" }, texts.actor.reading) : null,
      journal === null
        ? isReading
          ? null
          : h("p", { class: "quiet" }, texts.actor.inMemory)
        : journalTable({ journal, actor: ref, at: past?.seq ?? null, texts, goTo, read }),
    ),
    h(
      "div",
      { class: "columns" },
      isKnown
        ? section(
            "what-if",
            texts.actor.whatIf,
            h(WhatIfForm, { actor: ref, seq: past?.seq ?? null, events, journal, texts }),
          )
        : null,
      h(
        "div",
        null,
        section("acts", texts.acts.title, h(Acts, { detail, texts })),
        section("history", texts.actor.history, historyOf(detail, texts)),
      ),
    ),
  );
}

function titleOf(detail: ActorDetail, live: ComponentChild, texts: Texts["operations"]): ComponentChild {
  const { ref, party, status, states } = detail;
  return h(
    "div",
    { class: "title" },
    h("h1", null, kindWords({ kind: ref.kind, party }, texts), " ", h("code", null, ref.id)),
    party === null ? null : h("span", null, party.legal_name),
    badge(status === "quarantined" ? "bad" : "", texts.status[status]),
    states.map((each) => badge("lit", each)),
    live,
    leadOf(ref, texts.actor),
  );
}

/** The page that says more of what the actor stands for. */
function leadOf({ kind, id }: ActorName, { push, key, everything }: ActorTexts): ComponentChild {
  const to = (href: string, words: string) => h("a", { class: "end small", href }, words);
  if (kind === "push") return to(pushPath(id), push);
  if (kind === "integration-key") return to(keyPath(id.split(".")[1] ?? ""), key);
  return kind === "business" ? to(searchPath(id), everything) : null;
}

type ActorTexts = Texts["operations"]["actor"];

interface Drawn extends Pick<ActorProps, "layout" | "parts"> {
  readonly kind: string;
  readonly states: readonly string[];
  readonly context: unknown;
}

/** Its own machine, and those of what it keeps with the states that some of it is in. */
function chartsOf({ kind, layout, parts, states, context }: Drawn, texts: Texts["operations"]) {
  const { items = [] } = (context ?? {}) as { readonly items?: readonly { readonly state: string }[] };
  const inner = items.map(({ state }) => state);
  return [
    chartOf(kind, layout, states, texts),
    ...parts.map((part) => chartOf(part.kind, part.layout, inner, texts)),
  ];
}

function chartOf(
  kind: string,
  layout: ChartLayout | null,
  lit: readonly string[],
  { actor }: Texts["operations"],
): ComponentChild {
  if (layout === null) return h("p", { class: "quiet" }, actor.noChart);
  return [
    h(
      "div",
      { class: "scroll", tabIndex: 0, role: "region", "aria-label": actor.drawing },
      h(Chart, { kind, layout, lit, texts: actor }),
    ),
    layout.everywhere.length === 0
      ? null
      : h(
          "details",
          null,
          h("summary", { class: "quiet small" }, `${actor.everywhere} (${layout.everywhere.length})`),
          h("p", { class: "quiet small" }, layout.everywhere.join(", ")),
        ),
  ];
}

function stateShown(
  { state, context }: { readonly state: unknown; readonly context: unknown },
  past: StateThen | null,
  { actor }: Texts["operations"],
): ComponentChild {
  const name = past === null ? actor.stateNow : actor.stateAfter(past.seq);
  return [
    past?.unreadable == null
      ? null
      : h("p", { class: "badge bad" }, `${actor.unreadable}: ${past.unreadable}`),
    h("pre", { tabIndex: 0, "aria-label": name }, JSON.stringify({ state, context }, null, 2)),
  ];
}

/** A wider chart has the whole width of the page. */
const columnWidthMax = 1_000;

interface JournalState {
  readonly journal: JournalPage | null;
  readonly past: StateThen | null;
  readonly fault: string | null;
  /** Whether an answer is waited for: a long journal is run through once before anything of it is shown. */
  readonly isReading: boolean;
}

/** The journal follows the live actor: another head means that there are events to read. */
function useJournal(
  { detail, journal, past, asked }: Pick<ActorProps, "detail" | "journal" | "past" | "asked">,
  head: number,
) {
  const [shown, setShown] = useState<JournalState>({ journal, past, fault: null, isReading: asked !== null });
  const settle = (reading: Promise<Partial<JournalState>>): void => {
    setShown((before) => ({ ...before, isReading: true }));
    reading.then(
      (found) =>
        setShown((before) => ({
          ...before,
          fault: null,
          isReading: false,
          ...endOf(before, found),
        })),
      (error: unknown) => setShown((before) => ({ ...before, isReading: false, fault: String(error) })),
    );
  };
  const pageOf = (before: number | null): Promise<JournalPage> =>
    readJson<JournalPage>(apiOf(detail.ref, "/journal", before === null ? {} : { before }));
  const read = (before: number | null): void => settle(pageOf(before).then((page) => ({ journal: page })));
  const readPoint = async (seq: number): Promise<Partial<JournalState>> => {
    const found = await readJson<StateThen>(apiOf(detail.ref, `/states/${seq}`));
    const isThere = shown.journal !== null && isOnPage(shown.journal, seq);
    return { past: found, ...(isThere ? {} : { journal: await pageOf(pageBefore(seq)) }) };
  };
  useEffect(() => {
    if (shown.journal !== null && shown.journal.head !== head) read(null);
  }, [head]);
  useEffect(() => {
    if (asked === null) return;
    // The newest page says how far the journal goes.
    const { seq } = asked;
    const newest = pageOf(null).then((page) => ({ journal: page }));
    settle(
      seq === null
        ? newest
        : newest.then(async (page) => ({ ...page, ...endOf(page, await readPoint(seq)) })),
    );
  }, []);
  const goTo = (seq: number | null): void => {
    const address = new URL(location.href);
    if (seq === null) address.searchParams.delete("at");
    else address.searchParams.set("at", String(seq));
    history.replaceState(null, "", address);
    settle(seq === null ? Promise.resolve({ past: null }) : readPoint(seq));
  };
  return { ...shown, read, goTo };
}

/** A page of earlier events does not say how far the journal goes; what was read before does. */
function endOf(
  { journal: before }: Partial<JournalState>,
  found: Partial<JournalState>,
): Partial<JournalState> {
  if (before == null || found.journal == null) return found;
  return {
    ...found,
    journal: { ...found.journal, last_seq: Math.max(before.last_seq, found.journal.last_seq) },
  };
}
