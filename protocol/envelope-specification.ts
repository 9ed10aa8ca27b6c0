// The envelope specification: everything that is needed to check a signed document without this code. It is made from the
// definitions that the verifier itself uses, so it cannot say anything else.

import { isObject } from "../std/json-pointer.ts";
import { toBase64 } from "./bytes.ts";
import { envelopeShape, pae, payloadTypes, signaturesMax } from "./dsse.ts";
import { canonicalBytes, canonicalDepthMax, type JsonObject, type JsonValue } from "./json/canonical-json.ts";
import { type KeyAlgorithm, type PublicJwk, thumbprint } from "./keys/jwk.ts";
import { payloadSchemaDocument, publishedKinds, recordSchemaNames } from "./payload-kinds.ts";
import { reasonCodes } from "./reason-codes.ts";
import { recordSealShape } from "./seal.ts";
import { country, hash, keyId, oneOf, publicJwk, region, timestamp, uuid } from "./shape.ts";
import { unsignedMembers } from "./unsigned-members.ts";
import type { EnvelopeSpecification } from "./wire/published.ts";
import { pushId, recordId } from "./wire/push.ts";
import { withdrawalShape } from "./withdrawal.ts";

const algorithms: Readonly<Record<KeyAlgorithm, string>> = {
  Ed25519:
    "JWK `kty` OKP, `crv` Ed25519 (RFC 8037). The signature is the 64 bytes of RFC 8032 §5.1, and must satisfy [S]B = R + [k]A as it stands, not multiplied by the cofactor. A signature whose R, and a public key that, is of small order or in a non-canonical form never verifies, whatever the equation says.",
  ES256:
    "JWK `kty` EC, `crv` P-256 (RFC 7518 §6.2). The signature is the 64 bytes r‖s over SHA-256 (RFC 7518 §3.4); s may be in either half of its range. A passkey's signature is DER instead (RFC 3279 §2.2.3).",
  "ML-DSA-65":
    "JWK `kty` AKP, `alg` ML-DSA-65 (RFC 9964). The signature is that of FIPS 204 over the message itself, with an empty context.",
};

/** The key of RFC 8037, appendix A. */
const exampleKey: PublicJwk = {
  kty: "OKP",
  crv: "Ed25519",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
};

