import { describe, expect, it } from "vitest";
import { searchRowsMax } from "../protocol/limits.ts";
import type { IndexRow } from "../protocol/row.ts";
import {
  batchSeal,
  makeBusiness,
  publishedKeys,
  recordBytes,
  recordId,
} from "../verifier/business.fixture.ts";
import { evidenceText } from "../verifier/evidence.ts";
import { callerKeyId, fetchBody, receiptFacts, servedRow } from "../verifier/retrieval.fixture.ts";
import {
  certificateAnswer,
  document,
  keySetAnswer,
  makeService,
  makeServiceKey,
  soleKey,
  type TestService,
} from "../verifier/service.fixture.ts";
import {
  type CatalogueFiles,
  evidenceOf,
  isCatalogueFile,
  proveShownPrice,
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

/** A saved search of products, with as many rows as an answer may have, and texts as long as a record may have. */
function keptSearch(service: TestService, collection = "products") {
  const business = makeBusiness(service);
  const bytes = recordBytes({
    product_name: "茶".repeat(200),
    short_description: "茶".repeat(500),
    brand: "茶".repeat(100),
  });
  const rows = Array.from({ length: searchRowsMax }, (_, at) => {
    const id = `svc_${"a".repeat(24)}${"abcdefgh"[at >> 3]}${"abcdefgh"[at & 7]}`;
    return servedRow(service, business, bytes, { recordId: id }) as IndexRow;
  });
  const receipt = document("receipt.v3", { ...receiptFacts(rows), collection }, soleKey(service.receipt));
  const answer = { retrieval_id: "ret_1", collection, country: "DE", rows, receipt };
  const evidence = evidenceText({
    environment: service.environment,
    answer: { kind: "search", text: JSON.stringify(answer) },
    keySet: JSON.stringify(keySetAnswer(service)),
  });
  const choice = {
    anchorsText: JSON.stringify(service.anchors),
    allowSandbox: false,
    row: 2,
    verifyUrl: "https://verify.test",
    certificate: utf8(JSON.stringify(certificateAnswer(business.issued.envelope))),
    hasChain: true,
  };
  return { file: utf8(evidence), choice, rows };
}

describe("the proof of a shown price", () => {
  const service = makeService();
  const { file, choice, rows } = keptSearch(service);
  const keySet = utf8(JSON.stringify(keySetAnswer(service)));
  const fetchedEvidence = utf8(
    evidenceText({
      environment: "production",
      answer: { kind: "fetched", text: fetchBody(service, makeBusiness(service), recordBytes()) },
      keySet: JSON.stringify(keySetAnswer(service)),
    }),
  );

  it("has at most 48 KB with its chain, and 24 KB without, of an answer of 50 rows", () => {
    const whole = proveShownPrice(file, choice);
    const bare = proveShownPrice(file, { ...choice, hasChain: false });
    if (!whole.ok || !bare.ok) throw new Error("Both are made.");
    expect(verifyEvidenceFile(utf8(whole.value.text), choice)).toMatchObject({ value: { valid: true } });
    expect(verifyEvidenceFile(utf8(bare.value.text), { ...choice, keySet })).toMatchObject({
      value: { valid: true, complete: true },
    });
    expect(utf8(whole.value.text).length).toBeLessThanOrEqual(48_000);
    expect(utf8(bare.value.text).length).toBeLessThanOrEqual(24_000);
  });

  it("says first what it discloses: the caller, its request, and every other row", () => {
    const made = proveShownPrice(file, choice);
    const [caller, request, others = ""] = made.ok ? made.value.discloses : [];
    const { ai_company_uuid: company, request_hash: hash } = receiptFacts([]);
    expect(caller).toBe(`The caller: the AI company ${company} and its key ${callerKeyId}.`);
    expect(request).toContain(`for DE, with the retrieval id ret_1 and the hash ${hash}`);
    expect(others).toContain("The 49 other rows");
    for (const [at, { record_id }] of rows.entries()) expect(others.includes(record_id)).toBe(at !== 1);
  });

  it("leads to the root that is pinned, over one that it certified", () => {
    const next = makeServiceKey("root");
    const links = service.links.map((link) =>
      link.certified === service.issuance ? { ...link, issuer: next } : link,
    );
    const later = { ...service, links: [{ certified: next, issuer: service.root }, ...links] };
    const kept = keptSearch(later);
    const made = proveShownPrice(kept.file, kept.choice);
    const { key_certificates } = JSON.parse(made.ok ? made.value.text : "{}");
    expect(key_certificates).toHaveLength(4);
    expect(verifyEvidenceFile(utf8(made.ok ? made.value.text : ""), choice)).toMatchObject({
      value: { valid: true },
    });
  });

  it.each([
    ["not the evidence of a search", utf8("{}"), {}],
    ["not the evidence of a search", fetchedEvidence, {}],
    ["50 rows, and no row 51", file, { row: 51 }],
    ["no issuance sha256:", file, { certificate: utf8("{}") }],
    [
      "The key set does not verify: trust_chain_broken",
      file,
      { anchorsText: JSON.stringify(makeService().anchors) },
    ],
    ["record_type_mismatch", keptSearch(service, "events").file, {}],
    ["source_line: payload_malformed", file, { verifyUrl: "" }],
  ])("is refused where it would not verify: %s", (detail, from, changes) => {
    expect(proveShownPrice(from, { ...choice, ...changes })).toMatchObject({
      code: "evidence_unusable",
      detail: expect.stringContaining(detail),
    });
  });

  it("is not made under anchors that cannot be used", () => {
    expect(proveShownPrice(file, { ...choice, anchorsText: "{}" })).toMatchObject({
      code: "anchors_unusable",
    });
  });
});

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
