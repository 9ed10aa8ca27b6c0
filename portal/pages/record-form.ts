// A form of a record, made from the declaration of its fields, by which it is judged as well.
//   RF1. Each control has the name of its value's pointer, and every fault is beside the control to which its pointer leads.
//   RF2. What cannot be read as a field's type is handed on as it is written: the rules of the type say what is wrong with it.
//   RF3. A list of objects with lists or objects in them is written as JSON, which is shown with a bounded number of further characters.

import { type ComponentChild, type ComponentChildren, h } from "preact";
import { utf8 } from "../../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import type { Field, Members, RecordFault } from "../../protocol/records/fields.ts";
import type { CodeList } from "../../protocol/records/vocabularies/code-list.ts";
import { isObject } from "../../std/json-pointer.ts";
import { wording } from "../language.ts";
import { type PageAnswer, page } from "../visit.ts";
import { hiddenFields } from "./frame.ts";

const texts = () => wording().portal.record;

/** A fault as people are shown it. */
export type ShownFault = Pick<RecordFault, "pointer" | "detail" | "suggestion" | "quote">;

/** What is written in the form, with what could not be read in it. */
export interface WrittenRecord {
  readonly record: JsonObject;
  readonly faults: readonly ShownFault[];
}

/** Reads a form; `form` has the text of each control, which is empty where there is none. */
export function writtenRecord(members: Members, form: (name: string) => string): WrittenRecord {
  const faults: ShownFault[] = [];
  return { record: readMembers(members, "", { form, faults }), faults };
}

interface Reading {
  readonly form: (name: string) => string;
  readonly faults: ShownFault[];
}

