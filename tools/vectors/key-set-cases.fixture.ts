// Cases about anchors and key sets.

import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import {
  anchorsOf,
  asJson,
  type KeySetParts,
  type Link,
  makeServiceKey,
  type ServiceKey,
} from "../../verifier/service.fixture.ts";
import { withSeed } from "../../verifier/signing.fixture.ts";
import type { VectorCase } from "./case.ts";
import {
  casesOf,
  signedKeySet,
  type World,
  withPayloadOf,
  withSignatures,
  withText,
} from "./world.fixture.ts";

export function anchorCases(world: World): readonly VectorCase[] {
  const { good, bad } = casesOf("anchors", null);
  const anchors = world.production.service.anchors;
  const [first, second] = anchors.roots;
  const changed = (change: object) => ({ anchors: { ...anchors, ...change } });
  return [
    good("production", "Both halves of a root, each naming the other.", { anchors }),
    bad("payload_malformed", "one half", "A root without its other half.", changed({ roots: [first] })),
    bad("payload_malformed", "other id", "A key id that is not the thumbprint of its key.", {
      ...changed({ roots: [{ ...first, key_id: second?.key_id }, second] }),
    }),
    bad("payload_malformed", "its own pair", "A half that names itself as its other half.", {
      ...changed({ roots: [first, { ...second, pair: second?.key_id }] }),
    }),
    bad(
      "payload_malformed",
      "environment",
      "An environment that does not exist.",
      changed({ environment: "staging" }),
    ),
    bad("payload_malformed", "further member", "A member that anchors do not have.", changed({ extra: 1 })),
  ];
}

export function keySetCases(world: World): readonly VectorCase[] {
  return withSeed("svc public test vectors: key sets", () => [
    ...signatureCases(world),
    ...chainCases(world),
    ...entryCases(world),
    ...successionCases(world),
  ]);
}

/** A key set of one working key, with changes; a small one, for there are many cases. */
function smallSet(world: World) {
  const { service } = world.production;
  const { root, issuance, projection } = service;
  const links = service.links.filter(({ certified }) => [root, issuance, projection].includes(certified));
  const changed = (certified: ServiceKey, facts: Partial<Link>): readonly Link[] =>
    links.map((link) => (link.certified === certified ? { ...link, ...facts } : link));
  const input = (parts: KeySetParts = {}, anchors = service.anchors) => ({
    anchors,
    key_set: signedKeySet(service, { links, ...parts }),
  });
  return { service, root, issuance, projection, links, changed, input, ...casesOf("key_set", null) };
}

function signatureCases(world: World): readonly VectorCase[] {
  const { input, good, bad, issuance, projection, root, changed, links, service } = smallSet(world);
  const signed = (input().key_set as JsonObject)["signed"] ?? null;
  const given = (key_set: unknown) => ({ anchors: service.anchors, key_set });
  const later = (input({ facts: { issued_at: "2026-06-01T00:00:00.001Z" } }).key_set as JsonObject)["signed"];
  const second = makeServiceKey("issuance");
  const both = [...links, { certified: second, issuer: root }];
  const mixed = [issuance.halves[0], second.halves[1]].filter((half) => half !== undefined);
  return [
    good("whole", "A key set that chains to the anchors.", input()),
    good("bare envelope", "The signed envelope alone.", given(signed)),
    bad(
      "payload_malformed",
      "list beside it",
      "Only what is signed counts: the list beside it says something else.",
      given({ keys: [], signed }),
    ),
    good("halves in another order", "The ML-DSA-65 signature stands before the P-256 signature.", {
      ...given({ signed: withSignatures(signed, (each) => each.toReversed()) }),
    }),
    bad(
      "post_quantum_required",
      "P-256 alone",
      "The ML-DSA-65 signature is missing.",
      input({ signers: issuance.halves.slice(0, 1) }),
    ),
    bad(
      "post_quantum_required",
      "ML-DSA-65 alone",
      "The P-256 signature is missing.",
      input({ signers: issuance.halves.slice(1) }),
    ),
    bad(
      "post_quantum_required",
      "certificate of one half",
      "A key certificate in it has one signature half only.",
      {
        ...input({ links: changed(projection, { signers: issuance.halves.slice(0, 1) }) }),
      },
    ),
    bad("key_unknown", "by a working key", "Signed by a working key.", input({ signers: projection.halves })),
    bad(
      "key_unknown",
      "by the root",
      "Signed by the root instead of an issuance key.",
      input({ signers: root.halves }),
    ),
    bad(
      "key_unknown",
      "halves of two keys",
      "One half is of another issuance key than the other.",
      input({ links: both, signers: mixed }),
    ),
    bad("signature_invalid", "changed after signing", "Another payload under the same signatures.", {
      ...given({ signed: withPayloadOf(signed, later ?? null) }),
    }),
    bad("payload_malformed", "not canonical", "A space in the payload's JSON.", {
      ...given({ signed: withText(signed, (text) => text.replace(",", ", ")) }),
    }),
    bad("envelope_malformed", "further member", "The envelope has a member that envelopes do not have.", {
      ...given({ signed: { ...(signed as JsonObject), extra: 1 } }),
    }),
    bad("payload_type_mismatch", "other type", "The envelope of another kind of document.", {
      ...given({ signed: { ...(signed as JsonObject), payloadType: "application/vnd.svc.key-set.v2+json" } }),
    }),
    bad("envelope_malformed", "nothing signed", "An answer without a signed key set.", given({ keys: [] })),
  ];
}

