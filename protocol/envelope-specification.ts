// The envelope specification: everything that is needed to check a signed document without this code. It is made from the
// definitions that the verifier itself uses, so it cannot say anything else.

import { toBase64 } from "./bytes.ts";
import { canonicalBytes, canonicalDepthMax } from "./canonical-json.ts";
import { envelopeShape, pae, payloadTypes, signaturesMax } from "./dsse.ts";
import { type KeyAlgorithm, type PublicJwk, thumbprint } from "./jwk.ts";
import { payloadSchemaDocument, publishedKinds } from "./payload-kinds.ts";
import { recordSchemaNames } from "./record-schemas.ts";
import { recordSealShape } from "./seal.ts";
import { country, hash, keyId, region, timestamp, uuid } from "./shape.ts";
import { unsignedMembers } from "./unsigned-members.ts";
import type { EnvelopeSpecification } from "./wire/envelope-specification.ts";
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
  ...{ kty: "OKP", crv: "Ed25519" },
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
      ...unsignedMembers.map(({ answer, member, why }) => `${answer}, \`${member}\`: ${why}.`),
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
      ...{ kind, version, payload_type: payloadType, standing, says },
      ...{ signed_by: each.signedBy, signatures: each.signatures, rules: each.rules },
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
