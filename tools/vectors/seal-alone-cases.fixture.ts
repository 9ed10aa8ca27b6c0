// Cases about the form of seals, and about records that were sealed alone.

import { hashOf } from "../../protocol/bytes.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { listedKey, passkeySeal, recordBytes, sealFacts } from "../../verifier/business.fixture.ts";
import { altered } from "../../verifier/scene.fixture.ts";
import { document } from "../../verifier/service.fixture.ts";
import type { AssertionParts } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import { bytes, makings } from "./seal-makings.fixture.ts";
import {
  casesOf,
  type World,
  withFlippedSignature,
  withPayloadOf,
  withSignatures,
  withText,
} from "./world.fixture.ts";

export function aloneCases(world: World): readonly VectorCase[] {
  const { business, of, single, keys } = makings(world);
  const { good, bad } = casesOf("seal");
  const canonical = canonicalBytes(JSON.parse(new TextDecoder().decode(bytes)) as JsonValue);
  const hosted = document("seal.v2", sealFacts(business, business.hosted, bytes), business.hosted);
  const own = passkeySeal(business, bytes);
  const moved = passkeySeal(business, bytes, { sealed_at: "2026-03-01T12:00:00.001Z" });
  const terms = { v: 1, ai_policy_version: undefined, terms_version: 4 };
  return [
    good("by a passkey", "A record sealed alone by a passkey.", single()),
    good("by a hosted key", "A record sealed alone by a hosted key.", of(bytes, hosted)),
    good(
      "format 1",
      "Format 1 names terms in place of an AI policy.",
      of(bytes, passkeySeal(business, bytes, terms, { kind: "seal.v1" })),
    ),
    bad("hash_mismatch", "flipped bit", "A bit of the record is flipped.", of(altered(bytes), own)),
    bad("hash_mismatch", "re-serialised", "The same JSON value in other bytes.", of(canonical, own)),
    bad(
      "signature_invalid",
      "flipped signature",
      "A bit of the signature is flipped.",
      of(bytes, withFlippedSignature(hosted)),
    ),
    bad(
      "signature_invalid",
      "changed after sealing",
      "Another instant under the same signature.",
      of(bytes, withPayloadOf(own, moved)),
    ),
    bad("signature_invalid", "passkey without an assertion", "A passkey's key signed it plainly.", {
      ...of(
        bytes,
        withSignatures(own, (each) => each.map(({ keyid = "", sig = "" }) => ({ keyid, sig }))),
      ),
    }),
    bad(
      "signature_invalid",
      "hosted key with an assertion",
      "A hosted key made an assertion.",
      of(bytes, passkeySeal({ ...business, passkey: business.hosted }, bytes)),
    ),
    bad(
      "key_mismatch",
      "names another key",
      "The payload names another key than signed it.",
      of(bytes, passkeySeal(business, bytes, { key_id: business.hosted.keyId })),
    ),
    bad(
      "key_unknown",
      "not registered",
      "The key is not in the register.",
      of(bytes, passkeySeal({ ...business, passkey: world.strangers.p256 }, bytes)),
    ),
    bad(
      "key_unknown",
      "by a system's key",
      "Systems seal batches.",
      single(keys(listedKey("system", business.passkey))),
    ),
  ];
}

export function assertionCases(world: World): readonly VectorCase[] {
  const { business, of } = makings(world);
  const { good, bad } = casesOf("seal");
  const right = [
    ["extensions", "The flags announce extension data, and there is some.", { flags: 0x85, extraBytes: 9 }],
    [
      "attested and more",
      "The flags announce attested data, and there is some.",
      { flags: 0x45, extraBytes: 60 },
    ],
    ["no crossOrigin", "The client does not say whether it was in a frame.", { crossOrigin: undefined }],
  ] as const;
  const wrong = [
    ["presence alone", "The user was present and not verified.", { flags: 0x01 }],
    ["verification alone", "The user was verified and not present.", { flags: 0x04 }],
    ["backup state alone", "The flags say backed up, and not eligible for it.", { flags: 0x15 }],
    ["attested data", "The flags announce data that an assertion does not have.", { flags: 0x45 }],
    ["other origin", "It was made on another site.", { origin: "https://portal.test.evil" }],
    ["other relying party", "It was made for another relying party.", { rpId: "evil" }],
    ["registration", "It is no assertion.", { type: "webauthn.create" }],
    ["sign-in", "Its challenge is that of a sign-in.", { challengeOf: new TextEncoder().encode("sign in") }],
    ["cross origin", "It was made inside another site's page.", { crossOrigin: true }],
    ["cross origin null", "`crossOrigin` is null.", { crossOrigin: null }],
    ["cross origin as text", "`crossOrigin` is a text.", { crossOrigin: "false" }],
    ["top origin", "It names the page around it.", { topOrigin: "https://portal.test" }],
    ["no extensions", "The flags announce extension data that is not there.", { flags: 0x85 }],
    ["further bytes", "The authenticator's data is too long.", { extraBytes: 1 }],
  ] as const;
  const asserted = (parts: AssertionParts) => of(bytes, passkeySeal(business, bytes, {}, { parts }));
  return [
    ...right.map(([name, says, parts]) => good(`assertion: ${name}`, says, asserted(parts))),
    ...wrong.map(([name, says, parts]) =>
      bad("signature_invalid", `assertion: ${name}`, says, asserted(parts)),
    ),
  ];
}

