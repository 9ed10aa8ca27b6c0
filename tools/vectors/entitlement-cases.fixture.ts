// Cases about entitlements: whatever is wrong with one is `entitlement_invalid`, and only a genuine one expires.

import { payloadTypes } from "../../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../../protocol/json/canonical-json.ts";
import { document, soleKey } from "../../verifier/service.fixture.ts";
import type { TestKey } from "../../verifier/signing.fixture.ts";
import { answerWith, entitlementFacts, statedAt } from "../../verifier/stated.fixture.ts";
import type { VectorCase } from "./case.ts";
import { casesOf, type World, withFlippedSignature, withPayloadOf, withSignatures } from "./world.fixture.ts";

const kind = "entitlement.v1";
const lastAt = "2026-07-02T07:59:59.999Z";
const endAt = "2026-07-02T08:00:00.000Z";

function partsOf({ production, strangers }: World) {
  const facts = entitlementFacts(strangers.ed25519, strangers.p256);
  const signer = soleKey(production.service.statement);
  const stated = (changes: object = {}, key: TestKey = signer): JsonValue =>
    document(kind, { ...facts, ...changes }, key);
  const of = (changes: object = {}, key: TestKey = signer) => ({
    answer: stated(changes, key),
    at: statedAt,
  });
  return { facts, signer, stated, of };
}

export function entitlementCases(world: World): readonly VectorCase[] {
  return [...instantCases(world), ...signatureCases(world), ...contentCases(world)];
}

function instantCases(world: World): readonly VectorCase[] {
  const { good, bad } = casesOf("entitlement");
  const { facts, of } = partsOf(world);
  const [first] = facts.key_ids;
  const at = (instant: string) => ({ ...of(), at: instant });
  return [
    good("at its first instant", "The envelope alone, at the instant at which it begins.", of()),
    good("at its last instant", "A millisecond before it ends.", at(lastAt)),
    bad("entitlement_expired", "at its end", "At the instant at which it ends.", at(endAt)),
    bad("entitlement_expired", "long after its end", "A year later.", at("2027-07-01T08:00:00.000Z")),
    bad(
      "entitlement_invalid",
      "before it begins",
      "A millisecond too early.",
      at("2026-07-01T07:59:59.999Z"),
    ),
    good("of this company and key", "It names the company and the key that are asked for.", {
      ...of(),
      key_id: first,
      ai_company_uuid: facts.ai_company_uuid,
    }),
    bad("entitlement_invalid", "of another key", "It does not name the key that is asked for.", {
      ...of(),
      key_id: soleKey(world.production.service.sidecar).keyId,
    }),
    bad("entitlement_invalid", "of another company", "It is of another company than is asked for.", {
      ...of(),
      ai_company_uuid: "10000000-0000-4000-8000-000000000002",
    }),
    bad("entitlement_invalid", "expired and of another key", "It is over, and of another key.", {
      ...at(endAt),
      key_id: soleKey(world.production.service.sidecar).keyId,
    }),
  ];
}

