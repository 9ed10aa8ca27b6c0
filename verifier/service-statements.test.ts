import { describe, expect, it } from "vitest";
import { type PayloadKind, payloadTypes } from "../protocol/dsse.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import { passkeySeal, recordBytes, recordId } from "./business.fixture.ts";
import { altered, codeOf, held, makeScene } from "./scene.fixture.ts";
import { asJson, document, soleKey } from "./service.fixture.ts";
import { makeKey, seal } from "./signing.fixture.ts";
import {
  answerWith,
  directoryFacts,
  pageFacts,
  removalFacts,
  statedAt,
  statementFacts,
} from "./stated.fixture.ts";
import type { Verifier } from "./verifier.ts";

const { service, business, verifier, verifierOf } = makeScene();
const sandbox = makeScene("sandbox");
const bytes = recordBytes();
const signer = soleKey(service.statement);
const companyKey = makeKey("Ed25519");

interface Kind {
  readonly kind: PayloadKind;
  readonly facts: object;
  /** The member that says when it was stated. */
  readonly instant: string;
  verify(verifier: Verifier, value: JsonValue): Verdict<unknown>;
}

const kinds: readonly Kind[] = [
  {
    kind: "verify-statement.v1",
    facts: statementFacts(bytes),
    instant: "checked_at",
    verify: (by, value) => by.statement(value),
  },
  {
    kind: "verify-page.v1",
    facts: pageFacts(business, bytes),
    instant: "checked_at",
    verify: (by, value) => by.page(value),
  },
  {
    kind: "key-directory.v1",
    facts: directoryFacts(companyKey),
    instant: "issued_at",
    verify: (by, value) => by.keyDirectory(value),
  },
];

describe.each(kinds)("a $kind", ({ kind, facts, instant, verify }) => {
  const code = (value: JsonValue, by = verifier): string => codeOf(verify(by, value));
  const stated = (changes: object = {}, key = signer) => document(kind, { ...facts, ...changes }, key);

  it("stands by the statement key, alone and in its answer", () => {
    const verdict = verify(verifier, stated());
    expect(verdict).toEqual({ ok: true, value: asJson(facts) });
    const { v: _v, record_hash: _hash, ...findings } = facts as JsonObject;
    const shown = kind === "verify-statement.v1" ? findings : facts;
    expect(code(answerWith(kind, facts, { keys: [signer], shown }))).toBe("ok");
  });

  it("in an answer that shows anything else is payload_malformed", () => {
    const { v: _v, record_hash: _hash, ...findings } = facts as JsonObject;
    const shown = kind === "verify-statement.v1" ? findings : facts;
    for (const other of [{ ...shown, [instant]: "2026-07-02T08:00:00.000Z" }, { ...shown, more: 1 }, {}])
      expect(code(answerWith(kind, facts, { keys: [signer], shown: other }))).toBe("payload_malformed");
  });

  it("with any bit of it changed after signing is signature_invalid, or not even readable", () => {
    const envelope = stated() as JsonObject;
    const [signature] = envelope["signatures"] as readonly JsonObject[];
    const flipped = (text: string): string =>
      Buffer.from(altered(new Uint8Array(Buffer.from(text, "base64")))).toString("base64");
    const changed = { ...signature, sig: flipped(String(signature?.["sig"])) };
    expect(code({ ...envelope, signatures: [rubbish(changed)] })).toBe("signature_invalid");
    const moved = Buffer.from(String(envelope["payload"]), "base64").toString().replace("2026-07", "2026-08");
    expect(code({ ...envelope, payload: Buffer.from(moved).toString("base64") })).toBe("signature_invalid");
  });

  it("by a key of another use, or of nobody, is key_unknown", () => {
    for (const key of [soleKey(service.sidecar), soleKey(service.projection), soleKey(service.receipt)])
      expect(code(stated({}, key))).toBe("key_unknown");
    expect(code(stated({}, makeKey("Ed25519")))).toBe("key_unknown");
  });

  it("by two keys is envelope_malformed, and so is a member that an envelope has not", () => {
    expect(code(document(kind, facts, signer, signer))).toBe("envelope_malformed");
    expect(code({ ...(stated() as JsonObject), more: 1 })).toBe("envelope_malformed");
  });

  it("signed as another kind is payload_type_mismatch, and relabelled signature_invalid", () => {
    const other = kind === "verify-page.v1" ? "key-directory.v1" : "verify-page.v1";
    expect(code(document(other, facts, signer))).toBe("payload_type_mismatch");
    const relabelled = { ...(document(other, facts, signer) as JsonObject), payloadType: payloadTypes[kind] };
    expect(code(relabelled)).toBe("signature_invalid");
  });

  it("outside the window of its key is key_not_valid, and after a compromise key_compromised", () => {
    expect(code(stated({ [instant]: "2025-12-31T23:59:59.999Z" }))).toBe("key_not_valid");
    const compromised = (from: string) =>
      verifierOf({ entries: (key) => (key === service.statement ? { compromised_from: from } : {}) });
    expect(code(stated(), compromised(statedAt))).toBe("key_compromised");
    expect(code(stated(), compromised("2026-07-01T08:00:00.001Z"))).toBe("ok");
  });

  it("of the sandbox proves nothing under production anchors", () => {
    const mark = kind === "verify-statement.v1" ? { sandbox: true } : {};
    const theirs = document(kind, { ...facts, ...mark }, soleKey(sandbox.service.statement));
    expect(code(theirs)).toBe("key_unknown");
    expect(code(theirs, sandbox.verifier)).toBe("ok");
  });

  it("with a member more, a member less or a member of another type is payload_malformed", () => {
    for (const name of Object.keys(facts)) {
      const { [name]: _, ...without } = facts as JsonObject;
      expect(code(document(kind, without, signer)), name).toBe("payload_malformed");
      if (name !== "v") expect(code(stated({ [name]: { a: 1 } })), name).toBe("payload_malformed");
    }
    for (const more of ["kind", "more"])
      expect(code(stated({ [more]: "x" })), more).toBe("payload_malformed");
  });

  it("in another format is version_unknown, and in another text payload_malformed", () => {
    expect(code(stated({ v: 2 }))).toBe("version_unknown");
    const spaced = new TextEncoder().encode(JSON.stringify(facts, null, 1));
    expect(code(asJson(seal(payloadTypes[kind], spaced, signer)))).toBe("payload_malformed");
  });
});

