// A sandbox whose clock is advanced by months: keys that are in use stay in use, others end as planned.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { newCaller, type ReceivedAnswer, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import { publishBody, sealBatch } from "../../client/batch.ts";
import type { NodeServices } from "../../node/composition/services.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { mandatePayload } from "../../protocol/mandate.ts";
import { createMandateRenewal } from "../../service/authentication/mandate-renewal.ts";
import { signEnvelope } from "../../service/register/service-keys.ts";
import { product } from "./publishing.fixture.ts";

const uuid = "00000000-0000-4000-8000-000000000042";
const dayMs = 86_400_000;

let home = "";
let node: RunningNode;
let movedMs = 0;
let seq = 0;

const clock = { now: () => Date.now() + movedMs };

beforeEach(async () => {
  vi.stubEnv("SVC_SAMPLES", "no");
  home = await mkdtemp(join(tmpdir(), "svc-renewal-"));
  movedMs = 0;
  await open();
});
afterEach(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
  vi.unstubAllEnvs();
});

async function open(): Promise<void> {
  node = await startNode({ home, portBase: 0, logLevel: "silent" }, { clock });
}

async function restart(): Promise<void> {
  await node[Symbol.asyncDispose]();
  await open();
}

async function newKey(): Promise<TestCaller> {
  return newCaller(node.services.keys.grant, "integration", uuid);
}

async function publish(caller: TestCaller, sealedAgoMs = 0): Promise<ReceivedAnswer> {
  seq += 1;
  const { keyId } = caller.key;
  const facts = await node.services.parties.facts(uuid, keyId);
  const records = [product(`p-${seq}`)];
  const sealed = await sealBatch(
    records,
    {
      businessUuid: uuid,
      certId: facts.certificate?.cert_id ?? `sha256:${"0".repeat(64)}`,
      aiPolicyVersion: 0,
      recordType: "products",
      seq,
      sealedAtMs: clock.now() - sealedAgoMs,
    },
    caller.key,
  );
  return sendNow(caller, publishBody(sealed.batch_seal, records));
}

function sendNow(caller: TestCaller, body: Uint8Array): Promise<ReceivedAnswer> {
  return send(node.urls.business_url, caller, {
    path: "/v1/publish/products",
    body,
    tag: "svc-push",
    created: Math.floor(clock.now() / 1_000),
    headers: { "idempotency-key": `key-${seq}` },
  });
}

async function mandatesOf({ key }: TestCaller, { parties }: NodeServices = node.services) {
  return (await parties.facts(uuid, key.keyId)).mandates;
}

/** A registered key with a mandate, both created by its first requests. */
async function keyInUse(): Promise<TestCaller> {
  const caller = await newKey();
  await publish(caller);
  expect(await publish(caller)).toMatchObject({ status: 200 });
  return caller;
}

describe("the mandate of a sandbox key in use", () => {
  it("is followed by another of the same scope when fewer than thirty days are left, while the request goes on", async () => {
    const caller = await keyInUse();
    movedMs = 61 * dayMs;
    expect(await publish(caller)).toMatchObject({ status: 200 });
    movedMs = 70 * dayMs;
    expect(await publish(caller)).toMatchObject({ status: 200 });
    await vi.waitFor(async () => expect(await mandatesOf(caller)).toHaveLength(2));
    const [newest, before] = await mandatesOf(caller);
    expect(newest?.scope).toEqual(before?.scope);
    expect(Date.parse(newest?.valid_until ?? "")).toBeGreaterThan(clock.now() + 91 * dayMs);
    // What was sealed before the mandate was created, and arrives after it, is published.
    expect(await publish(caller, 240_000)).toMatchObject({ status: 200 });
    movedMs = 93 * dayMs;
    expect(await publish(caller)).toMatchObject({ status: 200 });
    expect(await mandatesOf(caller)).toHaveLength(2);
  });

  it.each([93, 200])("is followed at once when it has ended: day %i", async (day) => {
    const caller = await keyInUse();
    movedMs = day * dayMs;
    expect(await publish(caller)).toMatchObject({ status: 200 });
    expect(await mandatesOf(caller)).toHaveLength(2);
  });

  it("is followed by a node that was started since, too", async () => {
    const caller = await keyInUse();
    movedMs = 200 * dayMs;
    await restart();
    expect(await publish(caller)).toMatchObject({ status: 200 });
  });

  it("is followed once, however many see to it at once", async () => {
    const caller = await keyInUse();
    movedMs = 70 * dayMs;
    const renewals = Array.from({ length: 4 }, () => createMandateRenewal(node.services));
    const ends = await Promise.all(renewals.map((renew) => renew(uuid, caller.key.keyId)));
    expect(Math.min(...ends.map((each) => each ?? 0))).toBeGreaterThan(clock.now() + 91 * dayMs);
    expect(await mandatesOf(caller)).toHaveLength(2);
  });

  it("is followed again and again for years", async () => {
    const caller = await keyInUse();
    // More mandates than one read of a key returns, within the life of the sandbox's own keys.
    for (let day = 62; day <= 62 * 52; day += 62) {
      movedMs = day * dayMs;
      expect(await createMandateRenewal(node.services)(uuid, caller.key.keyId)).not.toBeNull();
    }
    movedMs += dayMs;
    expect(await publish(caller)).toMatchObject({ status: 200 });
  });
});

