import { describe, expect, it } from "vitest";
import { sha256 } from "../protocol/bytes.ts";
import { parseAnchors } from "../protocol/keys/anchors.ts";
import { verifySignature } from "../protocol/keys/signatures.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { held } from "./scene.fixture.ts";
import {
  anchorsOf,
  asJson,
  type KeySetParts,
  keySetAnswer,
  type Link,
  makeService,
  makeServiceKey,
  type ServiceKey,
  soleKey,
  type TestService,
} from "./service.fixture.ts";
import { type Trust, verifyKeySet, workingKey } from "./trust.ts";

const primitives = { verify: verifySignature, sha256 };
const service = makeService();
const { root, issuance, projection, receipt } = service;

function judge(parts: KeySetParts = {}, of: TestService = service, anchors = of.anchors): Verdict<Trust> {
  return verifyKeySet(anchors, keySetAnswer(of, parts), primitives);
}

function codeOf(parts: KeySetParts, of?: TestService): string {
  const verdict = judge(parts, of);
  return verdict.ok ? "ok" : verdict.code;
}

/** The links with one of them changed. */
function changed(certified: Link["certified"], facts: Partial<Link>): readonly Link[] {
  return service.links.map((link) => (link.certified === certified ? { ...link, ...facts } : link));
}

describe("a key set", () => {
  it("is trusted along its certificates from the anchors", () => {
    const trust = judge();
    if (!trust.ok) throw new Error(trust.detail);
    expect(trust.value.keys.size).toBe(2 + 2 + 6);
    const key = soleKey(receipt);
    expect(workingKey(trust.value, key.keyId, { use: "receipt", region: "eu-west1" })?.key_id).toBe(
      key.keyId,
    );
    expect(workingKey(trust.value, key.keyId, { use: "receipt", region: "us-east1" })).toBeNull();
    expect(workingKey(trust.value, key.keyId, { use: "sidecar", region: null })).toBeNull();
  });

  it("is what is signed: a list beside it that says anything else is payload_malformed", () => {
    const answer = keySetAnswer(service) as { keys: readonly object[]; signed: object };
    const judged = (keys: unknown) => {
      const verdict = verifyKeySet(service.anchors, asJson({ keys, signed: answer.signed }), primitives);
      return verdict.ok ? "ok" : verdict.code;
    };
    expect(judged(answer.keys)).toBe("ok");
    for (const other of ["anything", answer.keys.slice(1), []])
      expect(judged(other)).toBe("payload_malformed");
    expect(verifyKeySet(service.anchors, asJson(answer.signed), primitives).ok).toBe(true);
  });

  it("with one signature half is post_quantum_required", () => {
    for (const half of issuance.halves) expect(codeOf({ signers: [half] })).toBe("post_quantum_required");
  });

  it("with a certificate of one half is post_quantum_required", () => {
    const links = changed(projection, { signers: issuance.halves.slice(0, 1) });
    expect(codeOf({ links })).toBe("post_quantum_required");
  });

  it("signed by a working key, or by roots, is key_unknown", () => {
    expect(codeOf({ signers: projection.halves })).toBe("key_unknown");
    expect(codeOf({ signers: root.halves })).toBe("key_unknown");
  });

  it("signed by halves of two issuance keys is key_unknown", () => {
    const second = makeServiceKey("issuance");
    const links = [...service.links, { certified: second, issuer: root }];
    const [classical] = issuance.halves;
    const [, postQuantum] = second.halves;
    if (classical === undefined || postQuantum === undefined) throw new Error("A pair has two halves");
    expect(codeOf({ links, signers: [classical, postQuantum] })).toBe("key_unknown");
    expect(codeOf({ links, signers: second.halves })).toBe("ok");
  });

  it("changed after signing is signature_invalid", () => {
    const answer = keySetAnswer(service, { facts: { issued_at: "2026-06-01T00:00:00.001Z" } }) as {
      signed: { payload: string };
    };
    const other = keySetAnswer(service) as { signed: object };
    const mixed = asJson({ signed: { ...other.signed, payload: answer.signed.payload } });
    expect(verifyKeySet(service.anchors, mixed, primitives)).toMatchObject({ code: "signature_invalid" });
  });

  it("with a key that has no chain is trust_chain_broken", () => {
    const stray = makeServiceKey("issuance");
    const links = changed(projection, { issuer: stray });
    expect(codeOf({ links: [...links, { certified: stray, issuer: makeServiceKey("root") }] })).toBe(
      "trust_chain_broken",
    );
  });

  it("of other roots than the anchors' is trust_chain_broken", () => {
    expect(judge({}, service, makeService().anchors)).toMatchObject({ code: "trust_chain_broken" });
  });

  it("with a certificate whose signature does not hold is trust_chain_broken", () => {
    const forged = changed(projection, { signers: makeServiceKey("issuance").halves });
    expect(codeOf({ links: forged })).toBe("trust_chain_broken");
  });

  it("with a certificate by a key that may not issue it is trust_chain_broken", () => {
    expect(codeOf({ links: changed(projection, { issuer: root }) })).toBe("trust_chain_broken");
    const second = makeServiceKey("issuance");
    expect(codeOf({ links: [...service.links, { certified: second, issuer: issuance }] })).toBe(
      "trust_chain_broken",
    );
  });

  it("with facts that a certificate does not give is trust_chain_broken", () => {
    const later = (key: unknown) => (key === projection ? { valid_until: "2030-01-01T00:00:00.000Z" } : {});
    expect(codeOf({ entries: later })).toBe("trust_chain_broken");
  });

  it("with a certificate issued while its issuer did not stand is trust_chain_broken", () => {
    const links = changed(projection, { facts: { issued_at: "2025-12-31T23:59:59.999Z" } });
    expect(codeOf({ links })).toBe("trust_chain_broken");
    const compromised = (key: unknown) =>
      key === root ? { compromised_from: "2025-12-31T00:00:00.000Z" } : {};
    expect(codeOf({ entries: compromised })).toBe("trust_chain_broken");
  });

  it("signed by an issuance key that is compromised, or not yet valid, does not stand", () => {
    const compromised = (key: unknown) =>
      key === issuance ? { compromised_from: "2026-05-31T00:00:00.000Z" } : {};
    expect(codeOf({ entries: compromised })).toBe("key_compromised");
    expect(codeOf({ facts: { issued_at: "2025-12-31T00:00:00.000Z" } })).toBe("key_not_valid");
  });

  it("takes the earliest compromise that anything in it names", () => {
    const at = "2026-04-01T00:00:00.000Z";
    const trust = judge({ links: changed(projection, { facts: { compromised_from: at } }) });
    expect(trust.ok && trust.value.keys.get(soleKey(projection).keyId)?.compromised_from).toBe(at);
  });
});

