// The small entry: the checks of the whole verifier, under keys that it accepted, and under nothing else.

import { describe, expect, it } from "vitest";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { recordBytes } from "./business.fixture.ts";
import { callerKeyId, searchBody } from "./retrieval.fixture.ts";
import { createRowVerifier } from "./rows.ts";
import { codeOf, held, makeScene } from "./scene.fixture.ts";
import { keySetAnswer } from "./service.fixture.ts";
import { AnchorsError, acceptedKeys } from "./verify.ts";

const { service, business } = makeScene();
const keySet = keySetAnswer(service) as JsonObject;
const accepted = JSON.parse(JSON.stringify(held(acceptedKeys(keySet, service.anchors))));
const verifier = held(createRowVerifier(accepted));
const { rows, receipt } = JSON.parse(searchBody(service, business, recordBytes()));
const [row] = rows;

describe("the entry for rows", () => {
  it("verifies an answer's receipt over its rows, and their projection", () => {
    expect(verifier.issuedAt).toBe(accepted.issued_at);
    const served = held(verifier.served(receipt, rows, { callerKeyId, isWhole: true }));
    expect(served.receipt).toMatchObject({ key_id: callerKeyId });
    expect(served.rows).toEqual(rows);
    const signed = held(verifier.rowSignature(row, served.receipt.served_at));
    expect(codeOf(verifier.projection(signed, recordBytes()))).toBe("ok");
    expect(codeOf(verifier.projection(signed, recordBytes({ brand: "Other" })))).toBe("hash_mismatch");
  });

  it("refuses a changed row with its place, another caller, and other rows than were served", () => {
    const changed = { ...row, brand: "Other" };
    expect(verifier.served(receipt, [row, changed])).toMatchObject({
      code: "row_signature_invalid",
      pointer: "/rows/1/adl_row_sig",
    });
    expect(codeOf(verifier.served(receipt, rows, { callerKeyId: "x".repeat(43) }))).toBe(
      "receipt_caller_mismatch",
    );
    expect(codeOf(verifier.served(receipt, [], { isWhole: true }))).toBe("receipt_row_mismatch");
    const other = JSON.parse(searchBody(service, business, recordBytes({ brand: "Other" })));
    expect(codeOf(verifier.served(receipt, other.rows))).toBe("receipt_row_mismatch");
  });

  it("refuses what is no answer, or of another kind, without throwing", () => {
    for (const none of [undefined, null, {}, "rows"])
      expect(codeOf(verifier.served(receipt, none as unknown as []))).toBe("payload_malformed");
    for (const value of ["\ud800", Number.POSITIVE_INFINITY])
      expect(codeOf(verifier.rowSignature({ ...row, brand: value }))).toBe("payload_malformed");
    expect(codeOf(verifier.served(receipt, rows, { kind: "fetch" }))).toBe("receipt_row_mismatch");
  });

  it("takes nothing but what the whole verifier accepted", () => {
    for (const other of [keySet, keySet["signed"], service.anchors, { ...accepted, format: 1 }, null, []])
      expect(codeOf(createRowVerifier(other))).toBe("trust_chain_broken");
    const [key] = accepted.keys;
    expect(codeOf(createRowVerifier({ ...accepted, keys: [key, key] }))).toBe("payload_malformed");
    for (const change of [{ use: "sidecar" }, { alg: "ES256" }, { public_key: {} }, { more: 1 }])
      expect(codeOf(createRowVerifier({ ...accepted, keys: [{ ...key, ...change }] }))).toBe(
        "payload_malformed",
      );
  });

  it("knows the keys of rows and receipts alone", () => {
    const uses = new Set(accepted.keys.map(({ use }: { use: string }) => use));
    expect(uses).toEqual(new Set(["projection", "receipt"]));
    const none = held(createRowVerifier({ ...accepted, keys: [] }));
    expect(codeOf(none.rowSignature(row))).toBe("key_unknown");
    expect(codeOf(none.receipt(receipt))).toBe("key_unknown");
  });

  it("judges by a sandbox only where that is allowed", () => {
    const sandbox = makeScene("sandbox").service;
    const given = [keySetAnswer(sandbox), sandbox.anchors] as const;
    expect(() => acceptedKeys(...given)).toThrow(AnchorsError);
    const keys = held(acceptedKeys(...given, { allowSandbox: true }));
    expect(codeOf(createRowVerifier(keys))).toBe("key_unknown");
    expect(codeOf(createRowVerifier(keys, { allowSandbox: true }))).toBe("ok");
  });

  it("has no keys of a key set that does not chain to the anchors", () => {
    const other = JSON.stringify(keySetAnswer(makeScene().service));
    expect(codeOf(acceptedKeys(other, JSON.stringify(service.anchors)))).toBe("trust_chain_broken");
  });
});
