// The read of push attempts over HTTP: records of accepted batches, and batches that were refused.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { businessRef } from "../actors/messages/refs.ts";
import { publishBody } from "../client/batch.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { PushAttempt } from "../protocol/wire/catalogue.ts";
import { openBusiness, product, seal, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import {
  freshNonce,
  openSurfaces,
  type ReceivedAnswer,
  type SentRequest,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;
let businesses = 0;
let seq = 0;

beforeAll(async () => {
  surfaces = await openSurfaces();
});
afterAll(() => surfaces[Symbol.asyncDispose]());
beforeEach(async () => {
  businesses += 1;
  const uuid = `00000000-0000-4000-8000-${String(businesses).padStart(12, "0")}`;
  business = await openBusiness(surfaces.services, uuid, `Diamonds ${businesses} Ltd`);
});

const callerOf = (of: TestBusiness): TestCaller => ({ key: of.signingKey, grant: "" });

function publish(body: Uint8Array | string, changes: Partial<SentRequest> = {}): Promise<ReceivedAnswer> {
  return send(surfaces.businessUrl, callerOf(business), {
    path: "/v1/publish/products",
    body,
    tag: "svc-push",
    ...changes,
    headers: { "idempotency-key": freshNonce(), ...changes.headers },
  });
}

async function batchOf(records: readonly Uint8Array[], changes: Parameters<typeof seal>[2] = {}) {
  seq += 1;
  const { batch_seal, push_id } = await seal(business, records, { seq, ...changes });
  return { body: publishBody(batch_seal, records), push_id };
}

async function push(records: readonly Uint8Array[]): Promise<string> {
  const { body, push_id } = await batchOf(records);
  expect((await publish(body)).status).toBeLessThan(300);
  if (records.length > 50) await settled(push_id);
  return push_id;
}

async function settled(pushId: string): Promise<void> {
  const state = async () => (await read(`/v1/pushes/${pushId}`)).json["state"];
  await expect.poll(state, { timeout: 20_000 }).toBe("complete");
}

const read = (
  path: string,
  by: TestBusiness = business,
  changes: Pick<SentRequest, "created"> = {},
): Promise<ReceivedAnswer> =>
  send(surfaces.businessUrl, callerOf(by), { path, tag: "svc-business-read", ...changes });

async function attempts(query = "", by: TestBusiness = business): Promise<readonly PushAttempt[]> {
  const all: PushAttempt[] = [];
  for (let cursor: string | null = null; ; ) {
    const parameters = [query, cursor === null ? "" : `cursor=${cursor}`].filter((each) => each !== "");
    const search = parameters.length === 0 ? "" : `?${parameters.join("&")}`;
    const { status, json, text } = await read(`/v1/push-attempts${search}`, by);
    expect(status, text).toBe(200);
    all.push(...(json["attempts"] as PushAttempt[]));
    cursor = json["next_cursor"] as string | null;
    if (cursor === null) return all;
    expect(cursor.length).toBeLessThanOrEqual(512);
  }
}

const ids = (all: readonly PushAttempt[]): readonly string[] => all.map((each) => each.attempt_id);

const products = (count: number, from = 0): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => product(`item-${from + index}`));

const priced = (id: string, amount: string): Uint8Array =>
  product(id, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });

describe("the attempts of a business", () => {
  it("are none before it sent anything", async () => {
    expect((await read("/v1/push-attempts")).json).toEqual({ attempts: [], next_cursor: null });
  });

  it("are one for each record of each push, with what became of it", async () => {
    const first = await push([product("a"), product("b")]);
    const second = await push([product("b"), product("c", { prices: [] }), product("b"), Uint8Array.of(1)]);
    const all = await attempts();
    expect(ids(all)).toEqual([
      ...[0, 1].map((leaf) => `${first}-${leaf}`),
      ...[0, 1, 2, 3].map((leaf) => `${second}-${leaf}`),
    ]);
    expect(all.map((each) => [each.status, each.category, each.business_product_id, each.version])).toEqual([
      ["accepted", null, "a", 1],
      ["accepted", null, "b", 1],
      ["updated", null, "b", 2],
      ["rejected", "validation", "c", null],
      ["rejected", "validation", "b", null],
      ["rejected", "validation", null, null],
    ]);
    expect(all[3]?.errors).toMatchObject([{ code: "member_missing", pointer: "/prices" }]);
    const report = (await read(`/v1/pushes/${second}`)).json;
    for (const attempt of all.slice(2)) {
      expect(attempt).toMatchObject({ push_id: second, type: "products", seq, source: "api" });
      expect([attempt.key_id, attempt.received_at]).toEqual([business.key.key_id, report["received_at"]]);
      expect(Date.parse(attempt.settled_at ?? "")).toBeGreaterThanOrEqual(Date.parse(attempt.received_at));
    }
    expect(Object.keys(all[0] ?? {}).toSorted()).toEqual(
      "attempt_id business_product_id category errors key_id leaf_index push_id received_at record_id seq settled_at source status type version".split(
        " ",
      ),
    );
    expect(JSON.stringify((await read(`/v1/pushes/${second}`)).json["results"])).not.toContain("own_id");
  });

  it("are listed once for a push that was numbered again when it was over", async () => {
    const push_id = await push([product("a"), product("b")]);
    const first = await attempts();
    const { actors } = surfaces.services;
    const admit = { push_id, key_id: business.key.key_id, records: 2, may_hold: false, plan: null } as const;
    const own = businessRef(business.party.uuid);
    const received_at_ms = Date.now() + 1_000;
    expect(await actors.ask(own, { type: "push.admit", ...admit, received_at_ms })).toMatchObject({
      status: "admitted",
      number: 2,
    });
    const place = { after: { at_ms: 0, id: "" }, to_ms: Number.MAX_SAFE_INTEGER, limit: 10 };
    const { entries } = await actors.ask(own, { type: "attempts.read", ...place });
    expect(entries).toHaveLength(2);
    expect(await attempts()).toEqual(first);
  });

  it("are read in pages, each once, across pushes of any size", async () => {
    const sizes = [3, 260, 1, 1, 50, 101];
    const sent: string[] = [];
    for (const size of sizes) {
      const id = await push(products(size));
      for (let leaf = 0; leaf < size; leaf += 1) sent.push(`${id}-${leaf}`);
    }
    expect(ids(await attempts())).toEqual(sent);
    expect(ids(await attempts("status=updated")).length).toBe(sent.length - 260);
    expect(ids(await attempts("status=accepted")).length).toBe(260);
    expect(await attempts("status=pending")).toEqual([]);
  });

  it("are read in bounded pages where few of many pushes have the status", async () => {
    const faulty: string[] = [];
    for (let index = 0; index < 60; index += 1) {
      const isFaulty = index % 20 === 7;
      const id = await push([
        product("x", isFaulty ? { prices: [] } : { short_description: `Edition ${index}.` }),
      ]);
      if (isFaulty) faulty.push(`${id}-0`);
    }
    expect(ids(await attempts("status=rejected"))).toEqual(faulty);
    expect((await attempts()).length).toBe(60);
  });

  it("of a held push are held, until its hold is settled", async () => {
    await push(Array.from({ length: 25 }, (_, index) => priced(`p${index}`, "10.00")));
    const held = await push([priced("p0", "99.00")]);
    expect(await attempts("status=held")).toMatchObject([
      {
        attempt_id: `${held}-0`,
        category: null,
        settled_at: null,
        errors: [],
        record_id: expect.stringMatching(/^svc_/),
        business_product_id: "p0",
      },
    ]);
    expect(await attempts("status=pending")).toEqual([]);
  });

  it("are found by when they were received, from inclusive and to exclusive, by an instant or a date", async () => {
    const id = await push([product("a")]);
    const [attempt] = await attempts();
    const at = attempt?.received_at ?? "";
    const later = formatTimestamp(Date.parse(at) + 1);
    expect(ids(await attempts(`from=${at}`))).toEqual([`${id}-0`]);
    expect(await attempts(`from=${later}`)).toEqual([]);
    expect(await attempts(`to=${at}`)).toEqual([]);
    expect(ids(await attempts(`to=${later}`))).toEqual([`${id}-0`]);
    const day = at.slice(0, 10);
    const next = formatTimestamp(Date.parse(`${day}T00:00:00.000Z`) + 86_400_000).slice(0, 10);
    expect(ids(await attempts(`from=${day}&to=${next}`))).toEqual([`${id}-0`]);
    expect(await attempts(`to=${day}`)).toEqual([]);
    expect(ids(await attempts("from=1990-01-01"))).toEqual([`${id}-0`]);
    for (const [name, value] of [
      ["from", "yesterday"],
      ["from", "2026-02-30"],
      ["to", "2026-01-01T00:00:00%2B01:00"],
      ["status", "failed"],
    ])
      expect(await read(`/v1/push-attempts?${name}=${value}`)).toMatchObject({
        status: 400,
        json: { code: "request_invalid", pointer: `/query/${name}` },
      });
  });

  it("are listed for 90 days, also those of refused batches", async () => {
    await push([product("a")]);
    expect((await publish("{}")).status).toBe(400);
    const countAfter = async (days: number) => {
      const ms = days * 86_400_000;
      surfaces.skipMs(ms);
      try {
        const created = Math.floor((Date.now() + ms) / 1_000);
        const { json } = await read("/v1/push-attempts?from=1990-01-01", business, { created });
        return (json["attempts"] as readonly PushAttempt[]).length;
      } finally {
        surfaces.skipMs(-ms);
      }
    };
    expect([await countAfter(89), await countAfter(91)]).toEqual([2, 0]);
  });

  it("are continued only by the cursor of the same list", async () => {
    await push(products(120));
    const other = await openBusiness(surfaces.services, "00000000-0000-4000-8000-0000000000aa", "Other Ltd");
    const { json } = await read("/v1/push-attempts");
    expect(json["attempts"]).toHaveLength(100);
    const cursor = String(json["next_cursor"]);
    for (const [query, by] of [
      [`cursor=${cursor}&status=accepted`, business],
      [`cursor=${cursor}&from=2026-01-01`, business],
      [`cursor=${cursor}`, other],
      ["cursor=leaf-100", business],
    ] as const)
      expect(await read(`/v1/push-attempts?${query}`, by)).toMatchObject({
        status: 400,
        json: { code: "request_invalid", pointer: "/query/cursor" },
      });
    expect(await attempts("", other)).toEqual([]);
  });
});