function readMembers(members: Members, pointer: string, reading: Reading): JsonObject {
  const read = Object.entries(members).flatMap(([name, field]) => {
    const value = readField(field, `${pointer}/${name}`, reading);
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(read);
}

function readField(field: Field, pointer: string, reading: Reading): JsonValue | undefined {
  const written = reading.form(pointer).replaceAll("\r\n", "\n");
  const control = controlOf(field);
  switch (control.kind) {
    case "group": {
      const value = readMembers(control.members, pointer, reading);
      const isBlank = Object.values(value).every((each) => Array.isArray(each) && each.length === 0);
      return field.optional === true && isBlank ? undefined : value;
    }
    case "json":
      return readJson(field, pointer, written, reading);
    case "rows":
      return listOr(
        field,
        Array.from({ length: control.max }, (_, at) =>
          readMembers(control.members, `${pointer}/${at}`, reading),
        ).filter((row) => Object.keys(row).length > 0),
      );
    case "lines": {
      const lines = written
        .split(control.separator)
        .map((each) => each.trim())
        .filter((each) => each !== "");
      const { member } = control;
      return listOr(
        field,
        lines.map((line) => (member === null ? line : { [member]: line })),
      );
    }
    case "choices":
      return listOr(
        field,
        [...control.list.codes].filter((code) => reading.form(`${pointer}/${code}`) === "on"),
      );
    case "one":
      return readOne(field, written);
  }
}

function listOr({ optional }: Field, list: readonly JsonValue[]): JsonValue | undefined {
  return optional === true && list.length === 0 ? undefined : list;
}

/** Deeper than any field, so that the rules of the type say what is wrong with the rest. */
const jsonDepthMax = 8;

function readJson(
  field: Field,
  pointer: string,
  written: string,
  { faults }: Reading,
): JsonValue | undefined {
  if (written.trim() === "") return listOr(field, []);
  const parsed = parseStrictJson(utf8(written), { depthMax: jsonDepthMax });
  if (parsed.ok) return parsed.value;
  faults.push({ pointer, detail: texts().notJson(parsed.detail) });
  return written;
}

/** What was written into a field for a time, which is in UTC, as a timestamp; any other text is left as it is. */
export function timestampIn(text: string): string {
  const [whole = "", part = ""] = text.split(".");
  const seconds = whole.length === "2026-01-01T00:00".length ? `${whole}:00` : whole;
  return localTime.test(text) ? `${seconds}.${part.padEnd(3, "0")}Z` : text;
}

const localTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?$/;

function readOne(field: Field, written: string): JsonValue | undefined {
  if (field.kind === "schema") return field.value;
  if (field.kind === "text")
    return written !== "" || (field.mayBeEmpty === true && field.optional !== true) ? written : undefined;
  const text = written.trim();
  if (text === "") return undefined;
  switch (field.kind) {
    case "integer":
    case "number":
      return /^-?[0-9]{1,15}(?:\.[0-9]{1,15})?$/.test(text) ? Number(text) : text;
    case "boolean":
      return text === "true" || text === "false" ? text === "true" : text;
    case "timestamp":
      return timestampIn(text);
    default:
      return text;
  }
}

/** How a field is written. */
type Control =
  | { readonly kind: "one" }
  | { readonly kind: "group"; readonly members: Members }
  /** A list of texts; of objects with one member, that member's. */
  | { readonly kind: "lines"; readonly separator: RegExp; readonly member: string | null }
  | { readonly kind: "choices"; readonly list: CodeList }
  | { readonly kind: "rows"; readonly members: Members; readonly max: number }
  | { readonly kind: "json" };

/** Vocabularies of up to so many codes are shown whole. */
const codesShownMax = 40;

function controlOf(field: Field): Control {
  if (field.kind === "object")
    return isFlat(field.members, 1) ? { kind: "group", members: field.members } : { kind: "json" };
  if (field.kind !== "array") return { kind: "one" };
  const { items, max } = field;
  if (items.kind === "code")
    return items.list.codes.size <= codesShownMax
      ? { kind: "choices", list: items.list }
      : { kind: "lines", separator: /[\s,]+/, member: null };
  if (items.kind === "text" || items.kind === "form") return { kind: "lines", separator: /\n/, member: null };
  if (items.kind !== "object" || !isFlat(items.members, 0)) return { kind: "json" };
  const [[member, only] = [], ...others] = Object.entries(items.members);
  return member !== undefined && only?.kind === "text" && others.length === 0
    ? { kind: "lines", separator: /\n/, member }
    : { kind: "rows", members: items.members, max };
}

/** Whether no member has members of its own; with a `depth`, lists of texts and codes do not count. */
function isFlat(members: Members, depth: 0 | 1): boolean {
  return Object.values(members).every(
    (each) => each.kind !== "object" && (each.kind !== "array" || (depth === 1 && isSimpleList(each))),
  );
}

function isSimpleList(field: Field): boolean {
  return field.kind === "array" && field.items.kind !== "object" && field.items.kind !== "array";
}

// The form as it is shown.

export interface ShownRecord {
  readonly members: Members;
  readonly record: JsonObject;
  readonly faults: readonly ShownFault[];
}

/** How many empty rows a list of objects is shown with. */
const emptyRows = 3;

/** @internal for tests. What is wrong, with where it is; null where nothing is. */
export function faultSummary({ members, record, faults }: ShownRecord): ComponentChild {
  if (faults.length === 0) return null;
  const places = new Set(placesOf(members, record, ""));
  const placeOf = (pointer: string): string | null => {
    for (let at = pointer; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) if (places.has(at)) return at;
    return null;
  };
  const items = faults.map((fault) => {
    const place = placeOf(fault.pointer);
    const said = `${fault.pointer === "" ? "" : `${fault.pointer}: `}${faultText(fault)}`;
    return h("li", null, place === null ? said : h("a", { href: `#${idOf(place)}` }, said));
  });
  return h(
    "section",
    // The page begins with its faults, also for a keyboard.
    { class: "card", role: "alert", "aria-labelledby": "faults", tabIndex: -1, autofocus: true },
    h("h2", { id: "faults" }, texts().faults(faults.length)),
    h("ul", { class: "links" }, items),
  );
}

/** The controls for every field, with what is written and what is wrong with it. */
export function recordFields({ members, record, faults }: ShownRecord): ComponentChildren {
  const lists = new Map(longLists(members).map((list) => [list.name, list]));
  return [
    ...[...lists.values()].map((list) =>
      h(
        "datalist",
        { id: listId(list) },
        list.entries.map(({ code, name }) => h("option", { value: code }, wording().said(name))),
      ),
    ),
    ...memberControls(members, "", { value: record, faults }),
  ];
}

/** The faults of what was written, and of those found in what was read of it the others: a field that cannot be read has one. */
export function allFaults(
  written: readonly ShownFault[],
  found: readonly ShownFault[],
): readonly ShownFault[] {
  const unread = new Set(written.map(({ pointer }) => pointer));
  return [...written, ...found.filter(({ pointer }) => !unread.has(pointer))];
}

/** The page on which a record is written, with what is wrong with it. */
export function recordFormPage(
  shown: ShownRecord,
  {
    title,
    action,
    fields,
    buttons: { make, moreRows },
    back,
    more = null,
  }: {
    readonly title: string;
    readonly action: string;
    readonly fields: Readonly<Record<string, string>>;
    readonly buttons: { readonly make: string; readonly moreRows: string };
    readonly back: string;
    /** What else the form takes. */
    readonly more?: ComponentChildren;
  },
): PageAnswer {
  const form = h(
    "form",
    { method: "post", action, class: "card" },
    hiddenFields(fields),
    recordFields(shown),
    more,
    h(
      "p",
      null,
      h("button", { type: "submit" }, make),
      hasRows(shown.members) ? h("button", { type: "submit", name: "more", value: "1" }, moreRows) : null,
    ),
  );
  const leave = h("p", null, h("a", { href: back }, wording().portal.doNothing));
  return page(title, h("div", null, h("h1", null, title), faultSummary(shown), form, leave));
}

/** Whether there are lists of which further rows can be asked for. */
function hasRows(members: Members): boolean {
  return Object.values(members).some((field) => controlOf(field).kind === "rows");
}

interface Shown {
  readonly value: JsonValue | undefined;
  readonly faults: readonly ShownFault[];
}

function memberControls(members: Members, pointer: string, { value, faults }: Shown): ComponentChild[] {
  const values: JsonObject = isObject(value) ? (value as JsonObject) : {};
  return Object.entries(members).map(([name, field]) =>
    fieldControl(name, field, `${pointer}/${name}`, { value: values[name], faults }),
  );
}

function fieldControl(name: string, field: Field, pointer: string, shown: Shown): ComponentChild {
  if (field.kind === "schema") return null;
  const control = controlOf(field);
  const { value } = shown;
  const items = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
  switch (control.kind) {
    case "group":
      return fieldset(name, field, pointer, shown, memberControls(control.members, pointer, shown));
    case "rows": {
      const count = Math.min(control.max, items.length + emptyRows);
      const rows = Array.from({ length: count }, (_, at) => {
        const place = `${pointer}/${at}`;
        const inside = memberControls(control.members, place, { value: items[at], faults: shown.faults });
        const own = ownFaults(shown.faults, place);
        const described = own.length === 0 ? {} : { "aria-describedby": faultId(place) };
        return h(
          "fieldset",
          { class: "line", id: idOf(place), tabIndex: -1, ...described },
          h("legend", null, texts().item(at + 1)),
          inside,
          faultNotes(own, place),
        );
      });
      return fieldset(name, field, pointer, shown, rows);
    }
    case "choices": {
      const codes = control.list.entries.map(({ code, name: said }) =>
        h(
          "label",
          { class: "choice" },
          h("input", { type: "checkbox", name: `${pointer}/${code}`, checked: items.includes(code) }),
          wording().said(said),
        ),
      );
      return fieldset(name, field, pointer, { ...shown, faults: within(shown.faults, pointer) }, codes);
    }
    default:
      return labelled(name, field, pointer, shown);
  }
}

function fieldset(
  name: string,
  field: Field,
  pointer: string,
  { faults }: Shown,
  content: ComponentChildren,
): ComponentChild {
  const own = controlOf(field).kind === "choices" ? faults : ownFaults(faults, pointer);
  return h(
    "fieldset",
    { id: idOf(pointer), tabIndex: -1, "aria-describedby": describedBy(pointer, own) },
    h("legend", null, labelOf(name, field)),
    h("p", { id: hintId(pointer), class: "quiet small" }, wording().said(field.description)),
    faultNotes(own, pointer),
    content,
  );
}

/** A control of its own with its label, hint and faults. */
function labelled(name: string, field: Field, pointer: string, { value, faults }: Shown): ComponentChild {
  const own = within(faults, pointer);
  const common = {
    id: idOf(pointer),
    name: pointer,
    "aria-describedby": describedBy(pointer, own),
    ...(own.length === 0 ? {} : { "aria-invalid": "true" as const }),
  };
  return h(
    "div",
    { class: "field" },
    h("label", null, labelOf(name, field), inputOf(field, value, common)),
    h("p", { id: hintId(pointer), class: "quiet small" }, hintOf(field)),
    faultNotes(own, pointer),
  );
}

type Common = Readonly<Record<string, unknown>> & { readonly id: string; readonly name: string };

function inputOf(field: Field, value: JsonValue | undefined, common: Common): ComponentChild {
  const control = controlOf(field);
  if (control.kind === "json") {
    const text = value === undefined || typeof value === "string" ? (value ?? "") : written(value);
    return h("textarea", { ...common, spellcheck: false }, text);
  }
  if (control.kind === "lines") {
    const items = Array.isArray(value) ? (value as readonly JsonValue[]) : [];
    const { member } = control;
    const said = items.map((each) =>
      textOf(member !== null && isObject(each) ? memberOf(each, member) : each),
    );
    if (control.separator.test(",")) return h("input", { ...common, value: said.join(", "), ...noHelp });
    return h("textarea", common, said.join("\n"));
  }
  const text = textOf(value);
  switch (field.kind) {
    case "text":
      return field.multiline ? h("textarea", common, text) : h("input", { ...common, value: text });
    case "boolean":
      return selectOf(
        [
          ["true", texts().yes],
          ["false", texts().no],
        ],
        text,
        common,
      );
    case "code": {
      if (field.list.codes.size > codesShownMax)
        return h("input", { ...common, value: text, list: listId(field.list), ...noHelp });
      return selectOf(
        field.list.entries.map(({ code, name }) => [code, wording().said(name)]),
        text,
        common,
      );
    }
    case "timestamp": {
      const isMoment = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/.test(text);
      return isMoment || text === ""
        ? h("input", { ...common, type: "datetime-local", step: "0.001", value: text.slice(0, -1) })
        : h("input", { ...common, value: text });
    }
    case "integer":
      return h("input", { ...common, inputMode: "numeric", value: text, ...noHelp });
    case "number":
    case "money":
      return h("input", { ...common, inputMode: "decimal", value: text, ...noHelp });
    default:
      return h("input", { ...common, value: text, ...noHelp });
  }
}

const noHelp = { autocomplete: "off", spellcheck: false };

/** What is no option is shown as one, so that nothing that was written is lost. */
function selectOf(
  options: readonly (readonly [value: string, name: string])[],
  chosen: string,
  common: Common,
): ComponentChild {
  const known = options.some(([value]) => value === chosen) || chosen === "";
  const all = [["", "–"] as const, ...options, ...(known ? [] : [[chosen, chosen] as const])];
  return h(
    "select",
    common,
    all.map(([value, name]) => h("option", { value, selected: value === chosen }, name)),
  );
}

function textOf(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Indented JSON may have several times the characters of the value: a longer one is shown on one line. */
const indentedCharactersMax = 10_240;

function written(value: JsonValue): string {
  if (Array.isArray(value) && value.length === 0) return "";
  const text = JSON.stringify(value);
  return text.length > indentedCharactersMax ? text : JSON.stringify(value, null, 2);
}

function memberOf(value: Readonly<Record<string, unknown>>, name: string): JsonValue | undefined {
  return value[name] as JsonValue | undefined;
}

/** `business_product_id` as «Business product id». */
function labelOf(name: string, { optional }: Field): string {
  const words = name.replaceAll("_", " ");
  const label = wording().said(words.charAt(0).toUpperCase() + words.slice(1));
  return optional === true ? texts().optional(label) : label;
}

function hintOf(field: Field): string {
  const description = wording().said(field.description);
  const control = controlOf(field);
  if (control.kind === "json") return texts().asJson(description);
  if (control.kind === "lines")
    return control.separator.test(",") ? texts().withCommas(description) : texts().onLines(description);
  switch (field.kind) {
    case "text":
      return texts().upTo(description, field.max);
    case "timestamp":
      return texts().inUtc(description);
    case "integer":
    case "number":
      return texts().between(description, field.min, field.max);
    case "form":
      return texts().form(description, wording().said(field.form.meaning));
    default:
      return description;
  }
}

function ownFaults(faults: readonly ShownFault[], pointer: string): readonly ShownFault[] {
  return faults.filter((fault) => fault.pointer === pointer);
}

function within(faults: readonly ShownFault[], pointer: string): readonly ShownFault[] {
  return faults.filter((fault) => fault.pointer === pointer || fault.pointer.startsWith(`${pointer}/`));
}

function faultNotes(faults: readonly ShownFault[], pointer: string): ComponentChild {
  if (faults.length === 0) return null;
  const notes = faults.map((fault) => {
    const [, item] = /^\/([0-9]+)/.exec(fault.pointer.slice(pointer.length)) ?? [];
    const said = faultText(fault);
    return h("span", null, item === undefined ? said : `${texts().item(Number(item) + 1)}: ${said}`);
  });
  return h("p", { id: faultId(pointer), class: "faults" }, notes);
}

function faultText({ detail, suggestion, quote }: ShownFault): string {
  const meant = suggestion === undefined ? "" : ` ${texts().meant(suggestion)}`;
  const quoted = quote === undefined ? "" : ` ${texts().quoted(quote)}`;
  return `${wording().said(detail)}${meant}${quoted}`;
}

function idOf(pointer: string): string {
  return `field${pointer}`;
}

function hintId(pointer: string): string {
  return `hint${pointer}`;
}

function faultId(pointer: string): string {
  return `fault${pointer}`;
}

function describedBy(pointer: string, faults: readonly ShownFault[]): string {
  return faults.length === 0 ? hintId(pointer) : `${faultId(pointer)} ${hintId(pointer)}`;
}

function listId({ name }: CodeList): string {
  return `codes-${name}`;
}

/** The vocabularies that are too long to be shown whole, as far as one code of them is written. */
function longLists(members: Members): readonly CodeList[] {
  return Object.values(members).flatMap((field) => {
    const control = controlOf(field);
    if (control.kind === "group" || control.kind === "rows") return longLists(control.members);
    return field.kind === "code" && field.list.codes.size > codesShownMax ? [field.list] : [];
  });
}

/** The pointers that have a place in the form. */
function placesOf(members: Members, value: JsonValue | undefined, pointer: string): readonly string[] {
  const values: Readonly<Record<string, unknown>> = isObject(value) ? value : {};
  return Object.entries(members).flatMap(([name, field]) => {
    const place = `${pointer}/${name}`;
    const control = controlOf(field);
    const own = values[name] as JsonValue | undefined;
    if (control.kind === "group") return [place, ...placesOf(control.members, own, place)];
    if (control.kind !== "rows" || !Array.isArray(own)) return [place];
    const rows = (own as readonly JsonValue[]).slice(0, control.max);
    const placesOfRow = (row: JsonValue, at: number) => [
      `${place}/${at}`,
      ...placesOf(control.members, row, `${place}/${at}`),
    ];
    return [place, ...rows.flatMap(placesOfRow)];
  });
}