describe("a verify statement", () => {
  it("about other bytes is hash_mismatch", () => {
    const stated = document("verify-statement.v1", statementFacts(bytes), signer);
    expect(codeOf(verifier.statement(stated, { bytes }))).toBe("ok");
    expect(codeOf(verifier.statement(stated, { bytes: altered(bytes) }))).toBe("hash_mismatch");
  });

  it("with the mark of the other environment is key_unknown", () => {
    const marked = document("verify-statement.v1", { ...statementFacts(bytes), sandbox: true }, signer);
    expect(codeOf(verifier.statement(marked))).toBe("key_unknown");
  });
});

describe("a verify page", () => {
  const page = (changes: object = {}) =>
    document("verify-page.v1", { ...pageFacts(business, bytes), ...changes }, signer);

  it("about other bytes or another record is hash_mismatch", () => {
    expect(codeOf(verifier.page(page(), { bytes, recordId }))).toBe("ok");
    expect(codeOf(verifier.page(page(), { bytes: altered(bytes) }))).toBe("hash_mismatch");
    expect(codeOf(verifier.page(page(), { recordId: `svc_${"b".repeat(26)}` }))).toBe("hash_mismatch");
  });

  it("whose record id is of another type is record_type_mismatch", () => {
    expect(codeOf(verifier.page(page({ record_type: "events" })))).toBe("record_type_mismatch");
  });

  it("stands with a removal of its record, sealed over that document", () => {
    expect(codeOf(verifier.page(page({ removal: removalFacts(business) })))).toBe("ok");
  });

  it.each([
    ["of another record", { document: { record_id: `svc_${"b".repeat(26)}` } }, "payload_malformed"],
    ["of another action", { document: { action: "delete" } }, "payload_malformed"],
    ["at another time", { document: { at: "2026-06-02T09:00:00.000Z" } }, "payload_malformed"],
    ["sealed over other bytes", { sealed: { hash: `sha256:${"0".repeat(64)}` } }, "hash_mismatch"],
    ["sealed for another type", { sealed: { record_type: "events" } }, "record_type_mismatch"],
    ["with a seal that cannot be read", { sealed: { more: 1 } }, "payload_malformed"],
  ])("with a removal %s is refused", (_what, changes, reason) => {
    expect(codeOf(verifier.page(page({ removal: removalFacts(business, changes) })))).toBe(reason);
  });

  it("with a removal whose document is none is payload_malformed", () => {
    const removal = { ...removalFacts(business), document_base64: btoa("{}") };
    expect(codeOf(verifier.page(page({ removal })))).toBe("payload_malformed");
  });

  it("is no seal, and a seal is no page", () => {
    expect(codeOf(verifier.page(passkeySeal(business, bytes)))).toBe("payload_type_mismatch");
  });
});

