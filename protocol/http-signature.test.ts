import { describe, expect, it } from "vitest";
import { toBase64, utf8 } from "./bytes.ts";
import {
  checkSignatureTimes,
  coveredComponents,
  coversExactly,
  parseSignatureHeaders,
  type SignedRequestParts,
  serializeParams,
  signatureBase,
  signatureFieldLengthMax,
  signatureHeaders,
} from "./http-signature.ts";

const request: SignedRequestParts = {
  method: "POST",
  authority: "api.example.com",
  path: "/v1/search",
  query: null,
  contentDigest: "sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:",
};
const params = {
  created: 1790000000,
  expires: 1790000060,
  nonce: "n".repeat(43),
  keyid: "key",
  tag: "svc-retrieval",
};
const components = '("@method" "@authority" "@path" "content-digest")';
const paramsText = `${components};created=1790000000;expires=1790000060;nonce="${params.nonce}";keyid="key";tag="svc-retrieval"`;
const acceptedTags = ["svc-retrieval"];

function parsed(signatureInput: string | null, signature: string | null = `sig1=:${toBase64(utf8("s"))}:`) {
  return parseSignatureHeaders({ signatureInput, signature, acceptedTags });
}
/** Returns the outcome: accepted, or the code of the refusal. */
function outcomeOf(signatureInput: string | null, signature?: string | null): string {
  const outcome = parsed(signatureInput, signature);
  return outcome.ok ? "ok" : outcome.code;
}
const withParams = (text: string): string => `sig1=${components};${text}`;
const time = "created=1790000000;expires=1790000060";
const nonce = `nonce="${params.nonce}"`;

describe("the signature base", () => {
  it("covers what the request has", () => {
    expect(coveredComponents(request)).toEqual(["@method", "@authority", "@path", "content-digest"]);
    expect(coveredComponents({ ...request, query: "?", contentDigest: null })).toEqual([
      "@method",
      "@authority",
      "@path",
      "@query",
    ]);
  });

  it("has a line for each component and one for the parameters (RFC 9421 §2.5)", () => {
    expect(serializeParams(coveredComponents(request), params)).toBe(paramsText);
    expect(signatureBase({ ...request, query: "?a=b" }, paramsText)).toBe(
      [
        '"@method": POST',
        '"@authority": api.example.com',
        '"@path": /v1/search',
        '"@query": ?a=b',
        `"content-digest": ${request.contentDigest}`,
        `"@signature-params": ${paramsText}`,
      ].join("\n"),
    );
    expect(signatureBase({ ...request, contentDigest: null }, "()")).toBe(
      '"@method": POST\n"@authority": api.example.com\n"@path": /v1/search\n"@signature-params": ()',
    );
  });

  it("travels in two headers", () => {
    expect(signatureHeaders(paramsText, utf8("s"))).toEqual({
      "signature-input": `sig1=${paramsText}`,
      signature: "sig1=:cw==:",
    });
  });
});

