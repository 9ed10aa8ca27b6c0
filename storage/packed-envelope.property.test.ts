// P1 and P2 of receipt-store.ts.

import fc from "fast-check";
import { expect, it } from "vitest";
import { toBase64, toHex, utf8 } from "../protocol/bytes.ts";
import { receiptPayloadText } from "../protocol/receipt.ts";
import { packEnvelope, unpackEnvelope } from "./receipt-store.ts";

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const row = fc.record({
  record_id: fc.stringMatching(/^svc_[a-z2-7]{26}$/),
  adl_origin: bytes(32).map((hash) => `sha256:${toHex(hash)}`),
  adl_row_sig: bytes(64).map(toBase64),
  ai_policy_version: fc.nat(),
});
const payload = fc
  .record({
    rows: fc.array(row, { maxLength: 50 }),
    retrieval_id: fc.string({ unit: "grapheme", maxLength: 9 }),
  })
  .map((varied) =>
    receiptPayloadText({
      ai_company_uuid: "10000000-0000-4000-8000-000000000001",
      collection: "products",
      country: "GB",
      key_id: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
      kind: "search",
      region: "eu-west1",
      request_hash: `sha256:${"0".repeat(64)}`,
      served_at: "2026-03-04T05:06:07.123Z",
      ...varied,
    }),
  );

function envelopeOf(text: string, signature: Uint8Array): string {
  const sig = toBase64(signature);
  const type = "application/vnd.svc.receipt.v3+json";
  return `{"payloadType":"${type}","payload":"${toBase64(utf8(text))}","signatures":[{"keyid":"key","sig":"${sig}"}]}`;
}

const envelope = fc.tuple(payload, bytes(64)).map(([text, signature]) => envelopeOf(text, signature));

it("the text of every receipt comes back as it was, from less than half of its bytes where it has rows (P1)", () => {
  fc.assert(
    fc.property(envelope, (text) => {
      const packed = packEnvelope(text);
      expect(unpackEnvelope(packed)).toBe(text);
      if (text.length > 6_000) expect(packed.length).toBeLessThan(0.48 * text.length);
    }),
  );
});

it("so does any other text, and one that is nearly a receipt's (P1)", () => {
  const changed = fc
    .tuple(
      envelope,
      fc.nat(),
      fc.constantFrom("", "A", "a", "=", '"', "\\", " ", "\u0001", "\u0002", "\0", "\n", "é"),
    )
    .map(([text, at, by]) => {
      const place = at % text.length;
      return text.slice(0, place) + by + text.slice(place + 1);
    });
  // Within the payload, where base64 hides a change from the form of the envelope.
  const inside = fc
    .tuple(
      payload,
      fc.nat(),
      fc.constantFrom("", "F", "a", '"', "\u0001", "\u0002", "\0", "\n", "é", "\ufeff"),
      bytes(64),
    )
    .map(([text, at, by, signature]) => {
      const place = at % text.length;
      return envelopeOf(text.slice(0, place) + by + text.slice(place + 1), signature);
    });
  const plain = fc.string({ unit: "grapheme" });
  fc.assert(
    fc.property(fc.oneof(plain, changed, inside), (text) => {
      expect(unpackEnvelope(packEnvelope(text))).toBe(text);
    }),
    { numRuns: 500 },
  );
  for (const text of [
    "",
    "\0",
    "\ufeff",
    envelopeOf("\ufeff", new Uint8Array(64)),
    envelopeOf("\u0001", new Uint8Array(64)),
  ])
    expect(unpackEnvelope(packEnvelope(text))).toBe(text);
});

it("so does a row whose signature ends before its digits do (P1)", () => {
  for (const digits of ["==", "A=", "=A", "A!"]) {
    const signed = `${"A".repeat(82)}${digits}AA==`;
    const text = `{"rows":[{"adl_origin":"sha256:${"0".repeat(64)}","adl_row_sig":"${signed}","ai_policy_version":1,"record_id":"r"}]}`;
    const whole = envelopeOf(text, new Uint8Array(64));
    expect(unpackEnvelope(packEnvelope(whole))).toBe(whole);
  }
});

it("so does a text whose parts share a quotation mark (P1)", () => {
  const whole = envelopeOf("{}", new Uint8Array(64));
  for (const from of ["application/vnd.svc.receipt.v3+json", "key"])
    for (const by of ["", '"', '"é"']) {
      const text = whole.replace(`"${from}"`, by);
      expect(unpackEnvelope(packEnvelope(text))).toBe(text);
    }
});

it("bytes that were not packed are refused", () => {
  const whole = packEnvelope(envelopeOf("{}", new Uint8Array(64)));
  for (const other of [
    new Uint8Array(0),
    Uint8Array.of(7, 1),
    whole.subarray(0, -1),
    Uint8Array.of(1, 65, 10),
  ])
    expect(() => unpackEnvelope(other)).toThrow("was not written by this store");
});
