// Registering a key by its own signature, as a portal does.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KeyFacts } from "../../actors/messages/business.ts";
import type { SigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { createSoftwarePasskey, type Sealer } from "../../node/sandbox/sealer.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { type Envelope, makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/json/canonical-json.ts";
import { algorithmOf } from "../../protocol/keys/jwk.ts";
import { type KeyPossession, keyPossessionPayload } from "../../protocol/keys/key-directory.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { newSigningKey } from "../retrieval/attack.fixture.ts";
import {
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  type TestBusiness,
} from "./publishing.fixture.ts";

const type = payloadTypes["key-possession.v1"];
const challenge = "c2FpZC1ieS10aGUtcG9ydGFs";

let node: PublishingNode;
let business: TestBusiness;
let other: TestBusiness;
beforeAll(async () => {
  node = await openPublishingNode();
  business = await openBusiness(node.services);
  other = await openBusiness(node.services, "00000000-0000-4000-8000-000000000002");
});
afterAll(() => node.close());

const factsOf = (
  key: Pick<SigningKey, "keyId" | "publicJwk">,
  changes: Partial<KeyFacts> = {},
): KeyFacts => ({
  ...business.key,
  key_id: key.keyId,
  alg: algorithmOf(key.publicJwk),
  public_key: { ...key.publicJwk },
  ...changes,
});

const said = (key: KeyFacts, changes: Partial<KeyPossession> = {}): KeyPossession => ({
  v: 1,
  party_uuid: key.party_uuid,
  key_id: key.key_id,
  role: key.role as KeyPossession["role"],
  challenge,
  ...changes,
});

async function signedBy(key: SigningKey, payload: Uint8Array, payloadType: string = type): Promise<Envelope> {
  const sig = await key.sign(pae(payloadType, payload));
  return makeEnvelope(payloadType, payload, [{ keyid: key.keyId, sig }]);
}

const register = (key: KeyFacts, proof: Envelope): Promise<string> =>
  node.services.parties.registerProvenKey({ key, challenge, proof }).then(
    () => "registered",
    (error: { code: string }) => error.code,
  );

const statusOf = async (key: KeyFacts) => (await node.services.parties.facts(key.party_uuid, key.key_id)).key;

describe("a key that proves itself", () => {
  it.each(["Ed25519", "ES256"] as const)("is registered, of %s, and may be again", async (algorithm) => {
    const key = await newSigningKey(algorithm);
    const facts = factsOf(key);
    const proof = await signedBy(key, keyPossessionPayload(said(facts)));
    expect(await register(facts, proof)).toBe("registered");
    expect(await register(facts, proof)).toBe("registered");
    expect(await statusOf(facts)).toBe("live");
  });

  it("and belongs to another party is refused all the same", async () => {
    const facts = factsOf(other.signingKey);
    expect(await register(facts, await signedBy(other.signingKey, keyPossessionPayload(said(facts))))).toBe(
      "key_taken",
    );
  });

  it("is a passkey, by an assertion of its user", async () => {
    const { passkeys } = node.services.anchors;
    const passkey = createSoftwarePasskey(generatePrivateJwk("ES256"), passkeys);
    const facts = factsOf(passkey, { role: "sealing", person_role: "owner", cose: passkey.cose });
    const proof = (by: Sealer): Promise<Envelope> => by.seal(type, keyPossessionPayload(said(facts)));
    const elsewhere = createSoftwarePasskey(generatePrivateJwk("ES256"), passkeys);
    const { signatures } = await proof(elsewhere);
    const forged = {
      ...(await proof(passkey)),
      signatures: signatures.map((each) => ({ ...each, keyid: passkey.keyId })),
    };
    expect(await register(facts, forged)).toBe("signature_invalid");
    expect(await statusOf(facts)).toBe("unknown");
    expect(await register(facts, await proof(passkey))).toBe("registered");
  });
});

describe("a proof is refused", () => {
  it.each<readonly [string, string, Partial<KeyPossession>]>([
    ["for another party", "key_mismatch", { party_uuid: "00000000-0000-4000-8000-000000000002" }],
    ["for another role", "key_mismatch", { role: "retrieval" }],
    ["for another challenge", "key_mismatch", { challenge: `${challenge}A` }],
    ["without a real challenge", "payload_malformed", { challenge: "short" }],
    ["of another version", "version_unknown", { v: 2 as 1 }],
    ["with more members", "payload_malformed", { admin: true } as object],
  ])("%s: %s", async (_name, code, changes) => {
    const key = await newSigningKey();
    const facts = factsOf(key);
    const payload = canonicalBytes(said(facts, changes) as unknown as JsonObject);
    expect(await register(facts, await signedBy(key, payload))).toBe(code);
    expect(await statusOf(facts)).toBe("unknown");
  });

  it("that the key did not sign, or signed as something else", async () => {
    const [key, thief] = [await newSigningKey(), await newSigningKey()];
    const facts = factsOf(key);
    const payload = keyPossessionPayload(said(facts));
    const genuine = await signedBy(key, payload);
    const stolen = await signedBy(thief, payload);
    const [signature] = genuine.signatures;
    const renamed = { ...stolen, signatures: [{ keyid: key.keyId, sig: stolen.signatures[0]?.sig ?? "" }] };
    const asPasskey = { ...signature, authenticatorData: "AAAA", clientDataJSON: "AAAA" };
    const refusals: readonly (readonly [Envelope, string])[] = [
      [stolen, "key_mismatch"],
      [renamed, "signature_invalid"],
      [{ ...genuine, signatures: [rubbish(asPasskey)] }, "signature_invalid"],
      [{ ...genuine, signatures: [...genuine.signatures, ...stolen.signatures] }, "envelope_malformed"],
      [await signedBy(key, payload, payloadTypes["mandate.v1"]), "payload_type_mismatch"],
      [
        { ...genuine, payload: toBase64(keyPossessionPayload(said(facts, { role: "sealing" }))) },
        "key_mismatch",
      ],
    ];
    for (const [proof, code] of refusals) expect(await register(facts, proof)).toBe(code);
    expect(await statusOf(facts)).toBe("unknown");
    expect(await register(facts, genuine)).toBe("registered");
  });
});