const sections = [
  {
    name: "envelope",
    title: "Envelope",
    rules: [
      "Every signed document is a JSON object with exactly `payloadType`, `payload` and `signatures`. A member that is not listed, a missing one or one of another kind is `envelope_malformed`.",
      "`payloadType` is one of the payload types below. Any string but the expected one is `payload_type_mismatch`.",
      "`payload` is the base64 (RFC 4648 §4, with padding) of the payload's bytes, which are canonical JSON.",
      `\`signatures\` has 1 to ${signaturesMax} items with exactly \`keyid\` and \`sig\` (base64). The signature of a passkey also has \`authenticatorData\` and \`clientDataJSON\` (base64).`,
      "A document has exactly one signature, or exactly a pair: one ES256 and one ML-DSA-65 signature over the same bytes, by keys that belong together, both required (`post_quantum_required`).",
    ],
  },
  {
    name: "pre_authentication_encoding",
    title: "What is signed",
    rules: [
      "The signed bytes are the pre-authentication encoding of DSSE 1.0 over the text of `payloadType` and the decoded payload: `DSSEv1 SP LEN(type) SP type SP LEN(payload) SP payload`.",
      "SP is one space, LEN the number of bytes in decimal ASCII without leading zeros; `type` is in UTF-8, `payload` the bytes themselves.",
    ],
  },
  {
    name: "canonical_json",
    title: "Canonical JSON",
    rules: [
      "A payload is strict JSON (RFC 8259, RFC 7493): UTF-8 without byte order mark, no member twice, no lone surrogate, only finite numbers.",
      `Its bytes are the RFC 8785 form of what they parse to, at most ${canonicalDepthMax} levels deep; any other text of the same value is \`payload_malformed\`.`,
      "A payload has exactly the members of its kind. A further, missing or wrong one is `payload_malformed`, also a payload of one format under the payload type of another; an integer `v` that no format of the kind has is `version_unknown`, whatever else is wrong with the payload's members and form.",
    ],
  },
  {
    name: "environments",
    title: "Sandboxes",
    rules: [
      "Anchors are of production or of a sandbox. Certificates, key certificates, custody statements, entitlements and verify statements of a sandbox have `sandbox` true, and those of production do not have it: one of the other environment is not trusted.",
    ],
  },
  {
    name: "texts",
    title: "Texts",
    rules: [
      `hash: \`sha256:\` and 64 lower-case hexadecimal digits, \`${patternOf(hash)}\`.`,
      `key id: \`${patternOf(keyId)}\`.`,
      `country: that of ISO 3166-1 alpha-2, \`${patternOf(country)}\`; region: \`${patternOf(region)}\`.`,
      `record id: \`${patternOf(recordId)}\`; push id, which is also the id of its batch: \`${patternOf(pushId)}\`.`,
      `timestamp: UTC with milliseconds, an instant that exists, \`${patternOf(timestamp)}\`.`,
      `UUID: version 4 in lower case, \`${patternOf(uuid)}\`.`,
      `reason, why evidence proves nothing: ${reasonCodes.map((code) => `\`${code}\``).join(", ")}.`,
    ],
  },
  {
    name: "key_ids",
    title: "Key ids",
    rules: [
      "A key id is the RFC 7638 thumbprint of the public JWK: base64url without padding of the SHA-256 of its required members in lexicographic order without white space (`crv`, `kty`, `x`; `crv`, `kty`, `x`, `y`; `alg`, `kty`, `pub`).",
      "A public JWK may have `kid`, `use`, `alg`, `key_ops` and `ext` besides its required members, and nothing private; they do not change its id.",
    ],
  },
  {
    name: "algorithms",
    title: "Algorithms",
    rules: Object.entries(algorithms).map(([name, text]) => `${name}: ${text}`),
  },
  {
    name: "passkeys",
    title: "Signatures of passkeys",
    rules: [
      "The signature is a WebAuthn assertion (Web Authentication Level 3 §7.2) over `authenticatorData` and the SHA-256 of `clientDataJSON`.",
      "`clientDataJSON` is a JSON object with `type` `webauthn.get`, `challenge` the base64url of the SHA-256 of the pre-authentication encoding, `origin` one of the pinned origins, and `crossOrigin` false or absent, and no `topOrigin`.",
      "`authenticatorData` names a pinned relying party by its SHA-256, and says that the user was present and verified. It is 37 bytes long, or longer if its flags say so.",
    ],
  },
  {
    name: "sealed_bytes",
    title: "What a seal is about",
    rules: [
      "`hash` is the SHA-256 of the exact bytes of a record, as the business wrote them: a record is never brought into canonical form.",
      "A removal is sealed with the same format over the exact bytes of a compact JSON document (no white space, members in any order) of the form `removal_schema`.",
      "An AI policy record is sealed with the same format; its seal names the version that it creates.",
      "A search row is no envelope: its `adl_row_sig` is an Ed25519 signature over the RFC 8785 form of the row without the members that its projection lists as unsigned or set when it is served (`/v1/projections/{type}/{version}`).",
    ],
  },
  {
    name: "unsigned_members",
    title: "What no signature covers",
    rules: [
      "Every member of an answer with a receipt, and of one record of a business's own catalogue, is signed, or follows from what is signed, but for these. A verifier compares all others, names these in its report, and says of a member that it does not know that it was not checked.",
      ...linesOf(unsignedMembers.map(({ answer, member, why }) => [`${answer} \`${member}\``, `${why}.`])),
    ],
  },
  {
    name: "batches",
    title: "Seals of batches",
    rules: [
      "The leaf of a record is the SHA-256 of a zero byte and the record's bytes, a node that of a one byte and its two children (RFC 6962 §2.1). Record i of a batch is leaf i.",
      "The served seal of a pushed record is `{batch_seal, leaf_index, tree_size, proof[]}`: the envelope of its batch seal and the audit path from its leaf to `root`, as hashes.",
    ],
  },
] as const;

export const envelopeSpecificationVersion = 1;

/** The specification as data. */
export function envelopeSpecification(): EnvelopeSpecification {
  const payload = canonicalBytes({ v: 1, word: "tea" });
  const type = payloadTypes["seal.v2"];
  return {
    v: envelopeSpecificationVersion,
    title: "Envelopes and what is signed in them",
    sections,
    envelope_schema: envelopeShape.schema,
    record_seal_schema: recordSealShape.schema,
    removal_schema: withdrawalShape.schema,
    examples: {
      pre_authentication_encoding: {
        payload_type: type,
        payload: toBase64(payload),
        encoding: toBase64(pae(type, payload)),
      },
      key_id: { public_key: exampleKey, key_id: thumbprint(exampleKey) },
    },
    payloads: publishedKinds.map(({ kind, version, payloadType, standing, says, ...each }) => ({
      kind,
      version,
      payload_type: payloadType,
      standing,
      says,
      signed_by: each.signedBy,
      signatures: each.signatures,
      rules: each.rules,
      members: memberNames(kind, version),
      schema: `/v1/payloads/${kind}/${version}`,
    })),
    records: recordSchemaNames.map((name) => ({ schema: `svc/${name}`, path: `/v1/schemas/${name}` })),
  };
}

