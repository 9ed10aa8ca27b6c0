// A record while it is made of what a file says: each value is read as its member has it, or is a note.
//   R1. What the file says but cannot be used is a note, and nothing replaces it: neither what was set, nor a default.
//   R2. Nothing is made up. Only a required list of which the file says nothing is empty.

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { type Field, httpsUrlForm, type Members, phoneForm } from "../../protocol/records/fields.ts";
import { recordSchema, recordTypes } from "../../protocol/records/parse-record.ts";
import { type CodeList, meantCode } from "../../protocol/records/vocabularies/code-list.ts";
import { nearestName } from "../../protocol/shape.ts";
import { isObject } from "../../std/json-pointer.ts";
import {
  FeedError,
  type FeedItem,
  type FeedNote,
  markupRemoved,
  type NoteCode,
  note,
  valueRewritten,
  valueShortened,
} from "../feeds/feed-item.ts";
import { type ReadValue, readAmount, readCell, readLink } from "../feeds/feed-values.ts";
import { leftOver, readText } from "../feeds/published-text.ts";
import { shortened } from "../feeds/shorten.ts";
import { ownIdOf, recordBytes } from "../record-set.ts";
import { readInstant } from "./local-time.ts";

/** What is said of records beside the file, where the file does not say it. */
export interface Beside {
  /** Values by the path of their member, such as `salary.min`. */
  readonly set: ReadonlyMap<string, string>;
  /** Members as JSON. */
  readonly members: JsonObject;
  /** The time zone of local times, and of events; null for none. */
  readonly zone: string | null;
  /** The current time in Unix milliseconds. */
  readonly nowMs: number;
}

/** Texts of which a part says less, but nothing else. */
const shortTexts = ["description", "body"];

export class RecordDraft {
  readonly collection: CollectionName;
  readonly zone: string | null;
  readonly nowMs: number;
  readonly #members: Members;
  readonly #beside: Beside;
  readonly #record: Record<string, JsonValue>;
  readonly #notes: FeedNote[] = [];
  readonly #said = new Set<string>();

