// Files of every kind that somebody may have been given (any-file.ts).

import { describe, expect, it } from "vitest";
import { toBase64, utf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { businessIn, type FileReport, verifyAnyFile } from "./any-file.ts";
import {
  passkeySeal,
  publishedKeys,
  recordBytes,
  recordId,
  sealedDecision,
  sealedMandate,
} from "./business.fixture.ts";
import { evidenceText } from "./evidence.ts";
import { fetchBody, searchBody, servedAt } from "./retrieval.fixture.ts";
import { makeScene } from "./scene.fixture.ts";
import { certificateAnswer, keySetAnswer } from "./service.fixture.ts";

const scene = makeScene();
const { service, business, verifier } = scene;
const { uuid, issued } = business;
const bytes = recordBytes();
const keySet = keySetAnswer(service);
const { anchors } = service;
const published = {
  businessKeys: publishedKeys(service, business),
  certificate: certificateAnswer(issued.envelope),
};
const search = searchBody(service, business, bytes);
const { receipt, rows } = JSON.parse(search) as { receipt: JsonValue; rows: JsonValue[] };

const judge = (file: JsonValue | string, more: object = published): FileReport =>
  verifyAnyFile(
    { anchors, keySet, at: servedAt, ...more },
    utf8(typeof file === "string" ? file : JSON.stringify(file)),
  );
const states = ({ checks }: FileReport) => checks.map(({ name, state, reason }) => [name, reason ?? state]);
const recordsIn = (report: FileReport) => [
  report.receipts.flatMap((each) => each.rows.map(({ record_id }) => record_id)),
  report.rows.map(({ record_id }) => record_id),
];

describe("a file", () => {
  it("with a receipt alone is judged, and says what was served", () => {
    const report = judge(receipt ?? null);
    expect(states(report)).toEqual([
      ["key_set", "ok"],
      ["receipt", "ok"],
    ]);
    expect([report.valid, report.complete, recordsIn(report)]).toEqual([true, true, [[recordId], []]]);
  });

  it("with a list of own receipts is judged with what stands beside them", () => {
    const said = judge(receipt ?? null).receipts[0];
    const own = { retrieval_id: said?.retrieval_id ?? "", rows: 1, billable: true, receipt: receipt ?? null };
    expect(states(judge({ receipts: [own] }))).toEqual([
      ["key_set", "ok"],
      ["receipts/0", "ok"],
      ["receipts/0/billable", "not_checked"],
    ]);
    for (const other of [{ rows: 2 }, { retrieval_id: "ret_0" }]) {
      const report = judge({ receipts: [{ ...own, ...other }] });
      expect([report.valid, report.receipts, states(report)[1]]).toEqual([
        false,
        [],
        ["receipts/0", "payload_malformed"],
      ]);
    }
  });

  it("with a row alone is judged, and not said to have been served", () => {
    const report = judge(rows[0] ?? null);
    expect([report.valid, report.complete, recordsIn(report)]).toEqual([true, false, [[], [recordId]]]);
    const row = rows[0] as Record<string, JsonValue>;
    for (const other of [{ ...row, brand: "Other" }, { ...row, adl_row_sig: "AA==" }, { adl_row_sig: 1 }])
      expect(judge(other)).toMatchObject({
        valid: false,
        rows: [],
        checks: [{}, { name: "row", state: "failed" }, {}, {}, {}],
      });
  });

  it("with an answer or evidence of it is judged as such", () => {
    const fetched = fetchBody(service, business, bytes);
    expect(businessIn(utf8(fetched))).toBe(uuid);
    expect(businessIn(utf8(search))).toBe(null);
    for (const file of [
      search,
      evidenceText({
        environment: "production",
        answer: { kind: "search", text: search },
        keySet: JSON.stringify(keySet),
      }),
    ])
      expect([judge(file).valid, recordsIn(judge(file))]).toEqual([true, [[recordId], [recordId]]]);
    // What verified is told, and nothing else.
    const otherRow = judge(search.replace(recordId, `svc_${"b".repeat(26)}`));
    expect([otherRow.valid, recordsIn(otherRow)]).toEqual([false, [[recordId], []]]);
    const otherCountry = judge(search.replace('"country":"DE"', '"country":"FR"'));
    expect([otherCountry.valid, recordsIn(otherCountry)]).toEqual([false, [[], [recordId]]]);
  });

  it.each(["", "[]", "{}", "nothing", '{"format":"svc-evidence/9"}', '{"receipts":[]}'])(
    "of another kind is refused as a file: %j",
    (text) => {
      expect(states(judge(text))).toEqual([["file", "payload_malformed"]]);
    },
  );
});

describe("what a person sealed", () => {
  const words = (envelope: JsonValue, document?: Uint8Array) =>
    verifier.sealedByPerson(envelope, {
      businessUuid: uuid,
      ...published,
      ...(document === undefined ? {} : { document }),
    }).words;

  it("is said in the words that they were shown", () => {
    const seal = passkeySeal(business, bytes);
    const withBytes = { business_uuid: uuid, record_base64: toBase64(bytes), seal };
    for (const [file, said] of [
      [sealedMandate(business), words(sealedMandate(business))],
      [sealedDecision(business), words(sealedDecision(business))],
      [withBytes, words(seal, bytes)],
    ] as const) {
      expect(businessIn(utf8(JSON.stringify(file)))).toBe(uuid);
      const report = judge(file);
      expect([report.valid, report.words]).toEqual([true, said]);
      expect(said?.length).toBeGreaterThan(2);
    }
    expect(judge({ ...withBytes, record_base64: toBase64(recordBytes({ brand: "Other" })) }).valid).toBe(
      false,
    );
  });

  it("is not said to be verified without the keys of its business", () => {
    for (const [file, more] of [
      [sealedMandate(business), {}],
      [passkeySeal(business, bytes), published],
    ] as const)
      expect(judge(file, more)).toMatchObject({
        valid: false,
        words: [],
        checks: [{ name: "key_set" }, { name: "seal", state: "not_checked" }],
      });
  });

  it("is said of a fetched record as well, once its seal is verified", () => {
    const seal = passkeySeal(business, bytes);
    const fetched = fetchBody(service, business, bytes, { seal });
    expect(judge(fetched).words).toEqual(words(seal, bytes));
    expect(judge(fetched, {}).words).toBe(undefined);
  });
});

it("of another deployment is not verified: the anchors decide", () => {
  const { anchors: others } = makeScene("sandbox").service;
  expect(judge(receipt ?? null, { anchors: others })).toMatchObject({ valid: false, receipts: [] });
});
