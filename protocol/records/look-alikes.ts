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

const notAscii = /\P{ASCII}/u;
const lookAlike = new RegExp(`[${Object.values(letters).join("")}]`, "u");
const lookAlikes = new RegExp(`${lookAlike.source}+`, "gu");
const words = /[\p{L}\p{M}\p{N}]+/gu;
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
    .replace(words, (word) => (isMeant(word) ? word : word.replace(lookAlikes, replaced)))
    .normalize("NFC");
}
