// The field language in which record types are declared. One declaration yields the validator (record-validator.ts), the
// JSON Schema (parse-record.ts) and the documentation of a record type.

import { noteWork } from "../../std/work.ts";
import { isHash, type ShownType } from "../identifiers.ts";
import type { JsonObject } from "../json/canonical-json.ts";
import type { JsonFault } from "../json/strict-json.ts";
import { ownIdLengthMax } from "../limits.ts";
import { nearestName } from "../shape.ts";
import type { CodeList } from "./vocabularies/code-list.ts";
import { countries } from "./vocabularies/countries.ts";
import { languages } from "./vocabularies/languages.ts";
import { subdivisionCodes, subdivisionPattern } from "./vocabularies/subdivision-codes.ts";

export type Field = FieldType & {
  /** One sentence for the people who fill the field in. */
  readonly description: string;
  /** A field is required unless this is set. */
  readonly optional?: boolean;
};

export type FieldType =
  /** The record schema string itself. */
  | { readonly kind: "schema"; readonly value: string }
  /** Text for people: 1 to `max` Unicode characters, not only white space; line feeds only if `multiline`. */
  | {
      readonly kind: "text";
      readonly max: number;
      readonly multiline: boolean;
      readonly role: TextRole;
      /** Whether the text may also have no characters at all. */
      readonly mayBeEmpty?: boolean;
    }
  /** Text of a fixed form. */
  | { readonly kind: "form"; readonly form: Form }
  /** A code of a controlled vocabulary. */
  | { readonly kind: "code"; readonly list: CodeList }
  /** Money: a decimal string, never a JSON number (specification, «Identifiers and formats»). */
  | { readonly kind: "money" }
  | { readonly kind: "integer"; readonly min: number; readonly max: number }
  | { readonly kind: "boolean" }
  /** ISO 8601 UTC with milliseconds and `Z`. */
  | { readonly kind: "timestamp" }
  | {
      readonly kind: "array";
      readonly items: Field;
      readonly min: number;
      readonly max: number;
      readonly unique: boolean;
    }
  | { readonly kind: "object"; readonly members: Members }
  | { readonly kind: "number"; readonly min: number; readonly max: number };

type FieldOf<K extends Field["kind"]> = Extract<Field, { readonly kind: K }>;

/** The type of what a field declares. Codes and forms are strings. */
export type ValueOf<F> = F extends { readonly kind: "schema"; readonly value: infer V }
  ? V
  : F extends { readonly kind: "array"; readonly items: infer I }
    ? readonly ValueOf<I>[]
    : F extends { readonly kind: "object"; readonly members: infer M }
      ? ValuesOf<M>
      : F extends { readonly kind: "integer" | "number" }
        ? number
        : F extends { readonly kind: "boolean" }
          ? boolean
          : string;

/** The type of an object with these members. */
export type ValuesOf<M> = {
  readonly [K in keyof M as M[K] extends { readonly optional: true } ? never : K]: ValueOf<M[K]>;
} & {
  readonly [K in keyof M as M[K] extends { readonly optional: true } ? K : never]?: ValueOf<M[K]>;
};

/**
 * What a text is used for in its record, for the rules on content (judge-record.ts). `speech`, where the record speaks, is
 * the default, so that no text is overlooked; `name` is what the business or its goods are called; `sold_name` is another
 * company's brand that is sold, `place` a location and `identifier` a text for machines: all three may have the same name as
 * another company.
 */
export type TextRole = "speech" | "name" | "sold_name" | "place" | "identifier";

export type Members = Readonly<Record<string, Field>>;

/** A textual form: `accepts` decides; `pattern` (ECMA-262) is its published approximation and never narrower. */
export interface Form {
  readonly name: string;
  readonly pattern: string;
  readonly max: number;
  readonly accepts: (text: string) => boolean;
  /** What the text must be, for the detail of a fault; it completes «must be …». */
  readonly meaning: string;
}

/** Makes a field optional. */
export function optional<const F extends Field>(field: F): F & { readonly optional: true } {
  return { ...field, optional: true };
}

/** Text for people on one line, with at most `max` characters. */
export function text(max: number, description: string, role: TextRole = "speech"): FieldOf<"text"> {
  return { kind: "text", max, multiline: false, role, description };
}

