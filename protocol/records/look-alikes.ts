// Letters that look like ASCII letters, so that a rule for words sees the word that readers see: «іgnore» with a Cyrillic
// і is «ignore». From the confusables of Unicode (UTS #39, NOTICE): single letters of the Latin, Greek, Cyrillic, Armenian
// and Cherokee scripts; what looks like I and l alike is taken for I where it is a capital, and else for i or l.

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
const notAscii = /\P{ASCII}/u;
const lookAlike = new RegExp(`[${Object.values(letters).join("")}]`, "u");
const lookAlikes = new RegExp(`${lookAlike.source}+`, "gu");
const words = /[\p{L}\p{M}\p{N}]+/gu;
const latin = /\p{Script=Latin}/u;
/** Scripts that texts are honestly written in, and that lend letters to others; `own` is a letter like none of Latin. */
const scripts = ["Greek", "Cyrillic", "Armenian", "Cherokee"].map((name) => {
  const letter = `\\p{Script=${name}}`;
  return { any: new RegExp(letter, "u"), own: new RegExp(`(?!${lookAlike.source})${letter}`, "u") };
});

/**
 * The text with letters that look like ASCII ones replaced by these, in words that have a Latin letter, and in words that
 * have none where the whole text has no letter that shows its script to be meant: «сор» stands in Russian, and is «cop» in
 * a text without any letter of Russian's own. Otherwise as it is; what was replaced is in compatibility form (NFKC).
 */
export function withoutLookAlikes(text: string): string {
  if (!notAscii.test(text)) return text;
  const apart = text.normalize("NFKD");
  if (!lookAlike.test(apart)) return text;
  const meant = scripts.filter(({ own }) => own.test(apart));
  const isMeant = (word: string): boolean => !latin.test(word) && meant.some(({ any }) => any.test(word));
  const replaced = (run: string): string => Array.from(run, (letter) => plain.get(letter) ?? letter).join("");
  return apart
    .replace(words, (word) => (isMeant(word) ? word : word.replace(lookAlikes, replaced)))
    .normalize("NFC");
}
