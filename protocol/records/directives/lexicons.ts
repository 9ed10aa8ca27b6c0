// The lexicons of the languages that put spaces between words (phrase-grammar.ts). A word is listed in the forms in which demands
// are made, so that statements («the filter ignores other pages») are rarely read as demands.

import written from "./lexicons.json" with { type: "json" };
import type { Language } from "./phrase-grammar.ts";

/** What a language writes together with the words of some classes: articles and prepositions before them, or endings. */
interface Attached {
  readonly to: readonly string[];
  readonly before?: readonly string[];
  readonly after?: readonly string[];
}

export const lexicons: readonly Language[] = written.map(({ attached, ...language }) =>
  attached === undefined ? language : { ...language, words: attach(language.words, attached) },
);

function attach(words: Language["words"], { to, before = [""], after = [""] }: Attached): Language["words"] {
  const extended = Object.entries(words).map(([name, list]) => {
    if (!to.includes(name)) return [name, list];
    const forms = (word: string) => before.flatMap((first) => after.map((last) => first + word + last));
    return [name, list.split(" ").flatMap(forms).join(" ")];
  });
  return Object.fromEntries(extended);
}
