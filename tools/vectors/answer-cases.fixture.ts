// Cases about whole answers: every named check of the report.

import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import {
  publishedKeys,
  recordBytes,
  sealedMandate,
  sidecarEnvelope,
  sidecarFacts,
} from "../../verifier/business.fixture.ts";
import { callerKeyId, fetchBody, searchBody, verifyUrl } from "../../verifier/retrieval.fixture.ts";
import {
  certificateAnswer,
  custodyAnswer,
  document,
  issueCertificate,
} from "../../verifier/service.fixture.ts";
import { isValid, type Outcome, type VectorCase } from "./case.ts";
import { base64, casesOf, type World } from "./world.fixture.ts";

// Not canonical, with trailing white space: only the exact characters have its hash.
export const bytes = utf8(
  `${JSON.stringify(JSON.parse(new TextDecoder().decode(recordBytes())), null, 1)}\n`,
);

export function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export type Checks = Readonly<Record<string, Outcome>>;

export const whole: Checks = {
  receipt: "ok",
  sidecar: "ok",
  source_line: "ok",
  certificate: "ok",
  business_keys: "ok",
  seal: "ok",
  ai_policy: "ok",
  key_custody: "ok",
  mandate: "ok",
  "unsigned/provenance/certificate_url": "unsigned",
  "unsigned/provenance/source_line": "unsigned",
};
export const wholeSearch: Checks = {
  receipt: "ok",
  "rows/0": "ok",
  "unsigned/rows/*/ai_policy_bits": "unsigned",
  "unsigned/rows/*/sponsored": "unsigned",
};

/** What is at hand beside a fetched record. */
export function evidenceOf({ production: { service, business } }: World) {
  const custody = {
    v: 1,
    business_uuid: business.uuid,
    key_id: business.system.keyId,
    custody: "self",
    issued_at: "2026-02-01T00:00:00.000Z",
    effective_from: "2026-02-01T00:00:00.000Z",
  };
  const statement = document("key-custody.v1", custody, ...service.issuance.halves);
  return {
    certificate: certificateAnswer(business.issued.envelope),
    business_keys: publishedKeys(service, business),
    key_custody: custodyAnswer(business.uuid, [statement]),
    mandate: sealedMandate(business),
    caller_key_id: callerKeyId,
  };
}

export function outcome(checks: Checks): Pick<VectorCase["expected"], "valid" | "checks"> {
  return { valid: isValid(checks), checks };
}

