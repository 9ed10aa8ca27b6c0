// Publishing under concurrency: requests sent at once, resent, resent under another key, and across a restart.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { freshNonce, type ReceivedAnswer } from "../../api/surfaces.fixture.ts";
import {
  actionNames,
  aiPolicyBytes,
  aiPolicySchemaId,
  blockedNames,
  currentAiPolicySchema,
  useNames,
} from "../../protocol/ai-policy.ts";
import { soonFreeSeconds } from "../../service/publishing/publish-batch.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  giveMandate,
  newBusiness,
  openAttackNode,
  outcomesOf,
  publishOver,
  readOver,
  successorOf,
  tellBusiness,
} from "../retrieval/attack.fixture.ts";
import { product, sealHosted, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;

beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const products = (name: string, count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => product(`${name}-${index}`));

const statusesOf = (answers: readonly ReceivedAnswer[]): string =>
  answers
    .map((answer) => String(answer.json["code"] ?? answer.status))
    .sort()
    .join();

const inForce = async (business: TestBusiness) =>
  node.running.services.parties.facts(business.party.uuid, business.key.key_id);

/** The next AI policy version, sealed by the key held for the business. */
async function nextPolicy(business: TestBusiness): Promise<void> {
  const { services } = node.running;
  const facts = await inForce(business);
  const noneOf = <N extends string>(names: readonly N[]) =>
    Object.fromEntries(names.map((name) => [name, false])) as Record<N, boolean>;
  const record = aiPolicyBytes({
    schema: aiPolicySchemaId,
    ai_policy_schema: currentAiPolicySchema,
    use: noneOf(useNames),
    action: noneOf(actionNames),
    blocked: noneOf(blockedNames),
  });
  const who = { uuid: business.party.uuid, certId: facts.certificate?.cert_id ?? "" };
  const ai_policy_version = facts.policy.version + 1;
  const seal = await sealHosted(services, who, { record, record_type: "ai_policy", ai_policy_version });
  await services.parties.acceptPolicy({ uuid: business.party.uuid, record, seal });
}

/** The same certificate, issued again. */
async function nextCertificate(business: TestBusiness): Promise<void> {
  const now = new Date().toISOString();
  const { uuid, legal_name, country } = business.party;
  const status = { status: "active", status_effective_from: now, status_reason: null } as const;
  const request = { uuid, kind: "business", legal_name, country, verified_since: now, ...status } as const;
  await node.running.services.parties.issueCertificate(request);
}

describe("requests sent at once", () => {
  it("with one batch are one push, each record published once", async () => {
    const business = await newBusiness(node);
    const { body, pushId } = await batchBody(business, products("same", 3));
    const answers = await Promise.all(Array.from({ length: 8 }, () => publishOver(node, business, body)));
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(outcomesOf(answer).map((each) => [each.outcome, each.version])).toEqual(
        Array.from({ length: 3 }, () => ["accepted", 1]),
      );
    }
    await awaitPush(node, business, pushId);
    expect(await inForce(business)).toMatchObject({ listings: expect.any(Number), pending: [] });
  });

  it("with different batches under one seq publish one of them, and keep nothing of the others", async () => {
    const business = await newBusiness(node);
    const batches = await Promise.all(
      Array.from({ length: 6 }, (_, index) => batchBody(business, products(`d${index}`, 2), { seq: 1 })),
    );
    const answers = await Promise.all(batches.map(({ body }) => publishOver(node, business, body)));
    expect(statusesOf(answers)).toBe(`200,${Array(5).fill("seq_not_increasing").join()}`);
    const accepted = answers.find((answer) => answer.status === 200)?.json["batch_id"];
    for (const { pushId } of batches.filter((batch) => batch.pushId !== accepted)) {
      expect(await node.running.services.records.loadLeaves(pushId, 0, 2)).toEqual([]);
    }
  });

  it("with one Idempotency-Key are answered once or told to wait, and replay one answer afterwards", async () => {
    const business = await newBusiness(node);
    const { body } = await batchBody(business, products("idem", 20));
    const headers = { "idempotency-key": "k".repeat(255) };
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => publishOver(node, business, body, { headers })),
    );
    const texts = answers.filter((answer) => answer.status === 200).map((answer) => answer.text);
    expect(texts.length).toBeGreaterThan(0);
    for (const answer of answers) {
      if (answer.status !== 200)
        expect(answer).toMatchObject({ status: 409, json: { code: "idempotency_in_progress" } });
    }
    expect((await publishOver(node, business, body, { headers })).text).toBe(texts[0]);
    expect(new Set(texts).size).toBe(1);
  });

  it("with one nonce are answered once, whatever they ask", async () => {
    const business = await newBusiness(node);
    const nonce = freshNonce();
    const batches = await Promise.all([1, 2, 3].map((seq) => batchBody(business, products("n", 1), { seq })));
    const answers = await Promise.all(
      batches.map(({ body }) => publishOver(node, business, body, { nonce })),
    );
    expect(statusesOf(answers)).toBe("200,nonce_reused,nonce_reused");
  });
});

