// Names that a business may say in its records, where they are protected (specification, «Publish behaviour» 5): those it
// was verified under, and those that its business files declare: its own, its brands, the brands it sells.

import type { JsonObject } from "../canonical-json.ts";
import { foldedWords } from "./fold-text.ts";
import { isArray, isObject } from "./record-validator.ts";

/** Names of one business at most: those of one business file with every brand it can list, and some. */
const ownNamesMax = 300;

/** Written behind a legal name, as one word each once its dots are gone. */
const legalForms = new Set(
  `ab ag as asa aps bv cic co company corp corporation cv doo eg eurl gmbh inc incorporated kft kg kgaa kk limited llc llp ltd
  ltda mbh nv oe og ohg oo ou oy oyj pbc plc pte pty sa sarl sas se sl sp spa srl srls sro ug vof`.split(
    /\s+/,
  ),
);
/** Stand between legal forms, or in front of them. */
const joiners = new Set(["and", "et", "und", "y", "z"]);

/** Folded, each once, `ownNamesMax` at most: the legal name, also without its legal form, and what the files name. */
export function ownNames(legalName: string, businessFiles: readonly JsonObject[]): readonly string[] {
  const names = [legalName, withoutLegalForm(legalName), ...businessFiles.flatMap(businessFileNames)];
  const folded = names.map((name) => foldedWords(name).join(" ")).filter((name) => name !== "");
  return [...new Set(folded)].slice(0, ownNamesMax);
}

/** `Kestrel` of `Kestrel GmbH & Co. KG`; a name that has nothing else stays as it is. */
function withoutLegalForm(name: string): string {
  const words = foldedWords(name.replaceAll(".", ""));
  let end = words.length;
  while (end > 1 && legalForms.has(words[end - 1] as string)) {
    end -= 1;
    while (end > 1 && joiners.has(words[end - 1] as string)) end -= 1;
  }
  return words.slice(0, end).join(" ");
}

/** What a business file names as its business's own. Takes any JSON object: what is not as it should be names nothing. */
export function businessFileNames(file: JsonObject): readonly string[] {
  const brands = [file["brands_owned"], file["brands_sold"]].flatMap((list) => (isArray(list) ? list : []));
  return [
    file["business_name"],
    ...brands.map((brand) => (isObject(brand) ? brand["name"] : undefined)),
  ].filter((name) => typeof name === "string");
}