export function fetchCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good } = casesOf("fetch_answer");
  const evidence = evidenceOf(world);
  const text = fetchBody(service, business, bytes);
  const one = (name: string, says: string, body: string, checks: Checks, changes: object = {}): VectorCase =>
    good(name, says, { body_base64: base64(utf8(body)), ...evidence, ...changes }, outcome(checks));
  const facts = sidecarFacts(business, bytes);
  const besides = (sidecar: object) =>
    fetchBody(service, business, bytes, { sidecar: sidecarEnvelope(service, { ...facts, ...sidecar }) });
  const shown = (changes: Parameters<typeof fetchBody>[3]) => fetchBody(service, business, bytes, changes);
  const ended = issueCertificate(service, {
    ...business.certificate,
    status: "revoked",
    status_effective_from: "2026-02-01T00:00:00.000Z",
    issued_at: "2026-04-01T00:00:00.000Z",
    previous: business.issued.certId,
  });
  const malformed: Checks = { answer: "payload_malformed" };
  const unknown: Checks = {
    certificate: "not_checked",
    business_keys: "not_checked",
    seal: "not_checked",
    ai_policy: "not_checked",
    key_custody: "not_checked",
  };
  const alone = Object.fromEntries(Object.keys(evidence).map((name) => [name, undefined]));
  const { mandate: _, ...withoutMandate } = whole;
  const {
    "unsigned/provenance/certificate_url": __,
    "unsigned/provenance/source_line": ___,
    ...addressed
  } = whole;
  return [
    one("whole", "A fetched record with everything that is published of its business.", text, whole),
    one("alone", "A fetched record with nothing beside it.", text, { ...withoutMandate, ...unknown }, alone),
    one("record changed", "A word of the record is another.", text.replace("Black tea", "Green tea"), {
      ...whole,
      receipt: "receipt_row_mismatch",
      sidecar: "hash_mismatch",
      source_line: "hash_mismatch",
      seal: "hash_mismatch",
      key_custody: "not_checked",
    }),
    one(
      "another caller",
      "Another caller presents it.",
      text,
      { ...whole, receipt: "receipt_caller_mismatch" },
      { caller_key_id: business.system.keyId },
    ),
    one(
      "another AI policy version",
      "The answer names another version than the seal creates.",
      text.replace('"ai_policy":{"version":1', '"ai_policy":{"version":2'),
      {
        ...whole,
        ai_policy: "ai_policy_version_mismatch",
      },
    ),
    one(
      "sidecar of another version",
      "The sidecar concerns other bytes; the seal stands.",
      besides({ sha256: `sha256:${"0".repeat(64)}`, generation: 2 }),
      {
        ...whole,
        sidecar: "hash_mismatch",
      },
    ),
    one(
      "certificate revoked",
      "The certificate was revoked before the record was sealed, and the keys are newer.",
      text,
      {
        ...whole,
        seal: "certificate_not_in_force",
        ai_policy: "certificate_not_in_force",
        key_custody: "not_checked",
      },
      {
        certificate: certificateAnswer(ended.envelope, business.issued.envelope),
      },
    ),
    one(
      "another type",
      "The answer names the record as one of another type.",
      fetchBody(service, business, bytes, { type: "events" }),
      { answer: "record_type_mismatch", ...whole },
    ),
    one(
      "no AI policy",
      "The record was sealed under an AI policy, and the answer has none.",
      text.replace(/"ai_policy":\{.*\}$/s, '"ai_policy":{"version":0,"record":null,"seal":null}}'),
      { ...whole, ai_policy: "ai_policy_version_mismatch" },
    ),
    one(
      "AI policy without a version",
      "The AI policy is said to be none, and has a record and a seal.",
      text.replace('"ai_policy":{"version":1', '"ai_policy":{"version":0'),
      malformed,
    ),
    one(
      "another leaf of the log",
      "The leaf beside the record is not that of its seal.",
      shown({ provenance: { log_leaf: `sha256:${"0".repeat(64)}` } }),
      { answer: "hash_mismatch", ...whole },
    ),
    one(
      "another time of publication",
      "The answer names another time of publication than the sidecar.",
      shown({ published_at: "2026-03-01T12:00:03.000Z" }),
      { answer: "hash_mismatch", ...whole },
    ),
    one(
      "another projection",
      "The answer names the projection of another type.",
      shown({ provenance: { projection_version: "events/1" } }),
      { answer: "record_type_mismatch", ...whole },
    ),
    one(
      "unknown projection",
      "The answer names a projection that nobody published.",
      shown({ provenance: { projection_version: "products/99" } }),
      { answer: "projection_unknown", ...whole },
    ),
    one(
      "another business's certificate",
      "The address leads to the certificate of another business.",
      shown({
        provenance: { certificate_url: `${verifyUrl}/v1/certificates/00000000-0000-4000-8000-000000000001` },
      }),
      { answer: "hash_mismatch", ...whole },
    ),
    one(
      "another time of serving",
      "The source line names another time of serving than the receipt.",
      text.replaceAll(/served(=|_at=)2026-03-05T10(:|%3A)00/g, "served$12026-03-05T11$200"),
      { ...whole, source_line: "hash_mismatch" },
    ),
    one("given address", "Its addresses lead to the service that is known.", text, addressed, {
      verify_url: verifyUrl,
    }),
    one(
      "another address",
      "Its addresses lead elsewhere.",
      text,
      { answer: "hash_mismatch", ...addressed, source_line: "hash_mismatch" },
      { verify_url: "https://other.test" },
    ),
    one(
      "endpoints of a product",
      "Only a business file has endpoints.",
      shown({ endpoints: { status: "authorised", items: [] } }),
      { answer: "payload_malformed", ...whole },
    ),
    one("further member", "A member that no answer has.", shown({ checkout: "https://other.test" }), {
      ...whole,
      "unknown/checkout": "not_checked",
    }),
    one(
      "further member inside",
      "A member that no provenance has.",
      shown({ provenance: { checkout: "https://other.test" } }),
      { ...whole, "unknown/provenance/checkout": "not_checked" },
    ),
    one(
      "without provenance",
      "A member of the answer is left out.",
      shown({ published_at: undefined }),
      malformed,
    ),
    one(
      "certificate stated otherwise",
      "Beside the envelope stands another status.",
      text,
      {
        ...whole,
        certificate: "payload_malformed",
        seal: "not_checked",
        ai_policy: "not_checked",
        key_custody: "not_checked",
      },
      { certificate: { ...(evidence.certificate as JsonObject), status: "closed" } },
    ),
    one(
      "keys stated otherwise",
      "Beside the envelope stands another list of keys.",
      text,
      { ...whole, ...unknown, certificate: "ok", business_keys: "payload_malformed", mandate: "not_checked" },
      { business_keys: { ...(evidence.business_keys as JsonObject), keys: [] } },
    ),
    one(
      "custody stated otherwise",
      "Beside the envelope stands another custody.",
      text,
      { ...whole, key_custody: "payload_malformed" },
      {
        key_custody: JSON.parse(
          JSON.stringify(evidence.key_custody).replace('"self"', '"hosted"'),
        ) as JsonValue,
      },
    ),
    one("no answer", "An object without the members of an answer.", "{}", malformed),
    one("no JSON", "It is no JSON.", text.slice(1), malformed),
  ];
}

