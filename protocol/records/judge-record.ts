// Reports every fault of one pushed record at once: its form, its content, and whether the mandate covers its countries
// (specification, «Publish behaviour» 5: each rejects only the record, never the batch).

import { madeOnce } from "../../std/bounded-map.ts";
import { isObject } from "../../std/json-pointer.ts";
import { atOnce, noteWork } from "../../std/work.ts";
import type { CollectionName, ShownType } from "../identifiers.ts";
import type { JsonObject, JsonValue } from "../json/canonical-json.ts";
import { findCompany, type IsFree, wordsWithoutLegalForm } from "./company-name-rule.ts";
import { lexicons } from "./directives/lexicons.ts";
import { createPhraseGrammar, findUnspaced, mayBeUnspaced } from "./directives/phrase-grammar.ts";
import {
  campaignIdForm,
  emailForm,
  FaultList,
  type Field,
  type Form,
  gtinForm,
  hashForm,
  hostForm,
  httpsUrlForm,
  imageTypeForm,
  type Members,
  phoneForm,
  type RecordFault,
  recordFaultsMax,
  subdivisionForm,
  type TextRole,
} from "./fields.ts";
import { foldedWords, foldText, withoutLookAlikes } from "./fold-text.ts";
import {
  type BusinessBrands,
  type ContentLists,
  createNameIndex,
  mayHaveWords,
  type NameIndex,
  nameIndexOf,
  noBrands,
  scanWords,
  type WordFilter,
  type WordsFound,
} from "./name-index.ts";
import { type ParsedAd, parsingRecord, readingRecord, recordTypes } from "./parse-record.ts";
import { isArray } from "./record-validator.ts";
import { type BlockedUrls, blockedInText, blockedOfMember, blockedUrls } from "./url-rule.ts";
import { countries as countryList } from "./vocabularies/countries.ts";

export interface RecordRules<T extends ShownType = CollectionName> {
  readonly collection: T;
  /** The countries that each mandate allows, of which one must allow all of the record's; null means no limit. */
  readonly countries: readonly (readonly string[])[] | null;
  readonly lists: ContentLists;
  /** Names that the business may use although they are protected; null allows every name. */
  readonly ownNames: readonly string[] | null;
  /** Reuse the same object, like `lists`. */
  readonly brands: BusinessBrands;
}

export type JudgedRecord =
  | { readonly ok: true; readonly record: JsonObject }
  /** `record` is null when the bytes are not a JSON object. */
  | { readonly ok: false; readonly faults: readonly RecordFault[]; readonly record: JsonObject | null };

/** Judges a record at once: for one that has the size of a product. */
export function judgeRecord(...of: Parameters<typeof judging>): JudgedRecord {
  return atOnce(judging(...of));
}

/**
 * Judges a record in steps. `known` is the record that an earlier call returned for the same bytes and the same lists, or says that one
 * accepted it: only its countries are checked again.
 */
export function* judging(
  bytes: Uint8Array,
  rules: RecordRules<ShownType>,
  known?: JsonObject | "accepted",
): Generator<void, JudgedRecord> {
  const read = known === "accepted" ? yield* readingRecord(bytes) : known;
  if (read !== undefined) return judged(read, scopeFaults(read, rules.countries, []));
  const parsed = yield* parsingRecord(rules.collection, bytes);
  const record = parsed.ok ? parsed.record : parsed.read;
  const ofForm: readonly RecordFault[] = parsed.ok ? [] : parsed.faults;
  if (record === null) return { ok: false, faults: ofForm, record: null };
  const { collection, lists, ownNames, brands } = rules;
  return judged(record, [
    ...ofForm,
    ...(yield* findContentFaults(collection, record, lists, ownNames, brands)),
    ...scopeFaults(record, rules.countries, ofForm),
  ]);
}

export type JudgedAd =
  | { readonly ok: true; readonly ad: ParsedAd }
  | { readonly ok: false; readonly faults: readonly RecordFault[] };

/** Reports every fault of an ad at once, like {@link judgeRecord}; `rules.countries` limits its countries as a mandate does. */
export function judgeAd(bytes: Uint8Array, rules: Omit<RecordRules, "collection">): JudgedAd {
  const judged = judgeRecord(bytes, { ...rules, collection: "ads" });
  // The judge lets nothing pass that parseRecord would not.
  return judged.ok ? { ok: true, ad: judged.record as ParsedAd } : { ok: false, faults: judged.faults };
}

function judged(record: JsonObject, faults: readonly RecordFault[]): JudgedRecord {
  return faults.length > 0
    ? { ok: false, faults: faults.slice(0, recordFaultsMax), record }
    : { ok: true, record };
}

/**
 * Reports countries outside the mandate, except values already reported as not being a country. Of several mandates, where none
 * allows all countries, it reports what the one that lacks the fewest does not allow.
 */
