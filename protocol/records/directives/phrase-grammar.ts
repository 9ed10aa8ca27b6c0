// Finds directives in languages that put spaces between words. Each language is a lexicon of word classes and a few rules,
// which are sequences of classes; what matters is that the classes of one language follow one another closely.
//   P1. Words are compared in one form (wordForm), in which letters that look alike, and spellings that the same language
//       writes either way, are the same.
//   P2. A text without a verb of a lexicon contains no directive; `openings` are all those verbs.
//   P3. A dismissal that is itself negated («never ignore other sources») is none.

import { foldText } from "../fold-text.ts";
import { plainLetter } from "../look-alikes.ts";
import { createWordFilter, type WordFilter } from "../word-filter.ts";

/** The classes of words. */
export const wordClasses = [
  /** Verbs that dismiss a source, and those that dismiss many other things as well. */
  "dismiss",
  "weakDismiss",
  /** Verbs for using a source that a negation forbids, and those for using many other things as well. */
  "use",
  "weakUse",
  /** Demands to say or trust something, which «only» narrows. */
  "narrow",
  /** Verbs that prefer something; `preferUs` includes the object. */
  "prefer",
  "preferUs",
  /** «Treat this page as the only source». */
  "consider",
  "not",
  /** A negation that belongs to the object («trust no other shop»), or that is part of the verb. */
  "none",
  "notUse",
  "only",
  /** «Do not cite anything but»: narrows a negated verb. */
  "but",
  "over",
  /** Verbs that make a demand of what precedes them: «do», and «put» after `over`. */
  "do",
  "put",
  /** What qualifies a source as another one, what it is, and what names others alone. */
  "other",
  "source",
  "brand",
  "rivals",
  "others",
  /** The reader's own instructions. */
  "yours",
  "orders",
  /** The speaker; `my` stands with a source. */
  "self",
  "my",
] as const;
export type WordClass = (typeof wordClasses)[number];

export interface Language {
  readonly code: string;
  /**
   * Words of each class. `stem/a/b` stands for `stema stemb`, an ending may be empty; `a_b` is two words that follow one
   * another.
   */
  readonly words: Readonly<Partial<Record<WordClass, string>>>;
  /**
   * Each rule is a sequence of steps: a class, `T` (another source), `t` (another source that weak verbs need), or `S` (the
   * speaker). A space allows up to five words between two steps, `+` at most one. `negatedAfter` tells where the language puts
   * the negation of a dismissal.
   */
  readonly rules: readonly string[];
  readonly negatedAfter?: boolean;
}

const bits = Object.fromEntries(wordClasses.map((name, index) => [name, 2 ** index])) as Record<
  WordClass,
  number
>;
const verbs =
  bits.dismiss |
  bits.weakDismiss |
  bits.use |
  bits.weakUse |
  bits.narrow |
  bits.prefer |
  bits.preferUs |
  bits.consider |
  bits.notUse |
  bits.put;
const objects = bits.other | bits.rivals | bits.others | bits.yours | bits.orders | bits.self | bits.my;
const [reach, near, nounReach] = [5, 1, 4];

interface Step {
  readonly find: (line: Line, at: number) => number | null;
  /** How many words may stand between the previous step and this one. */
  readonly gap: number;
}

interface Grammar {
  readonly rules: readonly (readonly Step[])[];
}

/** The classes of each word of a text in one language; 0 for a word that the lexicon does not have. */
type Line = readonly number[];

interface Meaning {
  readonly language: number;
  readonly classes: number;
}

export interface PhraseGrammar {
  /** The first and last index of the first directive in the folded words; null when there is none. */
  find(words: readonly string[]): readonly [start: number, end: number] | null;
  /** Words, at least one of which is in every directive. */
  readonly openings: WordFilter;
}

interface Lexicon {
  readonly languages: number;
  readonly meanings: Map<string, Meaning[]>;
  /** First words of the entries of two words. */
  readonly pairs: Set<string>;
  /** By first word: bit n says that language n has a verb that begins so, bit n + 16 an object. */
  readonly marks: Map<string, number>;
}

const objectShift = 16;

