// Cases about evidence files (`svc-evidence/1`): every named check of the report.

import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import type { ReasonCode } from "../../protocol/reason-codes.ts";
import { recordBytes } from "../../verifier/business.fixture.ts";
import { evidenceText } from "../../verifier/evidence.ts";
import { callerKeyId, fetchBody, searchBody } from "../../verifier/retrieval.fixture.ts";
import { keySetAnswer } from "../../verifier/service.fixture.ts";
import { bytes, type Checks, evidenceOf, outcome, utf8, whole, wholeSearch } from "./answer-cases.fixture.ts";
import type { VectorCase } from "./case.ts";
import { base64, casesOf, type World } from "./world.fixture.ts";

export function evidenceCases(world: World): readonly VectorCase[] {
  const { service, business } = world.production;
  const { certificate, business_keys, key_custody, mandate } = evidenceOf(world);
  const keySet = keySetAnswer(service);
  const text = (value: JsonValue) => JSON.stringify(value);
  const texts = {
    environment: "production" as const,
    keySet: text(keySet),
    certificate: text(certificate),
    businessKeys: text(business_keys),
    keyCustody: text(key_custody),
    mandate: text(mandate),
    callerKeyId,
  } as const;
  const fetched = evidenceText({
    ...texts,
    answer: { kind: "fetched", text: fetchBody(service, business, bytes) },
  });
  const searched = evidenceText({
    environment: "production",
    keySet: text(keySet),
    callerKeyId,
    answer: { kind: "search", text: searchBody(service, business, bytes) },
  });
  const parsed = JSON.parse(fetched) as JsonObject;
  const { record_base64: _, ...without } = parsed;
  const other = (changes: object) => JSON.stringify({ ...parsed, ...changes });
  const { good, under } = casesOf("evidence");
  const of = (file: string) => ({ file_base64: base64(utf8(file)) });
  const fine: Checks = { key_set: "ok", ...whole };
  const one = (name: string, says: string, file: string, checks: Checks) =>
    good(name, says, of(file), outcome(checks));
  const refused = (reason: ReasonCode, check: string) => outcome({ [check]: reason });
  return [
    one("fetched", "A fetched record with everything that proves it.", fetched, fine),
    one("search", "A search answer.", searched, { key_set: "ok", ...wholeSearch }),
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
      { key_set: "ok", answer: "hash_mismatch" },
    ),
    one(
      "another record beside it",
      "The bytes beside the answer are another record.",
      other({ record_base64: base64(recordBytes({ product_name: "Forged" })) }),
      { key_set: "ok", answer: "hash_mismatch" },
    ),
    one("rubbish beside it", "The bytes beside the answer are no JSON.", other({ record_base64: "AAAA" }), {
      key_set: "ok",
      answer: "hash_mismatch",
    }),
    one("nothing beside it", "The bytes beside the answer are none.", other({ record_base64: "" }), {
      key_set: "ok",
      answer: "hash_mismatch",
    }),
    one(
      "shows another AI policy",
      "The AI policy shown is another than the bytes beside it.",
      fetched.replace('"alcohol":true', '"alcohol":false'),
      { key_set: "ok", answer: "hash_mismatch" },
    ),
    one(
      "another AI policy beside it",
      "The bytes beside the answer are another AI policy.",
      other({ ai_policy_record_base64: base64(utf8("{}")) }),
      { key_set: "ok", answer: "hash_mismatch" },
    ),
    one(
      "search with a certificate",
      "A search answer is not judged by a certificate.",
      JSON.stringify({ ...(JSON.parse(searched) as JsonObject), certificate }),
      { file: "payload_malformed" },
    ),
    one(
      "further member in the answer",
      "The answer in it has a member that no answer has.",
      other({ fetched: { ...(parsed["fetched"] as JsonObject), more: 1 } }),
      { file: "payload_malformed" },
    ),
    one(
      "further member in the certificate",
      "The answer with the certificate has a member that no answer has.",
      other({ certificate: { ...(certificate as JsonObject), more: 1 } }),
      { file: "payload_malformed" },
    ),
    one(
      "member of the certificate missing",
      "The answer with the certificate lacks a member.",
      other({ certificate: { ...(certificate as JsonObject), statement: undefined } }),
      { file: "payload_malformed" },
    ),
    one(
      "certificate stated otherwise",
      "Beside the envelope stands another sentence.",
      other({ certificate: { ...(certificate as JsonObject), statement: "It is genuine." } }),
      {
        ...fine,
        certificate: "payload_malformed",
        seal: "not_checked",
        ai_policy: "not_checked",
        key_custody: "not_checked",
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
