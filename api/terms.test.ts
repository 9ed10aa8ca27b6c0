import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { partyFacts } from "../actors/facts.fixture.ts";
import { businessRef } from "../actors/messages/refs.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { sandboxTerms } from "../node/configuration/versioned-file.ts";
import { hashOf, utf8 } from "../protocol/bytes.ts";
import { part, rubbish } from "../protocol/rubbish.fixture.ts";
import type { TermsAnswer } from "../protocol/wire/terms.ts";
import type { Register } from "../service/register/register.ts";
import {
  createAgreements,
  createAgreeToTerms,
  createReadTerms,
  type TermsDeps,
  type TermsText,
} from "../service/register/terms.ts";
import { newCaller, openSurfaces, send, type TestCaller, type TestSurfaces } from "./surfaces.fixture.ts";

const { sha256 } = nativeCrypto;
let surfaces: TestSurfaces;
let company: TestCaller;

beforeAll(async () => {
  surfaces = await openSurfaces();
  company = await newCaller(
    surfaces.services.keys.grant,
    "retrieval",
    "10000000-0000-4000-8000-000000000001",
  );
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const ask = (query = "") => send(surfaces.retrievalUrl, company, { path: `/v1/terms${query}` });

const all: readonly TermsText[] = [1, 2, 4].map((version) => ({
  version,
  effective_from: `2026-0${version}-01T00:00:00.000Z`,
  language: "en",
  text: `# Terms ${version}\n`,
}));

const party = partyFacts({ uuid: "10000000-0000-4000-8000-000000000001", kind: "ai_company" });
const noAgreements = { find: async () => null, agree: () => Promise.reject(new Error("Nobody agrees.")) };

function readAt(at: string, terms: readonly TermsText[] = all) {
  const clock = { now: () => Date.parse(at) };
  const read = createReadTerms({ terms: () => terms, clock, sha256, agreements: noAgreements });
  return async (version: string | null): Promise<TermsAnswer | string> => {
    const outcome = await read({ caller: { party }, version });
    if (outcome.kind === "answer") return JSON.parse(String(outcome.body)) as TermsAnswer;
    return outcome.problem.code;
  };
}

describe("the terms of AI companies", () => {
  it("of a sandbox say what it is", async () => {
    const { status, headers, json } = await ask();
    expect([status, headers.get("cache-control")]).toEqual([200, "private, no-cache"]);
    const inForce = sandboxTerms[1];
    expect(json).toMatchObject({
      ...inForce,
      current_version: 2,
      agreed: null,
      media_type: "text/markdown; charset=utf-8",
    });
    expect(json["sha256"]).toBe(hashOf(utf8(inForce?.text ?? "")));
    expect((await ask("?version=2")).json).toEqual(json);
  });

  it("are for signed readers, and of a version that is there", async () => {
    expect((await send(surfaces.retrievalUrl, null, { path: "/v1/terms" })).status).toBe(401);
    expect(await ask("?version=3")).toMatchObject({ status: 404, json: { code: "not_found" } });
    for (const version of ["0", "01", "x", "", "12345678"])
      expect(await ask(`?version=${version}`), version).toMatchObject({
        status: 400,
        json: { code: "request_invalid", pointer: "/query/version" },
      });
    expect(await ask("?edition=1")).toMatchObject({ status: 400, json: { code: "request_invalid" } });
  });

  it("answers any version, with the hash of its text", async () => {
    const read = readAt("2026-03-15T00:00:00.000Z");
    for (const { version, text } of all)
      expect(await read(String(version))).toMatchObject({
        version,
        text,
        sha256: hashOf(utf8(text)),
        current_version: 2,
        versions: all.map(({ text: of, ...rest }) => ({ ...rest, sha256: hashOf(utf8(of)) })),
      });
    expect(await read("3")).toBe("not_found");
  });

  it("come into force by themselves at their instant, and not before", async () => {
    const atNight = await readAt("2026-01-31T23:59:59.999Z")(null);
    expect(atNight).toMatchObject({ version: 1, current_version: 1 });
    const atMidnight = await readAt("2026-02-01T00:00:00.000Z")(null);
    expect(atMidnight).toMatchObject({ version: 2, current_version: 2 });
    const early = readAt("2025-12-31T23:59:59.999Z");
    expect(await early(null)).toBe("not_found");
    expect(await early("1")).toMatchObject({ version: 1, current_version: null });
    expect(await readAt("2026-03-15T00:00:00.000Z", [])(null)).toBe("not_found");
  });
});

describe("agreeing to them", () => {
  const shaOf = (version: number) => hashOf(utf8(sandboxTerms[version - 1]?.text ?? ""));
  const agree = (body: object, by = company) =>
    send(surfaces.retrievalUrl, by, { path: "/v1/terms/agreements", body: JSON.stringify(body) });
  const inForce = { version: 2, sha256: shaOf(2) };

  it("is recorded once, and shown with the version from then on", async () => {
    expect((await ask()).json["agreed"]).toBeNull();
    const first = await agree(inForce);
    expect([first.status, first.json]).toEqual([
      200,
      { ai_company_uuid: party.uuid, ...inForce, agreed_at: expect.stringMatching(/Z$/) },
    ]);
    const { ai_company_uuid: _, ...agreed } = first.json;
    expect((await ask()).json["agreed"]).toEqual(agreed);
    // Again, and by another key of the company.
    const { grant } = surfaces.services.keys;
    for (const by of [company, await newCaller(grant, "retrieval", party.uuid)])
      expect((await agree(inForce, by)).json).toEqual(first.json);
    expect((await ask("?version=1")).json["agreed"]).toBeNull();
    const another = await newCaller(grant, "retrieval", "10000000-0000-4000-8000-000000000002");
    const asked = await send(surfaces.retrievalUrl, another, { path: "/v1/terms" });
    expect(asked.json["agreed"]).toBeNull();
  });

  it("keeps which key agreed, by which request", async () => {
    const { acts } = await surfaces.services.actors.ask(businessRef(party.uuid), {
      type: "acts.read",
      after: 0,
      limit: 10,
    });
    expect(acts).toEqual([
      {
        act: "terms.agree",
        entry: `party/${party.uuid}`,
        by: `key ${company.key.keyId}`,
        change: expect.any(Number),
        at: expect.stringMatching(/Z$/),
        reason: expect.stringMatching(`^version 2, ${shaOf(2)}, by request sha256:[0-9a-f]{64}$`),
      },
    ]);
  });

  it.each<readonly [string, object, number, string, string]>([
    ["a version that there is not", { version: 3, sha256: shaOf(2) }, 404, "not_found", "/version"],
    ["another text", { version: 2, sha256: shaOf(1) }, 409, "terms_mismatch", "/sha256"],
    ["what is no longer in force", { version: 1, sha256: shaOf(1) }, 409, "terms_superseded", "/version"],
    ["no hash", { version: 2 }, 400, "request_invalid", "/sha256"],
    ["no number", { ...inForce, version: "2" }, 400, "request_invalid", "/version"],
    ["more than a version", { ...inForce, note: "" }, 400, "request_invalid", "/note"],
  ])("to %s is refused", async (_what, body, status, code, pointer) => {
    expect(await agree(body)).toMatchObject({ status, json: { code, pointer } });
  });

  it("is for a signed AI company", async () => {
    const request = { path: "/v1/terms/agreements", body: JSON.stringify(inForce) };
    expect((await send(surfaces.retrievalUrl, null, request)).status).toBe(401);
    const uuid = "00000000-0000-4000-8000-000000000001";
    const business = await newCaller(surfaces.services.keys.grant, "integration", uuid);
    const answer = await send(surfaces.retrievalUrl, business, request);
    expect(answer).toMatchObject({ status: 403, json: { code: "role_not_allowed" } });
  });

  it("may come early, and is repeated after later terms are in force", async () => {
    let now = Date.parse("2026-01-15T00:00:00.000Z");
    const { actors } = surfaces.services;
    const register = part<Register>({ party: () => party });
    const deps: TermsDeps = {
      terms: () => all,
      clock: { now: () => now },
      sha256,
      agreements: createAgreements({ actors, register }),
    };
    const by = rubbish({ party, key: { key_id: "k" }, requestHash: shaOf(1) });
    const agreeTo = async (version: number) => {
      const sha256 = hashOf(utf8(all.find((each) => each.version === version)?.text ?? ""));
      const body = utf8(JSON.stringify({ version, sha256 }));
      const outcome = await createAgreeToTerms(deps)({ caller: by, body });
      return outcome.kind === "answer" ? JSON.parse(String(outcome.body)) : outcome.problem.code;
    };
    const first = await agreeTo(1);
    expect(first).toMatchObject({ version: 1 });
    expect(await agreeTo(4)).toMatchObject({ version: 4 });
    now = Date.parse("2026-05-01T00:00:00.000Z");
    expect(await agreeTo(1)).toEqual(first);
    expect(await agreeTo(2)).toBe("terms_superseded");
  });
});