function signatureCases(world: World): readonly VectorCase[] {
  const { good, bad, under } = casesOf("entitlement");
  const { service } = world.production;
  const { facts, signer, stated, of } = partsOf(world);
  const own = stated();
  const invalid = (name: string, says: string, answer: JsonValue, at = statedAt) =>
    bad("entitlement_invalid", name, says, { answer, at });
  const page = document("verify-page.v1", facts, signer);
  const theirs = (mark: object) =>
    document(kind, { ...facts, ...mark }, soleKey(world.sandbox.service.statement));
  return [
    invalid("flipped", "A bit of the signature is flipped.", withFlippedSignature(own)),
    invalid("flipped and over", "A forged one does not expire.", withFlippedSignature(own), endAt),
    invalid(
      "changed after signing",
      "A later end under the same signature.",
      withPayloadOf(own, stated({ valid_until: lastAt })),
    ),
    invalid("by the sidecar key", "A key of another use signed it.", stated({}, soleKey(service.sidecar))),
    invalid(
      "by nobody's key",
      "A key that is not in the key set signed it.",
      stated({}, world.strangers.ed25519),
    ),
    invalid(
      "two signatures",
      "It carries exactly one.",
      withSignatures(own, (each) => [...each, ...each]),
    ),
    invalid("further member", "A member that envelopes do not have.", { ...(own as JsonObject), more: 1 }),
    invalid("another document", "Another kind of document.", page),
    invalid("relabelled", "Another kind of document under this type.", {
      ...(page as JsonObject),
      payloadType: payloadTypes[kind],
    }),
    invalid("nothing", "It is no document.", null),
    bad("entitlement_invalid", "before its key", "It was issued before the statement key was valid.", {
      answer: stated({ valid_from: "2025-12-31T23:00:00.000Z", valid_until: "2026-01-01T01:00:00.000Z" }),
      at: "2026-01-01T00:00:00.000Z",
    }),
    under("statement-key-compromised").bad(
      "entitlement_invalid",
      "key compromised",
      "The statement key was compromised when it was issued.",
      of(),
    ),
    invalid(
      "of the sandbox",
      "The sandbox issued it, and the anchors are production's.",
      theirs({ sandbox: true }),
    ),
    invalid(
      "mark of the sandbox",
      "The mark of the sandbox, by production's key.",
      stated({ sandbox: true }),
    ),
    under("sandbox").good("in the sandbox", "The sandbox issued it, under its own anchors.", {
      answer: theirs({ sandbox: true }),
      at: statedAt,
    }),
    under("sandbox").bad("entitlement_invalid", "unmarked in the sandbox", "The mark is missing.", {
      answer: theirs({}),
      at: statedAt,
    }),
    good("in its answer", "The whole answer, which says the same beside it.", {
      answer: answerWith(kind, facts, { keys: [signer], shown: shownOf(facts) }),
      at: statedAt,
    }),
    invalid(
      "another answer",
      "The answer shows another name than the envelope.",
      answerWith(kind, facts, { keys: [signer], shown: { ...shownOf(facts), legal_name: "Another" } }),
    ),
    invalid(
      "a member more beside it",
      "The answer has a further member.",
      answerWith(kind, facts, { keys: [signer], shown: { ...shownOf(facts), more: 1 } }),
    ),
  ];
}

function shownOf({ v: _v, ...shown }: ReturnType<typeof entitlementFacts>): object {
  return shown;
}

function contentCases(world: World): readonly VectorCase[] {
  const { good, bad } = casesOf("entitlement");
  const { facts, of } = partsOf(world);
  const [first = "", second = ""] = facts.key_ids;
  const invalid = (name: string, says: string, changes: object) =>
    bad("entitlement_invalid", name, says, of(changes));
  return [
    good("without terms", "Where the operator publishes no terms, and nothing is charged.", {
      ...of({ terms: null, billing: "none" }),
    }),
    good("of one key", "It names a single key.", of({ key_ids: [first] })),
    invalid("without a key", "It names no key.", { key_ids: [] }),
    invalid("a key twice", "It names a key twice.", { key_ids: [first, second, first] }),
    invalid("too many keys", "It names 101 keys.", {
      key_ids: Array.from({ length: 101 }, (_, n) => `${String(n).padStart(42, "0")}A`),
    }),
    good("as many keys as may be", "It names 100 keys.", {
      ...of({ key_ids: Array.from({ length: 100 }, (_, n) => `${String(n).padStart(42, "0")}A`) }),
    }),
    invalid("for more than a day", "It ends a millisecond more than 24 hours after it begins.", {
      valid_until: "2026-07-02T08:00:00.001Z",
    }),
    invalid("for no time", "It ends when it begins.", { valid_until: facts.valid_from }),
    invalid("ended before it began", "It ends before it begins.", {
      valid_until: "2026-06-30T08:00:00.000Z",
    }),
    invalid("billing", "A way of billing that does not exist.", { billing: "free" }),
    invalid("terms without a hash", "It does not say which text was agreed to.", {
      terms: { version: 2, agreed_at: "2026-06-01T08:00:00.000Z" },
    }),
    invalid("terms of version 0", "Versions of terms begin at 1.", { terms: { ...facts.terms, version: 0 } }),
    invalid("terms with a member more", "A member that an agreement does not have.", {
      terms: { ...facts.terms, text: "" },
    }),
    invalid("further member in it", "A member that the payload does not have.", { kind: "x" }),
    invalid("a member less", "It does not say under which certificate.", { cert_id: undefined }),
    invalid("name", "The name is empty.", { legal_name: "" }),
    invalid("v", "A format that is not known.", { v: 2 }),
  ];
}
