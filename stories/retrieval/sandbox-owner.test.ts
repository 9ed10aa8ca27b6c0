// The owner of a newcomer's business: a passkey that the grant registers, and that decides about held pushes.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freshNonce, type ReceivedAnswer, send } from "../../api/surfaces.fixture.ts";
import {
  askForGrant,
  askForOwnedBusiness,
  type GrantAsker,
  type SandboxGrantAnswer,
} from "../../client/sandbox-grant.ts";
import { parseSigningKey, type SigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk, publicHalfOf } from "../../crypto/private-jwk.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { createSoftwarePasskey, type Sealer } from "../../node/sandbox/sealer.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { type KeyPossession, keyPossessionPayload } from "../../protocol/keys/key-directory.ts";
import { ownerKeyFacts } from "../../service/authentication/sandbox-grants.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";

let home = "";
let node: RunningNode;
let elapsedMs = 0;

beforeAll(async () => {
  vi.stubEnv("SVC_SAMPLES", "no");
  home = await mkdtemp(join(tmpdir(), "svc-owners-"));
  node = await startNode({ home, portBase: 0, logLevel: "silent" }, { elapsedMs: () => elapsedMs });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
  vi.unstubAllEnvs();
});

const names = { legal_name: "Newcomer Ltd", country: "GB" };

interface Newcomer {
  readonly key: SigningKey;
  readonly asker: GrantAsker;
  readonly answer: SandboxGrantAnswer;
  readonly uuid: string;
}

async function newcomer(): Promise<Newcomer> {
  elapsedMs += 60_000;
  const parsed = await parseSigningKey(generatePrivateJwk("Ed25519"));
  if (!parsed.ok) throw new Error(parsed.detail);
  const key = parsed.value;
  const asker: GrantAsker = {
    fetch: (url, init) => fetch(url, init),
    baseUrl: node.urls.business_url,
    role: "integration",
    key,
  };
  const answer = await askForGrant(asker, names);
  return { key, asker, answer, uuid: answer.party.uuid };
}

function newPasskey(): Sealer {
  return createSoftwarePasskey(generatePrivateJwk("ES256"), node.services.anchors.passkeys);
}

/** The first request that carries the grant. */
function use({ key }: Newcomer, grant: string): Promise<ReceivedAnswer> {
  return send(node.urls.business_url, { key, grant }, { path: "/v1/seal-context", tag: "svc-business-read" });
}

function proofBy(
  by: Sealer,
  said: Omit<KeyPossession, "v" | "role">,
  role: KeyPossession["role"] = "sealing",
) {
  return by.seal(payloadTypes["key-possession.v1"], keyPossessionPayload({ v: 1, role, ...said }));
}

describe("the owner of a new business", () => {
  it("is registered with the first request that carries the grant, and not before", async () => {
    const business = await newcomer();
    expect(business.answer).toMatchObject({
      owner_key_id: null,
      passkeys: node.services.anchors.passkeys,
    });
    const owner = newPasskey();
    const granted = await askForOwnedBusiness(business.asker, { uuid: business.uuid, owner, ...names });
    expect(granted).toMatchObject({ owner_key_id: owner.keyId, party: business.answer.party });
    const statusOf = async () => (await node.services.parties.facts(business.uuid, owner.keyId)).key;
    expect(await statusOf()).toBe("unknown");
    expect((await use(business, granted.grant)).status).toBe(200);
    expect(await statusOf()).toBe("live");
    await registerInForce(node.services);
    expect(await node.services.register.key(owner.keyId)).toMatchObject({
      role: "sealing",
      person_role: "owner",
      cose: owner.cose,
      party_uuid: business.uuid,
    });
  });
});

