// Turns a declaration of fields (fields.ts) into a function that finds every fault of a value at once. The functions are
// built once per record type; checking a valid record allocates nothing but pointers.

import { isObject, joinPointer } from "../../std/json-pointer.ts";
import { isDecimal, isTimestamp } from "../identifiers.ts";
import type { JsonValue } from "../json/canonical-json.ts";
import type { FaultList, Field, FieldType, Members } from "./fields.ts";
import { meantCode } from "./vocabularies/code-list.ts";

export type Check = (value: JsonValue, pointer: string, faults: FaultList) => void;

type Typed<K extends FieldType["kind"]> = Extract<FieldType, { kind: K }>;

/** Returns the check for an object with exactly the given members. */
export function membersCheck(members: Members): Check {
  const checks = new Map(Object.entries(members).map(([name, field]) => [name, fieldCheck(field)] as const));
  const names = [...checks.keys()];
  const required = names.filter((name) => members[name]?.optional !== true);
  return (value, pointer, faults) => {
    if (!isObject(value)) {
      faults.add("type_invalid", pointer, "Must be an object.");
      return;
    }
    const present = Object.keys(value);
    let known = 0;
    for (const name of present) {
      const check = checks.get(name);
      if (check === undefined) {
        if (faults.isFull) return;
        const detail = "This member does not exist here.";
        faults.add("member_unknown", joinPointer(pointer, name), detail, faults.nearest(name, names));
      } else {
        known += 1;
        check(value[name] as JsonValue, `${pointer}/${name}`, faults);
      }
    }
    if (known === names.length) return;
    for (const name of required) {
      if (!Object.hasOwn(value, name))
        faults.add("member_missing", `${pointer}/${name}`, `${name} is required.`);
    }
  };
}

/** Whether a JSON value is an array. */
export function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** Returns the check for one field. */
export function fieldCheck(field: Field): Check {
  switch (field.kind) {
    case "schema":
      return schemaCheck(field);
    case "text":
      return textCheck(field);
    case "form":
      return formCheck(field);
    case "code":
      return codeCheck(field);
    case "money":
      return checkMoney;
    case "integer":
      return numberCheck(field, true);
    case "number":
      return numberCheck(field, false);
    case "boolean":
      return checkBoolean;
    case "timestamp":
      return checkTimestamp;
    case "array":
      return arrayCheck(field);
    case "object":
      return membersCheck(field.members);
  }
}

function schemaCheck({ value: wanted }: Typed<"schema">): Check {
  const stem = wanted.slice(0, wanted.lastIndexOf("/") + 1);
  return (value, pointer, faults) => {
    if (value === wanted) return;
    if (typeof value !== "string") faults.add("type_invalid", pointer, `Must be the string ${wanted}.`);
    else if (value.startsWith(stem))
      faults.add("version_unknown", pointer, `The only version known is ${wanted}.`);
    else if (/^svc\/[a-z_]{1,32}\//.test(value))
      faults.add("record_type_mismatch", pointer, `Must be ${wanted}.`);
    else faults.add("value_invalid", pointer, `Must be ${wanted}.`);
  };
}

/** Fast path for most texts: nothing is hidden among printable ASCII characters, and the first is not a space. */
const plain = /^[!-~][ -~]*$/;
const control = /\p{Cc}/u;
const controlButLineFeed = /[^\P{Cc}\n]/u;

function textCheck({ max, multiline, mayBeEmpty = false }: Typed<"text">): Check {
  const forbidden = multiline ? controlButLineFeed : control;
  return (value, pointer, faults) => {
    if (typeof value !== "string") {
      faults.add("type_invalid", pointer, "Must be a string.");
      return;
    }
    if (value.length > max && characterCount(value) > max) {
      faults.add("value_invalid", pointer, `Must have at most ${max} characters.`);
    }
    if (plain.test(value) || (mayBeEmpty && value === "")) return;
    if (forbidden.test(value)) faults.add("value_invalid", pointer, "Must have no control characters.");
    const hidden = hiddenCharacter(value);
    if (hidden !== null)
      faults.add(
        "value_invalid",
        pointer,
        `Must have no characters that readers cannot see, such as ${hidden}.`,
      );
    if (!/\S/u.test(value)) faults.add("value_invalid", pointer, "Must not be blank.");
  };
}

/** The number of Unicode characters, as JSON Schema counts them. */
function characterCount(value: string): number {
  let count = 0;
  for (const _ of value) count += 1;
  return count;
}

function formCheck({ form }: Typed<"form">): Check {
  return (value, pointer, faults) => {
    if (typeof value !== "string") faults.add("type_invalid", pointer, "Must be a string.");
    else if (!form.accepts(value)) faults.add("value_invalid", pointer, `Must be ${form.meaning}.`);
  };
}

function codeCheck({ list }: Typed<"code">): Check {
  const codes = list.codes;
  return (value, pointer, faults) => {
    if (typeof value !== "string") {
      faults.add("type_invalid", pointer, "Must be a string.");
    } else if (!codes.has(value)) {
      const suggestion = meantCode(value, list, (...names) => faults.nearest(...names));
      faults.addQuoting({
        code: "vocabulary_unknown",
        pointer,
        detail: `Must be in the vocabulary ${list.name}.`,
        ...(suggestion === null ? {} : { suggestion }),
        quote: value,
      });
    }
  };
}

const checkMoney: Check = (value, pointer, faults) => {
  if (typeof value === "number") {
    faults.add(
      "money_not_string",
      pointer,
      'Money must be a decimal string such as "19.90", never a JSON number.',
    );
  } else if (typeof value !== "string") {
    faults.add("type_invalid", pointer, "Must be a decimal string.");
  } else if (!isDecimal(value)) {
    faults.add("value_invalid", pointer, 'Must be a decimal string such as "19.90".');
  }
};

function numberCheck(range: { readonly min: number; readonly max: number }, integral: boolean): Check {
  const meaning = `Must be ${integral ? "an integer" : "a number"} from ${range.min} to ${range.max}.`;
  return (value, pointer, faults) => {
    if (typeof value !== "number" || (integral && !Number.isInteger(value)))
      faults.add("type_invalid", pointer, meaning);
    else if (value < range.min || value > range.max) faults.add("value_invalid", pointer, meaning);
  };
}

const checkBoolean: Check = (value, pointer, faults) => {
  if (typeof value !== "boolean") faults.add("type_invalid", pointer, "Must be true or false.");
};

const checkTimestamp: Check = (value, pointer, faults) => {
  if (typeof value !== "string") faults.add("type_invalid", pointer, "Must be a string.");
  else if (!isTimestamp(value)) {
    faults.add("value_invalid", pointer, "Must be a UTC time such as 2026-01-31T08:00:00.000Z.");
  }
};

function arrayCheck({ items, min, max, unique }: Typed<"array">): Check {
  const check = fieldCheck(items);
  return (value, pointer, faults) => {
    if (!isArray(value)) {
      faults.add("type_invalid", pointer, "Must be an array.");
      return;
    }
    if (value.length < min) faults.add("value_invalid", pointer, `Must have at least ${min} items.`);
    if (value.length > max) {
      faults.add("value_invalid", pointer, `Must have at most ${max} items.`);
      return;
    }
    for (let index = 0; index < value.length; index += 1)
      check(value[index] as JsonValue, `${pointer}/${index}`, faults);
    if (unique && value.length > 1) checkUnique(value, pointer, faults);
  };
}

function checkUnique(items: readonly JsonValue[], pointer: string, faults: FaultList): void {
  const seen = new Set<JsonValue>();
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index] as JsonValue;
    const key = typeof item === "object" ? JSON.stringify(item) : item;
    if (seen.has(key)) faults.add("value_invalid", `${pointer}/${index}`, "Must not repeat an earlier item.");
    seen.add(key);
  }
}