describe("a key directory", () => {
  const listing = directoryFacts(companyKey, makeKey("ES256"));
  const [company] = listing.companies;
  const [first, second] = company?.keys ?? [];
  const directory = (companies: object) =>
    codeOf(verifier.keyDirectory(document("key-directory.v1", { ...listing, companies }, signer)));
  const withKeys = (...keys: readonly (object | undefined)[]) => directory([{ ...company, keys }]);

  it("lists no company and no key twice, each under its own thumbprint and algorithm", () => {
    const other = { ...company, ai_company_uuid: "10000000-0000-4000-8000-000000000002" };
    expect(directory([company])).toBe("ok");
    expect(directory([company, { ...other, keys: [] }])).toBe("ok");
    expect(directory([{ ...company, keys: [] }, company])).toBe("payload_malformed");
    expect(directory([company, other])).toBe("payload_malformed");
    expect(withKeys(first, first)).toBe("payload_malformed");
    expect(withKeys({ ...first, key_id: second?.key_id })).toBe("payload_malformed");
    expect(withKeys({ ...first, alg: "ES256" })).toBe("payload_malformed");
    expect(withKeys({ ...first, source: "guessed" })).toBe("payload_malformed");
  });

  it("says whose a key was at an instant, within its window alone", () => {
    const verified = held(verifier.keyDirectory(document("key-directory.v1", listing, signer)));
    const at = (instant: string, keyId = companyKey.keyId) =>
      verifier.listedKeyAt(verified, { key_id: keyId, at: instant });
    expect(at("2026-03-01T00:00:00.000Z")).toMatchObject({
      ok: true,
      value: { company: { ai_company_uuid: company?.ai_company_uuid }, key: { key_id: companyKey.keyId } },
    });
    expect(codeOf(at("2026-01-31T23:59:59.999Z"))).toBe("key_not_valid");
    expect(codeOf(at("2026-06-01T00:00:00.000Z"))).toBe("key_not_valid");
    expect(codeOf(at("2026-03-01T00:00:00.000Z", signer.keyId))).toBe("key_unknown");
  });
});

it("a page of a business file is read with its domains", () => {
  const page = pageFacts(business, bytes);
  const endpoints = {
    status: "suspended",
    items: [{ kind: "checkout", url: "https://shop.example/pay" }],
    domains_confirmed_at: null,
  };
  const domains = [
    { domain: "shop.example", status: "suspended", since: statedAt, confirmed_at: statedAt },
    { domain: "www.shop.example", status: "unconfirmed", since: null, confirmed_at: null },
  ];
  const code = (section: object) =>
    codeOf(verifier.page(document("verify-page.v1", { ...page, endpoints: section }, signer)));
  expect(code(endpoints)).toBe("payload_malformed");
  expect(code({ ...endpoints, domains })).toBe("ok");
  for (const changes of [{ status: "lost" }, { domain: "10.0.0.1" }, { confirmed_at: "today" }, { more: 1 }])
    expect(code({ ...endpoints, domains: [{ ...domains[0], ...changes }] })).toBe("payload_malformed");
});