describe("the first request with the grant", () => {
  async function withOwner(owner: Sealer) {
    const business = await newcomer();
    const { grant } = await askForOwnedBusiness(business.asker, { uuid: business.uuid, owner, ...names });
    return { ...business, grant };
  }

  it("goes on where a crash ended another after the owner was registered", async () => {
    const owner = newPasskey();
    const business = await withOwner(owner);
    const { parties } = node.services;
    const { uuid, ...named } = business.answer.party;
    await parties.open({ uuid, ...named, group: uuid, blocked_groups: [] });
    const validFrom = formatTimestamp(Date.now() - 1_000);
    await parties.registerKey(ownerKeyFacts({ partyUuid: uuid, jwk: owner.publicJwk, validFrom }));
    expect((await use(business, business.grant)).status).toBe(200);
    expect((await parties.facts(uuid, business.key.keyId)).key).toBe("live");
    expect((await parties.facts(uuid, owner.keyId)).key).toBe("live");
  });

  it("is refused where the passkey has become another business's meanwhile", async () => {
    const owner = newPasskey();
    const [first, second] = [await withOwner(owner), await withOwner(owner)];
    expect((await use(first, first.grant)).status).toBe(200);
    expect(await use(second, second.grant)).toMatchObject({
      status: 401,
      json: {
        code: "key_unknown",
        detail: "key_taken: The key belongs to another party; register a new one.",
      },
    });
    expect((await node.services.parties.facts(second.uuid, second.key.keyId)).key).toBe("unknown");
  });
});