describe("what a key set says of keys", () => {
  it("cannot make a pinned root issue: it is trusted as a root and nothing else", () => {
    const posing = { ...root, use: "issuance" } as const;
    const links = service.links.slice(2).map((link) => ({ ...link, issuer: posing }));
    const listed = [...links, { certified: posing, issuer: makeServiceKey("root") }];
    expect(codeOf({ links: listed, signers: root.halves })).toBe("trust_chain_broken");
  });

  it("is consistent, or payload_malformed", () => {
    const entry = (target: ServiceKey, facts: object) =>
      codeOf({ entries: (key) => (key === target ? facts : {}) });
    expect(entry(projection, { region: "eu-west1" })).toBe("payload_malformed");
    expect(entry(receipt, { region: null })).toBe("payload_malformed");
    expect(entry(projection, { alg: "ES256" })).toBe("payload_malformed");
    expect(entry(projection, { use: "issuance" })).toBe("payload_malformed");
    expect(entry(projection, { pair: soleKey(receipt).keyId })).toBe("payload_malformed");
    expect(entry(projection, { key_id: soleKey(receipt).keyId })).toBe("payload_malformed");
    expect(entry(projection, { public_key: soleKey(receipt).jwk })).toBe("payload_malformed");
    const listed = held(judge()).keySet.keys;
    expect(codeOf({ facts: { keys: [...listed, ...listed] } })).toBe("payload_malformed");
    expect(codeOf({ facts: { v: 2 as 1 } })).toBe("version_unknown");
  });

  it("holds for its certificates too", () => {
    const withFacts = (certified: ServiceKey, facts: object) =>
      codeOf({ links: changed(certified, { facts }) });
    expect(withFacts(projection, { region: "eu-west1" })).toBe("payload_malformed");
    expect(withFacts(receipt, { region: null })).toBe("payload_malformed");
    const halves = root.halves.map((half) => ({ key_id: half.keyId, alg: half.alg, public_key: half.jwk }));
    expect(withFacts(root, { keys: halves.toReversed() })).toBe("payload_malformed");
    expect(withFacts(root, { keys: halves.slice(0, 1) })).toBe("payload_malformed");
    expect(withFacts(projection, { v: 2 })).toBe("version_unknown");
  });
});

describe("succession of roots", () => {
  const next = makeServiceKey("root");
  const links: readonly Link[] = [
    { certified: root, issuer: root },
    { certified: next, issuer: next },
    { certified: next, issuer: root },
    { certified: root, issuer: next },
    ...service.links.slice(1).map((link) => (link.issuer === root ? { ...link, issuer: next } : link)),
  ];

  it("is followed by cross-certification, whichever of the two is pinned", () => {
    expect(judge({ links }).ok).toBe(true);
    expect(judge({ links }, service, anchorsOf("production", next)).ok).toBe(true);
  });

  it("is broken without the cross certificate", () => {
    const uncrossed = links.filter((link) => link.certified !== next || link.issuer !== root);
    expect(codeOf({ links: uncrossed })).toBe("trust_chain_broken");
  });
});

describe("environments", () => {
  const sandbox = makeService("sandbox");

  it("verify under their own anchors", () => {
    expect(judge({}, sandbox).ok).toBe(true);
  });

  it("never verify under those of the other, even with the same roots", () => {
    const production = anchorsOf("production", sandbox.root);
    expect(judge({}, sandbox, production)).toMatchObject({ code: "key_unknown" });
    expect(judge({}, service, anchorsOf("sandbox", service.root))).toMatchObject({ code: "key_unknown" });
  });
});

describe("anchors", () => {
  it("are read back as they were written", () => {
    expect(parseAnchors(asJson(service.anchors))).toEqual({ ok: true, value: service.anchors });
  });

  it("are refused when a root has no other half, or an id that is not its thumbprint", () => {
    const [first, second] = service.anchors.roots;
    const broken = [
      { roots: [first, { ...second, pair: second?.key_id }] },
      { roots: [{ ...first, key_id: second?.key_id }, second] },
      { roots: [first] },
      { environment: "staging" },
      { extra: 1 },
    ];
    for (const change of broken) {
      expect(parseAnchors(asJson({ ...service.anchors, ...change }))).toMatchObject({
        code: "payload_malformed",
      });
    }
  });
});
