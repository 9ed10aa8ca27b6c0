// From an answer to its verdict by one call.

import { describe, expect, it } from "vitest";
import { recordBytes } from "./business.fixture.ts";
import { evidenceText } from "./evidence.ts";
import { callerKeyId, fetchBody, searchBody } from "./retrieval.fixture.ts";
import { makeScene } from "./scene.fixture.ts";
import { keySetAnswer } from "./service.fixture.ts";
import { AnchorsError, verify } from "./verify.ts";

const { service, business } = makeScene();
const keySet = JSON.stringify(keySetAnswer(service));
const { anchors } = service;
const search = searchBody(service, business, recordBytes());

describe("verify", () => {
  it.each(["text", "bytes", "parsed"] as const)("takes anchors as %s", (form) => {
    const given = JSON.stringify(anchors);
    const forms = { text: given, bytes: new TextEncoder().encode(given), parsed: JSON.parse(given) };
    expect(verify(search, forms[form], { keySet })).toMatchObject({ valid: true, complete: true });
  });

  it("judges a bare answer by the key set beside it, and evidence by its own", () => {
    const fetched = fetchBody(service, business, recordBytes());
    for (const answer of [search, fetched]) {
      const { checks, valid } = verify(answer, JSON.stringify(anchors), { keySet, callerKeyId });
      expect(valid).toBe(true);
      expect(checks.slice(0, 2)).toMatchObject([{ name: "key_set" }, { name: "receipt", state: "ok" }]);
    }
    const file = { environment: "production", answer: { kind: "search", text: search }, keySet } as const;
    expect(verify(evidenceText(file), JSON.stringify(anchors))).toMatchObject({ valid: true });
  });

  it("finds nothing valid without a key set, nor with that of another service", () => {
    expect(verify(search, JSON.stringify(anchors))).toEqual({
      valid: false,
      complete: false,
      checks: [{ name: "key_set", state: "not_checked", detail: expect.stringContaining("key set") }],
    });
    const other = JSON.stringify(keySetAnswer(makeScene().service));
    expect(verify(search, JSON.stringify(anchors), { keySet: other })).toMatchObject({
      valid: false,
      checks: [{ name: "key_set", reason: "trust_chain_broken" }],
    });
  });

  it("refuses a changed row, another caller, and what is no answer", () => {
    const changed = search.replace("Black tea", "Green tea");
    expect(changed).not.toBe(search);
    const failed = (answer: string, options = {}) =>
      verify(answer, JSON.stringify(anchors), { keySet, ...options }).checks.flatMap(({ name, reason }) =>
        reason === undefined ? [] : [`${name} ${reason}`],
      );
    expect(failed(changed)).toEqual(["rows/0 row_signature_invalid"]);
    expect(failed(search, { callerKeyId: "x".repeat(43) })).toEqual(["receipt receipt_caller_mismatch"]);
    for (const other of ["", "null", "{}", '{"rows":[]}', "rubbish"])
      expect(failed(other), other).toEqual(["file payload_malformed"]);
  });

  it("uses sandbox anchors only where they are allowed", () => {
    const sandbox = makeScene("sandbox");
    const given = JSON.stringify(sandbox.service.anchors);
    const keys = { keySet: JSON.stringify(keySetAnswer(sandbox.service)) };
    const answer = searchBody(sandbox.service, sandbox.business, recordBytes());
    expect(() => verify(answer, given, keys)).toThrow(AnchorsError);
    expect(verify(answer, given, { ...keys, allowSandbox: true })).toMatchObject({ valid: true });
    for (const none of ["", "{}", "null"]) expect(() => verify(answer, none, keys)).toThrow(AnchorsError);
  });
});