describe("an owner is refused", () => {
  /** Asks for `business` with the owner and the proof that `made` returns. */
  async function refusal(
    business: Newcomer,
    made: (owner: Sealer, challenge: string) => Promise<object>,
    changes: object = {},
  ): Promise<ReceivedAnswer> {
    elapsedMs += 60_000;
    const nonce = `${"n".repeat(20)}${freshNonce().replaceAll(/[^A-Za-z0-9_-]/g, "")}`;
    const { role } = business.asker;
    const question = { public_key: business.key.publicJwk, role, ...names, ...changes };
    const body = JSON.stringify({ ...question, owner: await made(newPasskey(), nonce) });
    const request = { path: "/v1/sandbox/grants", tag: "svc-push" as const, body, nonce };
    const caller = { key: business.key, grant: "" };
    return send(node.urls.business_url, caller, { ...request, headers: { "svc-sandbox-key": null } });
  }

  const right =
    ({ uuid: party_uuid }: Newcomer) =>
    async (owner: Sealer, challenge: string) => ({
      public_key: owner.publicJwk,
      possession: await proofBy(owner, { party_uuid, key_id: owner.keyId, challenge }),
    });

  const at = (pointer: string, reason?: string) => ({
    status: 400,
    json: { code: "request_invalid", pointer, ...(reason === undefined ? {} : { reason }) },
  });

  it("never, where everything is right", async () => {
    const business = await newcomer();
    expect(await refusal(business, right(business))).toMatchObject({ status: 200 });
  });

  it("for a business that exists, as one's own and as one that a further key joins", async () => {
    const business = await newcomer();
    expect((await use(business, business.answer.grant)).status).toBe(200);
    await registerInForce(node.services);
    expect(await refusal(business, right(business))).toMatchObject(at("/owner"));
    const unnamed = { legal_name: undefined, country: undefined };
    const possession: Envelope = { payloadType: "x", payload: "", signatures: [{ keyid: "x", sig: "AAAA" }] };
    expect(await refusal(business, right(business), { ...unnamed, possession })).toMatchObject(at("/owner"));
  });

  it("for an AI company", async () => {
    const business = await newcomer();
    expect(await refusal(business, right(business), { role: "retrieval" })).toMatchObject(at("/owner"));
  });

  it.each<readonly [string, string, Partial<KeyPossession>]>([
    ["for another party", "key_mismatch", { party_uuid: "00000000-0000-4000-8000-000000000001" }],
    ["for another request", "key_mismatch", { challenge: "m".repeat(40) }],
    ["for another role", "key_mismatch", { role: "integration" }],
    ["without a real challenge", "payload_malformed", { challenge: "short" }],
  ])("with a proof %s", async (_name, reason, { role, ...changes }) => {
    const business = await newcomer();
    const made = async (owner: Sealer, challenge: string) => ({
      public_key: owner.publicJwk,
      possession: await proofBy(
        owner,
        { party_uuid: business.uuid, key_id: owner.keyId, challenge, ...changes },
        role,
      ),
    });
    expect(await refusal(business, made)).toMatchObject(at("/owner/possession", reason));
  });

  it("with a proof that another passkey sealed", async () => {
    const business = await newcomer();
    const forged = async (owner: Sealer, challenge: string) => {
      const { possession, public_key } = await right(business)(owner, challenge);
      const { signatures } = await proofBy(newPasskey(), {
        party_uuid: business.uuid,
        key_id: owner.keyId,
        challenge,
      });
      return {
        public_key,
        possession: {
          ...possession,
          signatures: signatures.map((each) => ({ ...each, keyid: owner.keyId })),
        },
      };
    };
    expect(await refusal(business, forged)).toMatchObject(at("/owner/possession", "signature_invalid"));
  });

  it("with a key that is none, that no passkey has, or that is in use", async () => {
    const business = await newcomer();
    const withKey = (public_key: object) => async (owner: Sealer, challenge: string) => ({
      ...(await right(business)(owner, challenge)),
      public_key,
    });
    const point = { kty: "EC", crv: "P-256", x: "A".repeat(43), y: "A".repeat(43) };
    const elsewhere = await newcomer();
    expect((await use(elsewhere, elsewhere.answer.grant)).status).toBe(200);
    await registerInForce(node.services);
    const keys = [
      { kty: "oct" },
      point,
      generatePrivateJwk("ES256"),
      publicHalfOf(generatePrivateJwk("ML-DSA-65")),
      business.key.publicJwk,
      elsewhere.key.publicJwk,
    ];
    for (const key of keys) {
      const answer = await refusal(business, withKey({ ...key }));
      expect(answer.json, JSON.stringify(key)).toMatchObject({ code: "request_invalid" });
      expect(String(answer.json["pointer"])).toMatch(/^\/owner\/public_key/);
    }
  });

  it("has a different answer for each of its members", async () => {
    const business = await newcomer();
    const withProof =
      (change: (possession: Envelope, signature: Envelope["signatures"][number]) => object) =>
      async (owner: Sealer, challenge: string) => {
        const { public_key, possession } = await right(business)(owner, challenge);
        const [signature] = possession.signatures;
        if (signature === undefined) throw new Error("A proof carries a signature.");
        return { public_key, possession: { ...possession, ...change(possession, signature) } };
      };
    const changes: readonly Parameters<typeof withProof>[0][] = [
      () => ({ payloadType: "x" }),
      () => ({ payload: "e30=" }),
      () => ({ signatures: [] }),
      (_proof, signature) => ({ signatures: [signature, signature] }),
      ...["keyid", "sig", "authenticatorData", "clientDataJSON"].map(
        (member): Parameters<typeof withProof>[0] =>
          (_proof, signature) => ({ signatures: [{ ...signature, [member]: "AAAA" }] }),
      ),
    ];
    expect(
      await refusal(
        business,
        withProof(() => ({})),
      ),
    ).toMatchObject({ status: 200 });
    for (const change of changes) {
      const answer = await refusal(business, withProof(change));
      expect(answer.json, String(change)).toMatchObject({ code: "request_invalid" });
      expect(String(answer.json["pointer"])).toMatch(/^\/owner\/possession/);
    }
    for (const member of ["kty", "crv", "x", "y"]) {
      const made = async (owner: Sealer, challenge: string) => ({
        ...(await right(business)(owner, challenge)),
        public_key: { ...owner.publicJwk, [member]: "A".repeat(43) },
      });
      const answer = await refusal(business, made);
      expect(answer.json, member).toMatchObject({ code: "request_invalid" });
    }
  });

  it("without a proof, or with a member that there is not", async () => {
    const business = await newcomer();
    const without = async (owner: Sealer) => ({ public_key: owner.publicJwk });
    expect(await refusal(business, without)).toMatchObject(at("/owner/possession"));
    const more = async (owner: Sealer, challenge: string) => ({
      ...(await right(business)(owner, challenge)),
      person_role: "admin",
    });
    expect(await refusal(business, more)).toMatchObject(at("/owner/person_role"));
  });
});
