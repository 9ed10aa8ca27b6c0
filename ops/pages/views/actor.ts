// One actor: why it waits, its statechart with the current state lit, and its journal. A read that fails is said on the page,
// which keeps what it had.

import { type ComponentChild, h } from "preact";
import { useEffect, useState } from "preact/hooks";
import { badge, section } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { ActorDetail, JournalPage } from "../../inspection-shapes.ts";
import type { Box, ChartLayout, DrawnLine, DrawnState, Point } from "../chart/layout.ts";
import { type ActChoice, ActForm } from "./act-form.ts";
import { actorFacts, historyOf, kindWords, outboxOf, timersOf, waitsOf } from "./actor-facts.ts";
import { type ActorName, actorPath, apiOf, keyPath, liveActor, partyPath, readJson } from "./frame.ts";
import { journalTable } from "./journal.ts";
import { liveBadge, useLive } from "./live.ts";

export interface ActorProps {
  readonly language: Language;
  readonly detail: ActorDetail;
  /** Null where its machine could not be drawn. */
  readonly layout: ChartLayout | null;
  /** The machines that it runs for each of what it keeps, such as the ads of a pool. */
  readonly parts: readonly { readonly kind: string; readonly layout: ChartLayout | null }[];
  /** Null for a kind without a journal, and for one that was not read in time. */
  readonly journal: JournalPage | null;
  /** Whether the journal was not read in time and is read now. */
  readonly isLate: boolean;
}

