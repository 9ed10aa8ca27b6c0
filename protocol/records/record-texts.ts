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
export function visitTexts(
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
