import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KeyFacts, MandateFacts } from "../../actors/messages/business.ts";
import { send } from "../../api/surfaces.fixture.ts";
import type { SigningKey } from "../../client/signing-key.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { algorithmOf, coseKeyOf } from "../../protocol/keys/jwk.ts";
import { mandatePayload } from "../../protocol/mandate.ts";
import { createRegister } from "../../service/register/register.ts";
import { issueGrant, type SandboxGrant } from "../../service/register/sandbox-grant.ts";
import { signEnvelope } from "../../service/register/service-keys.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  newSigningKey,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";
import { product, seal, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const parties = () => node.running.services.parties;
const readsMax = 10_000;
let seq = 0;
const nextSeq = (): number => {
  seq += 1;
  return seq;
};

function keyOf(business: TestBusiness, key: SigningKey): KeyFacts {
  return {
    ...business.key,
    key_id: key.keyId,
    alg: algorithmOf(key.publicJwk),
    public_key: { ...key.publicJwk },
  };
}

async function mandateFor(business: TestBusiness, mandate_id: string, countries: readonly string[]) {
  const fromMs = Date.now();
  const payload = mandatePayload({
    v: 1,
    mandate_id,
    business_uuid: business.party.uuid,
    key_id: business.key.key_id,
    scope: {
      record_types: ["products"],
      countries,
      directions: ["publish"],
      caps: { records_per_hour: 1_000, bytes_per_day: 1_000_000 },
      source_ip_allow_list: null,
    },
    valid_from: formatTimestamp(fromMs),
    valid_until: formatTimestamp(fromMs + 86_400_000),
  });
  const signer = await node.running.services.hostedSigner(business.party.uuid);
  return signEnvelope(payloadTypes["mandate.v1"], payload, [signer]);
}

/** The mandates that this node's register lists, once one of them satisfies `isThere`. */
async function mandatesOnce(
  business: TestBusiness,
  isThere: (mandate: MandateFacts) => boolean,
): Promise<readonly MandateFacts[]> {
  const { register } = node.running.services;
  for (let reads = 0; reads < readsMax; reads += 1) {
    await register.refresh();
    const mandates = await register.mandates(business.party.uuid);
    if (mandates.some(isThere)) return mandates;
    await nextTurn();
  }
  throw new Error("The register was not told of it.");
}

async function publishOne(business: TestBusiness): Promise<unknown> {
  const { body } = await batchBody(business, [product("one")], { seq: nextSeq() });
  const answer = await publishOver(node, business, body);
  return answer.json["code"] ?? answer.status;
}

describe("a key", () => {
  it("that a party has registered is refused to every other, and stays that party's", async () => {
    const [one, two] = [await newBusiness(node), await newBusiness(node)];
    await expect(parties().registerKey(keyOf(two, one.signingKey))).rejects.toMatchObject({
      code: "key_taken",
    });
    await parties().registerKey(keyOf(one, one.signingKey));
    expect((await parties().facts(two.party.uuid, one.key.key_id)).key).toBe("unknown");
    expect(await publishOne(one)).toBe(200);
    await node.restart();
    await expect(parties().registerKey(keyOf(two, one.signingKey))).rejects.toMatchObject({
      code: "key_taken",
    });
  });

  it("that two parties register at once is one's", async () => {
    const both = [await newBusiness(node), await newBusiness(node)];
    for (let round = 0; round < 5; round += 1) {
      const key = await newSigningKey(round % 2 === 0 ? "Ed25519" : "ES256");
      const outcomes = await Promise.allSettled(both.map((each) => parties().registerKey(keyOf(each, key))));
      expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
      const known = await Promise.all(both.map((each) => parties().facts(each.party.uuid, key.keyId)));
      expect(known.map((facts) => facts.key).sort()).toEqual(["live", "unknown"]);
    }
  });

  it("is registered for a party that is open, under its own thumbprint", async () => {
    const business = await newBusiness(node);
    const [key, other] = [await newSigningKey(), await newSigningKey()];
    const nobody = "00000000-0000-4000-8000-00000000dead";
    await expect(
      parties().registerKey({ ...keyOf(business, key), party_uuid: nobody }),
    ).rejects.toMatchObject({ code: "party_unknown" });
    await expect(
      parties().registerKey({ ...keyOf(business, key), key_id: other.keyId }),
    ).rejects.toMatchObject({ code: "key_mismatch" });
    // Neither of them took the key from its owner.
    await parties().registerKey(keyOf(business, key));
    await parties().registerKey(keyOf(business, other));
  });

  it("is of a kind of party that has such keys", async () => {
    const [business, key] = [await newBusiness(node), await newSigningKey()];
    const uuid = "00000000-0000-4000-8000-0000000000c1";
    const names = { legal_name: "Asker Inc", country: "GB" };
    await parties().open({ uuid, kind: "ai_company", ...names, group: uuid, blocked_groups: [] });
    const facts = keyOf(business, key);
    for (const wrong of [
      { ...facts, role: "retrieval" as const },
      { ...facts, party_uuid: uuid },
      { ...facts, party_uuid: uuid, role: "hosted" as const },
    ])
      await expect(parties().registerKey(wrong)).rejects.toMatchObject({ code: "role_not_allowed" });
    // None of them took the key.
    await parties().registerKey({ ...facts, party_uuid: uuid, role: "retrieval" });
  });

  it("is registered only as it can be published, for one that cannot be read hides all of its business", async () => {
    const [business, key, p256] = [
      await newBusiness(node),
      await newSigningKey(),
      await newSigningKey("ES256"),
    ];
    const passkey = { ...keyOf(business, p256), role: "sealing" as const, person_role: "owner" as const };
    const cose = toBase64(coseKeyOf(p256.publicJwk) ?? new Uint8Array());
    for (const wrong of [
      passkey,
      { ...passkey, cose: toBase64(new Uint8Array(3)) },
      { ...keyOf(business, key), cose },
      { ...keyOf(business, key), valid_from: "2026-01-01" },
      { ...keyOf(business, key), valid_until: "never" },
    ])
      await expect(parties().registerKey(wrong)).rejects.toMatchObject({ code: "payload_malformed" });
    await parties().registerKey({ ...passkey, cose });
    await parties().registerKey(keyOf(business, key));
    const revocation = { uuid: business.party.uuid, key_id: key.keyId, compromised_from: null };
    const now = formatTimestamp(Date.now());
    for (const wrong of [{ revoked_at: "today" }, { revoked_at: now, compromised_from: "2026" }])
      await expect(parties().revokeKey({ ...revocation, ...wrong })).rejects.toMatchObject({
        code: "payload_malformed",
      });
    await parties().revokeKey({ ...revocation, revoked_at: now });
  });

  it("of a person is registered with the person's role, for none would count as an owner's", async () => {
    const [business, key] = [await newBusiness(node), await newSigningKey("ES256")];
    const cose = toBase64(coseKeyOf(key.publicJwk) ?? new Uint8Array());
    const passkey = { ...keyOf(business, key), role: "sealing" as const, cose };
    await expect(parties().registerKey(passkey)).rejects.toMatchObject({ code: "role_missing" });
    await parties().registerKey({ ...passkey, person_role: "owner" });
  });

  it("that another party has is registered by no grant, and the caller is told why", async () => {
    const [key, business] = [await newSigningKey(), await newBusiness(node)];
    const grantKey = node.running.services.keys.grant;
    if (grantKey === null) throw new Error("A sandbox has a grant key.");
    const uuid = "00000000-0000-4000-8000-0000000000a1";
    const grant: SandboxGrant = {
      v: 1,
      environment: "sandbox",
      party: { uuid, kind: "business", legal_name: "Second", country: "GB" },
      role: "integration",
      public_key: key.publicJwk,
      mandate_id: null,
    };
    // The state right after the other party's registration has started.
    await node.running.services.registerStore.claimKey(key.keyId, business.party.uuid);
    const caller = { key, grant: await issueGrant(grant, grantKey) };
    const context = { path: "/v1/seal-context", tag: "svc-business-read" } as const;
    expect(await send(node.running.urls.business_url, caller, context)).toMatchObject({
      status: 401,
      json: { code: "key_unknown", detail: expect.stringContaining("key_taken") },
    });
    expect((await parties().facts(uuid, key.keyId)).key).toBe("unknown");
    await parties().registerKey(keyOf(business, key));
    const { register } = node.running.services;
    for (let reads = 0; reads < readsMax && (await register.key(key.keyId)) === null; reads += 1)
      await nextTurn();
    const answer = await send(node.running.urls.business_url, caller, context);
    expect(answer.json["business_uuid"]).toBe(business.party.uuid);
  });
});

describe("a mandate", () => {
  it("of another business's mandate_id leaves that one's alone, and in its own business another is refused", async () => {
    const [one, two] = [await newBusiness(node), await newBusiness(node)];
    const { register } = node.running.services;
    const shared = "mdt_shared";
    const isShared = ({ mandate_id }: MandateFacts): boolean => mandate_id === shared;
    await parties().acceptMandate(await mandateFor(one, shared, ["GB", "US", "DE"]));
    const before = await mandatesOnce(one, isShared);
    for (let times = 0; times < 4; times += 1)
      await parties().setBlocked({ uuid: two.party.uuid, group: `g${times}`, blocked: true });
    await parties().acceptMandate(await mandateFor(two, shared, ["FR"]));
    const ofTwo = await mandatesOnce(two, isShared);
    expect(await register.mandates(one.party.uuid)).toEqual(before);
    expect(ofTwo.find(isShared)).toMatchObject({
      business_uuid: two.party.uuid,
      scope: { countries: ["FR"] },
    });
    await expect(parties().acceptMandate(await mandateFor(one, shared, ["FR"]))).rejects.toMatchObject({
      code: "mandate_id_taken",
    });
    expect(await publishOne(one)).toBe(200);
  });

  it("that is revoked lets nothing more be published; what was sealed before stands, and nothing after", async () => {
    const business = await newBusiness(node);
    const { uuid } = business.party;
    const { mandates } = await parties().facts(uuid, business.key.key_id);
    const mandate_id = mandates[0]?.mandate_id ?? "";
    const record = product("kept");
    const sealedOnce = async (sealedAtMs: number) => {
      const { batch_seal } = await seal(business, [record], { seq: nextSeq(), sealedAtMs });
      return { batch_seal, leaf_index: 0, tree_size: 1, proof: [] };
    };
    const earlier = await sealedOnce(Date.now());
    const published = await batchBody(business, [record], { seq: nextSeq() });
    expect((await publishOver(node, business, published.body)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 2));
    const revokedMs = Date.now();
    await parties().revokeMandate({ uuid, mandate_id, revoked_at: formatTimestamp(revokedMs) });
    // The answer comes from the owner, so it takes effect at once.
    expect(await publishOne(business)).toBe("mandate_missing");
    const verify = async (sealed: object) => {
      const body = JSON.stringify({ record_base64: toBase64(record), seal: sealed });
      const answer = await send(node.running.urls.verify_url, null, { path: "/v1/verify", body });
      return answer.json["seal"];
    };
    const { register, registerStore, clock } = node.running.services;
    await mandatesOnce(business, ({ revoked_at }) => revoked_at !== null);
    expect(await verify(earlier)).toMatchObject({ valid: true, checks: { scope: "ok" } });
    expect(await verify(await sealedOnce(revokedMs))).toMatchObject({
      valid: false,
      reason: "out_of_scope",
    });
    const another = createRegister({ store: registerStore, clock });
    await another.refresh();
    const revoked = expect.objectContaining({ mandate_id, revoked_at: formatTimestamp(revokedMs) });
    for (const reader of [register, another]) expect(await reader.mandates(uuid)).toEqual([revoked]);
    // Another mandate lets it publish again.
    await parties().acceptMandate(await mandateFor(business, "mdt_next", ["GB", "US", "DE"]));
    expect(await publishOne(business)).toBe(200);
  });

  it("that is a further one of its key says which others it stands beside, and takes nothing away from them", async () => {
    const business = await newBusiness(node);
    const { uuid } = business.party;
    const [wide] = (await parties().facts(uuid, business.key.key_id)).mandates;
    const idsOf = (beside: readonly { readonly mandate_id: string }[]) =>
      beside.map(({ mandate_id: id }) => id);
    const narrow = await mandateFor(business, "mdt_narrow", ["FR"]);
    expect((await parties().acceptMandate(narrow)).beside).toMatchObject([
      { mandate_id: wide?.mandate_id, scope: wide?.scope, valid_until: wide?.valid_until },
    ]);
    expect(await publishOne(business)).toBe(200);
    // It was meant to replace the other, which its answer names.
    const revoked_at = formatTimestamp(Date.now());
    await parties().revokeMandate({ uuid, mandate_id: wide?.mandate_id ?? "", revoked_at });
    expect((await parties().acceptMandate(narrow)).beside).toEqual([]);
    const next = await mandateFor(business, "mdt_next", ["GB", "US", "DE"]);
    expect(idsOf((await parties().acceptMandate(next)).beside)).toEqual(["mdt_narrow"]);
  });

  it("that is not there cannot be revoked", async () => {
    const business = await newBusiness(node);
    const revoked_at = formatTimestamp(Date.now());
    await expect(
      parties().revokeMandate({ uuid: business.party.uuid, mandate_id: "mdt_none", revoked_at }),
    ).rejects.toMatchObject({ code: "mandate_unknown" });
  });
});