function memberNames(kind: string, version: number): readonly string[] {
  return Object.keys(payloadSchemaDocument(kind, String(version))?.["properties"] ?? {});
}

function patternOf({ schema }: { readonly schema: { readonly pattern?: unknown } }): string {
  return String(schema.pattern);
}

// The envelope specification as a text for people, in Markdown.

/** The specification with the members of each payload; of an earlier version of one, what differs from the version above it. */
export function envelopeSpecificationText(): string {
  const { v, title, sections, examples, payloads, records } = envelopeSpecification();
  const { pre_authentication_encoding: encoding, key_id: example } = examples;
  return [
    `# ${title}`,
    `Version ${v}. The service also answers this as JSON, with JSON Schemas, at \`GET /v1/envelope-specification\`.`,
    ...sections.flatMap((section) => [`## ${section.title}`, bullets(section.rules)]),
    "## Examples",
    bullets([
      `The payload \`${encoding.payload}\` (base64) under the type \`${encoding.payload_type}\` is signed as the bytes \`${encoding.encoding}\` (base64).`,
      `The key \`${JSON.stringify(example.public_key)}\` has the id \`${example.key_id}\`.`,
    ]),
    "## Payloads",
    "The JSON Schema of each, at `GET /v1/payloads/KIND/VERSION`, says more of some members; `v` is the version. A format that is verified only is no longer issued.",
    ...payloads.flatMap((each, index) => {
      const above = payloads[index - 1];
      const newer = above?.kind === each.kind ? above : null;
      return [
        `### ${each.kind} v${each.version}${each.standing === "verified" ? " (verified only)" : ""}`,
        ...(each.says === newer?.says ? [] : [each.says]),
        bullets([
          `\`${each.payload_type}\``,
          ...(each.signed_by === newer?.signed_by
            ? []
            : [`Signed by: ${each.signed_by}${each.signatures === "pair" ? " (a pair)" : ""}`]),
          ...each.rules,
        ]),
        ...membersOf(each, newer),
      ];
    }),
    "## Schemas of what is sealed",
    `${records.map(({ path }) => `\`GET ${path}\``).join(", ")}.`,
    "",
  ]
    .join("\n\n")
    .trimEnd()
    .concat("\n");
}

function bullets(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

type PayloadVersion = { readonly kind: string; readonly version: number };
type MemberRow = readonly [name: string, words: string];

/** The members of a payload under a title: all but `v`, or those that differ from a newer version. Members of one form share a line. */
function membersOf(of: PayloadVersion, newer: PayloadVersion | null): readonly string[] {
  const rows = rowsOf(of);
  const known = newer === null ? [] : rowsOf(newer);
  const without = known
    .filter(([name]) => !rows.some(([own]) => own === name))
    .map(([name]) => `\`${name}\``);
  const own = rows.filter(
    ([name, words]) => name !== "v" && !known.some((row) => row[0] === name && row[1] === words),
  );
  const lines = linesOf(own.map(([name, words]) => [`\`${name}\``, words]));
  if (newer === null) return ["Members:", bullets(lines)];
  const difference = `As v${newer.version}, without ${without.join(", ")}`;
  return lines.length === 0 ? [`${difference}.`] : [`${difference}, and with:`, bullets(lines)];
}

/** One line for all names of which the same is said. */
function linesOf(rows: readonly MemberRow[]): readonly string[] {
  const named = new Map<string, string>();
  for (const [name, words] of rows) {
    const others = named.get(words);
    named.set(words, others === undefined ? name : `${others}, ${name}`);
  }
  return [...named].map(([words, names]) => `${names}: ${words}`);
}

function rowsOf({ kind, version }: PayloadVersion): readonly MemberRow[] {
  return memberRows(payloadSchemaDocument(kind, String(version)) ?? {}, "");
}

