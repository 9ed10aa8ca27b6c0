// Legal forms: what the law appends to a company's name, and what shows in a text that the words before it are such a name.

import { foldedWords, foldText } from "./fold-text.ts";

/** Words that can only be a legal form, however they are written. */
const plainForms = words(
  `aps asa bv cic corp corporation cv doo eg eurl gmbh inc incorporated kft kgaa llc llp ltd ltda mbh nv ohg oyj pbc plc pte
  pty sarl sro srl srls ug vof`,
);
/** Legal forms that are also ordinary words or units: «as good as», «limited edition», «5 kg». */
const doubtfulForms = words("ab ag as co company kg kk limited oe og oo ou oy sa sas se sl sp spa");
/** Those of the doubtful forms that are written like words, not in capitals. */
const wordForms = words("co company limited");
/** Words that stand between legal forms or in front of them. */
const joiners = words("and et und y z");

/**
 * The folded words of a legal name without its legal form: `kestrel` for `Kestrel GmbH & Co. KG`. A name that consists of
 * nothing else stays as it is.
 */
export function wordsWithoutLegalForm(name: string): readonly string[] {
  const list = foldedWords(name.replaceAll(".", ""));
  let end = list.length;
  while (end > 1 && isForm(list[end - 1] as string)) {
    end -= 1;
    while (end > 1 && joiners.has(list[end - 1] as string)) end -= 1;
  }
  return list.slice(0, end);
}

/** Matches `Ltd`, `, Inc.`, `& Co.` or `S.p.A.`, and the word after it in the same sentence. */
const next = /^[\s,&]{1,4}((?:\p{L}\.){2,5}\p{L}?|\p{L}+)(?:[^\S\n,&]+(\p{L}+))?/u;

/**
 * Whether the text after a name continues with a legal form. `plain` is a form that cannot be another word; `capitals` is
 * one that may be another word but is written like a legal form: in capitals, and not within a title («Limited Edition»).
 */
export function legalFormAt(rest: string): "plain" | "capitals" | null {
  const found = next.exec(rest);
  if (found === null) return null;
  const form = (found[1] as string).replaceAll(".", "");
  const folded = foldText(form);
  if (plainForms.has(folded)) return "plain";
  if (!doubtfulForms.has(folded)) return null;
  const isWritten = wordForms.has(folded) ? /^\p{Lu}/u.test(form) : /\p{Lu}$/u.test(form);
  const after = found[2] ?? "";
  const isInTitle = /^\p{Lu}/u.test(after) && !isForm(foldText(after));
  return isWritten && !isInTitle ? "capitals" : null;
}

/** Whether a folded word is a legal form, or the first letter of a dotted one. */
export function mayBeLegalForm(word: string): boolean {
  return word.length === 1 || isForm(word);
}

function isForm(word: string): boolean {
  return plainForms.has(word) || doubtfulForms.has(word);
}

function words(list: string): ReadonlySet<string> {
  return new Set(list.trim().split(/\s+/));
}
