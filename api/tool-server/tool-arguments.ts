// The arguments of the public tools: each shape judges a call and is published as the tool's JSON Schema. Rules between
// members are published without `anyOf` at the top, which some callers of tools do not take there.

import type { JsonObject } from "../../protocol/canonical-json.ts";
import { vocabularyNames } from "../../protocol/records/vocabularies/vocabulary-document.ts";
import {
  described,
  hash,
  integer,
  matching,
  object,
  oneOf,
  optional,
  region,
  type Shape,
  type ShapeFault,
  uuid,
} from "../../protocol/shape.ts";
import { type VerifyRequest, verifyRequest, wholes } from "../../protocol/wire/verify.ts";
import { isObject } from "../../std/is-object.ts";

/** A shape with a rule between its members, which is judged once every member is right. */
function ruled<T>(shape: Shape<T>, published: JsonObject, rule: (value: T) => ShapeFault | null): Shape<T> {
  return {
    schema: { ...shape.schema, ...published },
    judge: (value, pointer, tell) => {
      let isWhole = true;
      const goesOn = shape.judge(value, pointer, (fault) => {
        isWhole = false;
        return tell(fault);
      });
      const fault = isWhole && isObject(value) ? rule(value as T) : null;
      return goesOn && (fault === null || tell(fault));
    },
  };
}

const ruleKeywords = ["if", "then", "else"] as const;

/** The rule of JSON Schema that applies one schema where another is met, and a third where it is not. */
function where(...schemas: readonly [met: JsonObject, one: JsonObject, other: JsonObject]): JsonObject {
  return Object.fromEntries(ruleKeywords.map((keyword, index) => [keyword, schemas[index] ?? {}]));
}

/** A member that must be left out: some readers of tools take no bare `false` for a schema. */
const absent: JsonObject = { not: {} };

const { anyOf: _rule, ...verifyMembers } = verifyRequest.schema;

/** The body of POST /v1/verify. */
export const verifyArguments: Shape<VerifyRequest> = {
  ...verifyRequest,
  schema: {
    ...verifyMembers,
    ...where(
      { anyOf: wholes.map((name) => ({ required: [name] })) },
      { maxProperties: 1 },
      {
        required: ["record_base64"],
        anyOf: ["seal", "sidecar", "row"].map((name) => ({ required: [name] })),
        dependentRequired: { ai_policy_bits: ["seal"] },
      },
    ),
  },
};

export const certificateArguments = object({
  uuid: described(uuid, "UUID of the business or AI company."),
});

const ofParty: readonly string[] = ["business", "custody"];

export const keysArguments = ruled(
  object({
    of: described(
      oneOf(["service", "ai_companies", "business", "custody"]),
      "`service`: the service's own signed key set. `ai_companies`: the directory of those that chose to be listed. `business`: the published keys of one business. `custody`: who holds its keys.",
    ),
    uuid: optional(described(uuid, "UUID of the business, for `business` and `custody` only.")),
  }),
  where({ properties: { of: { enum: ofParty } } }, { required: ["uuid"] }, { properties: { uuid: absent } }),
  ({ of, uuid: named }) => {
    if (ofParty.includes(of) === (named !== undefined)) return null;
    const detail = ofParty.includes(of)
      ? `uuid is required: give the business whose keys are meant by ${of}.`
      : `uuid must be left out: ${of} is not about one business.`;
    return { pointer: "/uuid", detail };
  },
);

export const projectionArguments = object({
  type: described(matching(/^[a-z_]{1,32}$/, "a record type such as products"), "Record type."),
  version: described(integer({ min: 1, max: 999_999 }), "Version: the number in `adl_proj`."),
});

export const specArguments = object({
  format: optional(
    described(oneOf(["json", "markdown"]), "`markdown` for a text to read; JSON if left out."),
  ),
});

export const noArguments = object({});

const size = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });

export const proofArguments = ruled(
  object({
    leaf: optional(
      described(
        hash,
        "For a proof that the log contains a leaf: what the leaf is about. Of a receipt, the SHA-256 of its envelope's text.",
      ),
    ),
    region: optional(described(region, "With `leaf` of a receipt: its region.")),
    name: optional(
      described(
        matching(
          /^[0-9]{12}(?:-[A-Za-z0-9_-]{1,64})?$/,
          "a batch of receipts, or its minute as YYYYMMDDHHMM",
        ),
        "With `leaf` of a receipt: its batch, or only the minute in which it was served, as YYYYMMDDHHMM in UTC.",
      ),
    ),
    first: optional(described(size, "For a proof that the log only grew: the earlier size, without `leaf`.")),
    second: optional(described(size, "With `first`: the later size; the latest if left out.")),
  }),
  where(
    { required: ["leaf"] },
    {
      properties: { first: absent, second: absent },
      dependentRequired: { region: ["name"], name: ["region"] },
    },
    { required: ["first"], properties: { region: absent, name: absent } },
  ),
  ({ leaf, region: place, name, first, second }) => {
    if (leaf === undefined && first === undefined)
      return { pointer: "", detail: "Give leaf for a proof of inclusion, or first for one of consistency." };
    const isMixed =
      leaf === undefined
        ? place !== undefined || name !== undefined
        : first !== undefined || second !== undefined;
    if (isMixed)
      return {
        pointer: "",
        detail: "leaf goes with region and name, and first with second: give one of the two.",
      };
    return (place === undefined) === (name === undefined)
      ? null
      : { pointer: place === undefined ? "/region" : "/name", detail: "region and name go together." };
  },
);

export const vocabularyArguments = ruled(
  object({
    name: optional(described(oneOf(vocabularyNames), "Vocabulary; the index of all of them if left out.")),
    version: optional(
      described(integer({ min: 1, max: 999_999_999 }), "With `name`: the latest version if left out."),
    ),
  }),
  { dependentRequired: { version: ["name"] } },
  ({ name, version }) =>
    name === undefined && version !== undefined
      ? { pointer: "/name", detail: "name is required with version." }
      : null,
);
