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
