// Cases about whole answers, and about evidence files: every named check of the report.

import type { JsonObject, JsonValue } from "../../protocol/canonical-json.ts";
import type { ReasonCode } from "../../protocol/result.ts";
import {
  publishedKeys,
  recordBytes,
  sealedMandate,
  sidecarEnvelope,
  sidecarFacts,
} from "../../verifier/business.fixture.ts";
import { evidenceText } from "../../verifier/evidence.ts";
import { callerKeyId, fetchBody, searchBody } from "../../verifier/retrieval.fixture.ts";
import { asJson, document, issueCertificate } from "../../verifier/service.fixture.ts";
import type { Outcome, VectorCase } from "./case.ts";
import { base64, casesOf, type World } from "./world.fixture.ts";

// Not canonical, with trailing white space: only the exact characters have its hash.
const bytes = utf8(`${JSON.stringify(JSON.parse(new TextDecoder().decode(recordBytes())), null, 1)}\n`);

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

type Checks = Readonly<Record<string, Outcome>>;

const whole: Checks = {
  ...{ receipt: "ok", sidecar: "ok", source_line: "ok", certificate: "ok" },
  ...{ business_keys: "ok", seal: "ok", ai_policy: "ok", key_custody: "ok" },
};

/** What is at hand beside a fetched record. */
function evidenceOf({ production: { service, business } }: World) {
  const custody = {
    ...{ v: 1, business_uuid: business.uuid, key_id: business.system.keyId, custody: "self" },
    ...{ issued_at: "2026-02-01T00:00:00.000Z", effective_from: "2026-02-01T00:00:00.000Z" },
  };
  const statement = document("key-custody.v1", custody, ...service.issuance.halves);
  return {
    certificate: asJson({ certificate: business.issued.envelope, history: [] }),
    business_keys: publishedKeys(service, business),
    key_custody: asJson({ uuid: business.uuid, statements: [{ statement }] }),
    mandate: sealedMandate(business),
    caller_key_id: callerKeyId,
  };
}

function outcome(checks: Checks): Pick<VectorCase["expected"], "valid" | "checks"> {
  return { valid: Object.values(checks).every((each) => each === "ok" || each === "not_checked"), checks };
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
  const ended = issueCertificate(service, {
    ...{ ...business.certificate, status: "revoked", status_effective_from: "2026-02-01T00:00:00.000Z" },
    ...{ issued_at: "2026-04-01T00:00:00.000Z", previous: business.issued.certId },
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
  return [
    one("whole", "A fetched record with everything that is published of its business.", text, whole),
    one("alone", "A fetched record with nothing beside it.", text, { ...whole, ...unknown }, alone),
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
        certificate: asJson({
          certificate: ended.envelope,
          history: [{ certificate: business.issued.envelope }],
        }),
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
      text.replace(/"ai_policy":\{.*\}$/s, '"ai_policy":null}'),
      { ...whole, ai_policy: "ai_policy_version_mismatch" },
    ),
    one(
      "another leaf of the log",
      "The leaf beside the record is not that of its seal.",
      text.replace('"provenance":{', `"provenance":{"log_leaf":"sha256:${"0".repeat(64)}",`),
      { answer: "hash_mismatch", ...whole },
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
  const fine: Checks = { receipt: "ok", "rows/0": "ok" };
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
    one("no answer", "An object without the members of an answer.", "{}", { answer: "payload_malformed" }),
  ];
}

export function evidenceCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { certificate, business_keys, key_custody, mandate } = evidenceOf(world);
  const keySet = world.trust["production"]?.key_set ?? null;
  const text = (value: JsonValue) => JSON.stringify(value);
  const texts = {
    ...{ environment: "production" as const, keySet: text(keySet), certificate: text(certificate) },
    ...{
      businessKeys: text(business_keys),
      keyCustody: text(key_custody),
      mandate: text(mandate),
      callerKeyId,
    },
  } as const;
  const fetched = evidenceText({
    ...texts,
    answer: { kind: "fetched", text: fetchBody(service, business, bytes) },
  });
  const searched = evidenceText({
    ...texts,
    answer: { kind: "search", text: searchBody(service, business, bytes) },
  });
  const parsed = JSON.parse(fetched) as JsonObject;
  const { record_base64: _, ...without } = parsed;
  const { good, under } = casesOf("evidence");
  const of = (file: string) => ({ file_base64: base64(utf8(file)) });
  const fine: Checks = { key_set: "ok", ...whole };
  const one = (name: string, says: string, file: string, checks: Checks) =>
    good(name, says, of(file), outcome(checks));
  const refused = (reason: ReasonCode, check: string) => outcome({ [check]: reason });
  return [
    one("fetched", "A fetched record with everything that proves it.", fetched, fine),
    one("search", "A search answer.", searched, { key_set: "ok", receipt: "ok", "rows/0": "ok" }),
    one(
      "printed again",
      "The file was formatted; the bytes beside the answer are the sealed ones.",
      JSON.stringify(parsed, null, 4),
      fine,
    ),
    one("printed again without its bytes", "The sealed bytes are lost.", JSON.stringify(without), {
      ...fine,
      receipt: "receipt_row_mismatch",
      sidecar: "hash_mismatch",
      source_line: "hash_mismatch",
      seal: "hash_mismatch",
      key_custody: "not_checked",
    }),
    one(
      "shows another record",
      "The record shown is another than the bytes beside it.",
      fetched.replace("Black tea", "Green tea"),
      {
        ...fine,
        receipt: "receipt_row_mismatch",
        sidecar: "hash_mismatch",
        source_line: "hash_mismatch",
        seal: "hash_mismatch",
        key_custody: "not_checked",
      },
    ),
    one(
      "shows another AI policy",
      "The AI policy shown is another than the bytes beside it.",
      fetched.replace('"alcohol":true', '"alcohol":false'),
      {
        ...fine,
        ai_policy: "hash_mismatch",
      },
    ),
    under("sandbox").good(
      "of another environment",
      "The anchors are of the sandbox.",
      of(fetched),
      refused("key_unknown", "environment"),
    ),
    one(
      "of another format",
      "A format that is not known.",
      JSON.stringify({ ...parsed, format: "svc-evidence/99" }),
      { file: "payload_malformed" },
    ),
    one(
      "two answers",
      "It has a fetched record and a search answer.",
      JSON.stringify({ ...parsed, search: {} }),
      { file: "payload_malformed" },
    ),
    one("further member", "A member that evidence does not have.", JSON.stringify({ ...parsed, extra: 1 }), {
      file: "payload_malformed",
    }),
  ];
}
