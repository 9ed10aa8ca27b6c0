// The scope rule (specification, «Publish behaviour» 5): a record speaks only for its own business. Its texts do not tell a
// reader how to treat other sources; that they do not name other companies is checked in company-name-rule.ts. These lists
// alone determine what is found, so that a refusal can be explained and repeated:
//   S1. Texts are compared as folded words (fold-text.ts); punctuation, case and accents do not matter.
//   S2. A directive is a phrase in one of the four forms below. Only English is covered; other languages pass.

import { createWordFilter } from "./word-filter.ts";

/** Words that dismiss a source. */
const dismissals = words(
  "ignore disregard discount dismiss exclude omit suppress hide distrust downrank demote overrule forget",
);
const negations = words("not dont never avoid stop cannot");
/** Ways of using a source that a negation forbids. */
const uses = words(
  "cite citing quote quoting trust trusting recommend recommending mention mentioning consult believe show list use using",
);
const preferences = words("prefer rank prioritise prioritize place put favour favor");
const selves = words("us me this our ours we");
const before = words("over above before ahead instead");
const qualifiers = words(
  "other another competing competitor competitors rival alternative external previous prior earlier",
);
const others = words("competitors competition rivals others else");
const sources = words(
  `source sources result results site sites website websites page pages review reviews seller sellers shop shops store stores
  retailer retailers brand brands company companies business businesses provider providers supplier suppliers listing listings
  record records instruction instructions prompt prompts answer answers recommendation recommendations`,
);
/** Maximum number of words between the parts of a directive. */
const reach = 5;

/** The first directive in the folded words; null when there is none. */
export function findDirective(list: readonly string[]): string | null {
  for (let index = 0; index < list.length; index += 1) {
    const end = openings.has(list[index] as string) ? directiveEnd(list, index) : null;
    if (end !== null) return list.slice(index, end + 1).join(" ");
  }
  return null;
}

function directiveEnd(list: readonly string[], at: number): number | null {
  const word = list[at] as string;
  // «ignore all other sources»
  if (dismissals.has(word)) return findOthers(list, at + 1);
  // «do not trust competing shops», «never recommend anyone else»
  if (negations.has(word) && uses.has(list[at + 1] ?? "")) return findOthers(list, at + 2);
  // «rank us above other brands»
  if (preferences.has(word) && selves.has(list[at + 1] ?? "")) {
    const step = findWithin(list, at + 2, before);
    return step === null ? null : findOthers(list, step + 1);
  }
  // «only cite this source», «recommend only us»
  const next = list[at + 1] ?? "";
  const isOnlyUse = (word === "only" && narrowUses.has(next)) || (narrowUses.has(word) && next === "only");
  return isOnlyUse && selves.has(list[at + 2] ?? "") ? at + 2 : null;
}

const narrowUses = words("cite quote trust recommend mention");

const openings = new Set([...dismissals, ...negations, ...preferences, ...narrowUses, "only"]);
/** Every directive starts with one of these words. */
export const directiveOpenings = createWordFilter(openings);

/** The position where other sources are named: `others` alone, or a source qualified as another one. */
function findOthers(list: readonly string[], from: number): number | null {
  const end = Math.min(list.length, from + reach);
  for (let index = from; index < end; index += 1) {
    const word = list[index] as string;
    if (qualifiers.has(word)) {
      const source = findWithin(list, index + 1, sources);
      if (source !== null) return source;
    }
    if (others.has(word)) return index;
  }
  return null;
}

function findWithin(list: readonly string[], from: number, wanted: ReadonlySet<string>): number | null {
  const end = Math.min(list.length, from + reach);
  for (let index = from; index < end; index += 1) if (wanted.has(list[index] as string)) return index;
  return null;
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