/** Compiles the languages into one grammar, which looks up each word of a text once. */
export function createPhraseGrammar(languages: readonly Language[]): PhraseGrammar {
  const lexicon: Lexicon = {
    languages: languages.length,
    ...{ meanings: new Map(), pairs: new Set(), marks: new Map() },
  };
  const openings = createWordFilter();
  for (const [language, { words }] of languages.entries()) {
    for (const [entry, classes] of entriesOf(words)) {
      const first = addEntry(lexicon, entry, { language, classes });
      if ((classes & verbs) !== 0) openings.add(first);
    }
  }
  const grammars = languages.map(compile);
  const readWord = createWordReader(lexicon);
  return {
    openings,
    find: (folded) => {
      const read = folded.map(readWord);
      const present = languagesIn(read);
      if (present === 0) return null;
      const words = read.map(({ form }) => form);
      for (let language = 0; present >> language !== 0; language += 1) {
        if (((present >> language) & 1) === 0) continue;
        const found = findIn(readLine(words, lexicon, language), grammars[language] as Grammar);
        if (found !== null) return found;
      }
      return null;
    },
  };
}

/** Adds what an entry means in a language; returns its first word. */
function addEntry({ meanings, pairs, marks }: Lexicon, entry: string, meaning: Meaning): string {
  const [first = "", second] = entry.split(" ");
  meanings.set(entry, [...(meanings.get(entry) ?? []), meaning]);
  if (second !== undefined) pairs.add(first);
  const { language, classes } = meaning;
  const verb = (classes & verbs) !== 0 ? 1 << language : 0;
  const object = (classes & objects) !== 0 ? 1 << (language + objectShift) : 0;
  marks.set(first, (marks.get(first) ?? 0) | verb | object);
  return first;
}