describe("no mandate follows", () => {
  it("one that was revoked", async () => {
    const caller = await keyInUse();
    const [mandate] = await mandatesOf(caller);
    const revoked_at = formatTimestamp(clock.now());
    await node.services.parties.revokeMandate({ uuid, mandate_id: mandate?.mandate_id ?? "", revoked_at });
    for (const day of [70, 93]) {
      movedMs = day * dayMs;
      expect(await publish(caller)).toMatchObject({ status: 403, json: { code: "mandate_missing" } });
    }
    expect(await mandatesOf(caller)).toHaveLength(1);
  });

  it("that of a key which was revoked, or which has ended", async () => {
    const caller = await keyInUse();
    const revoked_at = formatTimestamp(clock.now());
    const { keyId } = caller.key;
    await node.services.parties.revokeKey({ uuid, key_id: keyId, revoked_at, compromised_from: null });
    const ending = await endingKey();
    movedMs = 70 * dayMs;
    const renew = createMandateRenewal(node.services);
    expect(await renew(uuid, keyId)).toBeNull();
    await renew(uuid, ending.key.keyId);
    expect(await mandatesOf(caller)).toHaveLength(1);
    expect(await mandatesOf(ending)).toHaveLength(1);
  });

  it("one that was given for less than the longest life", async () => {
    const caller = await keyInUse();
    movedMs = 1_000;
    await acceptMandate(caller, 10 * dayMs);
    movedMs = 93 * dayMs;
    expect(await publish(caller)).toMatchObject({ status: 403, json: { code: "mandate_missing" } });
    expect(await mandatesOf(caller)).toHaveLength(2);
  });
});

/** A key that is valid for a day, with a mandate of the longest life. */
async function endingKey(): Promise<TestCaller> {
  const caller = await newKey();
  const nowMs = clock.now();
  await node.services.parties.registerKey({
    key_id: caller.key.keyId,
    party_uuid: uuid,
    role: "integration",
    alg: "Ed25519",
    public_key: { ...caller.key.publicJwk },
    cose: null,
    valid_from: formatTimestamp(nowMs),
    valid_until: formatTimestamp(nowMs + dayMs),
    revoked_at: null,
    compromised_from: null,
  });
  await acceptMandate(caller, 92 * dayMs);
  return caller;
}

async function acceptMandate({ key }: TestCaller, lifeMs: number): Promise<void> {
  const signer = await node.services.hostedSigner(uuid);
  const nowMs = clock.now();
  const payload = mandatePayload({
    v: 1,
    mandate_id: `mdt_of_${lifeMs}`,
    business_uuid: uuid,
    key_id: key.keyId,
    scope: {
      record_types: ["products"],
      countries: ["US", "GB"],
      directions: ["publish"],
      caps: { records_per_hour: 10, bytes_per_day: 100_000 },
      source_ip_allow_list: null,
    },
    valid_from: formatTimestamp(nowMs),
    valid_until: formatTimestamp(nowMs + lifeMs),
  });
  await node.services.parties.acceptMandate(
    await signEnvelope(payloadTypes["mandate.v1"], payload, [signer]),
  );
}
