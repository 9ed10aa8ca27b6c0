// The life of an integration key and its mandate, over HTTP: rotation by overlap, retirement, revocation, expiry, and what
// becomes of pushes that are under way meanwhile.

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { KeyFacts } from "../../actors/messages/business.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { product, type TestBusiness } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  giveMandate,
  newBusiness,
  newSigningKey,
  openAttackNode,
  outcomesOf,
  publishOver as publishAt,
  readOver as readAt,
  successorOf,
} from "./attack.fixture.ts";

let node: AttackNode;
let aheadMs = 0;

beforeAll(async () => {
  node = await openAttackNode({ clock: { now: () => Date.now() + aheadMs } });
});
afterAll(() => node.close());

/** Requests are signed by the clock of the node. */
const created = () => ({ created: Math.floor(nowMs() / 1_000) });
const publishOver = (business: TestBusiness, body: Uint8Array) => publishAt(node, business, body, created());
const readOver = (business: TestBusiness, path: string) => readAt(node, business, path, created());

/** What the sample product is published for. */
const scope = { countries: ["US", "CA"] };
const nowMs = (): number => Date.now() + aheadMs;
const products = (name: string, count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => product(`${name}-${index}`));

/** The status of publishing one record, or the code of its refusal. */
async function publishOne(business: TestBusiness, seq: number, sealedAtMs = nowMs()): Promise<unknown> {
  const { body } = await batchBody(business, products(`one-${seq}-${business.key.key_id}`, 1), {
    seq,
    sealedAtMs,
  });
  const answer = await publishOver(business, body);
  return answer.json["reason"] ?? answer.json["code"] ?? answer.status;
}

/** A queued push of this business, accepted a moment ago. */
async function queued(business: TestBusiness, seq: number) {
  const batch = await batchBody(business, products(`queued-${seq}`, 400), { seq, sealedAtMs: nowMs() });
  expect(await publishOver(business, batch.body)).toMatchObject({ status: 202 });
  return batch;
}

async function expectPublished(business: TestBusiness, pushId: string): Promise<void> {
  const report = await awaitPush(node, business, pushId);
  expect({ state: report.state, counts: report.counts }).toMatchObject({
    state: "complete",
    counts: { accepted: 400, rejected: 0 },
  });
}

function revokeKey(business: TestBusiness, compromisedFromMs: number | null) {
  return node.running.services.parties.revokeKey({
    uuid: business.party.uuid,
    key_id: business.key.key_id,
    revoked_at: formatTimestamp(nowMs()),
    compromised_from: compromisedFromMs === null ? null : formatTimestamp(compromisedFromMs),
  });
}

async function revokeMandates(business: TestBusiness): Promise<void> {
  const { parties } = node.running.services;
  const facts = await parties.facts(business.party.uuid, business.key.key_id);
  for (const { mandate_id } of facts.mandates)
    await parties.revokeMandate({
      uuid: business.party.uuid,
      mandate_id,
      revoked_at: formatTimestamp(nowMs()),
    });
}

/** Registers another key of the business that ends at a time, with a mandate. */
async function keyUntil(business: TestBusiness, untilMs: number): Promise<TestBusiness> {
  const signingKey = await newSigningKey();
  const key: KeyFacts = {
    ...business.key,
    key_id: signingKey.keyId,
    public_key: signingKey.publicJwk,
    valid_until: formatTimestamp(untilMs),
  };
  await node.running.services.parties.registerKey(key);
  const ending = { ...business, key, signingKey };
  await giveMandate(node, ending, { scope });
  return ending;
}

describe("rotation by overlap", () => {
  it("both keys publish, each with its own seq, and read each other's pushes; the old one is retired alone", async () => {
    const old = await newBusiness(node);
    expect(await publishOne(old, 7)).toBe(200);
    const next = await successorOf(node, old);
    // The successor begins with a seq of its own, below the old key's.
    expect(await publishOne(next, 1)).toBe(200);
    expect(await publishOne(old, 8)).toBe(200);
    const { pushId, body } = await queued(old, 9);
    expect(await readOver(next, `/v1/pushes/${pushId}`)).toMatchObject({ status: 200 });
    await revokeKey(old, null);
    expect(await publishOne(old, 10)).toBe("key_unknown");
    expect(await readOver(old, `/v1/pushes/${pushId}`)).toMatchObject({ status: 401 });
    // What the old key had accepted goes on, and is resent under the successor.
    expect(await publishOver(next, body)).toMatchObject({ json: { push_id: pushId } });
    await expectPublished(next, pushId);
    expect(await publishOne(next, 2)).toBe(200);
  });

  it("a record of the old key is updated by the new one", async () => {
    const old = await newBusiness(node);
    const records = [product("handed-on")];
    const first = await batchBody(old, records, { sealedAtMs: nowMs() });
    expect(outcomesOf(await publishOver(old, first.body))).toMatchObject([
      { outcome: "accepted", version: 1 },
    ]);
    const next = await successorOf(node, old);
    await revokeKey(old, null);
    const changed = [product("handed-on", { product_name: "Trail Runner 4" })];
    const second = await batchBody(next, changed, { sealedAtMs: nowMs() });
    expect(outcomesOf(await publishOver(next, second.body))).toMatchObject([
      { outcome: "updated", version: 2 },
    ]);
  });
});