/** Text for people that may contain line feeds, with at most `max` characters. */
export function longText(max: number, description: string): FieldOf<"text"> {
  return { kind: "text", max, multiline: true, role: "speech", description };
}

/** Long text that may also be empty. */
export function longTextOrNone(max: number, description: string): FieldOf<"text"> {
  return { kind: "text", max, multiline: true, role: "speech", mayBeEmpty: true, description };
}

/** A code of a controlled vocabulary. */
export function code(list: CodeList, description: string): FieldOf<"code"> {
  return { kind: "code", list, description };
}

/** An amount of money as a decimal string. */
export function money(description: string): FieldOf<"money"> {
  return { kind: "money", description };
}

/** true or false. */
export function boolean(description: string): FieldOf<"boolean"> {
  return { kind: "boolean", description };
}

/** A whole number from `min` to `max`. */
export function integer(
  range: { readonly min: number; readonly max: number },
  description: string,
): FieldOf<"integer"> {
  return { kind: "integer", ...range, description };
}

/** An instant: ISO 8601 UTC with milliseconds. */
export function timestamp(description: string): FieldOf<"timestamp"> {
  return { kind: "timestamp", description };
}

/** An array; unless `unique: false` is set, no value may occur twice. */
export function array<const F extends Field>(
  items: F,
  bounds: { readonly min: number; readonly max: number; readonly unique?: boolean },
  description: string,
): FieldOf<"array"> & { readonly items: F } {
  return {
    kind: "array",
    items,
    min: bounds.min,
    max: bounds.max,
    unique: bounds.unique ?? true,
    description,
  };
}

/** An object with exactly these members. */
export function object<const M extends Members>(
  members: M,
  description: string,
): FieldOf<"object"> & { readonly members: M } {
  return { kind: "object", members, description };
}

/** Text of a fixed form. */
export function form(shape: Form, description: string): FieldOf<"form"> {
  return { kind: "form", form: shape, description };
}

/** WGS 84 coordinates in degrees. */
export function geopoint(description: string) {
  return object(
    {
      lat: { kind: "number", min: -90, max: 90, description: "Latitude in degrees." },
      lng: { kind: "number", min: -180, max: 180, description: "Longitude in degrees." },
    },
    description,
  );
}

/** An array of the countries that a record is published for. */
export function countryCodes(description: string) {
  return array(code(countries, "Country code."), { min: 1, max: countries.codes.size }, description);
}

/** A code of the vocabulary `subdivisions` (ISO 3166-2); its pattern is published instead of its five thousand codes. */
export const subdivisionForm: Form = {
  name: "subdivision",
  pattern: subdivisionPattern,
  max: 6,
  accepts: (value) => subdivisionCodes.has(value),
  meaning: "a code of the vocabulary subdivisions (ISO 3166-2) such as US-CA",
};

/** A form that its pattern says whole. */
function patternForm(name: string, pattern: string, rest: Pick<Form, "max" | "meaning">): Form {
  const expression = new RegExp(pattern);
  return { name, pattern, ...rest, accepts: (value) => expression.test(value) };
}

/** A plain mailbox address: the form that HTML's e-mail input accepts, with a domain of at least two labels. */
export const emailForm = patternForm(
  "email",
  "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,63}$",
  { max: 254, meaning: "an e-mail address" },
);

/** An ITU-T E.164 number. */
export const phoneForm = patternForm("phone", "^\\+[1-9][0-9]{6,14}$", {
  max: 16,
  meaning: "a telephone number in international form, + and 7 to 15 digits",
});

/** The business's own name of a campaign, which only it and the service read as such. */
export const campaignIdForm = patternForm("campaign_id", "^[a-z0-9][a-z0-9-]{0,63}$", {
  max: 64,
  meaning: "1 to 64 lower-case letters, digits and hyphens, not beginning with a hyphen",
});

/** The hash of some bytes. */
export const hashForm: Form = {
  name: "hash",
  pattern: "^sha256:[0-9a-f]{64}$",
  max: 71,
  accepts: isHash,
  meaning: "sha256: and 64 lowercase hexadecimal digits",
};

