// The answers to an AI company (specification, «A. Retrieval API»).

import { aiPolicyRecord, type PolicyBits, policyBitsShape } from "../ai-policy.ts";
import { envelopeShape } from "../dsse.ts";
import { type CollectionName, collectionNames, isKeyId, type ShownType } from "../identifiers.ts";
import { searchRowsMax } from "../limits.ts";
import {
  currentProjection,
  type FactName,
  type ProjectionRule,
  type RulesOf,
} from "../projection/project.ts";
import { businessFileMembers } from "../records/business-files.ts";
import type { Field, Members } from "../records/fields.ts";
import { fieldShape, type RecordOf, recordShape, recordTypes } from "../records/parse-record.ts";
import type { IndexRow } from "../row.ts";
import { recordSealShape } from "../seal.ts";
import {
  country,
  described,
  either,
  flag,
  hash,
  integer,
  keyId,
  list,
  listOf,
  literal,
  matching,
  named,
  namedObject,
  nullable,
  number,
  type Of,
  object,
  oneOf,
  optional,
  pascalCase,
  type Shape,
  text,
  timestamp,
  uuid,
  versionNumber,
} from "../shape.ts";
import { unsigned } from "../unsigned-members.ts";
import { recordId } from "./push.ts";

// A search row as it is served, with one shape per collection: what the current projection makes of a record, the row's
// signature and the serve-time members (specification, «Search row»).

const facts: Readonly<Record<Exclude<FactName, "type" | "adl_proj">, Shape<string | number>>> = {
  record_id: recordId,
  business_uuid: uuid,
  published_at: described(integer({ min: 0, max: 253_402_300_799 }), "Unix seconds."),
  adl_origin: described(hash, "Hash of the record's exact bytes."),
  adl_origin_cert: described(hash, "The certificate that the record was sealed under."),
  adl_key_id: described(keyId, "The key that signed the row."),
  ai_policy_version: versionNumber,
};

const rowSignature = matching(/^[A-Za-z0-9+/]{86}==$/, "a base64 Ed25519 signature");
const bitsSay = "The AI policy in force.";

/** What a row of a search has beside its signed members. */
const served = {
  adl_row_sig: rowSignature,
  ai_policy_bits: unsigned("search", "/rows/*/ai_policy_bits", { shape: policyBitsShape, says: bitsSay }),
};
const servedProduct = {
  ...served,
  sponsored: optional(
    unsigned("search", "/rows/*/sponsored", {
      shape: literal(true),
      says: "Present where the row is an ad.",
    }),
  ),
};

/** The same of the row of an ad, whose item carries the sealed AI policy. */
const servedAd = {
  adl_row_sig: rowSignature,
  ai_policy_bits: unsigned("ad_item", "/row/ai_policy_bits/action", {
    shape: policyBitsShape,
    says: `${bitsSay} Of \`action\`:`,
  }),
};

/** The members of {@link IndexRow}, those of its collection, and those set when the row is served. */
const searchRow: Shape<IndexRow> = named(
  "SearchRow",
  either(
    ...collectionNames.map((name) =>
      named(`${pascalCase(name)}Row`, rowOf(name, name === "products" ? servedProduct : served)),
    ),
  ),
) as Shape<unknown> as Shape<IndexRow>;

/** The row of an ad, which only the item of an ad carries. */
export const adRow: Shape<IndexRow> = named(
  "AdRow",
  rowOf("ads", servedAd),
) as Shape<unknown> as Shape<IndexRow>;

function rowOf(collection: ShownType, atServing: Readonly<Record<string, Shape<unknown>>>): Shape<unknown> {
  const { version, rules } = currentProjection(collection);
  const members: Record<string, Shape<unknown>> = { ...atServing };
  const ofCountries: Record<string, Shape<unknown>> = {};
  for (const rule of rules) {
    if (rule.rule === "by_country")
      ofCountries[namePattern(rule.member)] = rule.as === "number" ? number : text(64);
    else members[rule.member] = memberOf(collection, version, rule);
  }
  return object(members, ofCountries);
}

/** The name pattern of a member; for `price_<CC>` it is `^price_[A-Z]{2}$`. */
function namePattern(member: string): string {
  return `^${member.replace("<CC>", "[A-Z]{2}")}$`;
}

