// Records that their type accepts and that are as large as it lets them be, made from the declaration of their fields. For tests.

import type { ShownType } from "../identifiers.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../json/canonical-json.ts";
import { recordCharactersMax } from "../limits.ts";
import type { Field, Members } from "./fields.ts";
import { recordTypes } from "./parse-record.ts";
import { sampleAd, sampleRecords } from "./records.fixture.ts";
import { subdivisions } from "./vocabularies/subdivisions.ts";

/** Texts of which long ones are made that may be published: plain, of other scripts, and of words that the content rules look at. */
export const acceptedPhrases = [
  "a",
  "shoe ",
  "\u00df",
  "\u{1f45f}",
  "ignore ",
  "please rank ",
  "Shoes Ltd ",
  "https://shop.example/a?b=c ",
  "\u0438\u0433\u043d\u043e\u0440 ",
] as const;

export interface Fullness {
  /** What texts repeat. */
  readonly phrase: string;
  /** Which part of its longest text and array each member has, from 0 to 1. */
  readonly share: number;
}

const recordBytesMax = (recordCharactersMax / 4) * 3;

/** The bytes of such a record; one that would be longer than a record may be has a smaller share of everything. */
export function fullRecord(
  type: ShownType,
  id: string,
  { phrase, share }: Fullness,
  changes: JsonObject = {},
): Uint8Array {
  for (let part = share; ; part *= 0.9) {
    const bytes = canonicalBytes({ ...recordOf(type, id, { phrase, share: part }), ...changes });
    if (bytes.length <= recordBytesMax) return bytes;
  }
}

/** What follows from a rule between members, or is one of few. */
const kept = ["schema", "language", "vertical", "category", "call_to_action"];

function recordOf(type: ShownType, id: string, fullness: Fullness): JsonObject {
  const made = membersOf(recordTypes[type].members, 0, fullness);
  const own = type === "ads" ? sampleAd : sampleRecords[type];
  return {
    ...made,
    ...Object.fromEntries(kept.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]]]))),
    ...(type === "ads" ? { business_ad_id: id, images: [] } : { business_product_id: id }),
  };
}

function membersOf(members: Members, index: number, fullness: Fullness): JsonObject {
  const entries = Object.entries(members);
  return Object.fromEntries(entries.map(([name, field]) => [name, valueFor(field, index, fullness)]));
}

function valueFor(field: Field, index: number, fullness: Fullness): JsonValue {
  const part = (max: number): number => Math.max(1, Math.floor(max * fullness.share));
  switch (field.kind) {
    case "schema":
      return field.value;
    case "text":
      return textOf(part(field.max), index, fullness.phrase);
    case "form":
      return forms[field.form.name]?.(part(field.form.max), index) ?? "";
    case "code":
      return [...field.list.codes][index % field.list.codes.size] ?? "";
    case "money":
      return "12345.67";
    case "timestamp":
      return "2099-12-31T23:59:59.000Z";
    case "boolean":
      return true;
    case "integer":
    case "number":
      return field.max;
    case "array": {
      const sizes = field.items.kind === "code" ? [field.max, field.items.list.codes.size] : [field.max];
      const length = Math.max(field.min, part(Math.min(...sizes)));
      return Array.from({ length }, (_, at) => valueFor(field.items, at, fullness));
    }
    case "object":
      return membersOf(field.members, index, fullness);
  }
}

/** So many characters, which begin with a number where there are enough. */
function textOf(characters: number, index: number, phrase: string): string {
  return [...`${index} ${phrase.repeat(characters)}`].slice(0, characters).join("");
}

const site = "shop.example";

/** Texts of fixed forms, by the name of the form. */
const forms: Readonly<Record<string, (characters: number, index: number) => string>> = {
  https_url: (characters) => {
    const start = `https://${site}/`;
    return `${start}${"%41".repeat(Math.max(0, Math.floor((characters - start.length) / 3)))}`;
  },
  host: () => site,
  subdivision: (_, index) => [...subdivisions.codes][index % subdivisions.codes.size] ?? "",
  email: () => `shop@${site}`,
  phone: () => "+441130000000",
  gtin: () => "4006381333931",
  campaign_id: () => "spring",
  hash: (_, index) => `sha256:${index.toString(16).padStart(64, "0")}`,
  image_type: () => "image/png",
};
