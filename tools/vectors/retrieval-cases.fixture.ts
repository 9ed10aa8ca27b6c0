// Cases about what retrieval serves: sidecars, receipts, rows, projections, AI policy bits, and whole answers.

import { policyBits } from "../../protocol/ai-policy.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/canonical-json.ts";
import { hashOf } from "../../protocol/hash.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { projectionDocument } from "../../protocol/projection/specifications.ts";
import type { IndexRow } from "../../protocol/row.ts";
import {
  policyRecord,
  publishedKeys,
  recordBytes,
  recordId,
  sealedPolicy,
  sidecarEnvelope,
  sidecarFacts,
} from "../../verifier/business.fixture.ts";
import { receiptFacts, servedRow } from "../../verifier/retrieval.fixture.ts";
import { asJson, document, soleKey } from "../../verifier/service.fixture.ts";
import type { VectorCase } from "./case.ts";
import { otherUuid } from "./register-cases.fixture.ts";
import {
  base64,
  casesOf,
  type World,
  withFlippedSignature,
  withPayloadOf,
  withSignatures,
  withText,
} from "./world.fixture.ts";

const bytes = recordBytes();

export function sidecarCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad } = casesOf("sidecar");
  const facts = sidecarFacts(business, bytes);
  const of = (changes: object = {}, subject?: object) => ({
    envelope: sidecarEnvelope(service, { ...facts, ...changes }),
    ...(subject === undefined ? {} : { subject }),
  });
  const terms = { ...facts, v: 1, ai_policy_version: undefined, terms_version: 1 };
  const first = (members: object) => ({
    envelope: document("sidecar.v1", members, soleKey(service.sidecar)),
  });
  const own = of().envelope;
  return [
    good("format 2", "Signed by the sidecar key.", of()),
    good(
      "about this record",
      "It names this record, business and bytes.",
      of({}, { record_id: recordId, business_uuid: business.uuid, hash: facts.sha256 }),
    ),
    good("format 1", "Format 1 names terms.", first(terms)),
    bad("key_unknown", "by the receipt key", "A key of another use signed it.", {
      envelope: sidecarEnvelope(service, facts, soleKey(service.receipt)),
    }),
    bad("key_unknown", "by nobody's key", "A key that is not in the key set signed it.", {
      envelope: sidecarEnvelope(service, facts, world.strangers.ed25519),
    }),
    bad(
      "key_not_valid",
      "before its key",
      "It was published before the sidecar key was valid.",
      of({ published_at: "2025-12-31T00:00:00.000Z" }),
    ),
    bad("signature_invalid", "flipped", "A bit of the signature is flipped.", {
      envelope: withFlippedSignature(own),
    }),
    bad(
      "payload_malformed",
      "mixed formats",
      "Format 2 with a member of format 1.",
      of({ terms_version: 1 }),
    ),
    bad(
      "payload_malformed",
      "format 2 under the type of format 1",
      "The payload's format is not its type's.",
      first(facts),
    ),
    bad("version_unknown", "v", "A format that is not known.", of({ v: 3 })),
    bad("payload_malformed", "seal_ok: false", "It is only issued for a good seal.", of({ seal_ok: false })),
    bad(
      "payload_malformed",
      "an origin that does not exist",
      "A source that is not one of the three.",
      of({ source: "guess" }),
    ),
    bad(
      "hash_mismatch",
      "another record",
      "It is about another record.",
      of({}, { record_id: `svc_${"b".repeat(26)}` }),
    ),
    bad(
      "hash_mismatch",
      "another business",
      "It is about another business.",
      of({}, { business_uuid: otherUuid }),
    ),
    bad("hash_mismatch", "other bytes", "It is about other bytes.", of({}, { hash: business.issued.certId })),
    bad("payload_type_mismatch", "a receipt", "A receipt where a sidecar is expected.", {
      envelope: document("receipt.v3", receiptFacts([]), soleKey(service.receipt)),
    }),
  ];
}