export function Actor({ language, layout, parts, ...first }: ActorProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { ref } = first.detail;
  const live = useLive<ActorDetail>(liveActor(ref), "actor", first.detail);
  const detail = live.data;
  const { journal, fault, isReading, read } = useJournal(first, detail.head);
  const { state, context, states } = detail;
  // States that another release made are unknown, and so is how its machine is drawn.
  const isKnown = journal?.unreadable == null || state !== null;
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
        isKnown
          ? chartsOf({ kind: ref.kind, layout, parts, states, context }, texts)
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
      texts.actor.stateNow,
      h(
        "pre",
        { tabIndex: 0, "aria-label": texts.actor.stateNow },
        JSON.stringify({ state, context }, null, 2),
      ),
    ),
    section(
      "journal",
      texts.actor.journal,
      isReading ? h("p", { class: "quiet", role: "status" }, texts.actor.reading) : null,
      journal === null
        ? isReading
          ? null
          : h("p", { class: "quiet" }, texts.actor.inMemory)
        : journalTable({ journal, actor: ref, texts, read }),
    ),
    section("acts", texts.acts.title, h(Acts, { detail, texts })),
    section("history", texts.actor.history, historyOf(detail, texts)),
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
function leadOf({ kind, id }: ActorName, { key, party }: ActorTexts): ComponentChild {
  const to = (href: string, words: string) => h("a", { class: "end small", href }, words);
  if (kind === "integration-key") return to(keyPath(id.split(".")[1] ?? ""), key);
  return kind === "business" ? to(partyPath(id), party) : null;
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

/** A wider chart has the whole width of the page. */
const columnWidthMax = 1_000;

interface JournalState {
  readonly journal: JournalPage | null;
  readonly fault: string | null;
  /** Whether an answer is waited for: a long journal is run through once before anything of it is shown. */
  readonly isReading: boolean;
}

/** The journal follows the live actor: another head means that there are events to read. */
function useJournal(
  { detail, journal, isLate }: Pick<ActorProps, "detail" | "journal" | "isLate">,
  head: number,
) {
  const [shown, setShown] = useState<JournalState>({ journal, fault: null, isReading: isLate });
  const read = (before: number | null): void => {
    setShown((known) => ({ ...known, isReading: true }));
    readJson<JournalPage>(apiOf(detail.ref, "/journal", before === null ? {} : { before })).then(
      (page) => setShown({ journal: page, fault: null, isReading: false }),
      (error: unknown) => setShown((known) => ({ ...known, isReading: false, fault: String(error) })),
    );
  };
  useEffect(() => {
    if (shown.journal !== null && shown.journal.head !== head) read(null);
  }, [head]);
  useEffect(() => {
    if (isLate) read(null);
  }, []);
  return { ...shown, read };
}

// Acting on an actor. The node does nothing if the actor is in another state than the one that was shown with the question. How many
// commits it made is not asked for: one that is busy makes some between the question and its answer, and could never be acted on.

export interface ActsProps {
  readonly detail: ActorDetail;
  readonly texts: Texts["operations"];
}

type Act = keyof Texts["operations"]["acts"]["names"];

function Acts({ detail, texts: { acts } }: ActsProps): ComponentChild {
  const { ref } = detail;
  const choices = actorChoices(detail, acts);
  return h(ActForm, { choices, help: acts.help, page: actorPath(ref.kind, ref.id), texts: acts });
}

type Judged = Pick<ActorDetail, "ref" | "status" | "states" | "outbox">;

export function actorChoices(detail: Judged, acts: Texts["operations"]["acts"]): readonly ActChoice[] {
  const { ref, status, states } = detail;
  const { names } = acts;
  const own = possibleActs(detail).map((act) => ({
    key: act,
    words: names[act],
    fields: [],
    request: () => ({
      address: apiOf(ref, `/${act}`),
      members: { expected: { status, states } },
      subject: `${ref.kind}/${ref.id}`,
    }),
  }));
  return ref.kind === "ad-campaign" ? [...own, campaignChoice(detail, acts)] : own;
}

/** Operators stop a campaign, or let it go on; its id is that of the business and its own. */
function campaignChoice(
  { ref: { id }, states }: Judged,
  { campaign: words }: Texts["operations"]["acts"],
): ActChoice {
  const dot = id.indexOf(".");
  const address = `/ops/campaigns/${id.slice(0, dot)}/${encodeURIComponent(id.slice(dot + 1))}`;
  return states.includes("stopped")
    ? {
        key: "resume",
        words: words.resume,
        fields: [],
        request: () => ({ address: `${address}/resume`, look: address, members: {}, subject: id }),
      }
    : {
        key: "stop",
        words: words.stop,
        fields: [{ name: "statement", label: words.statement, options: null }],
        request: ({ statement = "" }) => ({
          address: `${address}/stop`,
          look: address,
          members: { statement: statement.trim() },
          subject: id,
        }),
      };
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

// A machine's statechart as SVG, with the states of one actor lit. The names of its states are also said in words (the label), and
// what is lit has a thicker border besides its colour.

export interface ChartProps {
  readonly kind: string;
  readonly layout: ChartLayout;
  /** The paths of the states that the actor is in, such as `working.step.queued`. */
  readonly lit: readonly string[];
  readonly texts: Texts["operations"]["actor"];
}

function Chart({ kind, layout, lit, texts }: ChartProps): ComponentChild {
  const { width, height, states, lines, anywhere } = layout;
  const isLit = (path: string) => lit.some((each) => each === path || each.startsWith(`${path}.`));
  return h(
    "svg",
    {
      class: "chart",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": texts.chartOf(kind, lit.join(", ") || "–"),
    },
    states.map((state) => drawState(state, isLit(state.path))),
    anywhere === null ? null : drawAnywhere(anywhere, texts.anyState),
    lines.map(drawLine),
  );
}

const titleBaseline = 18;
const lineHeight = 16;

function drawState(
  { x, y, width, height, name, path, isLeaf, isInitial, takes }: DrawnState,
  isLit: boolean,
) {
  const classes = ["state", isLeaf ? "leaf" : "compound", ...(isLit ? ["lit"] : [])].join(" ");
  return h(
    "g",
    { key: path, class: classes, "data-state": path },
    h("rect", { x, y, width, height, rx: 8 }),
    isInitial ? h("circle", { class: "any", cx: x + 11, cy: y + titleBaseline - 4, r: 3.5 }) : null,
    h("text", { class: "name", x: x + (isInitial ? 20 : 12), y: y + titleBaseline }, name),
    takes.map((each, at) =>
      h("text", { class: "takes", x: x + 12, y: y + titleBaseline + (at + 1) * lineHeight }, each),
    ),
  );
}

function drawAnywhere({ x, y, width, height }: Box, name: string): ComponentChild {
  return h(
    "g",
    { class: "anywhere" },
    h("rect", { x, y, width, height, rx: height / 2 }),
    h("text", { x: x + width / 2, y: y + titleBaseline, "text-anchor": "middle" }, name),
  );
}

function drawLine({ from, to, points, label }: DrawnLine): ComponentChild {
  const [last, before] = [points.at(-1), points.at(-2)];
  if (last === undefined || before === undefined) return null;
  const path = points.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${x} ${y}`).join("");
  return h(
    "g",
    { key: `${from} ${to}`, class: "line" },
    h("path", { d: path }),
    h("path", { class: "head", d: headOf(before, last) }),
    label?.lines.map((text, at) => h("text", { x: label.x + 4, y: label.y + 12 + at * lineHeight }, text)),
  );
}

const headLength = 7;
const headWidth = 3.5;

/** The tip of an arrow that ends at `end`. */
function headOf(before: Point, end: Point): string {
  const length = Math.hypot(end.x - before.x, end.y - before.y) || 1;
  const [dx, dy] = [(end.x - before.x) / length, (end.y - before.y) / length];
  const [bx, by] = [end.x - dx * headLength, end.y - dy * headLength];
  const corner = (side: number) => `${bx - dy * side * headWidth} ${by + dx * side * headWidth}`;
  return `M${end.x} ${end.y}L${corner(1)}L${corner(-1)}Z`;
}
