// Folding: the same text for what people take to be the same word. Shared by the scope rule and by text search, for a
// name that search finds is a name that the rule must see.

/** Letters that stay apart under compatibility decomposition but are commonly written as plain ones. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  þ: "th",
  ł: "l",
  ħ: "h",
  ı: "i",
  ŋ: "n",
  ς: "σ",
};
const plainable = new RegExp(`[${Object.keys(plainLetters).join("")}]`, "gu");
const notAscii = /\P{ASCII}/u;
/** Combining diacritical marks of the Latin, Greek and Cyrillic scripts; marks of other scripts carry meaning. */
const diacritics = /[\u0300-\u036f]/g;
const invisible = /\p{Cf}/gu;

/**
 * Lower case, compatibility form (NFKC), without diacritics and invisible format characters. Idempotent. Not for
 * display and not for comparing codes.
 */
export function foldText(text: string): string {
  if (!notAscii.test(text)) return text.toLowerCase();
  return text
    .normalize("NFKC")
    .replace(invisible, "")
    .toLowerCase()
    .normalize("NFKD")
    .replace(diacritics, "")
    .replace(plainable, (letter) => plainLetters[letter] ?? letter)
    .normalize("NFKC");
}

const apostrophes = /['\u2019\u02bc]/g;
const words = /[\p{L}\p{N}\p{M}]+/gu;

/** Folded text whose apostrophes vanished: `don't` is `dont`. */
function foldWithoutApostrophes(text: string): string {
  return foldText(text).replace(apostrophes, "");
}

/** Folded words: runs of letters, digits and marks; an apostrophe inside a word vanishes (`don't` is `dont`). */
export function foldedWords(text: string): readonly string[] {
  return foldWithoutApostrophes(text).match(words) ?? [];
}

/** A word as it stands in a text, for rules that look at how it is written. */
export interface WrittenWord {
  /** As {@link foldedWords} gives it. */
  readonly folded: string;
  /** As it is written, in compatibility form (NFKC), with the apostrophes inside it. */
  readonly written: string;
  /** Its place in {@link WrittenText.text}. */
  readonly start: number;
  readonly end: number;
}

export interface WrittenText {
  /** The text in compatibility form, without invisible characters. */
  readonly text: string;
  readonly words: readonly WrittenWord[];
}

const writtenWords = /[\p{L}\p{N}\p{M}]+(?:['\u2019\u02bc]+[\p{L}\p{N}\p{M}]+)*/gu;

/** The words of {@link foldedWords}, given as `folded`, as they are written. */
export function writtenText(source: string, folded: readonly string[]): WrittenText {
  return notAscii.test(source) || source.includes("'") ? foldedAgain(source) : wordsInPlace(source, folded);
}

function foldedAgain(source: string): WrittenText {
  const text = source.normalize("NFKC").replace(invisible, "");
  const words: WrittenWord[] = [];
  let from = 0;
  for (const written of text.match(writtenWords) ?? []) {
    const start = text.indexOf(written, from);
    from = start + written.length;
    const folded = foldWithoutApostrophes(written);
    if (folded !== "") words.push({ folded, written, start, end: from });
  }
  return { text, words };
}

/** Where folding changed nothing but capitals, words are at their places. */
function wordsInPlace(text: string, words: readonly string[]): WrittenText {
  const lower = text.toLowerCase();
  let end = 0;
  return {
    text,
    words: words.map((folded) => {
      const start = lower.indexOf(folded, end);
      end = start + folded.length;
      return { folded, written: text.slice(start, end), start, end };
    }),
  };
}
