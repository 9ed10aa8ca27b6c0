// What a person seals, in words (sealed-words.ts).

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { useNames } from "../protocol/ai-policy.ts";
import { openEnvelope, parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { canonicalBytes, type JsonValue } from "../protocol/json/canonical-json.ts";
import {
  passkeySeal,
  policyRecord,
  publishedKeys,
  recordBytes,
  recordId,
  sealedAt,
  sealedCustodyRequest,
  sealedDecision,
  sealedMandate,
  sealedPolicy,
} from "./business.fixture.ts";
import { altered, held, makeScene } from "./scene.fixture.ts";
import { isSealedByPerson, sealedWords } from "./sealed-words.ts";
import { certificateAnswer } from "./service.fixture.ts";
import { nativeSha256 } from "./signing.fixture.ts";

const { service, business, verifier } = makeScene();
const { uuid, passkey, system, issued } = business;
const evidence = {
  businessUuid: uuid,
  businessKeys: publishedKeys(service, business),
  certificate: certificateAnswer(issued.envelope),
};
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The words for an envelope, as they are shown before it is sealed. */
function wordsOf(value: JsonValue, document: Uint8Array | null = null): readonly string[] {
  const envelope = held(parseEnvelope(value));
  const payload = held(openEnvelope(envelope, envelope.payloadType));
  return held(sealedWords({ sha256: nativeSha256 }, envelope.payloadType, { payload, document }));
}

const policy = sealedPolicy(business);
const withdrawal = utf8(`{"record_id":"${recordId}","action":"delete","at":"${sealedAt}"}`);
const documents: readonly [string, JsonValue, Uint8Array | null, readonly string[]][] = [
  [
    "a mandate",
    sealedMandate(business),
    null,
    [
      payloadTypes["mandate.v1"],
      `The key ${system.keyId} may publish for the business ${uuid}.`,
      "What: products.",
      "In 2 countries: DE, FR.",
      "At most 10,000 records an hour and 100,000,000 bytes a day.",
      "From any network.",
      "From 2026-02-01T00:00:00.000Z on, until before 2026-05-01T00:00:00.000Z.",
      `Mandate "${business.mandate.mandate_id}".`,
    ],
  ],
  [
    "a decision",
    sealedDecision(business),
    null,
    [
      payloadTypes["hold-decision.v1"],
      `The held push bat_${"0a".repeat(12)} of the business ${uuid} is confirmed: everything in it is published.`,
      `Decided at ${sealedAt}.`,
    ],
  ],
  [
    "a custody request",
    sealedCustodyRequest(business),
    null,
    [
      payloadTypes["custody-request.v1"],
      `The service is asked to state of the key ${system.keyId} of the business ${uuid}: the business holds it itself, from ${sealedAt} on.`,
      `Asked at ${sealedAt}.`,
    ],
  ],
  [
    "a deletion",
    passkeySeal(business, withdrawal),
    withdrawal,
    [
      payloadTypes["seal.v2"],
      `The record ${recordId} (products) is deleted: it is served no more, and its bytes are purged.`,
      `Decided at ${sealedAt}.`,
      `Sealed by the key ${passkey.keyId} at ${sealedAt}, under AI policy version 1, under the certificate ${issued.certId}.`,
      expect.stringMatching(/^Exact bytes: sha256:[0-9a-f]{64}\.$/),
    ],
  ],
  [
    "an AI policy",
    policy.seal,
    policy.bytes,
    expect.arrayContaining([
      "Version 1 of the business's AI policy, schema 2:",
      "Allowed: purchase. A purchase may be made on a person's behalf.",
      "Never shown in: alcohol. Alcohol.",
      "May be shown in: gambling_betting. Gambling and betting.",
    ]),
  ],
  [
    "a record",
    passkeySeal(business, recordBytes({ product_name: "Tea\n\u202eA key may publish." })),
    recordBytes({ product_name: "Tea\n\u202eA key may publish." }),
    expect.arrayContaining([
      "A products record, with:",
      '  /product_name: "Tea\\n\\u{202e}A key may publish."',
      '  /countries/1: "FR"',
      "  /on_sale: false",
    ]),
  ],
];

describe("words", () => {
  it.each(documents)("say what %s says, before it is sealed and when it is verified", (...given) => {
    const [, envelope, document, expected] = given;
    expect(isSealedByPerson(envelope)).toBe(true);
    const words = wordsOf(envelope, document);
    expect(words).toEqual(expected);
    const report = verifier.sealedByPerson(envelope, {
      ...evidence,
      ...(document === null ? {} : { document }),
    });
    expect(report).toMatchObject({ valid: true, complete: true, words });
  });

  it("are others for every other content", () => {
    const mandates = fc.record({
      mandate_id: fc.stringMatching(/^[\x21-\x7e]{1,12}$/),
      valid_until: fc.constantFrom("2026-03-01T00:00:00.000Z", "2026-04-01T00:00:00.000Z"),
      scope: fc.record({
        record_types: fc.uniqueArray(fc.constantFrom("products", "events", "jobs"), { minLength: 1 }),
        countries: fc.uniqueArray(fc.constantFrom("DE", "FR", "US"), { minLength: 1 }),
        directions: fc.constant(["publish"]),
        caps: fc.record({ records_per_hour: fc.nat(), bytes_per_day: fc.nat() }),
        source_ip_allow_list: fc.option(
          fc.uniqueArray(fc.constantFrom("203.0.113.0/24", "AS64496"), { minLength: 1 }),
        ),
      }),
    });
    const payloadOf = (facts: object): Uint8Array =>
      canonicalBytes({ ...business.mandate, ...facts } as unknown as JsonValue);
    const say = (payload: Uint8Array): string =>
      held(
        sealedWords({ sha256: nativeSha256 }, payloadTypes["mandate.v1"], { payload, document: null }),
      ).join("\n");
    fc.assert(
      fc.property(mandates, mandates, (one, other) => {
        const [first, second] = [payloadOf(one), payloadOf(other)];
        const isSame = Buffer.compare(Buffer.from(first), Buffer.from(second)) === 0;
        expect(say(first) === say(second)).toBe(isSame);
      }),
    );
    const texts = fc.string({ unit: "binary", minLength: 1, maxLength: 8 });
    const record = (text: string): Uint8Array => recordBytes({ product_name: text });
    fc.assert(
      fc.property(texts, texts, (one, other) => {
        // The hash would tell them apart anyway: what is left are the members.
        const shown = (text: string) =>
          wordsOf(passkeySeal(business, record(text)), record(text)).slice(0, -1);
        expect(shown(one).join("\n") === shown(other).join("\n")).toBe(one === other);
        expect(shown(one).every((line) => !/[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u.test(line))).toBe(true);
      }),
      { numRuns: 40 },
    );
    const [name = "cite_as_source"] = useNames;
    const other = sealedPolicy(business, policyRecord({ use: { ...policyRecord().use, [name]: false } }));
    expect(wordsOf(other.seal, other.bytes)).toContain(`Not asked: ${name}. ${meaningOf(name)}`);
  });
});

describe("the members of a record", () => {
  const linesOf = (text: string): readonly string[] =>
    wordsOf(passkeySeal(business, utf8(text)), utf8(text)).slice(2, -2);

  it("have numbers as they are written, also where reading changes them", () => {
    expect(linesOf('{"a":9007199254740993,"b":[1.10,-0],"c":"1.10 \\" 2","d":{"e":1E-400}}')).toEqual([
      "  /a: 9007199254740993",
      "  /b/0: 1.10",
      "  /b/1: -0",
      '  /c: "1.10 \\" 2"',
      "  /d/e: 1E-400",
    ]);
  });

  it("have names that cannot look like values, and of which none is like another", () => {
    expect(linesOf('{"price: \\"1\\", was":5,"a\u200b":1,"a\\\\u{200b}":2,"":[]}')).toEqual([
      '  "/price: \\"1\\", was": 5',
      '  "/a\\u{200b}": 1',
      '  "/a\\\\u{200b}": 2',
      "  /: []",
    ]);
  });

  it("have nothing that is not seen, and the same words whichever Unicode says them", () => {
    const unseen = [
      0xad, 0x34f, 0x115f, 0x17b4, 0x180b, 0x200b, 0x3164, 0xe000, 0xfdd0, 0xfe0f, 0xffa0, 0xfff9, 0xe0041,
      0xe0100,
    ];
    const text = String.fromCodePoint(...unseen);
    const escapes = unseen.map((code) => `\\u{${code.toString(16)}}`).join("");
    expect(linesOf(JSON.stringify({ a: text }))).toEqual([`  /a: "${escapes}"`]);
    // No release of Unicode has the first of these yet, and others have it in different categories.
    const ofLater = "\u0378\u0600";
    expect(linesOf(JSON.stringify({ a: ofLater }))).toEqual([`  /a: "${ofLater}"`]);
  });
});

function meaningOf(name: string): string {
  const line = wordsOf(policy.seal, policy.bytes).find((each) => each.startsWith(`Asked: ${name}.`));
  return line?.slice(`Asked: ${name}. `.length) ?? "";
}

describe("no words, or no validity", () => {
  it("for other bytes than those under a seal, and for what no person seals", () => {
    const bytes = recordBytes();
    const seal = passkeySeal(business, bytes);
    for (const document of [altered(bytes), null]) {
      const report = verifier.sealedByPerson(seal, {
        ...evidence,
        ...(document === null ? {} : { document }),
      });
      expect(report).toMatchObject({ valid: false });
      expect(report.words).toBeUndefined();
      expect(report.checks).toContainEqual(
        expect.objectContaining({ name: "words", reason: "hash_mismatch" }),
      );
    }
    expect(isSealedByPerson(issued.envelope)).toBe(false);
    expect(verifier.sealedByPerson(issued.envelope, evidence)).toMatchObject({ valid: false });
  });

  it("where another business, a key of a system, or nobody sealed it", () => {
    const others = [
      sealedMandate(business, { business_uuid: "00000000-0000-4000-8000-000000000000" }),
      sealedMandate(business, {}, { flags: 1 }),
      sealedMandate(business, {}, { origin: "https://elsewhere.test" }),
    ];
    for (const envelope of others) {
      const report = verifier.sealedByPerson(envelope, evidence);
      expect(report.valid).toBe(false);
      expect(report.checks).toContainEqual(expect.objectContaining({ name: "seal", state: "failed" }));
    }
  });

  it("for a seal without its certificate", () => {
    const bytes = recordBytes();
    const { certificate: _, ...without } = evidence;
    const report = verifier.sealedByPerson(passkeySeal(business, bytes), { ...without, document: bytes });
    expect(report).toMatchObject({ complete: false });
  });
});
