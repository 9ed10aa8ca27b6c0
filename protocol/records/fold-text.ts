// Folding maps what people take to be the same word to the same text. The scope rule and text search share it, because the
// rule must see every name that search can find.

/** Letters that compatibility decomposition leaves unchanged but that are commonly written as plain ones. */
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
 * Lower case in compatibility form (NFKC), without diacritics and invisible format characters. Idempotent. Not for display
 * and not for comparing codes.
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

/** Folded text without apostrophes: `don't` becomes `dont`. */
function foldWithoutApostrophes(text: string): string {
  return foldText(text).replace(apostrophes, "");
}

/** Folded words: runs of letters, digits and marks; an apostrophe inside a word is dropped (`don't` becomes `dont`). */
export function foldedWords(text: string): readonly string[] {
  return foldWithoutApostrophes(text).match(words) ?? [];
}

/** A word as it occurs in a text, for rules that depend on how it is written. */
export interface WrittenWord {
  /** The form that {@link foldedWords} returns. */
  readonly folded: string;
  /** The word as written, in compatibility form (NFKC), including the apostrophes inside it. */
  readonly written: string;
  /** Its position in {@link WrittenText.text}. */
  readonly start: number;
  readonly end: number;
}

export interface WrittenText {
  /** The text in compatibility form, without invisible characters. */
  readonly text: string;
  readonly words: readonly WrittenWord[];
}

const writtenWords = /[\p{L}\p{N}\p{M}]+(?:['\u2019\u02bc]+[\p{L}\p{N}\p{M}]+)*/gu;

/** The words that {@link foldedWords} returns, passed as `folded`, in their written form. */
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

/** Where folding changed nothing but capitals, the words keep their positions. */
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