export function receiptCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad, under } = casesOf("receipt");
  const row = servedRow(service, business, bytes) as JsonObject;
  const stored = Object.fromEntries(Object.entries(row).filter(([name]) => name !== "ai_policy_bits"));
  const facts = receiptFacts([stored as unknown as IndexRow]);
  const receipt = (
    changes: object = {},
    key = soleKey(service.receipt),
    kind: "receipt.v1" | "receipt.v2" | "receipt.v3" = "receipt.v3",
  ) => document(kind, { ...facts, ...changes }, key);
  const of = (...given: Parameters<typeof receipt>) => ({ envelope: receipt(...given) });
  const termsRows = facts.rows.map(({ ai_policy_version: version, ...rest }) => ({
    ...rest,
    terms_version: version,
  }));
  const second = of({ v: 2, rows: termsRows }, undefined, "receipt.v2");
  const first = of({ v: 1, rows: termsRows, key_id: undefined }, undefined, "receipt.v1");
  const whole = {
    ...{ caller_key_id: facts.key_id, request_hash: facts.request_hash, retrieval_id: facts.retrieval_id },
    ...{ rows: [stored], whole: true },
  };
  const against = (change: object) => ({ ...of(), rows: [{ ...stored, ...change }] });
  return [
    good("format 3", "Signed by the receipt key of its region.", of()),
    good("for its caller and rows", "It names this caller, request, retrieval and exactly these rows.", {
      ...of(),
      ...whole,
    }),
    good("format 2", "Format 2 names terms, and the caller.", second),
    good("format 2 for its caller", "Format 2 presented by the caller that it names.", {
      ...second,
      caller_key_id: facts.key_id,
    }),
    good("format 1", "Format 1 names terms and no caller.", first),
    good("none of its rows", "The presenter shows none of the rows, and does not say that these are all.", {
      ...of(),
      rows: [],
    }),
    bad("receipt_caller_mismatch", "another caller", "Another key presents it.", {
      ...of(),
      caller_key_id: business.system.keyId,
    }),
    bad("receipt_caller_mismatch", "format 2, another caller", "Another key presents it.", {
      ...second,
      caller_key_id: business.system.keyId,
    }),
    bad("receipt_caller_mismatch", "format 1 names no caller", "The caller must be named.", {
      ...first,
      caller_key_id: facts.key_id,
    }),
    bad("receipt_caller_mismatch", "another request", "It answers another request.", {
      ...of(),
      request_hash: stored["adl_origin"],
    }),
    bad("receipt_caller_mismatch", "another retrieval", "It is of another retrieval.", {
      ...of(),
      retrieval_id: "other",
    }),
    bad(
      "receipt_row_mismatch",
      "row: origin",
      "The row has another origin.",
      against({ adl_origin: facts.request_hash }),
    ),
    bad(
      "receipt_row_mismatch",
      "row: signature",
      "The row has another signature.",
      against({ adl_row_sig: `${"A".repeat(86)}==` }),
    ),
    bad(
      "receipt_row_mismatch",
      "row: id",
      "The row is of another record.",
      against({ record_id: `svc_${"b".repeat(26)}` }),
    ),
    bad(
      "receipt_row_mismatch",
      "row: AI policy",
      "The row names another AI policy version.",
      against({ ai_policy_version: 9 }),
    ),
    bad("receipt_row_mismatch", "a row less", "A row that was served is left out.", {
      ...of(),
      rows: [],
      whole: true,
    }),
    bad(
      "key_unknown",
      "another region's key",
      "The receipt key of another region signed it.",
      of({}, soleKey(service.otherReceipt)),
    ),
    bad(
      "key_unknown",
      "another region",
      "It names another region than its key's.",
      of({ region: "us-east1" }),
    ),
    bad(
      "key_unknown",
      "by the sidecar key",
      "A key of another use signed it.",
      of({}, soleKey(service.sidecar)),
    ),
    bad(
      "key_unknown",
      "by nobody's key",
      "A key that is not in the key set signed it.",
      of({}, world.strangers.ed25519),
    ),
    bad("payload_malformed", "terms in format 3", "Rows of format 1 in format 3.", of({ rows: termsRows })),
    bad(
      "payload_malformed",
      "format 3 under the type of format 2",
      "The payload's format is not its type's.",
      of({}, undefined, "receipt.v2"),
    ),
    bad(
      "payload_malformed",
      "AI policy in format 2",
      "Rows of format 3 in format 2.",
      of({ v: 2 }, undefined, "receipt.v2"),
    ),
    bad(
      "payload_malformed",
      "no caller in format 3",
      "Format 3 names the caller.",
      of({ key_id: undefined }),
    ),
    bad("payload_malformed", "further member", "A member that receipts do not have.", of({ note: "x" })),
    bad("version_unknown", "v", "A format that is not known.", of({ v: 4 })),
    bad("envelope_malformed", "two signatures", "It carries exactly one.", {
      envelope: withSignatures(receipt(), (each) => [...each, ...each]),
    }),
    bad("signature_invalid", "changed after signing", "Another instant under the same signature.", {
      envelope: withPayloadOf(receipt(), receipt({ served_at: "2026-03-05T10:00:00.001Z" })),
    }),
    bad("payload_malformed", "not canonical", "A space in the payload's JSON.", {
      envelope: withText(receipt(), (text) => text.replace(",", ", ")),
    }),
    under("receipt-key-ended").bad(
      "key_not_valid",
      "key ended",
      "The receipt key ended when it was served.",
      of(),
    ),
    under("receipt-key-compromised").bad(
      "key_compromised",
      "key compromised",
      "The receipt key was compromised when it was served.",
      of(),
    ),
    under("receipt-key-compromised").good(
      "before the compromise",
      "It was served a millisecond before the compromise.",
      of({ served_at: "2026-03-05T09:59:59.999Z" }),
    ),
  ];
}