/** The media type of a picture. */
export const imageTypeForm = patternForm("image_type", "^image/(?:png|jpeg|webp)$", {
  max: 10,
  meaning: "image/png, image/jpeg or image/webp",
});

const gtinPattern = "^(?:[0-9]{8}|[0-9]{12,14})$";
const gtin = new RegExp(gtinPattern);

/** A GTIN-8, -12, -13 or -14 with its check digit (GS1 General Specifications, section 7.9). */
export const gtinForm: Form = {
  name: "gtin",
  pattern: gtinPattern,
  max: 14,
  accepts: (value) => gtin.test(value) && hasGtinCheckDigit(value) && /[1-9]/.test(value),
  meaning: "a GTIN of 8, 12, 13 or 14 digits with a correct check digit, not of zeros alone",
};

/**
 * Counted from the right, check digit included, the digits have weights 1, 3, 1, 3 …; the weighted sum is a multiple of ten.
 */
function hasGtinCheckDigit(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const weight = (digits.length - index) % 2 === 0 ? 3 : 1;
    sum += weight * (digits.charCodeAt(index) - 48);
  }
  return sum % 10 === 0;
}

// Addresses in records. Only what every consumer reads the same way is accepted, since an address that two parsers read
// differently can lead a reader to a host other than the one that was checked.

export interface HttpsUrl {
  /** In lower case, without port. */
  readonly host: string;
  /** Path, query and fragment as written; empty when there are none. */
  readonly rest: string;
}

const urlLengthMax = 2048;
const hostLengthMax = 253;
const label = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const hostPattern = `(?:${label}\\.)+(?=[A-Za-z])${label}`;
// RFC 3986 §3.3–3.5: pchar, "/", "?" and "#", in the order path, query, fragment.
const pathCharacters = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*";
const queryCharacters = "(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*";
const urlPattern = `^https://(${hostPattern})(?::[0-9]{1,5})?((?:/${pathCharacters})?(?:\\?${queryCharacters})?(?:#${queryCharacters})?)$`;

const url = new RegExp(urlPattern);
const host = new RegExp(`^${hostPattern}$`);

/**
 * Reads an absolute https address (RFC 3986) with a DNS host name: no user information, no IP address, nothing outside ASCII
 * (other scripts as IDNA and percent-encoded), at most 2048 characters. Returns null for anything else.
 */
export function parseHttpsUrl(text: string): HttpsUrl | null {
  if (text.length > urlLengthMax) return null;
  const match = url.exec(text);
  const name = match?.[1];
  if (name === undefined || name.length > hostLengthMax) return null;
  return { host: name.toLowerCase(), rest: match?.[2] ?? "" };
}

export const httpsUrlForm: Form = {
  name: "https_url",
  pattern: urlPattern,
  max: urlLengthMax,
  accepts: (value) => parseHttpsUrl(value) !== null,
  meaning: "an absolute https address with a domain name, in ASCII",
};

/** A DNS host name of at least two labels, in lower case (RFC 1123 §2.1). */
export const hostForm: Form = {
  name: "host",
  pattern: `^${hostPattern}$`,
  max: hostLengthMax,
  accepts: (value) => value.length <= hostLengthMax && value === value.toLowerCase() && host.test(value),
  meaning: "a host name in lower case, without scheme, port or path",
};

// The rule on where a reader is sent, which products and ads share.

/** `display_domain` must equal the host of `destination_url` (specification, «Publish behaviour» 5). */
export function displayDomainIsDestination(record: JsonObject, faults: FaultList): void {
  const { display_domain: domain, destination_url: destination } = record;
  if (typeof domain !== "string" || typeof destination !== "string") return;
  const host = parseHttpsUrl(destination)?.host;
  if (host === undefined || host === domain.toLowerCase()) return;
  faults.addQuoting({
    code: "display_domain_mismatch",
    pointer: "/display_domain",
    detail: "Must be the host of destination_url.",
    quote: host,
  });
}

