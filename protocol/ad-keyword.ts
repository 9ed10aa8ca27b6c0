// Keywords of ads, which an advertiser seals and an AI company asks for: the same rule for both, so that no ad is sealed for a
// subject that nobody may ask for. A keyword is refused only if it is plainly no subject: names of brands and shops, people's
// names among them, are subjects, and so is a text in any language that is not recognised as a question.

import { foldText } from "./records/fold-text.ts";

/** What a keyword must not be; the reader is told in these words. */
type KeywordFault = "an address" | "a number of a person" | "an id" | "a question";

/** Keywords are compared whole. Two are the same if this is: case and the encoding of accents make no difference. */
export function foldKeyword(keyword: string): string {
  return keyword.normalize("NFC").toLowerCase();
}

/** What the keyword plainly is instead of a subject; null if it may be a subject. */
export function keywordFault(keyword: string): KeywordFault | null {
  const text = keyword.normalize("NFKC");
  if (/@|:\/\/|\bwww\.|\b\p{Nd}{1,3}(\.\p{Nd}{1,3}){3}\b/u.test(text)) return "an address";
  const words = text.split(/\s+/).filter((word) => word !== "");
  if (words.some(isId)) return "an id";
  if (hasPersonsNumber(text)) return "a number of a person";
  return isQuestion(text) ? "a question" : null;
}

/** Telephone numbers, cards and accounts, however grouped; years, sizes and numbers of models are shorter. */
function hasPersonsNumber(text: string): boolean {
  const runs = text.match(/\p{Nd}[\p{Nd} ()./-]*/gu) ?? [];
  return /\p{Nd}{8}/u.test(text) || runs.some((run) => (run.match(/\p{Nd}/gu)?.length ?? 0) >= 9);
}

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/i;
const hexadecimal = /^(?=.*[0-9])(?=.*[a-f])[0-9a-f]{12,}$/i;
/** Such as `conv_01a2b3c4d5`. */
const prefixed = /^[a-z]{2,}[_-](?=.*[0-9])(?=.*[a-z])[a-z0-9]{10,}$/i;
/** Letters and digits that take turns, and long words that mix them with capitals: no name of a model is like that. */
const alternating = /^[a-z0-9_-]*([0-9][a-z]+){4}[a-z0-9_-]*$/i;
const token = /^(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_+/=-]{20,}$/;

function isId(word: string): boolean {
  return [uuid, hexadecimal, prefixed, alternating, token].some((form) => form.test(word));
}

const wordSet = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const interrogatives = wordSet(
  "what which who whom whose where when why how welche welcher welches welchen wer wo wann warum wieso wie quel quelle quels quelles pourquoi comment quand cual cuales quien donde",
);
const askingVerbs = wordSet(
  "is are was were do does did can could should would must have has ist sind soll sollte kann konnte muss darf est sont dois peux puis faut es son debo puedo hay",
);
/** `can i`, `soll ich`, `puedo`: who asks for oneself says so at the beginning. */
const askingForOneself = wordSet("can could should do am must may kann soll sollte darf muss dois peux puis");
const oneself = wordSet("i we ich wir je nous");
/** An interrogative and, before the end, a verb make a question of this many words; shorter ones are titles and brands. */
const questionWordsMin = 5;

function isQuestion(text: string): boolean {
  if (/[?¿؟]/.test(text) || /(ですか|ますか|吗|嗎)$/.test(text.trim())) return true;
  const [first = "", second = "", ...others] = foldText(text)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
  if (askingForOneself.has(first) && oneself.has(second)) return true;
  const isLong = others.length + 2 >= questionWordsMin;
  return (
    isLong &&
    interrogatives.has(first) &&
    [second, ...others].slice(0, -1).some((word) => askingVerbs.has(word))
  );
}