describe("a refused batch", () => {
  it("whose seal is not good is an attempt of its own category", async () => {
    const { body } = await batchOf([product("a"), product("b")]);
    const spoilt = JSON.parse(new TextDecoder().decode(body)) as { records: string[] };
    spoilt.records.reverse();
    const answer = await publish(JSON.stringify(spoilt));
    expect(answer.json["code"]).toBe("seal_invalid");
    expect(await attempts()).toMatchObject([
      {
        attempt_id: expect.stringMatching(/^ref_[0-9a-f]{24}$/),
        push_id: null,
        leaf_index: null,
        status: "rejected",
        category: "seal",
        errors: [{ code: "seal_invalid", reason: answer.json["reason"], detail: answer.json["detail"] }],
        records: 2,
        type: "products",
        seq: null,
        key_id: business.key.key_id,
      },
    ]);
  });

  it("is kept with why it was refused, and with what was known of it", async () => {
    const id = await push([product("a")]);
    const again = await batchOf([product("b")], { seq });
    expect((await publish(again.body)).json["code"]).toBe("seq_not_increasing");
    expect((await publish("{}")).json["code"]).toBe("request_invalid");
    expect((await publish("{}", { path: "/v1/publish/jobs" })).json["code"]).toBe("type_not_publishable");
    const refused = (await attempts("status=rejected")).map((each) => [
      each.category,
      each.errors[0]?.code,
      each.push_id,
      each.records,
      each.type,
    ]);
    expect(refused).toEqual([
      ["seal", "seq_not_increasing", again.push_id, 1, "products"],
      ["validation", "request_invalid", null, null, "products"],
      ["validation", "type_not_publishable", null, null, "jobs"],
    ]);
    expect(ids(await attempts("status=accepted"))).toEqual([`${id}-0`]);
  });

  it("is not kept when its request was not authenticated", async () => {
    const { body } = await batchOf([product("a")]);
    const { key: stranger } = {
      key: (await openBusiness(surfaces.services, "00000000-0000-4000-8000-0000000000bb", "Stranger Ltd"))
        .signingKey,
    };
    const forged = { keyId: business.signingKey.keyId };
    const caller = { key: { ...stranger, ...forged }, grant: "" };
    const headers = { "idempotency-key": freshNonce() };
    const request = { path: "/v1/publish/products", body, tag: "svc-push", headers } as const;
    expect((await send(surfaces.businessUrl, caller, request)).status).toBe(401);
    expect((await publish(body, { created: 1 })).json["code"]).toBe("signature_expired");
    const nonce = freshNonce();
    await publish("{}", { nonce });
    expect((await publish("{}", { nonce })).json["code"]).toBe("nonce_reused");
    expect(await attempts()).toHaveLength(1);
  });

  it("says nothing where the Idempotency-Key is what is wrong, and is kept once for one answer", async () => {
    const headers = { "idempotency-key": freshNonce() };
    const first = await publish("{}", { headers });
    expect((await publish("{}", { headers })).text).toBe(first.text);
    expect((await publish("[]", { headers })).json["code"]).toBe("idempotency_key_reused");
    await publish("{}", { headers: { "idempotency-key": null } });
    expect(await attempts()).toHaveLength(1);
  });

  it("is kept 50 times an hour, which leaves the pushes as they are", async () => {
    const id = await push([product("a")]);
    for (let index = 0; index < 60; index += 1) expect((await publish("{}")).status).toBe(400);
    const all = await attempts();
    expect(all.filter((each) => each.leaf_index === null)).toHaveLength(50);
    expect(ids(await attempts("status=accepted"))).toEqual([`${id}-0`]);
    await push([product("b")]);
    expect(await attempts("status=accepted")).toHaveLength(2);
  });
});
