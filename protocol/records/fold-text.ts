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

// Letters that look like ASCII letters, so that a rule about words sees the word that readers see: «іgnore» with a Cyrillic
// і is «ignore». From the confusables of Unicode (UTS #39, NOTICE): single letters of the Latin, Greek, Cyrillic, Armenian
// and Cherokee scripts; a letter that looks like both I and l is read as I if it is a capital, otherwise as i or l.

const letters: Readonly<Record<string, string>> = {
  A: "ΑАᎪ",
  B: "ΒВᏴꞴ",
  C: "СᏟ",
  D: "Ꭰ",
  E: "ΕЕᎬ",
  F: "ϜꞘ",
  G: "ԌᏀᏳ",
  H: "ΗНᎻ",
  I: "ƖΙІӀ",
  J: "ͿЈᎫꞲ",
  K: "ΚКᏦ",
  L: "Ꮮ",
  M: "ΜϺМᎷ",
  N: "Ν",
  O: "ΟОՕ",
  P: "ΡРᏢ",
  R: "ƦᎡᏒ",
  S: "ЅՏᏕᏚ",
  T: "ΤТᎢ",
  U: "Ս",
  V: "ѴᏙ",
  W: "ԜᎳᏔ",
  X: "ΧХꞳ",
  Y: "ΥУҮᎩᎽ",
  Z: "ΖᏃ",
  a: "ɑαа",
  b: "ƄЬᏏ",
  c: "сᴄꮯ",
  d: "ԁᏧ",
  e: "еҽꬲ",
  f: "քẝꞙꬵ",
  g: "ƍɡցᶃ",
  h: "һհᏂ",
  i: "ıɩɪιіӏᎥꙇꭵ",
  j: "ϳј",
  l: "ǀ",
  n: "ոռ",
  o: "οσоօᴏᴑꬽ",
  p: "ρр",
  q: "ԛգզ",
  r: "гᴦꭇꭈꮁ",
  s: "ƽѕꜱꮪ",
  u: "ʋυսᴜꞟꭎꭒ",
  v: "νѵᴠꮩ",
  w: "ɯѡԝաᴡꮃ",
  x: "х",
  y: "ɣʏγуүᶌỿꭚ",
  z: "ᴢꮓ",
};

const plain = new Map(
  Object.entries(letters).flatMap(([ascii, looks]) => [...looks].map((each) => [each, ascii] as const)),
);
/**
 * The ASCII letter that a small letter, or its capital, looks like; the letter itself when there is none. Coarser than
 * {@link withoutLookAlikes}: for comparing words with words that were read in the same way.
 */
export function plainLetter(small: string): string {
  return plain.get(small) ?? plain.get(small.toUpperCase())?.toLowerCase() ?? small;
}
const lookAlike = new RegExp(`[${Object.values(letters).join("")}]`, "u");
const lookAlikes = new RegExp(`${lookAlike.source}+`, "gu");
const wordRuns = /[\p{L}\p{M}\p{N}]+/gu;
const latin = /\p{Script=Latin}/u;
/**
 * Scripts in which texts are legitimately written and whose letters can imitate those of others; `own` matches a letter that
 * resembles no Latin one.
 */
const scripts = ["Greek", "Cyrillic", "Armenian", "Cherokee"].map((name) => {
  const letter = `\\p{Script=${name}}`;
  return { any: new RegExp(letter, "u"), own: new RegExp(`(?!${lookAlike.source})${letter}`, "u") };
});

/**
 * Replaces letters that look like ASCII ones in words that have a Latin letter. In words without one it does so only if no
 * letter in the whole text shows that their script is meant: «сор» is left alone in Russian, and is «cop» in a text without
 * any letter peculiar to Russian. A text with look-alikes is returned in compatibility form (NFKC), any other unchanged.
 */
export function withoutLookAlikes(text: string): string {
  if (!notAscii.test(text)) return text;
  const apart = text.normalize("NFKD");
  if (!lookAlike.test(apart)) return text;
  const meant = scripts.filter(({ own }) => own.test(apart));
  // Most texts in these scripts: every word is meant.
  if (!latin.test(apart) && scripts.every((each) => meant.includes(each) || !each.any.test(apart)))
    return apart.normalize("NFC");
  const isMeant = (word: string): boolean => !latin.test(word) && meant.some(({ any }) => any.test(word));
  const replaced = (run: string): string => Array.from(run, (letter) => plain.get(letter) ?? letter).join("");
  return apart
    .replace(wordRuns, (word) => (isMeant(word) ? word : word.replace(lookAlikes, replaced)))
    .normalize("NFC");
}