describe("an Idempotency-Key", () => {
  it("belongs to the key that used it", async () => {
    const first = await newBusiness(node);
    const other = await newBusiness(node);
    const headers = { "idempotency-key": "shared" };
    const mine = await batchBody(first, products("mine", 1));
    const theirs = await batchBody(other, products("theirs", 1));
    const answer = await publishOver(node, first, mine.body, { headers });
    const answered = await publishOver(node, other, theirs.body, { headers });
    expect([answer.status, answered.status]).toEqual([200, 200]);
    expect(answered.json["batch_id"]).toBe(theirs.pushId);
  });

  it.each([
    ["!", 200],
    [" ~", 200],
    ["k".repeat(255), 200],
    ["k".repeat(256), 400],
    ["", 400],
    ["tab\there", 400],
  ])("%j is answered %i", async (key, status) => {
    const business = await newBusiness(node);
    const { body } = await batchBody(business, products("edge", 1));
    const answer = await publishOver(node, business, body, { headers: { "idempotency-key": key } });
    expect(answer.status).toBe(status);
  });
});

describe("resending an accepted batch", () => {
  it.each<readonly [string, (business: TestBusiness) => Promise<unknown>]>([
    ["its AI policy changed", nextPolicy],
    ["its certificate changed", nextCertificate],
    [
      "a later seq was used",
      async (business) =>
        publishOver(node, business, (await batchBody(business, products("later", 1), { seq: 9 })).body),
    ],
  ])("is answered as before after %s", async (_name, change) => {
    const business = await newBusiness(node);
    const { body } = await batchBody(business, products("resent", 2));
    const first = await publishOver(node, business, body);
    await change(business);
    const second = await publishOver(node, business, body);
    expect([second.status, second.text]).toEqual([200, first.text]);
    const stale = await batchBody(business, products("new", 1), {
      seq: 20,
      certId: business.certId,
      aiPolicyVersion: 7,
    });
    expect(await publishOver(node, business, stale.body)).toMatchObject({
      status: 422,
      json: { code: "seal_invalid" },
    });
  });

  it("is not what a batch is that was sealed just before the AI policy it names came into force", async () => {
    const business = await newBusiness(node);
    const before = Date.now() - 1;
    await nextPolicy(business);
    const early = await batchBody(business, products("early", 1), { aiPolicyVersion: 1, sealedAtMs: before });
    expect(await publishOver(node, business, early.body)).toMatchObject({
      status: 422,
      json: { code: "seal_invalid", reason: "ai_policy_version_mismatch", ai_policy_version: 1 },
    });
    const since = await batchBody(business, products("since", 1), { aiPolicyVersion: 1 });
    expect((await publishOver(node, business, since.body)).status).toBe(200);
  });

  it("works under a successor key, even once the first key is revoked; a new batch does not", async () => {
    const business = await newBusiness(node);
    const successor = await successorOf(node, business);
    const { body } = await batchBody(business, products("handed", 2));
    const first = await publishOver(node, business, body);
    const unknown = await batchBody(business, products("never", 1), { seq: 2 });
    expect(await publishOver(node, successor, unknown.body)).toMatchObject({
      status: 422,
      json: { code: "seal_invalid", reason: "key_mismatch" },
    });
    const revocation = { uuid: business.party.uuid, key_id: business.key.key_id, compromised_from: null };
    await node.running.services.parties.revokeKey({ ...revocation, revoked_at: new Date().toISOString() });
    expect(await publishOver(node, business, body)).toMatchObject({
      status: 401,
      json: { code: "key_unknown" },
    });
    const second = await publishOver(node, successor, body);
    expect([second.status, second.text]).toEqual([200, first.text]);
  });

  it("with a flipped bit in its signature or its records does not", async () => {
    const business = await newBusiness(node);
    const successor = await successorOf(node, business);
    const { body } = await batchBody(business, products("flip", 2));
    await publishOver(node, business, body);
    const text = new TextDecoder().decode(body);
    const forged = text.replace(
      /"sig":"(.)/,
      (_match, digit: string) => `"sig":"${digit === "A" ? "B" : "A"}`,
    );
    for (const sender of [business, successor]) {
      expect(await publishOver(node, sender, forged)).toMatchObject({
        json: { reason: "signature_invalid" },
      });
    }
    const other = text.replace(/"records":\["e/, '"records":["f');
    expect(await publishOver(node, successor, other)).toMatchObject({ json: { reason: "hash_mismatch" } });
  });
});

describe("batches sent at once under a cap that one of them uses up", () => {
  it("leave nothing staged of those that are refused when they are charged", async () => {
    const business = await newBusiness(node);
    await giveMandate(node, business, {
      scope: { caps: { records_per_hour: 60, bytes_per_day: 10_000_000 } },
    });
    // The batches are queued, so that accepted work may still be staged meanwhile; each request passes the check of the caps
    // beforehand.
    const batches = await Promise.all(
      [1, 2, 3, 4].map((seq) => batchBody(business, products(`capped-${seq}`, 60), { seq })),
    );
    const answers = await Promise.all(batches.map(({ body }) => publishOver(node, business, body)));
    const isRefused = (at: number) => answers[at]?.json["code"] === "rate_limited";
    expect(batches.filter((_, at) => isRefused(at)).length).toBeGreaterThan(0);
    // At the end of an hour the cap is free so soon that what is staged may be sent again.
    const isSoonFree = (at: number) => Number(answers[at]?.json["retry_after_seconds"]) <= soonFreeSeconds;
    const refused = batches.filter((_, at) => isRefused(at) && !isSoonFree(at));
    const { pushes: staged } = await node.running.services.records.stagedPushes(null, 1_000);
    const ofThese = (pushId: string) => staged.filter(({ push_id }) => push_id.endsWith(pushId));
    expect(refused.flatMap(({ pushId }) => ofThese(pushId))).toEqual([]);
  });
});

describe("after a stop and a start on the same home", () => {
  it("a nonce is still used, an idempotent answer still replayed, a cap still used up and a push still known", async () => {
    const business = await newBusiness(node);
    await giveMandate(node, business, { scope: { caps: { records_per_hour: 2, bytes_per_day: 1_000_000 } } });
    const { body, pushId } = await batchBody(business, products("kept", 2));
    const request = { nonce: freshNonce(), headers: { "idempotency-key": "kept" } };
    const first = await publishOver(node, business, body, request);
    expect(first.status).toBe(200);
    await node.restart();
    expect(await publishOver(node, business, body, request)).toMatchObject({
      status: 401,
      json: { code: "nonce_reused" },
    });
    const replayed = await publishOver(node, business, body, { headers: request.headers });
    expect([replayed.status, replayed.text]).toEqual([200, first.text]);
    const another = await batchBody(business, products("another", 1), { seq: 1 });
    expect((await publishOver(node, business, another.body, { headers: request.headers })).json["code"]).toBe(
      "idempotency_key_reused",
    );
    expect((await publishOver(node, business, another.body)).json["code"]).toBe("rate_limited");
    expect((await publishOver(node, business, body)).text).toBe(first.text);
    expect(await readOver(node, business, `/v1/pushes/${pushId}`)).toMatchObject({
      status: 200,
      json: { state: "complete" },
    });
  });

  it("a queued push is gone on with, and a resend of it only reported", async () => {
    const business = await newBusiness(node);
    const { body, pushId } = await batchBody(business, products("queue", 1_000));
    expect((await publishOver(node, business, body)).status).toBe(202);
    await node.restart();
    expect(await publishOver(node, business, body)).toMatchObject({ status: 202, json: { push_id: pushId } });
    expect(await awaitPush(node, business, pushId)).toMatchObject({
      state: "complete",
      counts: { accepted: 1_000, rejected: 0 },
    });
    const facts = await tellBusiness(node, business, {
      type: "publishing.facts",
      key_id: business.key.key_id,
    });
    expect(facts.pending).toEqual([]);
  });
});