function scopeFaults(
  { countries }: JsonObject,
  allowed: RecordRules["countries"],
  ofForm: readonly RecordFault[],
): readonly RecordFault[] {
  if (allowed === null || !isArray(countries)) return [];
  // A longer list has been refused for its length.
  const looked = countries.slice(0, countryList.codes.size);
  noteWork("comparison", looked.length * (allowed.length + 1));
  const scopes = allowed.map(setOf);
  if (scopes.some((each) => looked.every((country) => each.has(country)))) return [];
  const named = looked.flatMap((country, index): readonly NamedCountry[] => {
    const pointer = `/countries/${index}`;
    return typeof country !== "string" || ofForm.some((fault) => fault.pointer === pointer)
      ? []
      : [{ country, pointer }];
  });
  let missing = named;
  for (const each of scopes) {
    const outside = named.filter(({ country }) => !each.has(country));
    if (outside.length === 0) return [];
    if (outside.length < missing.length) missing = outside;
  }
  return missing.slice(0, recordFaultsMax).map(({ country, pointer }) => {
    const others = scopes.some((each) => each.has(country)) ? " with the record's other countries" : "";
    const which = allowed.length === 1 ? "The mandate does not cover" : "No mandate covers";
    return { code: "out_of_scope", pointer, detail: `${which} ${country}${others}.` };
  });
}

/** The countries of a mandate as a set. */
const setOf = madeOnce((countries: readonly string[]): ReadonlySet<JsonValue> => new Set(countries));

interface NamedCountry {
  readonly country: string;
  readonly pointer: string;
}

// What a record says, once its form is valid: the per-record publishing checks that need more than the record
// (specification, «Publish behaviour» 5). The same record, lists and names yield the same faults. Every text and every
// address in the declaration of the record type is examined:
//   R1. No text directs how other sources are treated, and neither texts nor addresses, hosts and mailboxes lead to a
//       flagged host or address.
//   R2. No text names another company: one on the operator's list however it is written, or a certified one as defined in
//       company-name-rule.ts. Names of brands that are sold, of places, and in identifiers are not judged. Letters that look like others
//       are read as readers see them (fold-text.ts).
//   R3. Names that the business may use (company-name-rule.ts), brands that are confirmed as its own and names that the operator exempts are
//       allowed. What a record declares about itself allows no name.
//   R4. A product may say of which brand it is: names that the business's own served files have in `brands_sold` are allowed in its
//       `offerMembers`. The operator's list comes first: what is on it is for its owners.

interface Compiled {
  readonly names: NameIndex;
  /** Filters on words, at least one of which a text must contain for a word rule to find anything in it. */
  readonly telling: readonly WordFilter[];
  readonly exempt: NameIndex;
  readonly blocked: readonly BlockedUrls[];
  readonly version: number | undefined;
}

