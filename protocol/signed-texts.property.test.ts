// Compares the texts that are built by hand, because they are signed in large numbers, with the canonical form (RFC 8785).
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { policyBitsText } from "./ai-policy.ts";
import { collectionNames } from "./identifiers.ts";
import { canonicalize, type JsonObject, type JsonValue } from "./json/canonical-json.ts";
import { receiptPayload } from "./receipt.fixture.ts";
import { type ReceiptV3, receiptPayloadText } from "./receipt.ts";
import { rowSigningText, serveRow, signedRowText } from "./row.ts";
import { type SidecarV2, sidecarPayloadText } from "./signed-version.ts";

const hash = fc.stringMatching(/^sha256:[0-9a-f]{64}$/);
const keyId = fc.stringMatching(/^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/);
const uuid = fc.uuid({ version: 4 });
const recordId = fc.stringMatching(/^svc_[a-z2-7]{26}$/);
const signature = fc.stringMatching(/^[A-Za-z0-9+/]{86}==$/);
const timestamp = fc
  .date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true })
  .map((date) => date.toISOString());
const counter = fc.nat();
/** Any well-formed text: quotes, backslashes, control characters and characters beyond the basic plane. */
const text = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
const json = (value: object): JsonValue => JSON.parse(JSON.stringify(value)) as JsonValue;

describe("texts built for signing are the RFC 8785 form", () => {
  it("of a receipt", () => {
    const row = fc.record({
      record_id: recordId,
      adl_origin: hash,
      adl_row_sig: signature,
      ai_policy_version: counter,
    });
    const receipts: fc.Arbitrary<ReceiptV3> = fc.record({
      v: fc.constant(3),
      ai_company_uuid: uuid,
      collection: fc.constantFrom(null, ...collectionNames),
      country: fc.constantFrom(null, "DE", "US"),
      key_id: keyId,
      kind: fc.constantFrom("search", "fetch", "ad_pool"),
      region: fc.constantFrom("eu-west1", "us-east12"),
      request_hash: hash,
      retrieval_id: text,
      rows: fc.array(row, { maxLength: 3 }),
      served_at: timestamp,
    });
    fc.assert(
      fc.property(receipts, (receipt) => {
        expect(receiptPayloadText(receipt)).toBe(canonicalize(json(receipt)));
        const { key_id: _, ...rest } = receipt;
        const rows = receipt.rows.map(({ ai_policy_version: terms_version, ...each }) => ({
          ...each,
          terms_version,
        }));
        const first = { ...rest, v: 1, rows } as const;
        expect(new TextDecoder().decode(receiptPayload(first))).toBe(canonicalize(json(first)));
      }),
    );
  });

  it("of a sidecar", () => {
    const sidecars: fc.Arbitrary<SidecarV2> = fc.record({
      v: fc.constant(2),
      action: fc.constantFrom("publish", "update", "withdraw", "delete"),
      ai_policy_version: counter,
      batch_id: fc.option(fc.stringMatching(/^bat_[0-9a-f]{24}$/)),
      business_uuid: uuid,
      cert_id: hash,
      change: counter,
      generation: counter,
      path: fc.constantFrom("A", "B"),
      published_at: timestamp,
      received_at: timestamp,
      record_id: recordId,
      record_type: fc.constantFrom(...collectionNames),
      record_version: counter,
      scope: fc.record({
        basis: fc.constantFrom("mandate", "role", "standard_publishing"),
        key_id: keyId,
        kind: fc.constantFrom("system", "passkey", "hosted"),
        mandate_id: fc.option(text),
        permissions: fc.array(text, { minLength: 1, maxLength: 3 }),
      }),
      seal_ok: fc.constant(true),
      sealed_at: timestamp,
      sealed_by_key_id: keyId,
      sha256: hash,
      source: fc.constantFrom("manual", "import", "api"),
    });
    fc.assert(
      fc.property(sidecars, (sidecar) => {
        expect(sidecarPayloadText(sidecar)).toBe(canonicalize(json(sidecar)));
      }),
    );
  });

  it("of AI policy bits", () => {
    const masks = fc.record({ ai_policy_schema: counter, use: counter, action: counter, blocked: counter });
    fc.assert(
      fc.property(counter, masks, (version, bits) => {
        expect(policyBitsText(version, bits)).toBe(canonicalize({ ...bits, ai_policy_version: version }));
      }),
    );
  });
});

describe("a served row", () => {
  // Names that sort before, among and after the members of every row, and values that look like members.
  const fields = fc.dictionary(
    fc.constantFrom("age_restriction", "brand", "geo", "price_DE", "tags", "zone", "__proto__"),
    fc.oneof(
      text,
      fc.constantFrom('"ai_policy_version":1', '","adl_proj":"x'),
      fc.array(text, { maxLength: 2 }),
      fc.constant({ type: "x", lat: 1 }),
    ),
  );
  const unsigned = fc.tuple(fields, hash, keyId).map(
    ([rest, origin, key]): JsonObject => ({
      ...rest,
      record_id: "svc_x",
      type: "products",
      adl_proj: "products/1",
      adl_origin: origin,
      adl_key_id: key,
      ai_policy_version: 3,
    }),
  );

  it("is the signed text, canonical, with the serve-time members put in", () => {
    fc.assert(
      fc.property(unsigned, signature, fc.boolean(), (row, sig, sponsored) => {
        const signing = rowSigningText(row);
        expect(signing).toBe(canonicalize(row));
        const stored = signedRowText(signing, sig);
        expect(stored).toBe(canonicalize({ ...row, adl_row_sig: sig }));
        const bits = { ai_policy_schema: 2, use: 1, action: 2, blocked: 3 };
        const served = JSON.parse(serveRow(stored, policyBitsText(4, bits), sponsored)) as JsonObject;
        expect(served["ai_policy_bits"]).toEqual({ ...bits, ai_policy_version: 4 });
        expect(served["sponsored"]).toBe(sponsored ? true : undefined);
        expect(served["adl_row_sig"]).toBe(sig);
        expect(rowSigningText(served)).toBe(signing);
      }),
    );
  });

  it("is canonical with its AI policy bits", () => {
    fc.assert(
      fc.property(unsigned, signature, (row, sig) => {
        const bits = policyBitsText(4, { ai_policy_schema: 2, use: 1, action: 2, blocked: 3 });
        const served = serveRow(signedRowText(rowSigningText(row), sig), bits);
        expect(served).toBe(canonicalize(JSON.parse(served) as JsonValue));
      }),
    );
  });

  it("is not made of a row that lacks what every row has", () => {
    expect(() => signedRowText('{"type":"products"}', "x")).toThrow("adl_proj");
    expect(() => serveRow('{"type":"products"}', "{}")).toThrow("ai_policy_version");
  });
});