/** What can be wrong with one record (specification, «Errors», publish codes, and «Push, outcome, status», `errors[]`). */
export type RecordFaultCode =
  | JsonFault
  /** The value has a different JSON type than the member. */
  | "type_invalid"
  | "member_missing"
  /** A member that the record type does not have; of the first ones `suggestion` names the nearest that it does. */
  | "member_unknown"
  /** The value has the right type but is not allowed. */
  | "value_invalid"
  /** A code that is not in the controlled vocabulary; of the first ones `suggestion` names the nearest that is. */
  | "vocabulary_unknown"
  /** A JSON number where money must be a decimal string. */
  | "money_not_string"
  /** A version of the record schema that this service does not know. */
  | "version_unknown"
  /** The schema string names another record type. */
  | "record_type_mismatch"
  /** A country that the mandate does not cover. */
  | "out_of_scope"
  | "scope_violation"
  | "url_flagged"
  | "display_domain_mismatch";

export interface RecordFault {
  readonly code: RecordFaultCode;
  /** RFC 6901 pointer into the record; empty for the record as a whole. */
  readonly pointer: string;
  /** One sentence for the person who maintains the record, without words of the record. */
  readonly detail: string;
  /** The nearest valid name or code. */
  readonly suggestion?: string;
  /** The words of the record that the fault is about. They are never stored. */
  readonly quote?: string;
}

/** Maximum number of faults reported for one record; further ones would add nothing useful. */
export const recordFaultsMax = 100;

/** Only the first faults of a record are looked up: to find the nearest of many names takes far longer than to find a fault. */
const suggestionsMax = 10;

/** Maximum length of a quote, in UTF-16 units. */
const quoteMax = 256;

/** The faults as they are stored: words of a record stay only where the record is purged with them. */
export function withoutQuotes(faults: readonly RecordFault[]): readonly RecordFault[] {
  return faults.map(({ quote: _, ...fault }) => fault);
}

/** Collects the faults of one record, up to {@link recordFaultsMax}. */
export class FaultList {
  readonly faults: RecordFault[] = [];
  #suggested = 0;

  /** Whether no further fault is kept, so that nobody has to look for any. */
  get isFull(): boolean {
    return this.faults.length >= recordFaultsMax;
  }

  /** The candidate that was probably meant, for the first faults; null for further ones, or where none is near. */
  nearest(name: string, candidates: readonly string[]): string | null {
    this.#suggested += 1;
    return this.#suggested > suggestionsMax ? null : nearestName(name, candidates);
  }

  add(code: RecordFaultCode, pointer: string, detail: string, suggestion: string | null = null): void {
    this.#push({ code, pointer, detail, ...(suggestion === null ? {} : { suggestion }) });
  }

  /** Adds a fault about words of the record, of which the beginning is quoted. */
  addQuoting(fault: RecordFault & { readonly quote: string }): void {
    this.#push({ ...fault, quote: fault.quote.slice(0, quoteMax) });
  }

  #push(fault: RecordFault): void {
    noteWork("fault", 1);
    if (!this.isFull) this.faults.push(fault);
  }
}

/** One record type, `svc/<collection>/<version>`, where ads count as one. */
export interface RecordType {
  readonly collection: ShownType;
  readonly version: number;
  readonly title: string;
  readonly members: Members;
  /**
   * Rules on what no single member shows. A rule must tolerate members of any JSON type, because their own checks report
   * those.
   */
  readonly rules: readonly RecordRule[];
}

export type RecordRule = (record: JsonObject, faults: FaultList) => void;

/** Members that every record type has. */
export interface RecordCore {
  readonly schema: string;
  readonly language: string;
  readonly business_product_id: string;
  readonly countries: readonly string[];
}

/**
 * The members of {@link RecordCore}; every type carries the business's own id under the same name, which the catalogue
 * shows.
 */
export function coreMembers<const S extends string>(schema: S) {
  return {
    schema: { kind: "schema", value: schema, description: "Record type and version." } as const,
    language: code(languages, "Language of the record's texts."),
    business_product_id: text(
      ownIdLengthMax,
      "The business's own id of this record, unique within the business and record type; the record id follows from it.",
      "identifier",
    ),
    countries: countryCodes("Countries that the record is published for."),
  };
}

/** Free search terms. */
export function tags(description: string) {
  return array(text(64, "One tag."), { min: 0, max: 20 }, description);
}