export function rowCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad, under } = casesOf("row");
  const row = servedRow(service, business, bytes) as JsonObject;
  const of = (change: object = {}) => ({ row: { ...row, ...change } });
  const bySidecar = servedRow({ ...service, projection: service.sidecar }, business, bytes);
  return [
    good("as served", "The row as a search serves it.", of()),
    good(
      "members of serving",
      "What is set when it is served is not signed.",
      of({ sponsored: true, ai_policy_bits: {} }),
    ),
    ...Object.entries({ brand: "Other", price_DE: 1, note: "x", ai_policy_version: 2, published_at: 1 }).map(
      ([name, value]) =>
        bad("row_signature_invalid", `changed ${name}`, `Another value of ${name}.`, of({ [name]: value })),
    ),
    bad(
      "projection_unknown",
      "a later projection",
      "A projection version that is not known is refused, never guessed.",
      of({ adl_proj: "products/999999" }),
    ),
    bad(
      "projection_unknown",
      "no such collection",
      "A projection of a type that does not exist.",
      of({ adl_proj: "gadgets/1" }),
    ),
    bad(
      "record_type_mismatch",
      "another projection",
      "The projection is of another record type than the row.",
      of({ adl_proj: "events/1" }),
    ),
    bad("key_unknown", "by the sidecar key", "A key of another use signed it.", { row: bySidecar }),
    bad("payload_malformed", "no origin", "The origin is missing.", of({ adl_origin: undefined })),
    bad("payload_malformed", "record id", "A record id that is none.", of({ record_id: "x" })),
    bad("payload_malformed", "signature", "A signature that is none.", of({ adl_row_sig: "x" })),
    bad("payload_malformed", "published_at", "An instant that is text.", of({ published_at: "2026" })),
    under("projection-key-compromised").bad(
      "key_compromised",
      "key compromised",
      "The projection key is compromised, and nothing shows when the row was served.",
      of(),
    ),
    under("projection-key-compromised").bad(
      "key_compromised",
      "served at the compromise",
      "It was served when the key was compromised.",
      { ...of(), served_at: "2026-03-05T00:00:00.000Z" },
    ),
    under("projection-key-compromised").good(
      "served before the compromise",
      "It was served a millisecond before.",
      { ...of(), served_at: "2026-03-04T23:59:59.999Z" },
    ),
    under("projection-key-ended").bad(
      "key_not_valid",
      "key ended",
      "The projection key had ended when the record was published.",
      of(),
    ),
    under("projection-key-later").good(
      "projected again",
      "A row may be projected again with a later key.",
      of(),
    ),
    under("projection-key-later").bad(
      "key_not_valid",
      "key begins later",
      "It was served before its key began.",
      { ...of(), served_at: "2026-03-31T23:59:59.999Z" },
    ),
  ];
}