/** A row of a search in a collection, as its projection makes it. Members for countries end with the code in capitals. */
export type SearchRow<C extends CollectionName = CollectionName> = { [N in C]: RowOf<N> }[C];

type RowOf<C extends CollectionName> = Omit<Pick<IndexRow, FactName | "adl_row_sig">, "type"> & {
  readonly type: C;
  readonly ai_policy_bits: PolicyBits;
} & {
  readonly [R in MadeBy<C> as undefined extends Made<R, C> ? never : NameOf<R>]: Made<R, C>;
} & {
  readonly [R in MadeBy<C> as undefined extends Made<R, C> ? NameOf<R> : never]?: NonNullable<Made<R, C>>;
} & (C extends "products" ? { readonly sponsored?: true } : unknown);

type MadeBy<C extends CollectionName> = Exclude<RulesOf<C>, { readonly rule: "fact" }>;

type NameOf<R extends ProjectionRule> = R["member"] extends `${infer Stem}<CC>`
  ? `${Stem}${Uppercase<string>}`
  : R["member"];

type Made<R, C extends CollectionName> = R extends { readonly rule: "constant"; readonly value: infer V }
  ? V
  : R extends { readonly rule: "by_country"; readonly as: infer As }
    ? As extends "number"
      ? number
      : string
    : R extends { readonly rule: "is_present" | "is_not_empty" }
      ? boolean
      : R extends { readonly rule: "copy_each"; readonly from: infer P; readonly each: infer E }
        ? readonly NonNullable<At<ItemOf<At<RecordOf<C>, P>>, E>>[]
        : R extends { readonly rule: "number"; readonly from: infer P }
          ? number | Extract<At<RecordOf<C>, P>, undefined>
          : R extends { readonly rule: "copy"; readonly from: infer P }
            ? At<RecordOf<C>, P>
            : never;

type ItemOf<A> = A extends readonly (infer I)[] ? I : never;

/** What a pointer leads to; undefined where a member on the way may be absent. */
type At<V, P> = V extends undefined
  ? undefined
  : P extends `/${infer Name}/${infer Rest}`
    ? Name extends keyof V
      ? At<V[Name], `/${Rest}`>
      : never
    : P extends `/${infer Name}`
      ? Name extends keyof V
        ? V[Name]
        : never
      : never;

type Single = Exclude<ProjectionRule, { readonly rule: "by_country" }>;

function memberOf(collection: ShownType, version: string, rule: Single): Shape<unknown> {
  switch (rule.rule) {
    case "fact":
      if (rule.member === "type") return literal(collection);
      return rule.member === "adl_proj" ? literal(version) : facts[rule.member];
    case "seal":
      return described(envelopeShape, "The advertiser's seal over the exact bytes of the ad.");
    case "constant":
      return literal(rule.value);
    case "is_present":
    case "is_not_empty":
      return flag;
    default: {
      const { field, isOptional } = fieldAt(collection, rule.from);
      const shape = shapeOf(field, rule);
      return isOptional ? optional(shape) : shape;
    }
  }
}

function shapeOf(field: Field, rule: Extract<Single, { readonly from: string }>): Shape<unknown> {
  if (rule.rule === "number") return number;
  if (rule.rule !== "copy_each" || field.kind !== "array" || field.items.kind !== "object")
    return fieldShape(field);
  return listOf(fieldShape(stepInto(field.items.members, rule.each.slice(1))));
}

/** The field at a pointer into a record, and whether a record may omit it. */
function fieldAt(
  collection: ShownType,
  pointer: string,
): { readonly field: Field; readonly isOptional: boolean } {
  const { members } = recordTypes[collection];
  let field: Field = { kind: "object", members, description: "" };
  let isOptional = false;
  for (const name of pointer.slice(1).split("/")) {
    if (field.kind !== "object") throw new Error(`${pointer} leads through what is no object.`);
    field = stepInto(field.members, name);
    isOptional ||= field.optional === true;
  }
  return { field, isOptional };
}

function stepInto(members: Members, name: string): Field {
  const field = members[name];
  if (field === undefined) throw new Error(`A projection copies ${name}, which its record does not have.`);
  return field;
}

// The answers to a search and to a fetch.

