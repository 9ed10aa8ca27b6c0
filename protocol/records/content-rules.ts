// What a record says, once its form is valid: the per-record publishing checks that need more than the record
// (specification, «Publish behaviour» 5). The same record, lists and names yield the same faults. Every text and every
// address in the declaration of the record type is examined:
//   R1. No text directs how other sources are treated, and neither texts nor addresses, hosts and mailboxes lead to a
//       flagged host or address.
//   R2. No text names another company: one on the operator's list however it is written, or a certified one as defined in
//       company-name-rule.ts. Names of brands that are sold, of places, and in identifiers are not judged. Letters that look like others
//       are read as readers see them (look-alikes.ts).
//   R3. Names that the business may use (own-names.ts), brands that are confirmed as its own and names that the operator exempts are
//       allowed. What a record declares about itself allows no name.
//   R4. A product may say of which brand it is: names that the business's own served files have in `brands_sold` are allowed in its
//       `offerMembers`. The operator's list comes first: what is on it is for its owners.

import { atOnce } from "../../std/steps.ts";
import { noteWork } from "../../std/work.ts";
import type { JsonObject } from "../canonical-json.ts";
import type { ShownType } from "../identifiers.ts";
import { findCompany, type IsFree } from "./company-name-rule.ts";
import { type BusinessBrands, type ContentLists, nameIndexOf, noBrands } from "./content-lists.ts";
import type { TextRole } from "./fields.ts";
import { foldedWords } from "./fold-text.ts";
import { wordsWithoutLegalForm } from "./legal-form.ts";
import { withoutLookAlikes } from "./look-alikes.ts";
import { createNameIndex, type NameIndex } from "./name-index.ts";
import { FaultList, type RecordFault } from "./record-fault.ts";
import { textPlaces, visitTexts } from "./record-texts.ts";
import { directiveOpenings, findBrokenDirective, findDirective } from "./scope-rule.ts";
import { type BlockedUrls, blockedInText, blockedOfMember, blockedUrls } from "./url-rule.ts";
import { scanWords, type WordFilter, type WordsFound } from "./word-filter.ts";

interface Compiled {
  readonly names: NameIndex;
  /** Filters on words, at least one of which a text must contain for a word rule to find anything in it. */
  readonly telling: readonly WordFilter[];
  readonly exempt: NameIndex;
  readonly blocked: readonly BlockedUrls[];
  readonly version: number | undefined;
}

const compiledLists = new WeakMap<ContentLists, Compiled>();
const compiledNames = new WeakMap<readonly string[], NameIndex>();

/** Roles of texts that may have the same name as another company (R2). */
const namesNobody: ReadonlySet<TextRole> = new Set(["sold_name", "place", "identifier"]);

/** Members of a product in which brands that are sold may be named (R4). */
const offerMembers: ReadonlySet<string> = new Set(["brand", "product_name", "tags", "short_description"]);

/** @internal for tests: every `scope_violation` and `url_flagged` of a record; see {@link findContentFaults}. */
export function contentFaults(...of: Parameters<typeof findContentFaults>): readonly RecordFault[] {
  return atOnce(findContentFaults(...of));
}

/**
 * Every `scope_violation` and `url_flagged` of a record that passed `parseRecord`, in steps: a text in which there may be something
 * is a step, since a business file has two hundred thousand characters. `ownNames` are the names that the business may use; null
 * allows every name. Reuse the same `lists`, `ownNames` and `brands` objects, because each is prepared only once.
 */
export function* findContentFaults(
  collection: ShownType,
  record: JsonObject,
  lists: ContentLists,
  ownNames: readonly string[] | null = [],
  brands: BusinessBrands = noBrands,
): Generator<void, readonly RecordFault[]> {
  const compiled = compile(lists);
  const language = String(record["language"]);
  const faults = new FaultList();
  const flag = (text: string, pointer: string, role: TextRole | "url"): void => {
    const { blocked } = compiled;
    const quote = role === "url" ? blockedOfMember(text, blocked) : blockedInText(text, blocked);
    const detail = "The address is flagged as unsafe.";
    if (quote !== null) faults.addQuoting({ code: "url_flagged", pointer, detail, quote });
  };
  const waiting: (readonly [found: WordsFound, text: string, pointer: string])[] = [];
  for (const place of textPlaces(collection)) {
    const { role } = place;
    const isOffer = collection === "products" && offerMembers.has(place.steps[0] ?? "");
    // From the first text that takes long on, those of this place wait for their turns, so that faults stay in the order of texts.
    waiting.length = 0;
    visitTexts(record, place, (text, pointer) => {
      noteWork("character", text.length);
      const found = role === "url" ? "none" : scanWords(text, compiled.telling);
      if (found === "none" && waiting.length === 0) flag(text, pointer, role);
      else waiting.push([found, text, pointer]);
    });
    for (const [found, text, pointer] of waiting) {
      if (found !== "none" && role !== "url") {
        yield;
        wordFaults(found, { text, pointer, role, language, isOffer }, { lists, ownNames, brands }, faults);
      }
      flag(text, pointer, role);
    }
  }
  return faults.faults;
}

