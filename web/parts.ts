// Parts that every page is made of.
//   G1. A page is understood without colour: what colour says is also said in words.
//   G2. It is read in light and dark, on a narrow screen, enlarged and printed; a printed page names the addresses of its links.

import { type ComponentChild, type ComponentChildren, h } from "preact";

export type Tone = "good" | "warn" | "bad";

/** The answer at a glance; the tone repeats what the words say (G1). */
export function verdict(tone: Tone, heading: string, sentence: string): ComponentChild {
  return h("div", { class: `verdict ${tone}` }, h("strong", null, heading), sentence);
}

export type Fact = readonly [name: string, value: ComponentChild];

/** Names with what they are, one below another. */
export function facts(rows: readonly Fact[]): ComponentChild {
  return h(
    "dl",
    null,
    rows.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))),
  );
}

export function heading(text: string): ComponentChild {
  return h("h2", null, text);
}

export function paragraph(...content: ComponentChildren[]): ComponentChild {
  return h("p", null, content);
}

export function link(href: string, text: string): ComponentChild {
  return h("a", { href }, text);
}

/** An identifier or a hash. */
export function code(text: string): ComponentChild {
  return h("code", null, text);
}

const instant = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "medium", timeZone: "UTC" });

/** An instant of the wire format, as people read it; null is said in words. */
export function time(timestamp: string | null, otherwise = "–"): ComponentChild {
  if (timestamp === null) return otherwise;
  return h("time", { dateTime: timestamp }, `${instant.format(new Date(timestamp))} UTC`);
}

const moment = new Intl.DateTimeFormat("en-GB", {
  day: "2-digit",
  month: "short",
  timeZone: "UTC",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
} as Intl.DateTimeFormatOptions);

/** An instant in short, to the millisecond, for tables. */
export function shortTime(timestamp: string | null, otherwise = "–"): ComponentChild {
  if (timestamp === null) return otherwise;
  return h("time", { dateTime: timestamp, title: timestamp }, moment.format(new Date(timestamp)));
}

const numbers = new Intl.NumberFormat("en-GB");

export function shownNumber(value: number): string {
  return numbers.format(value);
}

/** A short word with a tone; the word says everything (G1). */
export function badge(tone: Tone | "lit" | "", words: string): ComponentChild {
  return h("span", { class: tone === "" ? "badge" : `badge ${tone}` }, words);
}

export interface Column {
  readonly name: string;
  readonly kind?: "number" | "words" | "nowrap" | "id";
}

/** Columns of which those at `places` have numbers. */
export function withNumbers(names: readonly string[], ...places: readonly number[]): readonly Column[] {
  return names.map((name, at) => (places.includes(at) ? { name, kind: "number" } : { name }));
}

export interface Row {
  readonly key: string;
  readonly cells: readonly ComponentChild[];
  readonly isChosen?: boolean;
}

/**
 * A table that is scrolled by itself where the screen is narrow; its caption is for those who cannot see it. A column of no kind is
 * given by its name.
 */
export function dataTable(
  caption: string,
  given: readonly (Column | string)[],
  rows: readonly Row[],
): ComponentChild {
  const columns = given.map((each): Column => (typeof each === "string" ? { name: each } : each));
  const classOf = (at: number) => columns[at]?.kind ?? "";
  const head = columns.map(({ name }, at) => h("th", { scope: "col", class: classOf(at) }, name));
  const body = rows.map(({ key, cells, isChosen = false }) =>
    h(
      "tr",
      { key, class: isChosen ? "chosen" : "", ...(isChosen ? { "aria-current": "true" as const } : {}) },
      cells.map((cell, at) => h("td", { class: classOf(at) }, cell)),
    ),
  );
  const table = h(
    "table",
    { class: columns.length > 3 ? "wide" : "" },
    h("caption", null, caption),
    h("thead", null, h("tr", null, head)),
    h("tbody", null, body),
  );
  // It can be focused, so that it can be scrolled without a mouse.
  return h("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": caption }, table);
}

/** A part of a page under a heading. */
export function section(id: string, name: string, ...content: ComponentChildren[]): ComponentChild {
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, name), content);
}
