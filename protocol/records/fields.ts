// The field language in which record types are declared. One declaration yields the validator (record-validator.ts), the
// JSON Schema (json-schema.ts) and the documentation of a record type.

import { isHash } from "../identifiers.ts";
import type { CodeList } from "./vocabularies/code-list.ts";
import { countries } from "./vocabularies/countries.ts";
import { subdivisions } from "./vocabularies/subdivisions.ts";
import { subdivisionPattern } from "./vocabularies/vocabulary-document.ts";

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

/**
 * What a text is used for in its record, for the rules on content (content-rules.ts). `speech`, where the record speaks, is
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
export function optional(field: Field): Field {
  return { ...field, optional: true };
}

/** Text for people on one line, with at most `max` characters. */
export function text(max: number, description: string, role: TextRole = "speech"): Field {
  return { kind: "text", max, multiline: false, role, description };
}

/** Text for people that may contain line feeds, with at most `max` characters. */
export function longText(max: number, description: string): Field {
  return { kind: "text", max, multiline: true, role: "speech", description };
}

/** Long text that may also be empty. */
export function longTextOrNone(max: number, description: string): Field {
  return { kind: "text", max, multiline: true, role: "speech", mayBeEmpty: true, description };
}

/** A code of a controlled vocabulary. */
export function code(list: CodeList, description: string): Field {
  return { kind: "code", list, description };
}

/** An amount of money as a decimal string. */
export function money(description: string): Field {
  return { kind: "money", description };
}

/** true or false. */
export function boolean(description: string): Field {
  return { kind: "boolean", description };
}

/** A whole number from `min` to `max`. */
export function integer(range: { readonly min: number; readonly max: number }, description: string): Field {
  return { kind: "integer", ...range, description };
}

/** An instant: ISO 8601 UTC with milliseconds. */
export function timestamp(description: string): Field {
  return { kind: "timestamp", description };
}

/** An array; unless `unique: false` is set, no value may occur twice. */
export function array(
  items: Field,
  bounds: { readonly min: number; readonly max: number; readonly unique?: boolean },
  description: string,
): Field {
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
export function object(members: Members, description: string): Field {
  return { kind: "object", members, description };
}

/** Text of a fixed form. */
export function form(shape: Form, description: string): Field {
  return { kind: "form", form: shape, description };
}

/** WGS 84 coordinates in degrees. */
export function geopoint(description: string): Field {
  return object(
    {
      lat: { kind: "number", min: -90, max: 90, description: "Latitude in degrees." },
      lng: { kind: "number", min: -180, max: 180, description: "Longitude in degrees." },
    },
    description,
  );
}

/** An array of the countries that a record is published for. */
export function countryCodes(description: string): Field {
  return array(code(countries, "Country code."), { min: 1, max: countries.codes.size }, description);
}

/** A code of the vocabulary `subdivisions` (ISO 3166-2); its pattern is published instead of its five thousand codes. */
export const subdivisionForm: Form = {
  name: "subdivision",
  pattern: subdivisionPattern,
  max: 6,
  accepts: (value) => subdivisions.codes.has(value),
  meaning: "a code of the vocabulary subdivisions (ISO 3166-2) such as US-CA",
};

const emailPattern =
  "^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.)+[A-Za-z]{2,63}$";
const email = new RegExp(emailPattern);

/** A plain mailbox address: the form that HTML's e-mail input accepts, with a domain of at least two labels. */
export const emailForm: Form = {
  name: "email",
  pattern: emailPattern,
  max: 254,
  accepts: (value) => email.test(value),
  meaning: "an e-mail address",
};

const phonePattern = "^\\+[1-9][0-9]{6,14}$";
const phone = new RegExp(phonePattern);

/** An ITU-T E.164 number. */
export const phoneForm: Form = {
  name: "phone",
  pattern: phonePattern,
  max: 16,
  accepts: (value) => phone.test(value),
  meaning: "a telephone number in international form, + and 7 to 15 digits",
};

const campaignIdPattern = "^[a-z0-9][a-z0-9-]{0,63}$";
const campaignId = new RegExp(campaignIdPattern);

/** The business's own name of a campaign, which only it and the service read as such. */
export const campaignIdForm: Form = {
  name: "campaign_id",
  pattern: campaignIdPattern,
  max: 64,
  accepts: (value) => campaignId.test(value),
  meaning: "1 to 64 lower-case letters, digits and hyphens, not beginning with a hyphen",
};

/** The hash of some bytes. */
export const hashForm: Form = {
  name: "hash",
  pattern: "^sha256:[0-9a-f]{64}$",
  max: 71,
  accepts: isHash,
  meaning: "sha256: and 64 lowercase hexadecimal digits",
};

const imageTypePattern = "^image/(?:png|jpeg|webp)$";
const imageType = new RegExp(imageTypePattern);

/** The media type of a picture. */
export const imageTypeForm: Form = {
  name: "image_type",
  pattern: imageTypePattern,
  max: 10,
  accepts: (value) => imageType.test(value),
  meaning: "image/png, image/jpeg or image/webp",
};

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
