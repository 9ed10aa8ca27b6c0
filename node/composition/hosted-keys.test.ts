import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { createSigner, generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import { createGrantedKeys, sandboxKeyFacts } from "../../service/authentication/sandbox-grants.ts";
import { failureAnswer } from "../../service/failure.ts";
import { registerInForce } from "../../stories/verification/register-in-force.fixture.ts";
import { loadConfig } from "../configuration/config.ts";
import { makeProductionKeys } from "../keys/production-keys.fixture.ts";
import { type NodeServices, openNodeServices } from "./services.ts";

const uuid = "22222222-2222-4222-8222-222222222222";
const party = { uuid, kind: "business", legal_name: "Hosted Ltd", country: "GB" } as const;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-hosted-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Successive nodes of one register, each with its own key folder, which share what nodes must share. */
async function onNode<T>(keys: string, run: (services: NodeServices) => Promise<T>): Promise<T> {
  const config = loadConfig({ home: join(folder, "home") }, { SVC_KEYS: join(folder, keys) });
  await using services = await openNodeServices(config);
  await services.actors.start();
  await registerInForce(services);
  return await run(services);
}

/** Copies the folder of a node's keys, except those that are held for businesses. */
async function copyKeys(from: string, to: string): Promise<void> {
  const [source, target] = await Promise.all([from, to].map((name) => FileKeyStore.open(join(folder, name))));
  if (source === undefined || target === undefined) throw new Error("unreachable");
  for (const name of await source.names()) {
    if (!name.startsWith("hosted-"))
      await cp(join(folder, from, `${name}.jwk`), join(folder, to, `${name}.jwk`));
  }
}

/** Requests a grant for another key of the business, which gets its mandate sealed by the hosted key. */
async function grantKey(services: NodeServices): Promise<string> {
  const jwk = createSigner(generatePrivateJwk("Ed25519")).publicJwk;
  const granted = await createGrantedKeys(services)(
    { v: 1, environment: "sandbox", party, role: "integration", public_key: jwk, mandate_id: null },
    thumbprint(jwk),
  );
  await registerInForce(services);
  return granted.status;
}

async function hostedKeys(services: NodeServices): Promise<readonly string[]> {
  await registerInForce(services);
  const keys = await services.register.keys(uuid);
  return keys.filter(({ role }) => role === "hosted").map(({ key_id }) => key_id);
}

describe("the key that is held for a business", () => {
  it("is one, whichever of the nodes is asked", async () => {
    const first = await onNode("a", async (services) => {
      expect(await grantKey(services)).toBe("registered");
      return hostedKeys(services);
    });
    await copyKeys("a", "b");
    await onNode("b", async (services) => {
      expect(await grantKey(services)).toBe("registered");
      expect(await hostedKeys(services)).toEqual(first);
      expect((await services.hostedSigner(uuid)).keyId).toBe(first[0]);
      expect((await services.hostedSigner(uuid.replace("2", "3"))).keyId).not.toBe(first[0]);
    });
    expect(first).toHaveLength(1);
  });

  it("is never a second one beside a key that the register knows", async () => {
    await onNode("a", async (services) => {
      const { keyId, publicJwk: jwk } = createSigner(generatePrivateJwk("Ed25519"));
      const known = { keyId, partyUuid: uuid, role: "hosted", jwk, validFrom: formatTimestamp(0) } as const;
      await services.parties.open({ ...party, group: uuid, blocked_groups: [] });
      await services.parties.registerKey(sandboxKeyFacts(known));
      await registerInForce(services);
      const error = await grantKey(services).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        reason: "hosted_key",
        message: expect.stringMatching(/does not follow from the secret of this node/),
      });
      expect(failureAnswer(error)).toMatchObject({ problem: { status: 503, reason: "hosted_key" } });
      expect(await hostedKeys(services)).toEqual([keyId]);
    });
  });

  it("is another one once it was ended and the next was registered", async () => {
    await onNode("a", async (services) => {
      await grantKey(services);
      const [first = ""] = await hostedKeys(services);
      const revoked_at = formatTimestamp(Date.now());
      const act = { by: "Olga", reason: "Ended." };
      await services.parties.revokeKey({ uuid, key_id: first, revoked_at, compromised_from: null, act });
      const jwk = await services.hostedKeys.publicKey({ business_uuid: uuid, generation: 1 });
      const next = {
        keyId: thumbprint(jwk),
        partyUuid: uuid,
        role: "hosted",
        jwk,
        validFrom: revoked_at,
      } as const;
      await services.parties.registerKey(sandboxKeyFacts(next));
      await registerInForce(services);
      expect((await services.hostedSigner(uuid)).keyId).toBe(next.keyId);
      expect(next.keyId).not.toBe(first);
    });
  });

  it("is held by no production node, and seals nothing where there is no issuance process", async () => {
    const made = await makeProductionKeys(join(folder, "keys"), { region: "local-node1", nowMs: Date.now() });
    const env = { SVC_ENVIRONMENT: "production", SVC_KEYS: made.node };
    const config = loadConfig({ home: join(folder, "home") }, env);
    await using services = await openNodeServices(config);
    await expect(services.hostedSigner(uuid)).rejects.toThrow("In production nodes hold no key");
    const { hostedKeys: keys } = services;
    const of = { business_uuid: uuid, generation: 0 };
    const asked = { payload: new Uint8Array(), confirmation: "" };
    for (const work of [keys.publicKey(of), keys.seal(of, asked)])
      await expect(work).rejects.toMatchObject({ reason: "hosted_key", effect: "not_applied" });
    expect(() => services.keys.projection(formatTimestamp(0))).toThrow(
      /has no projection key that was valid at 1970/,
    );
  });
});
