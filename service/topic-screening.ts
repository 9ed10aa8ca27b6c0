// Screens `topic_keywords` before anything of them is kept (specification, «Retrieval API»). What may be personal is dropped
// without a trace; when in doubt it is dropped. docs/ads.md has the same rules in words.
//   P1. A subject is up to `wordsMax` words of letters, digits and a few joining signs, folded like the words of a search.
//   P2. It has no sign of an address or a handle (`@`, `#`, `://`, `www.`, a dot between letters), and at most
//       `digitsMax` digits, whatever stands between them.
//   P3. No word of it looks generated: hexadecimal of 8 or more with a digit, letters and digits mixed in a long word, or a
//       long word that nobody could pronounce. Compound words of letters may be long.
//   P4. It does not speak of a person: no given name beside another word, no title before a name, no word in the first
//       or second person, not even in letters that only look like those.

import { foldText } from "../protocol/records/fold-text.ts";
import { withoutLookAlikes } from "../protocol/records/look-alikes.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import { givenNames } from "./given-names.ts";

/** Maximum number and length of keywords whose subjects are kept in memory. */
const keptMax = 2_000;
const keptLengthMax = 64;

export const topicLimits = {
  wordsMax: 4,
  wordLengthMax: 24,
  /** For a word of letters alone: many languages join words. */
  compoundLengthMax: 48,
  /** For a text without spaces in a script that needs none. */
  unspacedMax: 12,
  digitsMax: 5,
  mixedLengthMax: 9,
} as const;

const allowed = /^[\p{L}\p{M}\p{N} '’&+./-]+$/u;
const address = /[@#]|:\/\/|www\.|\p{L}\.\p{L}/u;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/gu;
const separators = /[ '’&+./-]+/u;

/** No compound word has so many consonants in a row; a generated one of more than two dozen letters nearly always has. */
const unpronounceable = /[b-df-hj-np-tv-xz]{6,}.*[b-df-hj-np-tv-xz]{6,}|[b-df-hj-np-tv-xz]{9,}/;

const titles = wordSet(
  "mr mrs ms dr prof madam herr frau fraulein monsieur madame mlle mme sra srta senor senora signor signora dott mevr dhr",
);
const persons = wordSet(
  "i me my mine myself you your yours we our ours ich mich mir mein meine meinen meiner du dich dein deine wir uns unser je moi mon ma mes tu toi ton nous notre vous votre yo tus nosotros nuestro mio mia miei tuo tua meu minha ik mijn jij jouw wij ons",
);

function wordSet(text: string): ReadonlySet<string> {
  return new Set(text.split(" "));
}

/** The subjects of keywords that were kept before, because callers name the same again and again. Of what is dropped, nothing stays. */
const kept = new BoundedMap<string, string>(keptMax);

/** The subject as it is counted; null for what is not kept. */
export function screenTopic(keyword: string): string | null {
  const known = kept.get(keyword);
  if (known !== undefined) return known;
  const subject = judge(keyword);
  if (subject !== null && keyword.length <= keptLengthMax) kept.set(keyword, subject);
  return subject;
}

function judge(keyword: string): string | null {
  if (address.test(keyword) || !allowed.test(keyword.normalize("NFKC"))) return null;
  const subject = foldText(keyword).replaceAll(/\s+/g, " ").trim();
  const words = wordsOf(subject);
  if (address.test(subject) || words.length === 0 || words.length > topicLimits.wordsMax) return null;
  if (!/\p{L}/u.test(subject) || (subject.match(/\p{N}/gu)?.length ?? 0) > topicLimits.digitsMax) return null;
  if ((subject.match(unspaced)?.length ?? 0) > topicLimits.unspacedMax) return null;
  if (words.some(isGenerated) || speaksOfPerson(words)) return null;
  if ([keyword, subject].some((text) => speaksOfPerson(wordsOf(foldText(withoutLookAlikes(text))))))
    return null;
  return subject;
}

function wordsOf(text: string): readonly string[] {
  return text.split(separators).filter((word) => word !== "");
}

function isGenerated(word: string): boolean {
  const { wordLengthMax, compoundLengthMax, mixedLengthMax } = topicLimits;
  if (word.length > compoundLengthMax) return true;
  if (word.length > wordLengthMax && (!/^[\p{L}\p{M}]+$/u.test(word) || unpronounceable.test(word)))
    return true;
  if (/^[0-9a-f]{8,}$/.test(word) && /[0-9]/.test(word)) return true;
  return word.length > mixedLengthMax && /[0-9]\D+[0-9]/.test(word);
}

function speaksOfPerson(words: readonly string[]): boolean {
  if (words.some((word) => persons.has(word))) return true;
  if (words.length === 1) return false;
  return titles.has(words[0] ?? "") || words.some((word) => givenNames.has(word));
}