// Characters in a text that readers do not see but programs read: a text could say one thing to people and another to a
// model. Refused are the characters that Unicode allows a display to omit (Default_Ignorable_Code_Point: tags, variation
// selectors, zero width spaces, soft hyphens …), those that reverse the direction of a text (Bidi_Control), and interlinear
// annotations. Of these, only what a script or an emoji cannot be written without is allowed, one at a time:
//   V1. U+200C and U+200D after a letter, mark or digit, where the character before or after belongs to a script that joins
//       or stacks letters (Persian «می‌خواهم», Hindi «क्‍ष»);
//   V2. U+200B between two letters of a script that puts no spaces between words (Khmer, Lao, Myanmar, Thai);
//   V3. U+200D between two emoji («👨‍👩‍👧»), U+FE0E and U+FE0F after an emoji, and U+FE0F in keycaps («1️⃣»).

const doubtful = /[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\ufff9-\ufffb]/u;
const notAscii = /\P{ASCII}/u;

const joining = [
  "Arabic",
  "Syriac",
  "Mandaic",
  "Nko",
  "Adlam",
  "Hanifi_Rohingya",
  "Mongolian",
  "Devanagari",
  "Bengali",
  "Gurmukhi",
  "Gujarati",
  "Oriya",
  "Tamil",
  "Telugu",
  "Kannada",
  "Malayalam",
  "Sinhala",
  "Tibetan",
  "Myanmar",
  "Khmer",
  "Javanese",
  "Balinese",
  "Sundanese",
  "Newa",
  "Chakma",
  "Meetei_Mayek",
  "Grantha",
];
const unspaced = ["Khmer", "Lao", "Myanmar", "Thai"];
/** Matches a letter, mark or digit of one of the scripts. */
const of = (scripts: readonly string[]): string =>
  `(?=[\\p{L}\\p{M}\\p{Nd}])[${scripts.map((script) => `\\p{Script_Extensions=${script}}`).join("")}]`;
const behindOf = (scripts: readonly string[]): string => `(?<=${of(scripts)})`;
const aheadOf = (scripts: readonly string[]): string => `(?=${of(scripts)})`;

const pictograph = "[\\p{Extended_Pictographic}\\u{1f9b0}-\\u{1f9b3}]";
const needed = new RegExp(
  [
    `(?<=[\\p{L}\\p{M}\\p{Nd}])[\\u200c\\u200d](?:(?<=${of(joining)}[\\u200c\\u200d])|${aheadOf(joining)})`,
    `${behindOf(unspaced)}\\u200b${aheadOf(unspaced)}`,
    `(?<=${pictograph}[\\ufe0e\\ufe0f\\p{Emoji_Modifier}]?)\\u200d(?=${pictograph})`,
    "(?<=(?![0-9#*])\\p{Emoji})[\\ufe0e\\ufe0f]",
    "(?<=[0-9#*])\\ufe0f(?=\\u20e3)",
  ].join("|"),
  "gu",
);

/** The first character of a text that readers do not see, written as `U+200B`; null when there is none. */
export function hiddenCharacter(text: string): string | null {
  if (!notAscii.test(text) || !doubtful.test(text)) return null;
  const hidden = doubtful.exec(text.replace(needed, " "))?.[0];
  return hidden === undefined
    ? null
    : `U+${(hidden.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0")}`;
}
