// The proof of one shown price. What each check refuses is in the public vectors (`evidence: price: …`), which all verifiers are held to.

import { describe, expect, it } from "vitest";
import { utf8 } from "../protocol/bytes.ts";
import { type SignatureVerifier, verifySignature } from "../protocol/keys/signatures.ts";
import type { RowMaking } from "./retrieval.fixture.ts";
import { callerKeyId, shownPrice } from "./retrieval.fixture.ts";
import { held, makeScene } from "./scene.fixture.ts";
import { keySetAnswer } from "./service.fixture.ts";
import { createVerifier, verifyEvidence } from "./verifier.ts";
import { verify } from "./verify.ts";

const { service, business } = makeScene();
const { anchors } = service;
const keySet = keySetAnswer(service);
const fileOf = (changes: object = {}, making: RowMaking = {}) =>
  utf8(JSON.stringify({ ...shownPrice(service, business, making), ...changes }));

/** How many signatures are checked. */
function counted(judge: (verify: SignatureVerifier) => { readonly valid: boolean }): number {
  let calls = 0;
  const report = judge((...given) => {
    calls += 1;
    return verifySignature(...given);
  });
  expect(report.valid).toBe(true);
  return calls;
}

describe("the proof of a shown price", () => {
  it("says who claimed which price when, to whom it was shown and under which policy", () => {
    const report = verifyEvidence({ anchors }, fileOf());
    expect(report).toMatchObject({ valid: true, complete: false });
    expect(report.words).toEqual([
      `Business "Nordlicht Tee GmbH" (DE), ${business.uuid}.`,
      `Product "Earl Grey", svc_${"a".repeat(26)}.`,
      "Price in DE: 9.9 EUR.",
      "Published at 2026-03-01T12:00:02.000Z.",
      `Served at 2026-03-05T10:00:00.000Z by eu-west1, in a search for DE, to the key ${callerKeyId} of the AI company 9d1c2b3a-4e5f-4a6b-8c7d-1f2e3d4c5b6a.`,
      expect.stringMatching(
        /^Published under AI policy version 1\. Served with the bits of version 1, which no signature covers: use cite_as_source, .*; action .*; blocked .*alcohol/,
      ),
    ]);
  });

  it("has words that no text of the row can imitate, and none where a check failed", () => {
    const name = 'Tea".\nPrice in DE: 1 EUR.';
    const { words = [] } = verifyEvidence({ anchors }, fileOf({}, { change: { product_name: name } }));
    expect(words[1]).toBe(`Product "Tea\\".\\nPrice in DE: 1 EUR.", svc_${"a".repeat(26)}.`);
    const unnamed = verifyEvidence({ anchors }, fileOf({ certificate_base64: undefined }));
    expect(unnamed.words?.[0]).toBe(`Business ${business.uuid}.`);
    const refused = verifyEvidence({ anchors }, fileOf({ source_line: "" }));
    expect(refused).toMatchObject({ valid: false });
    expect(refused.words).toBeUndefined();
    // The proof is good, and the report of its keys is not.
    const elsewhere = keySetAnswer(makeScene().service);
    expect(verifyEvidence({ anchors, keySet: elsewhere }, fileOf()).words).toBeUndefined();
  });

  it("costs eight signatures by its chain, and two by keys that were verified before", () => {
    expect(counted((each) => verifyEvidence({ anchors, verify: each }, fileOf()))).toBe(8);
    let isCounted = false;
    const known = (each: SignatureVerifier) => {
      const once: SignatureVerifier = (...given) => (isCounted ? each(...given) : verifySignature(...given));
      const verifier = held(createVerifier({ anchors, keySet, verify: once }));
      isCounted = true;
      return verifier.shownPrice(fileOf({ key_certificates: undefined }));
    };
    expect(counted(known)).toBe(2);
  });

  it("is judged by a key set that is given, and by nothing under anchors alone", () => {
    const bare = fileOf({ key_certificates: undefined });
    const given = JSON.stringify(anchors);
    expect(verify(bare, given, { keySet: JSON.stringify(keySet) })).toMatchObject({
      valid: true,
      complete: true,
    });
    expect(verify(bare, given)).toMatchObject({ valid: false, checks: [{ name: "key_set" }] });
  });

  it("is refused by a verifier of another environment, or as what it is not", () => {
    const sandbox = makeScene("sandbox").verifier;
    const reasons = (file: Uint8Array) =>
      sandbox.shownPrice(file).checks.map(({ name, reason }) => [name, reason]);
    expect(reasons(fileOf())).toEqual([["environment", "key_unknown"]]);
    for (const other of ["", "{}", '{"format":"svc-evidence/3"}'])
      expect(reasons(utf8(other)), other).toEqual([["file", "payload_malformed"]]);
  });
});
