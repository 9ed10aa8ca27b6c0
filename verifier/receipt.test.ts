import { describe, expect, it } from "vitest";
import type { IndexRow } from "../protocol/row.ts";
import { recordBytes } from "./business.fixture.ts";
import { receiptFacts, servedRow } from "./retrieval.fixture.ts";
import { codeOf, held, makeScene } from "./scene.fixture.ts";
import { asJson, document, soleKey } from "./service.fixture.ts";
import { makeKey } from "./signing.fixture.ts";

const { service, business, verifier, verifierOf } = makeScene();
const bytes = recordBytes();
const row = servedRow(service, business, bytes);
const stored = held(verifier.rowSignature(row));

describe("a receipt", () => {
  const facts = receiptFacts([stored]);
  const receipt = (
    changes: object = {},
    key = soleKey(service.receipt),
    kind: "receipt.v1" | "receipt.v2" | "receipt.v3" = "receipt.v3",
  ) => document(kind, { ...facts, ...changes }, key);
  const termsRows = facts.rows.map(({ ai_policy_version: version, ...rest }) => ({
    ...rest,
    terms_version: version,
  }));

  it("stands by the receipt key of its region, for its caller and its rows", () => {
    const subject = {
      callerKeyId: facts.key_id,
      requestHash: facts.request_hash,
      retrievalId: facts.retrieval_id,
      rows: [stored],
      isWhole: true,
    };
    expect(verifier.receipt(receipt(), subject)).toMatchObject({
      ok: true,
      value: { retrieval_id: facts.retrieval_id },
    });
  });

  it("by another region's key is key_unknown, and so is one by a key of another use", () => {
    expect(codeOf(verifier.receipt(receipt({}, soleKey(service.otherReceipt))))).toBe("key_unknown");
    expect(codeOf(verifier.receipt(receipt({ region: "us-east1" })))).toBe("key_unknown");
    expect(codeOf(verifier.receipt(receipt({}, soleKey(service.sidecar))))).toBe("key_unknown");
    expect(codeOf(verifier.receipt(receipt({}, makeKey("Ed25519"))))).toBe("key_unknown");
  });

  it("with a passkey's members in its signature, for which nothing would vouch, is signature_invalid", () => {
    const envelope = receipt() as { readonly signatures: readonly object[] };
    const passkeys = { authenticatorData: "AAAA", clientDataJSON: "AAAA" };
    const signatures = envelope.signatures.map((each) => ({ ...each, ...passkeys }));
    expect(codeOf(verifier.receipt(asJson({ ...envelope, signatures })))).toBe("signature_invalid");
  });

  it("leaked to another caller is receipt_caller_mismatch", () => {
    for (const subject of [
      { callerKeyId: business.system.keyId },
      { requestHash: stored.adl_origin },
      { retrievalId: "other" },
    ]) {
      expect(codeOf(verifier.receipt(receipt(), subject))).toBe("receipt_caller_mismatch");
    }
    const second = receipt({ v: 2, rows: termsRows }, undefined, "receipt.v2");
    expect(codeOf(verifier.receipt(second, { callerKeyId: business.system.keyId }))).toBe(
      "receipt_caller_mismatch",
    );
    expect(codeOf(verifier.receipt(second, { callerKeyId: facts.key_id }))).toBe("ok");
  });

  it("of format 1 stands, but names no caller", () => {
    const first = receipt({ v: 1, rows: termsRows, key_id: undefined }, undefined, "receipt.v1");
    expect(codeOf(verifier.receipt(first))).toBe("ok");
    expect(codeOf(verifier.receipt(first, { callerKeyId: facts.key_id }))).toBe("receipt_caller_mismatch");
  });

  it("mixing the members of formats is payload_malformed", () => {
    expect(codeOf(verifier.receipt(receipt({ rows: termsRows })))).toBe("payload_malformed");
    expect(codeOf(verifier.receipt(receipt({}, undefined, "receipt.v2")))).toBe("payload_malformed");
    expect(codeOf(verifier.receipt(receipt({ v: 2 }, undefined, "receipt.v2")))).toBe("payload_malformed");
    expect(codeOf(verifier.receipt(receipt({ v: 4 })))).toBe("version_unknown");
    expect(codeOf(verifier.receipt(receipt({ note: "x" })))).toBe("payload_malformed");
    expect(codeOf(verifier.receipt(receipt({ key_id: undefined })))).toBe("payload_malformed");
  });

  it("against a row that it does not list as it is is receipt_row_mismatch", () => {
    const rows: readonly Partial<IndexRow>[] = [
      { adl_origin: facts.request_hash },
      { adl_row_sig: `${"A".repeat(86)}==` },
      { record_id: `svc_${"b".repeat(26)}` },
      { ai_policy_version: 9 },
    ];
    for (const change of rows) {
      expect(codeOf(verifier.receipt(receipt(), { rows: [{ ...stored, ...change } as IndexRow] }))).toBe(
        "receipt_row_mismatch",
      );
    }
    expect(codeOf(verifier.receipt(receipt(), { rows: [], isWhole: true }))).toBe("receipt_row_mismatch");
    expect(codeOf(verifier.receipt(receipt(), { rows: [] }))).toBe("ok");
  });

  it("stands only where the key was valid when it served", () => {
    const until = { valid_until: facts.served_at };
    const links = service.links.map((link) =>
      link.certified === service.receipt ? { ...link, facts: until } : link,
    );
    const ended = verifierOf({ links, entries: (key) => (key === service.receipt ? until : {}) });
    expect(codeOf(ended.receipt(receipt()))).toBe("key_not_valid");
    const compromised = verifierOf({
      entries: (key) => (key === service.receipt ? { compromised_from: facts.served_at } : {}),
    });
    expect(codeOf(compromised.receipt(receipt()))).toBe("key_compromised");
    expect(codeOf(compromised.receipt(receipt({ served_at: "2026-03-05T09:59:59.999Z" })))).toBe("ok");
  });

  it("carries exactly one signature", () => {
    const once = receipt() as unknown as { readonly signatures: readonly object[] };
    const twice = { ...once, signatures: [...once.signatures, ...once.signatures] };
    expect(codeOf(verifier.receipt(asJson(twice)))).toBe("envelope_malformed");
  });

  it("changed after signing is signature_invalid", () => {
    const other = receipt({ served_at: "2026-03-05T10:00:00.001Z" }) as { payload: string };
    expect(codeOf(verifier.receipt(asJson({ ...(receipt() as object), payload: other.payload })))).toBe(
      "signature_invalid",
    );
  });
});
