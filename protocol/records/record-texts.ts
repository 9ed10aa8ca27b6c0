// Where a record has texts and addresses, derived from the declarations of the record types, so that the content rules
// automatically cover a newly added member.

import { isObject } from "../../std/is-object.ts";
import type { JsonObject, JsonValue } from "../canonical-json.ts";
import type { ShownType } from "../identifiers.ts";
import {
  campaignIdForm,
  emailForm,
  type Field,
  type Form,
  gtinForm,
  hashForm,
  imageTypeForm,
  type Members,
  phoneForm,
  subdivisionForm,
  type TextRole,
} from "./fields.ts";
import { hostForm, httpsUrlForm } from "./https-url.ts";
import { recordTypes } from "./parse-record.ts";
import { isArray } from "./record-validator.ts";

/** A place in a record, given as its steps; `*` stands for every item. */
export interface TextPlace {
  readonly steps: readonly string[];
  readonly role: TextRole | "url";
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
  const found = [...placesOf(recordTypes[collection].members, [])];
  places.set(collection, found);
  return found;
}

function* placesOf(members: Members, steps: readonly string[]): Generator<TextPlace> {
  for (const [name, field] of Object.entries(members)) yield* placesIn(field, [...steps, name]);
}

function* placesIn(field: Field, steps: readonly string[]): Generator<TextPlace> {
  if (field.kind === "object") yield* placesOf(field.members, steps);
  else if (field.kind === "array") yield* placesIn(field.items, [...steps, "*"]);
  else if (field.kind === "form" && leading.has(field.form)) yield { steps, role: "url" };
  else if (field.kind === "form" && field.form === campaignIdForm) yield { steps, role: "identifier" };
  else if (field.kind === "text") yield { steps, role: field.role };
  else if (field.kind === "form" && !wordlessForms.has(field.form))
    throw new Error(`The content rules do not know what ${field.form.name} may contain.`);
}

/** Calls back with every string at a place. Tolerates members of any JSON type. */
export function visitTexts(
  record: JsonObject,
  { steps }: TextPlace,
  found: (text: string, pointer: string) => void,
): void {
  step(record, { steps, at: 0 }, "", found);
}

function step(
  value: JsonValue | undefined,
  { steps, at }: { readonly steps: readonly string[]; readonly at: number },
  pointer: string,
  found: (text: string, pointer: string) => void,
): void {
  const name = steps[at];
  const rest = { steps, at: at + 1 };
  if (name === undefined) {
    if (typeof value === "string") found(value, pointer);
  } else if (name === "*") {
    if (isArray(value))
      for (const [index, item] of value.entries()) step(item, rest, `${pointer}/${index}`, found);
  } else if (isObject(value)) {
    step(value[name], rest, `${pointer}/${name}`, found);
  }
}