  /** `base` is what the file has as members already. */
  constructor(collection: CollectionName, beside: Beside, base: JsonObject = {}) {
    this.collection = collection;
    this.zone = beside.zone;
    this.nowMs = beside.nowMs;
    this.#members = recordTypes[collection].members;
    this.#beside = beside;
    this.#record = {
      schema: recordSchema(collection),
      ...structuredClone(base as Record<string, JsonValue>),
    };
  }

  /** The file says `written` of the member at `path`, in its column or property `attribute`. */
  say(attribute: string, path: string, written: string): void {
    const text = written.trim();
    if (text === "") return;
    this.#said.add(path);
    const steps = path.split(".");
    const place = placeOf(this.#members, steps);
    if (place === null) throw new Error(`${this.collection} has no member ${path}.`);
    const { field, list } = place;
    if (list === null) {
      const value = this.#value(attribute, field, steps.at(-1) ?? "", text);
      if (value !== null) put(this.#record, steps, value);
      return;
    }
    // One cell has what all items of a list say of this member.
    const [head, rest] = [steps.slice(0, list), steps.slice(list)];
    for (const [at, cell] of text.split("|").entries()) {
      const value = cell.trim() === "" ? null : this.#value(attribute, field, rest.at(-1) ?? "", cell.trim());
      if (value !== null) put(this.#record, [...head, at, ...rest], value);
    }
  }

  /** Whether a word is a code of the member's vocabulary. */
  hasCode(path: string, word: string): boolean {
    const field = placeOf(this.#members, path.split("."))?.field;
    return field?.kind === "code" && field.list.codes.has(word);
  }

  /** A value that needs no reading. */
  put(path: string, value: JsonValue): void {
    this.#said.add(path);
    put(this.#record, path.split("."), value);
  }

  /** The file says something of the member at `path`, and it cannot be used: nothing replaces it. */
  unusable(
    attribute: string,
    path: string,
    { value, detail }: { readonly value: string; readonly detail: string },
  ): void {
    this.#said.add(path);
    const field = placeOf(this.#members, path.split("."))?.field;
    this.#unusable(attribute, field?.optional === true, { value, detail });
  }

  /** The file says what no member has. */
  passOver(attribute: string, value: string, code: NoteCode = "attribute_not_in_schema"): void {
    const detail =
      code === "category_unknown"
        ? "Is none of the vocabulary's words: it was not used."
        : `A record of the type ${this.collection} has no member for it.`;
    this.#notes.push(note("attribute_left_out", code, { attribute, value, detail }));
  }

  /** It cannot be published. */
  leaveOut(
    code: NoteCode,
    attribute: string,
    { value, detail }: { readonly value: string; readonly detail: string },
  ): void {
    this.#notes.push(note("item_left_out", code, { attribute, value, detail }));
  }

  /** The item at `place`; its bytes are null if it cannot be published. */
  finished(place: number, { emptyLists = true }: { readonly emptyLists?: boolean } = {}): FeedItem {
    const record = this.#record;
    for (const [path, written] of this.#beside.set) if (this.#isUnsaid(path)) this.say(path, path, written);
    this.#fill(this.#members, this.#beside.members);
    if (this.collection === "events" && this.zone !== null && this.#isUnsaid("timezone"))
      this.say("timezone", "timezone", this.zone);
    if (emptyLists) this.#fillLists(this.#members);
    const isLeftOut = this.#notes.some(({ effect }) => effect === "item_left_out");
    return { place, id: ownIdOf(record), bytes: isLeftOut ? null : recordBytes(record), notes: this.#notes };
  }

  #fill(members: Members, values: JsonObject, prefix: readonly string[] = []): void {
    for (const [name, value] of Object.entries(values)) {
      const steps = [...prefix, name];
      const field = members[name];
      if (field?.kind === "object" && isObject(value)) this.#fill(field.members, value, steps);
      else if (this.#isUnsaid(steps.join("."))) this.put(steps.join("."), value);
    }
  }

  #fillLists(members: Members, prefix: readonly string[] = []): void {
    for (const [name, field] of Object.entries(members)) {
      const steps = [...prefix, name];
      if (field.optional === true) continue;
      if (field.kind === "object") this.#fillLists(field.members, steps);
      else if (field.kind === "array" && field.min === 0 && this.#isUnsaid(steps.join(".")))
        this.put(steps.join("."), []);
    }
  }

  /** Whether nothing was said of the member, of a part of it, or of what it is a part of (R1). */
  #isUnsaid(path: string): boolean {
    const isPart = (one: string, other: string): boolean => one === other || one.startsWith(`${other}.`);
    return (
      valueIn(this.#record, path.split(".")) === undefined &&
      [...this.#said].every((each) => !isPart(each, path) && !isPart(path, each))
    );
  }

  #value(attribute: string, field: Field, name: string, text: string): JsonValue | null {
    const isOptional = field.optional === true;
    const fault = (detail: string): null => this.#unusable(attribute, isOptional, { value: text, detail });
    const taken = (read: ReadValue): string | null => {
      if (read.fault !== null) return fault(read.fault);
      if (read.change !== null) this.#notes.push(valueRewritten(attribute, text, read.change));
      return read.value;
    };
    switch (field.kind) {
      case "text":
        return this.#text(attribute, field, name, text);
      case "form":
        if (field.form === httpsUrlForm) return taken(readLink(text));
        if (field.form === phoneForm) return taken(readPhone(text));
        return field.form.accepts(text) ? text : fault(`Must be ${field.form.meaning}.`);
      case "code":
        return field.list.codes.has(text) ? text : fault(codeFault(text, field.list));
      case "money":
        return taken(readAmount(text, { currency: "" }));
      case "timestamp":
        return taken(readInstant(text, this.zone));
      case "integer":
      case "number": {
        const isNumber = field.kind === "integer" ? /^-?[0-9]{1,9}$/ : /^-?[0-9]{1,3}(?:\.[0-9]{1,15})?$/;
        const number = isNumber.test(text) ? Number(text) : Number.NaN;
        if (number >= field.min && number <= field.max) return number;
        return fault(
          `Must be a ${field.kind === "integer" ? "whole " : ""}number from ${field.min} to ${field.max}.`,
        );
      }
      case "boolean":
        if (/^(?:true|yes|1)$/i.test(text)) return true;
        return /^(?:false|no|0)$/i.test(text) ? false : fault("Must be true or false, or yes or no.");
      case "array": {
        const items = text
          .split("|")
          .map((item) => item.trim())
          .filter((item) => item !== "");
        const values = items.map((item) => this.#value(attribute, field.items, name, item));
        return values.includes(null) ? null : (values as readonly JsonValue[]);
      }
      case "schema":
        return text === field.value ? text : fault(`Must be ${field.value}, or left out.`);
      case "object":
        throw new Error(`${name} has members of its own.`);
    }
  }

  #text(
    attribute: string,
    field: Field & { readonly kind: "text" },
    name: string,
    written: string,
  ): string | null {
    const isOptional = field.optional === true;
    const fault = (detail: string): null => this.#unusable(attribute, isOptional, { value: written, detail });
    if (field.role === "identifier") {
      const cell = readCell(written, { isNumber: true });
      const detail = cell.fault ?? leftOver(cell.value);
      return detail === null && cell.fault === null ? cell.value : fault(detail ?? "");
    }
    const read = readText(written, { isMultiline: field.multiline });
    if (read.fault !== null) return fault(read.fault);
    if (read.hadMarkup) this.#notes.push(markupRemoved(attribute, written));
    if (read.text === "") return fault("There is no text in it.");
    const short = shortTexts.includes(name) ? shortened(read.text, field.max) : read.text;
    if (short !== read.text) this.#notes.push(valueShortened(attribute, read.text, field.max));
    return short;
  }

  #unusable(
    attribute: string,
    isOptional: boolean,
    about: { readonly value: string; readonly detail: string },
  ): null {
    const effect = isOptional ? "attribute_left_out" : "item_left_out";
    this.#notes.push(note(effect, "value_invalid", { attribute, ...about }));
    return null;
  }
}

/** Throws {@link FeedError} for a path of no member. */
export function assertPaths(collection: CollectionName, { set, members }: Beside): void {
  const known = leafPaths(recordTypes[collection].members);
  for (const name of [
    ...set.keys(),
    ...Object.keys(members).filter((each) => !Object.hasOwn(recordTypes[collection].members, each)),
  ])
    if (!known.includes(name)) throw new FeedError(0, `${unknownMember(collection, name)} It cannot be set.`);
}

/** What is wrong with a name of no member, and which is meant. */
export function unknownMember(collection: CollectionName, name: string): string {
  const known = leafPaths(recordTypes[collection].members);
  const nearest = nearestName(name, known);
  const hint = nearest === null ? `They are ${known.join(", ")}.` : `Is it ${nearest}?`;
  return `Records of the type ${collection} have no member ${JSON.stringify(name)}. ${hint}`;
}

/** The members that one value fills, by their paths: `geo.lat`, `locations.city`. */
export function leafPaths(members: Members, prefix = ""): readonly string[] {
  return Object.entries(members).flatMap(([name, field]) => {
    const inner = field.kind === "array" ? field.items : field;
    return inner.kind === "object" ? leafPaths(inner.members, `${prefix}${name}.`) : [`${prefix}${name}`];
  });
}

/** The field at a path, and after how many of its steps a list of objects stands; null where there is none. */
function placeOf(
  members: Members,
  steps: readonly string[],
): { readonly field: Field; readonly list: number | null } | null {
  let field: Field | undefined;
  let within: Members | null = members;
  let list: number | null = null;
  for (const [at, step] of steps.entries()) {
    field = within !== null && Object.hasOwn(within, step) ? within[step] : undefined;
    if (field === undefined) return null;
    const inner: Field = field.kind === "array" && field.items.kind === "object" ? field.items : field;
    if (inner !== field && at + 1 < steps.length) list = at + 1;
    within = inner.kind === "object" ? inner.members : null;
  }
  return field === undefined ? null : { field, list };
}

function put(record: Record<string, JsonValue>, steps: readonly (string | number)[], value: JsonValue): void {
  let within = record as Record<string | number, unknown>;
  for (const [at, step] of steps.slice(0, -1).entries()) {
    within[step] ??= typeof steps[at + 1] === "number" ? [] : {};
    within = within[step] as Record<string | number, unknown>;
  }
  within[steps.at(-1) ?? ""] = value;
}

/** What the record has at a path; a list on the way is what all its items have. */
function valueIn(record: JsonObject, steps: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = record;
  for (const step of steps) value = isObject(value) ? value[step] : Array.isArray(value) ? value : undefined;
  return value;
}

/** How many codes of a vocabulary are named where one is wanted. */
const codesShownMax = 40;

function codeFault(text: string, list: CodeList): string {
  const meant = meantCode(text, list, nearestName);
  const hint = meant === null ? "" : ` Is it ${meant}?`;
  if (list.codes.size <= codesShownMax) return `Must be one of ${[...list.codes].join(", ")}.${hint}`;
  return `Must be a code of the vocabulary ${list.name} (${list.standard}).${hint}`;
}

/** A telephone number in international form, without what people write between its digits. */
function readPhone(written: string): ReadValue {
  const value = written.replace(/^tel:/i, "").replaceAll(/[\s()./-]/g, "");
  if (!phoneForm.accepts(value)) return { fault: `Must be ${phoneForm.meaning}.` };
  return { value, change: value === written ? null : `Written as ${value}`, fault: null };
}