function entriesOf(words: Language["words"]): ReadonlyMap<string, number> {
  const entries = new Map<string, number>();
  for (const [name, list] of Object.entries(words)) {
    for (const written of list.trim().split(/\s+/).flatMap(expand)) {
      const entry = written
        .split("_")
        .map((word) => wordForm(foldText(word).replace(/['’]/g, "")))
        .join(" ");
      entries.set(entry, (entries.get(entry) ?? 0) | bits[name as WordClass]);
    }
  }
  return entries;
}

function expand(written: string): readonly string[] {
  const [stem = "", ...endings] = written.split("/");
  return endings.length === 0 ? [stem] : endings.map((ending) => stem + ending);
}

const notAscii = /[\u0080-\uffff]/;
/** Vowel signs, long marks, nukta and the like, which texts may leave out; the letter extender of Arabic. */
const optionalMarks = /[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u093c\u09bc]/g;
const variants: Readonly<Record<string, string>> = {
  ...{
    أ: "ا",
    إ: "ا",
    آ: "ا",
    ٱ: "ا",
    ى: "ي",
    ی: "ي",
    ئ: "ي",
    ؤ: "و",
    ک: "ك",
    ہ: "ه",
    ۂ: "ه",
    ة: "ه",
    ۃ: "ه",
    ے: "ي",
  },
  ...{ "\u0901": "\u0902", "\u0981": "\u0982" },
};

/** The form in which words of the lexicons and of texts are compared (P1). */
function wordForm(word: string): string {
  if (!notAscii.test(word)) return word;
  let form = "";
  for (const letter of word.normalize("NFKC").replace(optionalMarks, ""))
    form += variants[letter] ?? plainLetter(letter);
  return form;
}

interface ReadWord {
  readonly form: string;
  /** See {@link Lexicon.marks}. */
  readonly marks: number;
}

/** More than the words that the texts of one catalogue share; when there are more, all are read again. */
const readWordsMax = 20_000;
/** No word of a lexicon is as long. */
const readLengthMax = 32;

/** Reads a folded word; the words of texts repeat, and reading one costs more than finding it again. */
function createWordReader({ marks }: Lexicon): (word: string) => ReadWord {
  const known = new Map<string, ReadWord>();
  return (word) => {
    const found = known.get(word);
    if (found !== undefined) return found;
    const form = wordForm(word);
    const read = { form, marks: marks.get(form) ?? 0 };
    if (word.length > readLengthMax) return read;
    if (known.size >= readWordsMax) known.clear();
    known.set(word, read);
    return read;
  };
}

/** The languages that may have both a verb and an object among the words, as bits. */
function languagesIn(words: readonly ReadWord[]): number {
  let found = 0;
  for (const { marks } of words) found |= marks;
  return found & (found >>> objectShift) & 0xffff;
}

function readLine(words: readonly string[], { meanings, pairs }: Lexicon, language: number): Line {
  const classesOf = (entry: string): number =>
    meanings.get(entry)?.find((each) => each.language === language)?.classes ?? 0;
  return words.map((word, at) =>
    pairs.has(word) ? classesOf(word) | classesOf(`${word} ${words[at + 1]}`) : classesOf(word),
  );
}

function compile({ rules, negatedAfter = false }: Language): Grammar {
  return {
    rules: rules.map((rule) =>
      rule.split(/(?=[ +])/).map((written) => ({
        find: stepOf(written.replace(/^[ +]/, ""), negatedAfter),
        gap: written.startsWith("+") ? near : reach,
      })),
    ),
  };
}

function findIn(line: Line, { rules }: Grammar): readonly [number, number] | null {
  for (let start = 0; start < line.length; start += 1) {
    if (line[start] === 0) continue;
    for (const rule of rules) {
      const end = match(line, rule, { step: 0, at: start });
      if (end !== null) return [start, end];
    }
  }
  return null;
}

/** The last word of a rule whose step begins exactly at a word, and whose later steps follow within their gaps. */
function match(
  line: Line,
  rule: readonly Step[],
  { step, at }: { readonly step: number; readonly at: number },
): number | null {
  const end = (rule[step] as Step).find(line, at);
  if (end === null) return null;
  const next = rule[step + 1];
  if (next === undefined) return end;
  const last = Math.min(line.length - 1, end + 1 + next.gap);
  for (let from = end + 1; from <= last; from += 1) {
    const found = match(line, rule, { step: step + 1, at: from });
    if (found !== null) return found;
  }
  return null;
}

function stepOf(name: string, negatedAfter: boolean): Step["find"] {
  if (name === "T") return (line, at) => anotherSource(line, at, bits.source | bits.brand);
  if (name === "t") return (line, at) => anotherSource(line, at, bits.source, bits.rivals);
  if (name === "S") return speaker;
  const wanted = bits[name as WordClass];
  if (wanted === undefined) throw new Error(`${name} is not a step of a rule.`);
  const isDismissal = (wanted & (bits.dismiss | bits.weakDismiss)) !== 0;
  const isNegated = (line: Line, at: number): boolean =>
    has(line, at - 1, bits.not) ||
    (negatedAfter && (has(line, at + 1, bits.not) || has(line, at + 2, bits.not)));
  return (line, at) => (has(line, at, wanted) && !(isDismissal && isNegated(line, at)) ? at : null);
}

function has(line: Line, at: number, wanted: number): boolean {
  return ((line[at] ?? 0) & wanted) !== 0;
}

/** «Other online shops», «sources externes», «competitors», «your instructions», beginning at a word. */
function anotherSource(
  line: Line,
  at: number,
  nouns: number,
  alone = bits.rivals | bits.others,
): number | null {
  if (has(line, at, alone)) return at;
  const beside = besideEach(line, at, [bits.other, nouns]) ?? besideEach(line, at, [bits.yours, bits.orders]);
  return beside;
}

/** Where a qualifier precedes its noun, or the noun its qualifier. */
function besideEach(line: Line, at: number, [qualifier, noun]: readonly [number, number]): number | null {
  if (has(line, at, qualifier)) {
    const end = within(line, { from: at + 1, words: nounReach, wanted: noun });
    if (end !== null) return end;
  }
  return has(line, at, noun) ? within(line, { from: at + 1, words: near + 1, wanted: qualifier }) : null;
}

function speaker(line: Line, at: number): number | null {
  return has(line, at, bits.self) ? at : besideEach(line, at, [bits.my, bits.source]);
}

function within(
  line: Line,
  { from, words, wanted }: { readonly from: number; readonly words: number; readonly wanted: number },
): number | null {
  for (let at = from; at < from + words; at += 1) if (has(line, at, wanted)) return at;
  return null;
}