export const searchAnswer = namedObject("SearchAnswer", {
  retrieval_id: text(128),
  collection: oneOf(collectionNames),
  country,
  rows: list(searchRow, { min: 0, max: searchRowsMax }),
  receipt: envelopeShape,
});
/** Of a search in a collection. */
export type SearchAnswer<C extends CollectionName = CollectionName> = Omit<
  Of<typeof searchAnswer>,
  "collection" | "rows"
> & { readonly collection: C; readonly rows: readonly SearchRow<C>[] };

const sourceLineText = text(2_048);
const sourceLineSays = "What to cite: the record, its certificate, when it was served.";
export const sourceLine = described(sourceLineText, sourceLineSays);
export const webAddress = matching(/^https?:\/\/[!-~]+$/, "an address on the web", { format: "uri" });

const policy = object({
  version: described(versionNumber, "0 while no AI policy has been sealed; record and seal are then null."),
  record: nullable(aiPolicyRecord),
  seal: nullable(recordSealShape),
});

export const fetchedRecord = namedObject("FetchedRecord", {
  record_id: recordId,
  business_uuid: uuid,
  type: oneOf(collectionNames),
  published_at: timestamp,
  record: described(
    recordShape,
    "The sealed record. The seal's hash covers its exact text, from the colon to the comma that follows.",
  ),
  seal: recordSealShape,
  sidecar: envelopeShape,
  ai_policy: policy,
  represent_us: described(
    optional(fieldShape(businessFileMembers.represent_us)),
    "Business files: the five texts that say how to represent the business.",
  ),
  endpoints: described(
    optional(
      object({
        status: unsigned("fetch", "/endpoints/status", {
          shape: oneOf(["authorised", "unconfirmed", "suspended"]),
        }),
        items: fieldShape(businessFileMembers.endpoints),
      }),
    ),
    "Business files: the addresses. `authorised`: the business controls all of their domains. `unconfirmed`: that was never confirmed of one of them. `suspended`: use none of them.",
  ),
  provenance: object({
    certificate_url: unsigned("fetch", "/provenance/certificate_url", { shape: webAddress }),
    projection_version: matching(/^[a-z_]{1,32}\/[1-9][0-9]{0,5}$/, "a projection version"),
    log_leaf: described(
      hash,
      "The seal's leaf in the transparency log: what an inclusion read is asked about. The log has it within an hour of the publication.",
    ),
    source_line: unsigned("fetch", "/provenance/source_line", {
      shape: sourceLineText,
      says: sourceLineSays,
    }),
  }),
  receipt: envelopeShape,
});
/** A fetched record, whose `type` says of which form its `record` is. */
export type FetchedRecord<C extends CollectionName = CollectionName> = {
  [N in C]: Omit<Of<typeof fetchedRecord>, "type" | "record"> & {
    readonly type: N;
    readonly record: RecordOf<N>;
  };
}[C];

// The event stream of an AI company: one event for every search and fetch that was answered.

/** Events in one answer, at most and by default. */
export const eventsPageMax = 1_000;
export const eventsPageUsual = 100;

/** Where to read on. */
export const eventCursor = described(
  matching(/^[0-9]{1,15}-ret_[0-9a-f]{32}$/, "a cursor of an earlier answer"),
  "Opaque: where the next read goes on, as `after`.",
);

export const companyEvent = namedObject("CompanyEvent", {
  event_id: described(
    matching(/^event_[0-9a-f]{32}$/, "an event id"),
    "The same if an event is delivered again, which may happen.",
  ),
  cursor: eventCursor,
  type: oneOf(["search", "fetch", "ad_pool"]),
  at: described(timestamp, "When it was served, as in the receipt."),
  retrieval_id: text(128),
  key_id: matching(isKeyId, "a key id"),
  client_query_id: described(nullable(text(128)), "As sent with the search; null if there was none."),
  collection: nullable(oneOf(collectionNames)),
  country: nullable(country),
  rows: integer({ min: 0, max: searchRowsMax }),
  billable: flag,
  region: described(text(64), "The region that answered; each has its own stream."),
});
export type CompanyEvent = Of<typeof companyEvent>;

export const companyEvents = namedObject("CompanyEvents", {
  events: list(companyEvent, { min: 0, max: eventsPageMax }),
  next_cursor: described(
    nullable(eventCursor),
    "Of the last event, or as asked if there is none; null if there was no event yet.",
  ),
});
export type CompanyEvents = Of<typeof companyEvents>;