describe("signature headers", () => {
  const received = {
    label: "sig1",
    params,
    covered: ["@method", "@authority", "@path", "content-digest"],
    paramsText,
    signature: utf8("s"),
  };

  it("are read in the usual form", () => {
    expect(parsed(`sig1=${paramsText}`)).toEqual({ ok: true, value: received });
  });

  it.each([
    [
      "white space of RFC 8941",
      `  sig1=( "@method"   "@authority" "@path" "content-digest" ); created=1790000000; expires=1790000060; ${nonce};  keyid="key";tag="svc-retrieval" `,
      "sig1=:cw==:",
    ],
    ["a flag beside it", `sig1=${paramsText}, other`, "sig1=:cw==:"],
    ["a parameter on the signature", `sig1=${paramsText}`, "sig1=:cw==:;a=1"],
    ["a signature with another tag", `a=();tag="other", sig1=${paramsText}`, "a=:AA==:, sig1=:cw==:"],
    ["a signature without a tag", `a=();created=1, sig1=${paramsText}`, "sig1=:cw==:"],
  ])("are read with %s, and give the serialisation of RFC 8941", (_, signatureInput, signature) => {
    expect(parsed(signatureInput, signature)).toEqual({ ok: true, value: received });
  });

  it.each([
    ["another label", `*my.sig-2=${paramsText}`, "*my.sig-2=:cw==:"],
    ["another label beside sig1", `sig1=();tag="other", sig2=${paramsText}`, "sig1=:AA==:, sig2=:cw==:"],
    ["sig1 and another label", `sig1=${paramsText}, sig2=${paramsText}`, "sig1=:cw==:, sig2=:cw==:"],
  ])("do not carry the accepted tag under %s", (_, signatureInput, signature) => {
    expect(outcomeOf(signatureInput, signature)).toBe("signature_invalid");
  });

  it("are not looked at beyond their length, in whatever form", () => {
    const parse = (signatureInput: string, signature = "sig1=:AAAA:") =>
      parseSignatureHeaders({ signatureInput, signature, acceptedTags: ["svc-retrieval"] });
    const filled = (length: number): string =>
      "a=(),"
        .repeat(length / 5)
        .padEnd(length - 1, "b")
        .concat("c");
    expect(parse(filled(signatureFieldLengthMax))).toMatchObject({ code: "signature_invalid" });
    for (const long of [
      parse(filled(signatureFieldLengthMax + 1)),
      parse("sig1=()", `sig1=:${"A".repeat(signatureFieldLengthMax)}:`),
    ]) {
      expect(long).toMatchObject({ code: "signature_invalid", detail: expect.stringContaining("8192") });
    }
  });

  it.each(["created=1790000000.0;expires=1790000060", "created=1790000000;expires=1790000060.0"])(
    "are invalid with the Decimal of %s",
    (times) => {
      expect(parsed(withParams(`${times};${nonce};keyid="key";tag="svc-retrieval"`))).toMatchObject({
        code: "signature_invalid",
        detail: "created and expires must be Integers.",
      });
      // What a text contains, or another signature, is none of it.
      const within = `nonce="${"n".repeat(30)};created=1.0"`;
      const other = `other=();created=1.0;tag="other"`;
      const good = `${withParams(`${time};${within};keyid="key";tag="svc-retrieval"`)}, ${other}`;
      expect(outcomeOf(good, "sig1=:cw==:, other=:cw==:")).toBe("ok");
    },
  );

  it("keep escapes of a nonce as they came", () => {
    const escaped = paramsText.replace(params.nonce, `\\\\${"n".repeat(15)}\\"`);
    const outcome = parsed(`sig1=${escaped}`);
    expect(outcome.ok && outcome.value.params.nonce).toBe(`\\${"n".repeat(15)}"`);
    expect(outcome.ok && outcome.value.paramsText).toBe(escaped);
  });

  it.each([
    ["no Signature-Input", null, "sig1=:cw==:"],
    ["no Signature", `sig1=${paramsText}`, null],
    ["neither", null, null],
    ["an empty Signature-Input", "", "sig1=:cw==:"],
  ])("are missing with %s", (_, signatureInput, signature) => {
    expect(outcomeOf(signatureInput, signature)).toBe("signature_missing");
  });

  it.each([
    ["what is no dictionary", "sig1=("],
    ["a text instead of components", `sig1="a";${time};${nonce};keyid="key";tag="svc-retrieval"`],
    ["another tag", `sig1=${paramsText.replace("svc-retrieval", "svc-push")}`],
    ["a tag that is no text", withParams(`${time};${nonce};keyid="key";tag=svc-retrieval`)],
    ["two signatures with the tag", `sig1=${paramsText}, sig2=${paramsText}`],
    ["no nonce", withParams(`${time};keyid="key";tag="svc-retrieval"`)],
    ["no key id", withParams(`${time};${nonce};tag="svc-retrieval"`)],
    ["no expiry", withParams(`created=1790000000;${nonce};keyid="key";tag="svc-retrieval"`)],
    ["an algorithm", withParams(`${time};${nonce};keyid="key";alg="ed25519";tag="svc-retrieval"`)],
    ["a parameter at the end", withParams(`${time};${nonce};keyid="key";tag="svc-retrieval";x`)],
    ["another order", withParams(`${time};keyid="key";${nonce};tag="svc-retrieval"`)],
    [
      "a fraction of a second",
      withParams(`created=1790000000.5;expires=1790000060;${nonce};keyid="key";tag="svc-retrieval"`),
    ],
    [
      "a time that is text",
      withParams(`created="1";expires=1790000060;${nonce};keyid="key";tag="svc-retrieval"`),
    ],
    ["a key id that is a token", withParams(`${time};${nonce};keyid=key;tag="svc-retrieval"`)],
    [
      "a nonce of bytes",
      withParams(`${time};nonce=:AAAAAAAAAAAAAAAAAAAAAA==:;keyid="key";tag="svc-retrieval"`),
    ],
    ["a short nonce", withParams(`${time};nonce="${"n".repeat(15)}";keyid="key";tag="svc-retrieval"`)],
    ["a long nonce", withParams(`${time};nonce="${"n".repeat(129)}";keyid="key";tag="svc-retrieval"`)],
    [
      "a nonce with a space",
      withParams(`${time};nonce="${"n".repeat(16)} ";keyid="key";tag="svc-retrieval"`),
    ],
  ])("are invalid with %s", (_, signatureInput) => {
    expect(outcomeOf(signatureInput, "sig1=:cw==:, sig2=:cw==:")).toBe("signature_invalid");
  });

  it.each([
    ["another label", "sig2=:cw==:"],
    ["text", 'sig1="cw=="'],
    ["what is no dictionary", "sig1=:cw==:,"],
    ["broken base64", "sig1=:c!:"],
    ["a flag", "sig1"],
  ])("are invalid with a Signature of %s", (_, signature) => {
    expect(outcomeOf(`sig1=${paramsText}`, signature)).toBe("signature_invalid");
  });

  it.each([16, 128])("take a nonce of %d characters", (length) => {
    expect(
      outcomeOf(withParams(`${time};nonce="${"~".repeat(length)}";keyid="key";tag="svc-retrieval"`)),
    ).toBe("ok");
  });
});