export function searchCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { good } = casesOf("search_answer");
  const text = searchBody(service, business, bytes);
  const answer = JSON.parse(text) as JsonObject;
  const one = (name: string, says: string, body: string, checks: Checks, caller = callerKeyId): VectorCase =>
    good(name, says, { body_base64: base64(utf8(body)), caller_key_id: caller }, outcome(checks));
  const fine = wholeSearch;
  const other = (changes: object) => JSON.stringify({ ...answer, ...changes });
  const [served] = answer["rows"] as readonly JsonObject[];
  const bits = served?.["ai_policy_bits"] as JsonObject;
  const withRow = (changes: object) => other({ rows: [{ ...served, ...changes }] });
  return [
    one("whole", "A receipt over exactly these rows.", text, fine),
    one(
      "row changed",
      "A row has another brand.",
      text.replace('"brand":"Nordlicht"', '"brand":"Sudlicht"'),
      { ...fine, "rows/0": "row_signature_invalid" },
    ),
    one("row less", "A row is left out.", JSON.stringify({ ...answer, rows: [] }), {
      receipt: "receipt_row_mismatch",
    }),
    one(
      "another retrieval",
      "The answer names another retrieval.",
      JSON.stringify({ ...answer, retrieval_id: "ret_2" }),
      { ...fine, receipt: "receipt_caller_mismatch" },
    ),
    one(
      "another caller",
      "Another caller presents it.",
      text,
      { ...fine, receipt: "receipt_caller_mismatch" },
      business.system.keyId,
    ),
    one("another country", "The answer names another country than its receipt.", other({ country: "FR" }), {
      ...fine,
      receipt: "receipt_row_mismatch",
    }),
    one(
      "another collection",
      "The answer names another collection than its receipt.",
      other({ collection: "events" }),
      { ...fine, receipt: "receipt_row_mismatch", "rows/0": "record_type_mismatch" },
    ),
    one(
      "bits of an older AI policy",
      "The bits are of an older AI policy than the row was sealed under.",
      withRow({ ai_policy_bits: { ...bits, ai_policy_version: 0, use: 0, action: 0, blocked: 0 } }),
      { ...fine, "rows/0": "ai_policy_version_mismatch" },
    ),
    one(
      "bits without an AI policy",
      "Bits are set without an AI policy.",
      withRow({ ai_policy_bits: { ...bits, ai_policy_version: 0 } }),
      { ...fine, "rows/0": "ai_policy_bits_mismatch" },
    ),
    one(
      "bits of a version beyond all",
      "The bits name an AI policy version above 2147483647.",
      withRow({ ai_policy_bits: { ...bits, ai_policy_version: 2_147_483_648 } }),
      { ...fine, "rows/0": "payload_malformed" },
    ),
    one("without bits", "The bits of a row are left out.", withRow({ ai_policy_bits: undefined }), {
      ...fine,
      "rows/0": "payload_malformed",
    }),
    one("sponsored by a text", "The mark of an ad is a text.", withRow({ sponsored: "yes" }), {
      ...fine,
      "rows/0": "payload_malformed",
    }),
    one("further member", "A member that no answer has.", other({ total: 1 }), {
      ...fine,
      "unknown/total": "not_checked",
    }),
    one("no answer", "An object without the members of an answer.", "{}", { answer: "payload_malformed" }),
  ];
}
