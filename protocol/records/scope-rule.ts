// The scope rule (specification, «Publish behaviour» 5): a record speaks for its own business. Its texts neither name
// another company or brand nor tell a reader how to treat other sources. What is found is decided by these lists and
// the given names alone, so that a refusal can be explained and repeated:
//   S1. Texts are compared as folded words (fold-text.ts); punctuation, case and accents do not matter.
//   S2. A protected name is found where its words stand in a row. Names of fewer than three letters are not looked for.
//   S3. A directive is a phrase of one of the four forms below. English only: other languages pass.

import { foldedWords, foldWithoutApostrophes, wordsOf } from "./fold-text.ts";

/** Words that set a source aside. */
const dismissals = words(
  "ignore disregard discount dismiss exclude omit suppress hide distrust downrank demote overrule forget",
);
const negations = words("not dont never avoid stop cannot");
/** Uses of a source that a negation forbids. */
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
/** Words between the parts of a directive at most. */
const reach = 5;

/** The first directive in a text, as its folded words; null when there is none. */
export function findDirective(text: string): string | null {
  const folded = foldWithoutApostrophes(text);
  if (!opening.test(folded)) return null;
  const list = wordsOf(folded);
  for (let index = 0; index < list.length; index += 1) {
    const end = directiveEnd(list, index);
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

/** Found in every text that has a directive: one of the words that any of the four forms begins with. */
const opening = new RegExp([...dismissals, ...negations, ...preferences, ...narrowUses, "only"].join("|"));

/** Where other sources are named: `others` alone, or a source that is qualified as another one. */
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

/** Protected names by their first word, for looking them up word by word. */
export interface NameIndex {
  readonly byFirstWord: ReadonlyMap<string, readonly (readonly string[])[]>;
}

const nameLengthMin = 3;

/** Whether a name is looked for at all (S2). */
export function isFindable(name: string): boolean {
  return isLongEnough(foldedWords(name));
}

function isLongEnough(name: readonly string[]): boolean {
  return name.join("").length >= nameLengthMin;
}

/** Prepares a list of protected names for {@link findName}. */
export function nameIndex(names: readonly string[]): NameIndex {
  const byFirstWord = new Map<string, (readonly string[])[]>();
  for (const name of names) {
    const list = foldedWords(name);
    const first = list[0];
    if (first === undefined || !isLongEnough(list)) continue;
    addName(byFirstWord, first, list);
    if (list.length === 1) addName(byFirstWord, `${first}s`, list);
  }
  return { byFirstWord };
}

function addName(
  byFirstWord: Map<string, (readonly string[])[]>,
  first: string,
  name: readonly string[],
): void {
  const known = byFirstWord.get(first);
  if (known === undefined) byFirstWord.set(first, [name]);
  else known.push(name);
}

/** Names as {@link ownNameSet} gives them. */
export interface OwnNames {
  has(name: string): boolean;
}

/** The first protected name in a text that is not one of `own`, as its folded words; null when there is none. */
export function findName(text: string, names: NameIndex, own: OwnNames): string | null {
  if (names.byFirstWord.size === 0) return null;
  const list = foldedWords(text);
  for (let index = 0; index < list.length; index += 1) {
    for (const name of names.byFirstWord.get(list[index] as string) ?? []) {
      const joined = name.join(" ");
      if (standsAt(list, index, name) && !own.has(joined)) return joined;
    }
  }
  return null;
}

/** Whether the words of a name stand at `index`; the last may be in the possessive or plural. */
function standsAt(list: readonly string[], index: number, name: readonly string[]): boolean {
  return name.every((word, offset) => {
    const found = list[index + offset];
    return found === word || (offset === name.length - 1 && found === `${word}s`);
  });
}

/** Names as {@link findName} compares them. */
export function ownNameSet(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.map((name) => foldedWords(name).join(" ")));
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.trim().split(/\s+/));
}