interface PlacedText {
  readonly text: string;
  readonly pointer: string;
  readonly role: TextRole;
  readonly language: string;
  readonly isOffer: boolean;
}

interface Names<Own = readonly string[] | null> {
  readonly lists: ContentLists;
  readonly ownNames: Own;
  readonly brands: BusinessBrands;
}

function wordFaults(
  found: Exclude<WordsFound, "none">,
  written: PlacedText,
  names: Names,
  faults: FaultList,
): void {
  noteWork("tellingCharacter", written.text.length);
  const placed = found === "perhaps" ? { ...written, text: withoutLookAlikes(written.text) } : written;
  const words = found === "perhaps" ? foldedWords(placed.text) : [];
  const directive = findDirective(placed.text, words) ?? findBrokenDirective(placed.text);
  if (directive !== null)
    faults.addQuoting({
      code: "scope_violation",
      pointer: placed.pointer,
      detail: "A record must not direct how other sources are treated.",
      quote: directive,
    });
  judgeNames(placed, words, names, faults);
}

function judgeNames(
  placed: PlacedText,
  words: readonly string[],
  { ownNames, ...names }: Names,
  faults: FaultList,
): void {
  if (ownNames === null || namesNobody.has(placed.role)) return;
  const naming = namingFault(placed, words, { ownNames, ...names });
  if (naming !== null) faults.addQuoting({ code: "scope_violation", pointer: placed.pointer, ...naming });
}

/** What is wrong with the names in a text; only the text's own words are quoted. */
function namingFault(
  placed: PlacedText,
  words: readonly string[],
  { lists, ownNames, brands }: Names<readonly string[]>,
): (Pick<RecordFault, "detail"> & { readonly quote: string }) | null {
  const { names, exempt } = compile(lists);
  const own = [compileNames(ownNames), compileBrands(brands.confirmed), exempt];
  const isFreeIn = (of: readonly string[]): IsFree => freeIn(of, own);
  let isFree: IsFree | null = null;
  let named: string | null = null;
  names.some(words, (match) => {
    isFree ??= isFreeIn(words);
    if (isFree(match)) return false;
    named = words.slice(match.start, match.end).join(" ");
    return true;
  });
  if (named !== null) return { detail: "The text names another company or brand.", quote: named };
  const offered = placed.isOffer ? [...own, compileBrands(brands.sold)] : own;
  const company = findCompany(placed, words, lists.certified.index, (of) => freeIn(of, offered));
  if (company === null) return null;
  const sold = placed.isOffer
    ? ", and name a brand that you sell in `brands_sold` of your business file"
    : "";
  const detail = `The text names another company or brand. If the words are not meant as a name, write them without capitals${sold}.`;
  return { detail, quote: company };
}

/** Tests whether a match lies within one of these names. */
function freeIn(words: readonly string[], names: readonly NameIndex[]): IsFree {
  /** For each word, the furthest end of any name that starts at or before it. */
  const ends = new Array<number>(words.length).fill(0);
  for (const each of names) {
    each.some(words, ({ start, end }) => {
      ends[start] = Math.max(ends[start] as number, end);
      return false;
    });
  }
  for (let at = 1; at < ends.length; at += 1) ends[at] = Math.max(ends[at] as number, ends[at - 1] as number);
  return ({ start, end }) => (ends[start] as number) >= end;
}

function compile(lists: ContentLists): Compiled {
  const known = compiledLists.get(lists);
  if (known !== undefined && known.version === lists.version) return known;
  const protectedNames = nameIndexOf(lists.protectedNames);
  const compiled = {
    names: protectedNames,
    telling: [directiveOpenings, protectedNames.firstWords, lists.certified.index.firstWords],
    exempt: nameIndexOf(lists.exemptNames),
    blocked: [blockedUrls(lists.blockedHosts), ...(lists.blockedUrls ? [lists.blockedUrls] : [])],
    version: lists.version,
  };
  compiledLists.set(lists, compiled);
  return compiled;
}

/** Brands as they are declared, so also without a legal form that belongs to them. */
function compileBrands(brands: readonly string[]): NameIndex {
  const known = compiledNames.get(brands);
  if (known !== undefined) return known;
  const compiled = createNameIndex(
    brands.flatMap((name) => [foldedWords(name), wordsWithoutLegalForm(name)]),
  );
  compiledNames.set(brands, compiled);
  return compiled;
}

function compileNames(ownNames: readonly string[]): NameIndex {
  const known = compiledNames.get(ownNames);
  if (known !== undefined) return known;
  const compiled = createNameIndex(ownNames.map(foldedWords));
  compiledNames.set(ownNames, compiled);
  return compiled;
}