describe("coverage", () => {
  it.each([
    ["exactly what is required", components, true],
    ["nothing", "()", false],
    ["a component less", '("@method" "@authority" "@path")', false],
    ["a component more", '("@method" "@authority" "@path" "content-digest" "date")', false],
    ["another order", '("@authority" "@method" "@path" "content-digest")', false],
    ["a component twice", '("@method" "@method" "@path" "content-digest")', false],
    ["a name that is no string (RFC 9421 §2)", '("@method" "@authority" "@path" content-digest)', false],
    ["a component with a parameter", '("@method";req "@authority" "@path" "content-digest")', false],
    ["a token", '(method "@authority" "@path" "content-digest")', false],
  ])("of %s", (_, list, expected) => {
    const outcome = parsed(`sig1=${paramsText.replace(components, list)}`);
    if (!outcome.ok) throw new Error(outcome.detail);
    expect(coversExactly(outcome.value, request)).toBe(expected);
    if (expected) expect(coversExactly(outcome.value, { ...request, query: "?" })).toBe(false);
    if (expected) expect(coversExactly(outcome.value, { ...request, contentDigest: null })).toBe(false);
  });
});

describe("the times of a signature", () => {
  it.each([
    ["now", 0, 60, true],
    ["as far ahead as a clock may be", 30, 90, true],
    ["further ahead", 31, 90, false],
    ["about to expire", -299, 1, true],
    ["expired now", -60, 0, false],
    ["long expired", -600, -300, false],
    ["the shortest life", 0, 1, true],
    ["the longest life", 0, 300, true],
    ["too long a life", 0, 301, false],
    ["no life", 1, 1, false],
    ["a negative life", 5, 1, false],
    ["no number", Number.NaN, 60, false],
  ])("%s", (_, created, expires, expected) => {
    const now = 1790000000;
    const outcome = checkSignatureTimes({ ...params, created: now + created, expires: now + expires }, now);
    expect(outcome.ok ? true : outcome.code).toBe(expected || "signature_expired");
  });
});