export function projectionCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const run = casesOf("projection");
  const row = servedRow(service, business, bytes);
  const { good, bad } = casesOf("projection_document");
  const documents = collectionNames.map((name) => ({
    name,
    document: asJson(projectionDocument(name, 1) ?? {}),
  }));
  const hashed = ({ sha256: _, ...rest }: JsonObject): JsonObject => ({
    ...rest,
    sha256: hashOf(canonicalBytes(rest)),
  });
  const products = documents[0]?.document ?? {};
  return [
    run.good("of this record", "The projection of the record gives the row.", {
      row,
      record_base64: base64(bytes),
    }),
    run.bad("hash_mismatch", "of another record", "The row is of other bytes.", {
      row,
      record_base64: base64(recordBytes({ brand: "Other" })),
    }),
    ...documents.map(({ name, document: each }) =>
      good(name, `The specification of ${name}, version 1.`, { document: each }),
    ),
    bad("hash_mismatch", "a rule less", "Its hash is its own, and not that of the version.", {
      document: hashed({ ...products, rules: (products["rules"] as readonly JsonValue[]).slice(1) }),
    }),
    bad("hash_mismatch", "another hash", "Its hash is not its own.", {
      document: { ...products, sha256: `sha256:${"0".repeat(64)}` },
    }),
    bad("projection_unknown", "another version", "A version that is not known.", {
      document: hashed({ ...products, version: "products/2" }),
    }),
    bad("payload_malformed", "none", "No specification.", { document: {} }),
  ];
}

export function policyBitsCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad } = casesOf("ai_policy_bits");
  const record = policyRecord();
  const sealedOf = (policy: ReturnType<typeof sealedPolicy>) => ({
    ...{ uuid: business.uuid, certificates: [business.issued.envelope] },
    ...{
      business_keys: publishedKeys(service, business),
      bytes_base64: base64(policy.bytes),
      seal: policy.seal,
    },
  });
  const sealed = sealedOf(sealedPolicy(business, record));
  const unsold = sealedOf(
    sealedPolicy(business, policyRecord({ action: { ...record.action, purchase: false } })),
  );
  const bits = (changes: object = {}) => ({ ai_policy_version: 1, ...policyBits(record), ...changes });
  const none = { ai_policy_version: 0, use: 0, action: 0, blocked: 0 };
  const value = ["alcohol", "politics_elections"];
  const reason = "ai_policy_bits_mismatch";
  const of = (changes: object, policy: object | null = sealed) => ({ bits: bits(changes), policy });
  return [
    good("of the sealed booleans", "A bit is set exactly when the boolean is true.", of({}), { value }),
    good("purchase withheld", "Purchase alone may be withheld.", of({ action: 0b110111 }), { value }),
    good("purchase not granted", "Purchase is not granted.", of({ action: 0b110111 }, unsold), { value }),
    good("version 0", "Without an AI policy, nothing is permitted.", of(none, null), { value: [] }),
    bad(reason, "use", "Other use bits.", of({ use: 0 })),
    bad(reason, "action", "An action other than purchase is withheld.", of({ action: 0b110110 })),
    bad(reason, "nothing blocked", "Blocked contexts are left out.", of({ blocked: 0 })),
    bad(
      reason,
      "everything blocked",
      "Contexts are blocked that the business did not block.",
      of({ blocked: 1023 }),
    ),
    bad(
      reason,
      "purchase granted",
      "Purchase is granted, and the sealed record does not.",
      of({ action: 0b111111 }, unsold),
    ),
    bad(reason, "version 0 permits", "Version 0 permits an action.", of({ ...none, action: 1 }, null)),
    bad(reason, "policy not given", "The sealed record is missing.", of({}, null)),
    bad("ai_policy_version_mismatch", "version 0 with a policy", "The seal creates version 1.", of(none)),
    bad(
      "ai_policy_version_mismatch",
      "another version",
      "The seal creates another version.",
      of({ ai_policy_version: 2 }),
    ),
    bad("version_unknown", "schema", "An AI policy schema that is not known.", of({ ai_policy_schema: 3 })),
    bad("payload_malformed", "further member", "A member that bits do not have.", of({ extra: 1 })),
    bad(
      "hash_mismatch",
      "other record",
      "The record is not the sealed one.",
      of({}, { ...sealed, bytes_base64: unsold.bytes_base64 }),
    ),
  ];
}