/** What is said of each member of an object, and then of those of the objects in it. */
function memberRows(schema: JsonObject, prefix: string): readonly MemberRow[] {
  const { properties, required } = schema;
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  return Object.entries(isObject(properties) ? properties : {}).flatMap(([name, member]) => {
    const words = (isRequired(name) ? "" : "may be absent; ") + inWords(member);
    const inner = innerObject(member);
    if (inner === null) return [[`${prefix}${name}`, words]];
    const row: MemberRow = [`${prefix}${name}`, words.replace(/`\{[^`]*\}`/, "object")];
    return [row, ...memberRows(inner.schema, `${prefix}${name}${inner.path}`)];
  });
}

/** The object whose members are explained one by one: the value itself, one that may be null, or the items of a list. */
function innerObject(
  value: JsonValue | undefined,
): { readonly schema: JsonObject; readonly path: string } | null {
  if (!isObject(value) || wellKnownWords(value) !== null) return null;
  const { anyOf, items, properties } = value;
  if (isObject(properties)) return { schema: value, path: "." };
  const alternatives = Array.isArray(anyOf) ? anyOf.filter((each) => Object(each).type !== "null") : [];
  const inner = innerObject(alternatives.length === 1 ? alternatives[0] : items);
  return inner === null || alternatives.length === 1 ? inner : { ...inner, path: `[]${inner.path}` };
}

const wellKnown: readonly (readonly [JsonObject, string])[] = [
  [hash.schema, "hash"],
  [keyId.schema, "key id"],
  [timestamp.schema, "timestamp"],
  [uuid.schema, "UUID"],
  [country.schema, "country"],
  [region.schema, "region"],
  [recordId.schema, "record id"],
  [pushId.schema, "push id"],
  [publicJwk.schema, "public JWK"],
  [oneOf(reasonCodes).schema, "reason"],
];

/** What the texts and documents that occur everywhere are called; null for any other. */
function wellKnownWords({ description: _, ...schema }: JsonObject): string | null {
  if (schema["title"] === "Envelope") return "envelope";
  const same = ({ description: _description, ...known }: JsonObject): boolean =>
    JSON.stringify(known) === JSON.stringify(schema);
  return wellKnown.find(([known]) => same(known))?.[1] ?? null;
}

/** The schema of a member in a few words, and what is said of it. */
function inWords(value: JsonValue | undefined): string {
  return [bareWords(value), ...notesOn(value)].join(". ");
}

/**
 * A named shape describes itself in general; only what is said of this member belongs into its line: the first sentence, or none of
 * several that each explain one value.
 */
function notesOn(value: JsonValue | undefined): readonly string[] {
  if (!isObject(value)) return [];
  const { title, description, anyOf } = value;
  const [first = "", ...others] =
    typeof description === "string" && title === undefined ? description.split(/\. /) : [];
  const own = first === "" || (others.length > 0 && first.startsWith("`")) ? [] : [first.replace(/\.$/, "")];
  return [...own, ...(Array.isArray(anyOf) ? anyOf.flatMap(notesOn) : [])];
}

function bareWords(value: JsonValue | undefined): string {
  if (!isObject(value)) return "any value";
  const { anyOf, const: only, enum: values, type, pattern, items, properties, allOf } = value;
  const known = wellKnownWords(value);
  if (known !== null) return known;
  if (Array.isArray(allOf)) return bareWords(allOf[0]);
  if (only !== undefined) return `\`${JSON.stringify(only)}\``;
  if (Array.isArray(values)) return values.map((each) => `\`${each}\``).join(", ");
  if (Array.isArray(anyOf)) return anyOf.map(bareWords).join(", or ");
  if (type === "array")
    return `list${bounds(value, "minItems", "maxItems", " items")} of: ${bareWords(items)}${value["uniqueItems"] === true ? ", none twice" : ""}`;
  if (type === "object" && isObject(properties)) return `\`{${Object.keys(properties).join(", ")}}\``;
  if (type === "object") {
    const { additionalProperties: others } = value;
    return isObject(others) ? `object of: ${bareWords(others)}` : "object";
  }
  if (type === "string" && typeof pattern === "string") return `text, \`${pattern}\``;
  if (type === "string") return `text${bounds(value, "minLength", "maxLength", " characters")}`;
  if (type === "integer") return `integer${bounds(value, "minimum", "maximum", "")}`;
  return type === undefined ? "any value" : String(type);
}

/** `, 1 to 256 characters`, `, at least 1` or nothing. */
function bounds(schema: JsonObject, least: string, most: string, unit: string): string {
  const [min, max] = [schema[least], schema[most]];
  if (max !== undefined) return min === max ? `, ${max}${unit}` : `, ${min ?? 0} to ${max}${unit}`;
  return min === undefined ? "" : `, at least ${min}${unit}`;
}
