// Cases about rows, their projection, and AI policy bits.

import { policyBits } from "../../protocol/ai-policy.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { projectionDocument } from "../../protocol/projection/project.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { policyRecord, publishedKeys, recordBytes, sealedPolicy } from "../../verifier/business.fixture.ts";
import { type RowMaking, servedRow } from "../../verifier/retrieval.fixture.ts";
import { asJson } from "../../verifier/service.fixture.ts";
import type { VectorCase } from "./case.ts";
import { base64, casesOf, type World } from "./world.fixture.ts";

const bytes = recordBytes();

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
  const { good, bad } = casesOf("projection_document");
  const documents = [...collectionNames, "ads"].map((name) => ({
    name,
    document: asJson(projectionDocument(name, 1) ?? {}),
  }));
  const hashed = ({ sha256: _, ...rest }: JsonObject): JsonObject => ({
    ...rest,
    sha256: hashOf(canonicalBytes(rest)),
  });
  const products = documents[0]?.document ?? {};
  return [
    ...projectedCases(world),
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

function projectedCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad } = casesOf("projection");
  const of = (record: JsonObject | Uint8Array, making: RowMaking = {}) => {
    const exact = record instanceof Uint8Array ? record : canonicalBytes(record);
    return { row: servedRow(service, business, exact, making), record_base64: base64(exact) };
  };
  const changed = (change: RowMaking["change"]) => of(sampleRecords.products, { change: { ...change } });
  const { gtin: _, ...noGtin } = sampleRecords.products;
  const brands = ["Harrier", "Kestrel", "Harrier"].map((name) => ({ name }));
  return [
    good("of this record", "The projection of the record gives the row.", of(bytes)),
    bad("hash_mismatch", "of another record", "The row is of other bytes.", {
      ...of(bytes),
      record_base64: base64(recordBytes({ brand: "Other" })),
    }),
    ...collectionNames.map((collection) =>
      good(
        `of ${collection}`,
        `The row of a record of ${collection}.`,
        of(sampleRecords[collection], { collection }),
      ),
    ),
    good(
      "fewer countries",
      "A price of a country that the record is not published for is not in the row.",
      of({ ...noGtin, countries: ["CA", "FR"] }),
    ),
    good(
      "equal names",
      "A value that equals an earlier one is left out.",
      of({ ...sampleRecords.business_files, brands_owned: brands }, { collection: "business_files" }),
    ),
    good(
      "no salary",
      "What the record does not have is not in the row, or false.",
      of(without(sampleRecords.jobs, "salary"), { collection: "jobs" }),
    ),
    ...Object.entries({ brand: "Other", price_CA: 175.01, price_US: "129.90", on_sale: true }).map(
      ([name, value]) =>
        bad(
          "hash_mismatch",
          `changed ${name}`,
          `The service signed another ${name} than the record gives.`,
          changed({ [name]: value }),
        ),
    ),
    bad("hash_mismatch", "further member", "The record does not give it.", changed({ price_FR: 1 })),
    bad("hash_mismatch", "member less", "The record gives it.", changed({ gtin: undefined })),
    bad(
      "record_type_mismatch",
      "record of another schema",
      "The record is of another schema than the projection is for.",
      of(sampleRecords.events),
    ),
    bad(
      "projection_unknown",
      "a later version",
      "A version that is not known is never guessed.",
      changed({ adl_proj: "products/2" }),
    ),
    bad("payload_malformed", "no object", "The bytes are no record.", {
      ...changed({ adl_origin: hashOf(utf8("[]")) }),
      record_base64: base64(utf8("[]")),
    }),
  ];
}

function without(record: JsonObject, name: string): JsonObject {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== name));
}

export function policyBitsCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good, bad } = casesOf("ai_policy_bits");
  const record = policyRecord();
  const sealedOf = (policy: ReturnType<typeof sealedPolicy>) => ({
    uuid: business.uuid,
    certificates: [business.issued.envelope],
    business_keys: publishedKeys(service, business),
    bytes_base64: base64(policy.bytes),
    seal: policy.seal,
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