describe("a key that ends", () => {
  it("by its valid_until publishes and reads until then, and what it published stands", async () => {
    const business = await newBusiness(node);
    const ending = await keyUntil(business, nowMs() + 60_000);
    expect(await publishOne(ending, 1)).toBe(200);
    const { pushId } = await queued(ending, 2);
    aheadMs += 61_000;
    expect(await publishOne(ending, 3, nowMs() - 61_000)).toBe("key_unknown");
    expect(await readOver(ending, "/v1/seal-context")).toMatchObject({ status: 401 });
    await expectPublished(business, pushId);
  });

  it("by a revocation from a stated moment: new batches are refused at once, and what was received since is served no more", async () => {
    const business = await newBusiness(node);
    const other = await successorOf(node, business);
    const fromMs = nowMs() - 1_000;
    const { pushId, body } = await queued(business, 1);
    await revokeKey(business, fromMs);
    expect(await publishOne(business, 2)).toBe("key_unknown");
    // Another key cannot bring in what the revoked one sealed, unless it was accepted before.
    const never = await batchBody(business, products("never", 1), { seq: 3, sealedAtMs: nowMs() });
    expect(await publishOver(other, never.body)).toMatchObject({
      status: 422,
      json: { code: "seal_invalid" },
    });
    expect(await publishOver(other, body)).toMatchObject({ json: { push_id: pushId } });
    const { records, recordIdOf } = node.running.services;
    const { counts } = await awaitPush(node, business, pushId);
    // Chunks that were published before the revocation leave serving, and no other is.
    await vi.waitFor(
      async () => {
        const ids = products("queued-1", 400).map((_, at) =>
          recordIdOf(business.party.uuid, "products", `queued-1-${at}`),
        );
        const heads = await Promise.all(ids.map((id) => records.readHead(id)));
        expect(heads.filter((head) => head?.live === true)).toEqual([]);
        expect(heads.filter((head) => head !== null)).toHaveLength(counts.accepted);
      },
      { timeout: 60_000 },
    );
  });
});

describe("a mandate that ends", () => {
  it("by its valid_until: nothing more is published under it, even if it was sealed before; the rest goes on", async () => {
    const business = await newBusiness(node);
    await revokeMandates(business);
    await giveMandate(node, business, { scope, fromMs: nowMs(), untilMs: nowMs() + 60_000 });
    expect(await publishOne(business, 1)).toBe(200);
    const { pushId } = await queued(business, 2);
    const sealedAtMs = nowMs();
    aheadMs += 61_000;
    expect(await publishOne(business, 3, sealedAtMs)).toBe("mandate_missing");
    expect(await readOver(business, "/v1/seal-context")).toMatchObject({
      status: 200,
      json: { mandates: [] },
    });
    expect(await readOver(business, `/v1/pushes/${pushId}`)).toMatchObject({ status: 200 });
    await expectPublished(business, pushId);
    // A new mandate lets the same key go on, with what is sealed from then on.
    await giveMandate(node, business, { scope, fromMs: nowMs() });
    expect(await publishOne(business, 3, sealedAtMs)).toBe("out_of_scope");
    expect(await publishOne(business, 4)).toBe(200);
  });

  it("by a revocation, at once; what was accepted goes on, and its resend needs a mandate again", async () => {
    const business = await newBusiness(node);
    const { pushId, body } = await queued(business, 1);
    await revokeMandates(business);
    expect(await publishOne(business, 2)).toBe("mandate_missing");
    expect(await publishOver(business, body)).toMatchObject({
      status: 403,
      json: { code: "mandate_missing" },
    });
    await expectPublished(business, pushId);
    await giveMandate(node, business, { scope, fromMs: nowMs() });
    expect(await publishOver(business, body)).toMatchObject({ json: { push_id: pushId } });
    expect(await publishOne(business, 3)).toBe(200);
  });
});
