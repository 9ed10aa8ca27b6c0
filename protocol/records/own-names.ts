// Names that a business may use in its records although they are protected (specification, «Publish behaviour» 5): those on
// its certificate, and those that the operator's lists assign to it. What a record or a business file declares allows no
// name, since anybody could declare any.

import { utf8 } from "../bytes.ts";
import { foldedWords } from "./fold-text.ts";
import { wordsWithoutLegalForm } from "./legal-form.ts";

/** Maximum combined size in bytes of one business's names, which are stored with each of its pushes. */
export const ownNamesBytesMax = 8_192;

/** The distinct folded names that fit: first the legal names, with and without their legal form, then the assigned ones. */
export function ownNames(legalNames: readonly string[], assigned: readonly string[]): readonly string[] {
  const names = [
    ...legalNames.flatMap((name) => [foldedWords(name), wordsWithoutLegalForm(name)]),
    ...assigned.map(foldedWords),
  ];
  const own = new Set<string>();
  let bytes = 0;
  for (const name of names) {
    const joined = name.join(" ");
    if (joined === "" || own.has(joined)) continue;
    bytes += utf8(joined).length;
    if (bytes > ownNamesBytesMax) break;
    own.add(joined);
  }
  return [...own];
}
