import { describe, expect, it } from "vitest";
import { utf8 } from "../protocol/bytes.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { altered, makeScene } from "./scene.fixture.ts";
import { asJson, document, soleKey } from "./service.fixture.ts";
import { makeKey, seal } from "./signing.fixture.ts";
import { answerWith, entitlementFacts, statedAt } from "./stated.fixture.ts";
import type { Verifier } from "./verifier.ts";

const { service, verifier, verifierOf } = makeScene();
const sandbox = makeScene("sandbox");
const signer = soleKey(service.statement);
const [key, other] = [makeKey("Ed25519"), makeKey("ES256")];
const facts = entitlementFacts(key);
const { v: _v, ...shown } = facts;
const { ai_company_uuid: aiCompanyUuid, valid_until: until } = facts;
const lastAt = "2026-07-02T07:59:59.999Z";

const stated = (changes: object = {}, by = signer) =>
  document("entitlement.v1", { ...facts, ...changes }, by);
const verdictOf = (value: JsonValue, by: Verifier = verifier, at = statedAt) => by.entitlement(value, { at });
/** The code, with the code that it is for. */
const outcomeOf = (verdict: Verdict<unknown>): string =>
  verdict.ok ? "ok" : `${verdict.code} ${/^([a-z_]+): /.exec(verdict.detail)?.[1] ?? verdict.pointer}`;
const outcome = (value: JsonValue, by?: Verifier, at?: string) => outcomeOf(verdictOf(value, by, at));

describe("an entitlement", () => {
  it("stands by the statement key, alone and in its answer, for its company and its keys", () => {
    expect(verdictOf(stated())).toEqual({ ok: true, value: asJson(facts) });
    expect(outcome(answerWith("entitlement.v1", facts, { keys: [signer], shown }))).toBe("ok");
    const subject = { at: statedAt, keyId: key.keyId, aiCompanyUuid };
    expect(verifier.entitlement(stated(), subject)).toMatchObject({ ok: true });
    const theirs = (changes: object) => outcomeOf(verifier.entitlement(stated(), { ...subject, ...changes }));
    expect(theirs({ keyId: other.keyId })).toBe("entitlement_invalid /key_ids");
    expect(theirs({ aiCompanyUuid: "10000000-0000-4000-8000-000000000002" })).toBe(
      "entitlement_invalid /ai_company_uuid",
    );
  });

  it("is valid from its first instant on, and expired from its last", () => {
    expect(outcome(stated(), verifier, "2026-07-01T07:59:59.999Z")).toBe("entitlement_invalid /valid_from");
    expect(outcome(stated(), verifier, lastAt)).toBe("ok");
    for (const at of [until, "2027-01-01T00:00:00.000Z"])
      expect(outcome(stated(), verifier, at)).toBe("entitlement_expired /valid_until");
  });

  it("that is not genuine is invalid, never expired", () => {
    const late = "2027-01-01T00:00:00.000Z";
    const code = (value: JsonValue, by = verifier) => outcome(value, by, late);
    const envelope = stated() as JsonObject;
    const [signature] = envelope["signatures"] as readonly JsonObject[];
    const flipped = Buffer.from(altered(new Uint8Array(Buffer.from(String(signature?.["sig"]), "base64"))));
    const changed = { ...signature, sig: flipped.toString("base64") };
    expect(code({ ...envelope, signatures: [rubbish(changed)] })).toBe(
      "entitlement_invalid signature_invalid",
    );
    for (const by of [service.sidecar, service.projection, service.receipt].map(soleKey))
      expect(code(stated({}, by))).toBe("entitlement_invalid key_unknown");
    expect(code(stated({}, key))).toBe("entitlement_invalid key_unknown");
    expect(code(document("entitlement.v1", facts, signer, signer))).toBe(
      "entitlement_invalid envelope_malformed",
    );
    const page = document("verify-page.v1", facts, signer) as JsonObject;
    expect(code(page)).toBe("entitlement_invalid payload_type_mismatch");
    const relabelled = { ...page, payloadType: payloadTypes["entitlement.v1"] };
    expect(code(relabelled)).toBe("entitlement_invalid signature_invalid");
    expect(code(null)).toBe("entitlement_invalid envelope_malformed");
  });

  it("is judged by the statement key as it was when it was issued", () => {
    const compromised = (from: string) =>
      verifierOf({ entries: (each) => (each === service.statement ? { compromised_from: from } : {}) });
    expect(outcome(stated(), compromised(statedAt))).toBe("entitlement_invalid key_compromised");
    expect(outcome(stated(), compromised("2026-07-01T08:00:00.001Z"))).toBe("ok");
    const early = { valid_from: "2025-12-31T23:00:00.000Z", valid_until: "2026-01-01T01:00:00.000Z" };
    const at = "2026-01-01T00:00:00.000Z";
    expect(outcome(stated(early), verifier, at)).toBe("entitlement_invalid key_not_valid");
  });

  it("of the other environment proves nothing", () => {
    const theirs = (mark: object) =>
      document("entitlement.v1", { ...facts, ...mark }, soleKey(sandbox.service.statement));
    expect(outcome(theirs({ sandbox: true }), sandbox.verifier)).toBe("ok");
    expect(outcome(theirs({ sandbox: true }))).toBe("entitlement_invalid key_unknown");
    expect(outcome(theirs({}), sandbox.verifier)).toBe("entitlement_invalid key_unknown");
    expect(outcome(stated({ sandbox: true }))).toBe("entitlement_invalid key_unknown");
  });

  it.each<readonly [string, object]>([
    ["that lasts longer than 24 hours", { valid_until: "2026-07-02T08:00:00.001Z" }],
    ["that ends when it begins", { valid_until: facts.valid_from }],
    ["that ends before it begins", { valid_until: "2026-06-30T08:00:00.000Z" }],
    ["without a key", { key_ids: [] }],
    ["with a key twice", { key_ids: [key.keyId, key.keyId] }],
    ["with too many keys", { key_ids: Array.from({ length: 101 }, () => makeKey("Ed25519").keyId) }],
    ["with another billing", { billing: "free" }],
    ["with terms that lack a hash", { terms: { version: 1, agreed_at: statedAt } }],
    ["with a member more", { note: "" }],
  ])("%s is malformed", (_what, changes) => {
    expect(outcome(stated(changes))).toBe("entitlement_invalid payload_malformed");
  });

  it("where there are no terms names none, and lacks no other member", () => {
    expect(outcome(stated({ terms: null, billing: "none" }))).toBe("ok");
    for (const name of Object.keys(facts)) {
      const { [name]: _, ...without } = asJson(facts) as JsonObject;
      expect(outcome(document("entitlement.v1", without, signer)), name).toBe(
        "entitlement_invalid payload_malformed",
      );
    }
  });

  it("in another format, another text, or an answer that shows anything else is refused", () => {
    expect(outcome(stated({ v: 2 }))).toBe("entitlement_invalid version_unknown");
    const spaced = utf8(JSON.stringify(facts, null, 1));
    const text = asJson(seal(payloadTypes["entitlement.v1"], spaced, signer));
    expect(outcome(text)).toBe("entitlement_invalid payload_malformed");
    for (const others of [{ ...shown, legal_name: "Another" }, { ...shown, more: 1 }, {}])
      expect(outcome(answerWith("entitlement.v1", facts, { keys: [signer], shown: others }))).toBe(
        "entitlement_invalid payload_malformed",
      );
  });
});