const compiledLists = new WeakMap<ContentLists, Compiled>();

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
function* findContentFaults(
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
const compileBrands = madeOnce((brands: readonly string[]) =>
  createNameIndex(brands.flatMap((name) => [foldedWords(name), wordsWithoutLegalForm(name)])),
);

const compileNames = madeOnce((ownNames: readonly string[]) => createNameIndex(ownNames.map(foldedWords)));

// The scope rule (specification, «Publish behaviour» 5): a record speaks only for its own business. Its texts do not tell a
// reader how to treat other sources; that they do not name other companies is checked in company-name-rule.ts. The lexicons
// in directives/ alone determine what is found, so that a refusal can be explained and repeated:
//   S1. Texts are compared as folded words (fold-text.ts); punctuation, case, accents and look-alikes do not matter.
//   S2. A directive is a phrase of one of the languages in directives/, whatever language the record says it is written in.
//   S3. A word that is broken by marks or spaced out («ig-nore», «i g n o r e») is read as the word as well.

const grammar = createPhraseGrammar(lexicons);

/** @internal for tests: codes of the languages in which directives are found. */
export const directiveLanguages: readonly string[] = [...lexicons.map(({ code }) => code), "zh", "ja"];

/** Every directive in a text of ASCII characters has one of these words, unless it is broken (S3). */
export const directiveOpenings = grammar.openings;

/** The first directive in a text, whose folded words are `words`; null when there is none. */
export function findDirective(text: string, words: readonly string[]): string | null {
  return findPhrase(words) ?? (mayBeUnspaced(text, words) ? findUnspaced(foldText(text)) : null);
}

function findPhrase(words: readonly string[]): string | null {
  const found = grammar.find(words);
  return found === null ? null : words.slice(found[0], found[1] + 1).join(" ");
}

/** The first directive in a text with broken words, read as whole words; null when there is none (S3). */
function findBrokenDirective(text: string): string | null {
  if (!broken.test(text)) return null;
  const whole = text.replace(within, "").replace(spacedOut, (letters) => letters.replaceAll(" ", ""));
  return mayHaveWords(whole, [directiveOpenings]) ? findPhrase(foldedWords(whole)) : null;
}

const mark = "[-_*.·•|~^]";
const broken = new RegExp(`${mark}(?<=\\p{L}.)\\p{L}|(?<!\\p{L})\\p{L} \\p{L} \\p{L}(?!\\p{L})`, "u");
const within = new RegExp(`(?<=\\p{L})${mark}+(?=\\p{L})`, "gu");
const spacedOut = /(?<!\p{L})\p{L}(?: \p{L}){2,}(?!\p{L})/gu;

// Where a record has texts and addresses, derived from the declarations of the record types, so that the content rules
// automatically cover a newly added member.

/** A place in a record, given as its steps; `*` stands for every item. */
export interface TextPlace {
  readonly steps: readonly string[];
  readonly role: TextRole | "url";
  /** How many items each array on the way may have, in the order of the `*`. */
  readonly itemsMax: readonly number[];
  /** Characters that a text here may have. */
  readonly lengthMax: number;
}

/** Forms of members that lead somewhere: an address, a host, a mailbox. */
const leading: ReadonlySet<Form> = new Set([httpsUrlForm, hostForm, emailForm]);

/**
 * Forms of members with text that the content rules do not look through, because they leave no room for words; published in
 * docs/choices.md. Codes of vocabularies, money, numbers and times are not text.
 */
export const wordlessForms: ReadonlyMap<Form, string> = new Map([
  [gtinForm, "digits with a check digit"],
  [subdivisionForm, "a code of ISO 3166-2"],
  [phoneForm, "a telephone number"],
  [hashForm, "a hash"],
  [imageTypeForm, "one of three media types"],
]);

const places = new Map<ShownType, readonly TextPlace[]>();

/** Every text and everything that leads somewhere in a record of the collection, in the order of its members. */
export function textPlaces(collection: ShownType): readonly TextPlace[] {
  const known = places.get(collection);
  if (known !== undefined) return known;
  const found = [...placesOf(recordTypes[collection].members, { steps: [], itemsMax: [] })];
  places.set(collection, found);
  return found;
}

type Way = Pick<TextPlace, "steps" | "itemsMax">;

function* placesOf(members: Members, { steps, itemsMax }: Way): Generator<TextPlace> {
  for (const [name, field] of Object.entries(members))
    yield* placesIn(field, { steps: [...steps, name], itemsMax });
}

function* placesIn(field: Field, way: Way): Generator<TextPlace> {
  if (field.kind === "object") yield* placesOf(field.members, way);
  else if (field.kind === "array")
    yield* placesIn(field.items, { steps: [...way.steps, "*"], itemsMax: [...way.itemsMax, field.max] });
  else if (field.kind === "text") yield { ...way, role: field.role, lengthMax: field.max };
  else if (field.kind === "form") yield* placesOfForm(field.form, way);
}

function* placesOfForm(form: Form, way: Way): Generator<TextPlace> {
  const { max: lengthMax } = form;
  if (leading.has(form)) yield { ...way, role: "url", lengthMax };
  else if (form === campaignIdForm) yield { ...way, role: "identifier", lengthMax };
  else if (!wordlessForms.has(form))
    throw new Error(`The content rules do not know what ${form.name} may contain.`);
}

/**
 * Calls back with every string at a place. Tolerates members of any JSON type. A text that is too long and items that are too many
 * are left out: the record is refused for that, and however large it is, what is looked through has the size of a record.
 */
function visitTexts(
  record: JsonObject,
  place: TextPlace,
  found: (text: string, pointer: string) => void,
): void {
  step(record, { place, at: 0, arrays: 0 }, "", found);
}

interface Progress {
  readonly place: TextPlace;
  readonly at: number;
  /** How many arrays were entered. */
  readonly arrays: number;
}

function step(
  value: JsonValue | undefined,
  { place, at, arrays }: Progress,
  pointer: string,
  found: (text: string, pointer: string) => void,
): void {
  const name = place.steps[at];
  if (name === undefined) {
    // A character has two UTF-16 units at most.
    if (typeof value === "string" && value.length <= 2 * place.lengthMax) found(value, pointer);
  } else if (name === "*") {
    if (!isArray(value)) return;
    const count = Math.min(value.length, place.itemsMax[arrays] ?? 0);
    const next = { place, at: at + 1, arrays: arrays + 1 };
    for (let index = 0; index < count; index += 1) step(value[index], next, `${pointer}/${index}`, found);
  } else if (isObject(value)) {
    step(value[name], { place, at: at + 1, arrays }, `${pointer}/${name}`, found);
  }
}
