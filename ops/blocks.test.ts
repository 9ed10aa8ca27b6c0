import { expect, it } from "vitest";
import { ok } from "../protocol/result.ts";
import type { BlockState, Blocks, BrandState, Brands, GroupState } from "../service/register/blocks.ts";
import { RegisterRefused } from "../service/register/parties.ts";
import { act, authorization, by, noBlocks, noBrands, openOps } from "./ops.fixture.ts";

const [business, company] = ["10000000-0000-4000-8000-000000000001", "10000000-0000-4000-8000-000000000002"];
const blocked: BlockState = {
  business_uuid: business,
  legal_name: "Diamonds Ltd",
  blocked: [{ group: company, companies: [{ uuid: company, legal_name: "Answers Ltd", former: true }] }],
  change: 5,
};
const joined: GroupState = {
  company_uuid: company,
  legal_name: "Answers Ltd",
  group: "b",
  former_groups: [company],
  change: 6,
};

const asked: unknown[] = [];
const done =
  <T>(name: string, subject: T) =>
  async (request: unknown) => {
    asked.push([name, request]);
    return ok({ changed: true, subject });
  };
const blocks: Blocks = {
  ofBusiness: async (uuid) => (uuid === business ? ok(blocked) : noBlocks.ofBusiness(uuid)),
  setBlocked: done("set", blocked),
  ofCompany: async (uuid) => (uuid === company ? ok(joined) : noBlocks.ofCompany(uuid)),
  joinGroup: done("join", joined),
};
const branded: BrandState = {
  business_uuid: business,
  legal_name: "Diamonds Ltd",
  owned: ["Lindqvist & Rowe"],
  sold: [],
  confirmed: ["Lindqvist & Rowe"],
  change: 7,
};
const brands: Brands = {
  ofBusiness: async (uuid) => (uuid === business ? ok(branded) : noBrands.ofBusiness(uuid)),
  confirm: done("confirm", branded),
};
const ask = async (url: string, payload?: object, given = blocks) => {
  const headers = { authorization };
  const method = payload === undefined ? "GET" : "POST";
  const request = { method, url, headers, ...(payload === undefined ? {} : { payload }) } as const;
  const answer = await openOps({ blocks: given, brands }).inject(request);
  return { status: answer.statusCode, json: answer.json() };
};

it("operators block, unblock and change groups", async () => {
  expect((await ask(`/ops/blocks/${business}`)).json).toEqual({ blocks: blocked });
  expect((await ask(`/ops/groups/${company}`)).json).toEqual({ company: joined });
  for (const [last, isBlock] of [
    ["block", true],
    ["unblock", false],
  ] as const) {
    asked.length = 0;
    const answer = await ask(`/ops/blocks/${business}/${last}`, { group: "g", expected: 5, ...act });
    expect(answer).toEqual({ status: 200, json: { changed: true, blocks: blocked } });
    expect(asked).toEqual([
      ["set", { business_uuid: business, group: "g", blocked: isBlock, expected: 5, act: { by, ...act } }],
    ]);
  }
  asked.length = 0;
  const answer = await ask(`/ops/groups/${company}/join`, { group: "b", expected: 6, ...act });
  expect(answer).toEqual({ status: 200, json: { changed: true, company: joined } });
  expect(asked).toEqual([["join", { company_uuid: company, group: "b", expected: 6, act: { by, ...act } }]]);
});

it("operators confirm brands, and take that back", async () => {
  expect((await ask(`/ops/brands/${business}`)).json).toEqual({ brands: branded });
  expect((await ask(`/ops/brands/${company}`)).status).toBe(404);
  for (const [last, confirmed] of [
    ["confirm", true],
    ["unconfirm", false],
  ] as const) {
    asked.length = 0;
    const answer = await ask(`/ops/brands/${business}/${last}`, {
      name: "Lindqvist & Rowe",
      expected: 7,
      ...act,
    });
    expect(answer).toEqual({ status: 200, json: { changed: true, brands: branded } });
    const request = {
      business_uuid: business,
      name: "Lindqvist & Rowe",
      confirmed,
      expected: 7,
      act: { by, ...act },
    };
    expect(asked).toEqual([["confirm", request]]);
  }
});

it.each([
  [`/ops/brands/${business}/confirm`, { expected: 0, ...act }, /name/],
  [`/ops/brands/${business}/confirm`, { name: "x".repeat(101), expected: 0, ...act }, /name/],
  [`/ops/blocks/${business}/block`, { expected: 0, ...act }, /group/],
  [`/ops/blocks/${business}/block`, { group: "g", expected: 0, reason: "x", by: "Bob" }, /additional/],
  [`/ops/blocks/${business}/unblock`, { group: "x".repeat(65), expected: 0, ...act }, /group/],
  [`/ops/groups/${company}/join`, { group: "Not a name", expected: 0, ...act }, /group/],
  [`/ops/groups/${company}/join`, { group: "b", expected: 0 }, /reason/],
  [`/ops/groups/${company}/join`, { group: "b", ...act }, /expected/],
  [`/ops/blocks/${business}/block`, { group: "g", ...act }, /expected/],
  [`/ops/brands/${business}/confirm`, { name: "g", ...act }, /expected/],
])("a request that is not complete is refused, %s %j", async (url, payload, detail) => {
  asked.length = 0;
  const { status, json } = await ask(url, payload);
  expect([status, json.code]).toEqual([400, "request_invalid"]);
  expect(json.detail).toMatch(detail);
  expect(asked).toEqual([]);
});

it("what is unknown or refused says so", async () => {
  for (const url of ["/ops/blocks/x", "/ops/groups/x"])
    expect(await ask(url)).toMatchObject({ status: 404, json: { code: "not_found" } });
  for (const url of ["/ops/blocks/x/block", "/ops/blocks/x/unblock", "/ops/groups/x/join"])
    expect(await ask(url, { group: "g", expected: 0, ...act }, noBlocks)).toMatchObject({
      json: { code: "not_found" },
    });
  const setBlocked = () => Promise.reject(new RegisterRefused("group_unknown", "There is none."));
  const asking = { group: "g", expected: 0, ...act };
  expect(await ask("/ops/blocks/x/block", asking, { ...blocks, setBlocked })).toMatchObject({
    status: 400,
    json: { code: "request_invalid", reason: "group_unknown" },
  });
  const seenBefore = () => Promise.reject(new RegisterRefused("state_changed", "It was changed meanwhile."));
  expect(await ask("/ops/blocks/x/block", asking, { ...blocks, setBlocked: seenBefore })).toMatchObject({
    status: 409,
    json: { code: "state_changed", detail: "It was changed meanwhile." },
  });
});
