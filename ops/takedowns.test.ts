// What operators ask about serving, and that each member of it reaches what does it.

import { expect, it } from "vitest";
import { ok, refuse } from "../protocol/result.ts";
import type { HeldDeletions } from "../service/publishing/purges.ts";
import type { Takedowns } from "../service/register/takedowns.ts";
import { act, authorization, by, noPurges, openOps } from "./ops.fixture.ts";
import type { PurgeReads } from "./takedowns.ts";

const [business, record] = ["10000000-0000-4000-8000-000000000001", `svc_${"a".repeat(26)}`];
const hash = `sha256:${"0".repeat(64)}`;
const at = "2026-01-01T00:00:00.000Z";
const state = {
  business_uuid: business,
  legal_name: "Diamonds Ltd",
  record_id: record,
  takedown: {
    business_uuid: business,
    record_id: record,
    statement_of_reasons: "Article 6",
    taken_down_at: at,
    lifted_at: null,
  },
  change: 4,
};
const held = {
  document_hash: hash,
  record_id: record,
  at,
  received_at: at,
  state: "held" as const,
  decided_at: null,
};
const ordered = {
  record_id: record,
  business_uuid: business,
  generation: 1,
  ground: "Order 7",
  ordered_at: at,
  proof: null,
};

const asked: unknown[] = [];
const done =
  <T>(name: string, subject: T) =>
  async (...request: readonly unknown[]) => {
    asked.push([name, ...request]);
    return ok({ changed: true, subject });
  };
const unknown = async () => refuse("unknown", "There is no such thing.");
const takedowns: Takedowns = {
  of: async (subject) => (subject === record ? ok(state) : unknown()),
  inForce: () => ({ takedowns: [state.takedown], total: 1 }),
  impose: done("impose", state),
  lift: done("lift", state),
};
const heldDeletions: HeldDeletions = {
  ofBusiness: async (uuid: string, after: string) => {
    asked.push(["deletions", uuid, after]);
    return ok({ deletions: [held], next_after: null });
  },
  decide: done("decide", held),
};
const purges: PurgeReads = { ...noPurges, order: done("order", ordered) };
const ask = async (url: string, payload?: object) => {
  asked.length = 0;
  const method = payload === undefined ? "GET" : "POST";
  const request = {
    method,
    url,
    headers: { authorization },
    ...(payload === undefined ? {} : { payload }),
  } as const;
  const answer = await openOps({ takedowns, heldDeletions, purges }).inject(request);
  return { status: answer.statusCode, json: answer.json(), asked: [...asked] };
};

it("operators take something out of serving, undo it, and see what is out of it", async () => {
  expect((await ask("/ops/takedowns")).json).toEqual({ takedowns: [state.takedown], total: 1 });
  expect((await ask(`/ops/takedowns/${record}`)).json).toEqual({ subject: state });
  expect((await ask("/ops/takedowns/x")).status).toBe(404);
  const statement_of_reasons = "Article 6";
  expect(
    await ask(`/ops/takedowns/${record}/impose`, { statement_of_reasons, expected: 4, ...act }),
  ).toMatchObject({
    status: 200,
    json: { changed: true, subject: state },
    asked: [["impose", { subject: record, statement_of_reasons, expected: 4, act: { by, ...act } }]],
  });
  expect(await ask(`/ops/takedowns/${record}/lift`, { expected: 4, ...act })).toMatchObject({
    status: 200,
    asked: [["lift", { subject: record, expected: 4, act: { by, ...act } }]],
  });
  for (const [last, lacking] of [
    ["impose", { expected: 4, ...act }],
    ["impose", { statement_of_reasons, ...act }],
    ["lift", act],
  ] as const)
    expect((await ask(`/ops/takedowns/${record}/${last}`, lacking)).status).toBe(400);
});

it("operators decide on deletions that wait, and have purged what the law orders", async () => {
  expect(await ask(`/ops/deletions/${business}?after=${hash}`)).toMatchObject({
    status: 200,
    json: { deletions: [held] },
    asked: [["deletions", business, hash]],
  });
  for (const [last, released] of [
    ["release", true],
    ["reject", false],
  ] as const)
    expect(await ask(`/ops/deletions/${business}/${hash}/${last}`, act)).toMatchObject({
      status: 200,
      asked: [["decide", { business_uuid: business, document_hash: hash, released, act: { by, ...act } }]],
    });
  expect(await ask(`/ops/purge-orders/${record}`, { ground: "Order 7", ...act })).toMatchObject({
    status: 200,
    asked: [["order", { record_id: record, ground: "Order 7", act: { by, ...act } }]],
  });
  expect((await ask(`/ops/purge-orders/${record}`, act)).status).toBe(400);
});
