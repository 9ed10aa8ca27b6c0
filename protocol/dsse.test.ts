import { dsse as judge } from "@sigstore/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseUtf8, toBase64, utf8 } from "./bytes.ts";
import { makeEnvelope, openEnvelope, pae, parseEnvelope, payloadTypes, signaturesMax } from "./dsse.ts";
import { dsse as vector } from "./vectors/keys-and-signatures.ts";

const sealType = payloadTypes["seal.v2"];
const envelope = makeEnvelope(sealType, utf8("{}"), [{ keyid: "k", sig: utf8("s") }]);
const signature = { keyid: "k", sig: toBase64(utf8("s")) };

describe("the pre-authentication encoding", () => {
  it("is that of the DSSE specification", () => {
    expect(parseUtf8(pae(vector.payloadType, utf8(vector.payload)))).toBe(vector.pae);
  });

  it("counts bytes, not characters", () => {
    expect(parseUtf8(pae("é", utf8("😀")))).toBe("DSSEv1 2 é 4 😀");
    expect(parseUtf8(pae("", new Uint8Array()))).toBe("DSSEv1 0  0 ");
  });

  it("is that of sigstore", () => {
    const anyType = fc.oneof(fc.constantFrom(...Object.values(payloadTypes)), fc.string());
    fc.assert(
      fc.property(anyType, fc.uint8Array(), (type, payload) => {
        expect(pae(type, payload)).toEqual(new Uint8Array(judge.preAuthEncoding(type, Buffer.from(payload))));
      }),
    );
  });
});

describe("payload types", () => {
  it("name their kind and version", () => {
    for (const [kind, type] of Object.entries(payloadTypes))
      expect(type).toBe(`application/vnd.svc.${kind}+json`);
  });
});

describe("an envelope", () => {
  it("is read as it was made", () => {
    const passkey = { keyid: "p", sig: utf8("s"), authenticatorData: utf8("a"), clientDataJSON: utf8("{}") };
    const made = makeEnvelope(sealType, utf8("{}"), [{ keyid: "k", sig: utf8("s") }, passkey]);
    expect(parseEnvelope(JSON.parse(JSON.stringify(made)))).toEqual({ ok: true, value: made });
    expect(made.signatures[0]).toEqual(signature);
    expect(openEnvelope(made, sealType)).toEqual({ ok: true, value: utf8("{}") });
  });

  it("may name any type; one that is unknown or empty is no expected one", () => {
    for (const payloadType of ["", " ", "application/json", `${sealType}.v9`]) {
      const parsed = parseEnvelope({ ...envelope, payloadType });
      if (!parsed.ok) throw new Error(parsed.detail);
      expect(openEnvelope(parsed.value, sealType)).toMatchObject({ code: "payload_type_mismatch" });
    }
  });

  it("is opened as the expected type only", () => {
    for (const type of [payloadTypes["seal.v1"], `${sealType} `, sealType.toUpperCase(), ""]) {
      const opened = openEnvelope(envelope, type);
      expect(opened.ok ? "ok" : opened.code).toBe("payload_type_mismatch");
    }
  });

  it.each([
    ["null", null, ""],
    ["a list", [envelope], ""],
    ["a text", "{}", ""],
    ["a member it does not define", { ...envelope, extra: 1 }, "/extra"],
    [
      "a member named __proto__",
      JSON.parse(`{"__proto__":{},${JSON.stringify(envelope).slice(1)}`),
      "/__proto__",
    ],
    ["no payload type", { ...envelope, payloadType: undefined }, "/payloadType"],
    ["a payload type that is no string", { ...envelope, payloadType: 2 }, "/payloadType"],
    ["a payload type that is null", { ...envelope, payloadType: null }, "/payloadType"],
    ["no payload", { payloadType: sealType, signatures: [signature] }, "/payload"],
    ["a payload without padding", { ...envelope, payload: "e30" }, "/payload"],
    ["a payload with trailing bits", { ...envelope, payload: "e31=" }, "/payload"],
    ["a payload in base64url", { ...envelope, payload: "-_-_" }, "/payload"],
    ["no signatures", { ...envelope, signatures: [] }, "/signatures"],
    ["signatures that are no list", { ...envelope, signatures: { 0: signature } }, "/signatures"],
    [
      "too many signatures",
      { ...envelope, signatures: Array(signaturesMax + 1).fill(signature) },
      "/signatures",
    ],
    ["a signature that is no object", { ...envelope, signatures: [signature, null] }, "/signatures/1"],
    [
      "an unknown member of a signature",
      { ...envelope, signatures: [{ ...signature, alg: "x" }] },
      "/signatures/0/alg",
    ],
    ["an empty key id", { ...envelope, signatures: [{ ...signature, keyid: "" }] }, "/signatures/0/keyid"],
    ["no signature bytes", { ...envelope, signatures: [{ ...signature, sig: "" }] }, "/signatures/0/sig"],
    [
      "half a passkey signature",
      { ...envelope, signatures: [{ ...signature, clientDataJSON: "e30=" }] },
      "/signatures/0",
    ],
    [
      "a passkey member that is not base64",
      { ...envelope, signatures: [{ ...signature, clientDataJSON: "e30=", authenticatorData: "e30" }] },
      "/signatures/0/authenticatorData",
    ],
  ])("is refused for %s", (_, value, pointer) => {
    const parsed = parseEnvelope(value);
    expect(parsed.ok ? "ok" : [parsed.code, parsed.pointer]).toEqual(["envelope_malformed", pointer]);
  });

  it("takes as many signatures as the bound, and an empty payload", () => {
    const full = { ...envelope, payload: "", signatures: Array(signaturesMax).fill(signature) };
    expect(parseEnvelope(full)).toEqual({ ok: true, value: full });
  });
});
