// Turns a declaration of fields (fields.ts) into a function that finds every fault of a value at once. The functions are
// built once per record type; checking a valid record allocates nothing but pointers.

import { isObject } from "../../std/is-object.ts";
import { joinPointer } from "../../std/json-pointer.ts";
import type { JsonValue } from "../canonical-json.ts";
import { isDecimal, isTimestamp } from "../identifiers.ts";
import type { Field, FieldType, Members } from "./fields.ts";
import type { FaultList } from "./record-fault.ts";
import { hiddenCharacter } from "./visible-text.ts";
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
        ...{ code: "vocabulary_unknown", pointer, detail: `Must be in the vocabulary ${list.name}.` },
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
