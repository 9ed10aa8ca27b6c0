import { describe, expect, it } from "vitest";
import {
  batchSeal,
  makeBusiness,
  publishedKeys,
  recordBytes,
  recordId,
} from "../verifier/business.fixture.ts";
import { callerKeyId, fetchBody } from "../verifier/retrieval.fixture.ts";
import {
  certificateAnswer,
  keySetAnswer,
  makeService,
  type TestService,
} from "../verifier/service.fixture.ts";
import {
  type CatalogueFiles,
  evidenceOf,
  isCatalogueFile,
  verifyCatalogueFile,
  verifyEvidenceFile,
} from "./evidence.ts";
import type { FetchedRecord, JsonAnswer, RecordAnswer } from "./service-client.ts";

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Collects evidence from a service in the given environment, together with its anchors. */
async function collected(environment: "production" | "sandbox") {
  const service = makeService(environment);
  const business = makeBusiness(service);
  const bytes = recordBytes();
  const text = fetchBody(service, business, bytes);
  const about = `/v1/certificates/${business.uuid}`;
  const published = new Map<string, unknown>([
    ["/.well-known/keys", keySetAnswer(service)],
    [about, certificateAnswer(business.issued.envelope)],
    [`${about}/keys`, publishedKeys(service, business)],
    [`${about}/key-custody`, { uuid: business.uuid, statements: [] }],
  ]);
  const read: string[] = [];
  const verificationRead = async (path: string): Promise<JsonAnswer<unknown>> => {
    read.push(path);
    const body = published.get(path);
    return { body, text: JSON.stringify(body), status: 200, requestHash: null };
  };
  const body = JSON.parse(text) as FetchedRecord;
  const fetched: RecordAnswer = { body, text, status: 200, requestHash: null, recordBytes: bytes };
  const evidence = await evidenceOf({ verificationRead }, fetched, { environment, keyId: callerKeyId });
  return { evidence, read, anchorsText: JSON.stringify(service.anchors) };
}

/** What a business reads of its own catalogue, and what anybody can save to judge it. */
function ownRecord(service: TestService) {
  const business = makeBusiness(service);
  const bytes = recordBytes();
  const { business_product_id } = JSON.parse(new TextDecoder().decode(bytes));
  const answer = {
    record_id: recordId,
    business_product_id,
    type: "products",
    record: null,
    seal: batchSeal(business, [bytes], 0),
    live_in: ["eu-west1"],
    last_updated: "2026-03-01T12:00:02.000Z",
    source: "api",
  };
  const saved = (value: unknown) => utf8(JSON.stringify(value));
  const files: CatalogueFiles = {
    anchorsText: JSON.stringify(service.anchors),
    allowSandbox: false,
    keySet: saved(keySetAnswer(service)),
    certificate: saved(certificateAnswer(business.issued.envelope)),
    businessKeys: saved(publishedKeys(service, business)),
  };
  const text = JSON.stringify(answer).replace('"record":null', `"record":${new TextDecoder().decode(bytes)}`);
  return { files, text };
}

describe("collected evidence", () => {
  it("is complete: the offline verifier makes every check, and each holds", async () => {
    const { evidence, read, anchorsText } = await collected("production");
    expect(read).toHaveLength(4);
    const outcome = verifyEvidenceFile(utf8(evidence), { anchorsText, allowSandbox: false });
    expect(outcome).toMatchObject({ ok: true, value: { valid: true, complete: true } });
    const altered = evidence.replace("Black tea", "Green tea");
    expect(altered).not.toBe(evidence);
    const refused = verifyEvidenceFile(utf8(altered), { anchorsText, allowSandbox: false });
    expect(refused).toMatchObject({ ok: true, value: { valid: false } });
  });

  it("of a sandbox verifies only for whoever says so, and never with production's anchors", async () => {
    const sandbox = await collected("sandbox");
    const file = utf8(sandbox.evidence);
    const { anchorsText } = sandbox;
    expect(verifyEvidenceFile(file, { anchorsText, allowSandbox: false })).toMatchObject({
      code: "anchors_unusable",
    });
    expect(verifyEvidenceFile(file, { anchorsText, allowSandbox: true })).toMatchObject({
      value: { valid: true },
    });
    const production = await collected("production");
    const other = verifyEvidenceFile(file, { anchorsText: production.anchorsText, allowSandbox: true });
    expect(other).toMatchObject({ value: { valid: false } });
  });

  it("of a business's own catalogue is judged by the keys of the business that they name, and is never complete", () => {
    const service = makeService("production");
    const { files, text } = ownRecord(service);
    const fetched = fetchBody(service, makeBusiness(service), recordBytes());
    expect([text, fetched, "[]"].map((each) => isCatalogueFile(utf8(each)))).toEqual([true, false, false]);
    const outcome = verifyCatalogueFile(utf8(text), files);
    expect(outcome).toMatchObject({ ok: true, value: { valid: true, complete: false } });
    const states = (outcome.ok ? outcome.value.checks : []).map(({ name, state }) => `${name} ${state}`);
    expect(states.slice(0, 5)).toEqual([
      "key_set ok",
      "certificate ok",
      "business_keys ok",
      "seal ok",
      "ai_policy not_checked",
    ]);
    const altered = verifyCatalogueFile(utf8(text.replace("Black tea", "Green tea")), files);
    expect(altered).toMatchObject({ value: { valid: false } });
    // Other keys are genuine, and say nothing of this record.
    const other = ownRecord(service);
    expect(verifyCatalogueFile(utf8(text), other.files)).toMatchObject({ value: { valid: false } });
    const nobody = { ...files, businessKeys: utf8("{}") };
    expect(verifyCatalogueFile(utf8(text), nobody)).toMatchObject({ ok: false, code: "evidence_unusable" });
  });

  it("is not verified with what are no anchors", () => {
    for (const anchorsText of ["", "{}", "[1]", '{"v":1}']) {
      const outcome = verifyEvidenceFile(utf8("{}"), { anchorsText, allowSandbox: true });
      expect(outcome).toMatchObject({ ok: false, code: "anchors_unusable" });
    }
  });
});