function chainCases(world: World): readonly VectorCase[] {
  const { input, bad, issuance, projection, root, changed, links, service } = smallSet(world);
  const stray = makeServiceKey("issuance");
  const strayRoot = makeServiceKey("root");
  const second = makeServiceKey("issuance");
  return [
    bad("trust_chain_broken", "other roots", "The anchors pin other roots.", input({}, world.other.anchors)),
    bad("trust_chain_broken", "no chain", "A key that a stray root's key certified.", {
      ...input({
        links: [...changed(projection, { issuer: stray }), { certified: stray, issuer: strayRoot }],
      }),
    }),
    bad("trust_chain_broken", "forged certificate", "A key certificate that another key signed.", {
      ...input({ links: changed(projection, { signers: makeServiceKey("issuance").halves }) }),
    }),
    bad("trust_chain_broken", "root certifies a working key", "Roots certify roots and issuance keys only.", {
      ...input({ links: changed(projection, { issuer: root }) }),
    }),
    bad("trust_chain_broken", "issuance certifies issuance", "Issuance keys certify working keys only.", {
      ...input({ links: [...links, { certified: second, issuer: issuance }] }),
    }),
    bad("trust_chain_broken", "issued too early", "A key certificate is older than the key that issued it.", {
      ...input({ links: changed(projection, { facts: { issued_at: "2025-12-31T23:59:59.999Z" } }) }),
    }),
    bad("trust_chain_broken", "root compromised", "The root was compromised before it certified anything.", {
      ...input({ entries: (key) => (key === root ? { compromised_from: "2025-12-31T00:00:00.000Z" } : {}) }),
    }),
    bad("trust_chain_broken", "other facts", "An entry has another end than its certificate.", {
      ...input({ entries: (key) => (key === projection ? { valid_until: "2030-01-01T00:00:00.000Z" } : {}) }),
    }),
    bad(
      "key_compromised",
      "issuance compromised",
      "The issuance key was compromised before the set was issued.",
      {
        ...input({
          entries: (key) => (key === issuance ? { compromised_from: "2026-05-31T00:00:00.000Z" } : {}),
        }),
      },
    ),
    bad("key_not_valid", "issued before its key", "The set says it is older than its issuance key.", {
      ...input({ facts: { issued_at: "2025-12-31T00:00:00.000Z" } }),
    }),
    bad(
      "key_unknown",
      "production under sandbox anchors",
      "The anchors are of the sandbox, with the same roots.",
      {
        ...input({}, anchorsOf("sandbox", service.root)),
      },
    ),
  ];
}

function entryCases(world: World): readonly VectorCase[] {
  const { input, bad, projection, root, changed, service } = smallSet(world);
  const entry = (facts: object) => input({ entries: (key) => (key === projection ? facts : {}) });
  const halves = root.halves.map((half) => ({ key_id: half.keyId, alg: half.alg, public_key: half.jwk }));
  return [
    bad(
      "payload_malformed",
      "region",
      "A key that is no receipt key has a region.",
      entry({ region: "eu-west1" }),
    ),
    bad(
      "payload_malformed",
      "algorithm",
      "An entry names another algorithm than its key's.",
      entry({ alg: "ES256" }),
    ),
    bad(
      "payload_malformed",
      "single issuance key",
      "An issuance key without its other half.",
      entry({ use: "issuance" }),
    ),
    bad("payload_malformed", "key id", "An entry under another key's id.", {
      ...entry({ key_id: service.receipt.halves[0]?.keyId }),
    }),
    bad("payload_malformed", "pair of one", "A working key that names another half.", {
      ...entry({ pair: service.receipt.halves[0]?.keyId }),
    }),
    bad("version_unknown", "v", "A format that is not known.", input({ facts: { v: 2 as 1 } })),
    bad(
      "payload_malformed",
      "certificate of half a root",
      "A root's key certificate has one of its keys only.",
      {
        ...input({ links: changed(root, { facts: { keys: halves.slice(0, 1) } }) }),
      },
    ),
    bad("payload_malformed", "certificate in another order", "A pair's P-256 key comes first.", {
      ...input({ links: changed(root, { facts: { keys: halves.toReversed() } }) }),
    }),
    bad("version_unknown", "certificate's v", "A key certificate of a format that is not known.", {
      ...input({ links: changed(projection, { facts: asJson({ v: 2 }) }) }),
    }),
  ];
}

function successionCases(world: World): readonly VectorCase[] {
  const { input, good, bad, root, links } = smallSet(world);
  const next = makeServiceKey("root");
  const crossed: readonly Link[] = [
    { certified: root, issuer: root },
    { certified: next, issuer: next },
    { certified: next, issuer: root },
    { certified: root, issuer: next },
    ...links.slice(1).map((link) => (link.issuer === root ? { ...link, issuer: next } : link)),
  ];
  const uncrossed = crossed.filter((link) => link.certified !== next || link.issuer !== root);
  return [
    good(
      "succession by the old root",
      "The old root is pinned, and certifies the next.",
      input({ links: crossed }),
    ),
    good("succession by the new root", "The next root is pinned, and certifies the old.", {
      ...input({ links: crossed }, anchorsOf("production", next)),
    }),
    bad(
      "trust_chain_broken",
      "succession uncrossed",
      "The old root is pinned, and did not certify the next.",
      {
        ...input({ links: uncrossed }),
      },
    ),
  ];
}