/** The envelope with a line feed in one of its base64 texts. */
function withLineFeed(envelope: JsonValue, member: "payload" | "sig"): JsonValue {
  const folded = (text: unknown) => String(text).replace(/^.{8}/, "$&\n");
  if (member === "payload") return { ...(envelope as JsonObject), payload: folded(Object(envelope).payload) };
  return withSignatures(envelope, (each) => each.map((one) => ({ ...one, sig: folded(one["sig"]) })));
}

/** A record whose outermost object is the first of so many levels. */
function deep(levels: number): Uint8Array {
  return recordBytes({ nested: JSON.parse("[".repeat(levels - 1) + "]".repeat(levels - 1)) });
}

export function payloadCases(world: World): readonly VectorCase[] {
  const { business, of } = makings(world);
  const { good, bad } = casesOf("seal");
  const schemaless = recordBytes({ schema: undefined });
  const own = passkeySeal(business, bytes);
  const sealed = (facts: object, kind?: "seal.v1" | "mandate.v1") =>
    of(bytes, passkeySeal(business, bytes, facts, kind ? { kind } : {}));
  const future = recordBytes({ schema: "svc/products/2" });
  return [
    bad(
      "payload_malformed",
      "v2 under the type of format 1",
      "A payload of format 2 under the type of format 1.",
      sealed({}, "seal.v1"),
    ),
    bad(
      "payload_malformed",
      "mixed formats",
      "A member of format 1 in format 2.",
      sealed({ terms_version: 1 }),
    ),
    bad(
      "payload_malformed",
      "a member less",
      "It does not say when it was sealed.",
      sealed({ sealed_at: undefined }),
    ),
    bad(
      "payload_malformed",
      "no such day",
      "An instant that does not exist.",
      sealed({ sealed_at: "2026-02-30T00:00:00.000Z" }),
    ),
    bad(
      "payload_malformed",
      "a member twice",
      "A duplicate member.",
      of(
        bytes,
        withText(own, (text) => text.replace(/}$/, ',"v":2}')),
      ),
    ),
    bad(
      "payload_malformed",
      "not canonical",
      "A space in the payload's JSON.",
      of(
        bytes,
        withText(own, (text) => text.replace(",", ", ")),
      ),
    ),
    bad(
      "payload_malformed",
      "not UTF-8 JSON",
      "The payload is no JSON.",
      of(
        bytes,
        withText(own, () => "{"),
      ),
    ),
    bad("version_unknown", "v", "A format that is not known.", sealed({ v: 3 })),
    bad(
      "version_unknown",
      "v, and not canonical",
      "A format that is not known, in a text that is not canonical.",
      of(
        bytes,
        withText(own, (text) => `${text.replace('"v":2', '"v":3')}\n`),
      ),
    ),
    bad("payload_malformed", "v with a fraction", "A number that no format has.", sealed({ v: 2.5 })),
    bad("payload_malformed", "v of 2^53", "A number that is not exact.", sealed({ v: 2 ** 53 })),
    bad(
      "payload_malformed",
      "AI policy version of 2^31",
      "A version above the largest.",
      sealed({ ai_policy_version: 2 ** 31 }),
    ),
    bad(
      "payload_malformed",
      "key id with loose bits",
      "The last character has bits that no SHA-256 has.",
      sealed({ key_id: `${"A".repeat(42)}B` }),
    ),
    bad(
      "record_type_mismatch",
      "no such type",
      "A record type that does not exist.",
      sealed({ record_type: "product" }),
    ),
    bad(
      "record_type_mismatch",
      "no schema",
      "The record does not name its schema.",
      of(schemaless, passkeySeal(business, schemaless)),
    ),
    bad(
      "payload_malformed",
      "a record that is nested too deep",
      "65 levels.",
      of(deep(65), passkeySeal(business, deep(65))),
    ),
    good("a record that is nested deep", "64 levels.", of(deep(64), passkeySeal(business, deep(64)))),
    ...(["payload", "sig"] as const).map((member) =>
      bad(
        "envelope_malformed",
        `a line feed in ${member}`,
        "Base64 has no line feeds.",
        of(bytes, withLineFeed(own, member)),
      ),
    ),
    bad(
      "version_unknown",
      "record's schema version",
      "A record schema version that is not known.",
      of(future, passkeySeal(business, future)),
    ),
    bad("payload_type_mismatch", "other type", "The type of a mandate.", sealed({}, "mandate.v1")),
    bad(
      "record_type_mismatch",
      "record's type",
      "The record is of another type than the seal says.",
      sealed({ record_type: "events" }),
    ),
    bad(
      "certificate_unknown",
      "certificate",
      "A certificate that the business does not have.",
      sealed({ cert_id: hashOf(bytes) }),
    ),
    bad(
      "envelope_malformed",
      "further member",
      "The envelope has a member that envelopes do not have.",
      of(bytes, { ...(own as JsonObject), extra: 1 }),
    ),
    bad(
      "envelope_malformed",
      "two signatures",
      "A seal carries exactly one signature.",
      of(
        bytes,
        withSignatures(own, (each) => [...each, ...each]),
      ),
    ),
    bad("envelope_malformed", "half an assertion", "authenticatorData without clientDataJSON.", {
      ...of(
        bytes,
        withSignatures(own, (each) => each.map(({ clientDataJSON: _, ...rest }) => rest)),
      ),
    }),
    bad("envelope_malformed", "none", "There is no envelope.", of(bytes, null)),
  ];
}
