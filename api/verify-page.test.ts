import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { product, sealAndPublish } from "../node/publishing.fixture.ts";
import { verifyWorking } from "../verifier/working-signature.ts";
import type { ReceivedAnswer } from "./surfaces.fixture.ts";
import { openVerifiable, type Verifiable } from "./verification.fixture.ts";

let world: Verifiable;

beforeAll(async () => {
  world = await openVerifiable();
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

describe("GET /v1/verify/{record_id}", () => {
  const page = (
    query: Record<string, string>,
    id = String(world.row["record_id"]),
  ): Promise<ReceivedAnswer> => world.get(`/v1/verify/${id}?${new URLSearchParams(query)}`);
  const origin = (): string => String(world.row["adl_origin"]);

  it("is what the source line of a fetch leads to", async () => {
    const line = String((world.fetched.json["provenance"] as Record<string, unknown>)["source_line"]);
    const url = new URL(/verify=(\S+)$/.exec(line)?.[1] ?? "");
    const answer = await world.get(`${url.pathname}${url.search}`);
    expect(answer.json).toMatchObject({
      v: 1,
      record_id: world.row["record_id"],
      adl_origin: origin(),
      valid: true,
      status: "current",
      business: { business_uuid: world.business.party.uuid, certificate: { status: "active" } },
      version: { generation: 1, sealed_under_cert_id: world.business.certId },
      checks: { cert: "matches", served_at: "within" },
      source_line: line,
    });
    const { statement, ...findings } = answer.json as { statement: { payload: string; payloadType: string } };
    expect(JSON.parse(atob(statement.payload))).toEqual(findings);
    const at = { use: "statement", region: null, at: String(answer.json["checked_at"]) } as const;
    expect(verifyWorking(world.trust, statement as never, at)).toMatchObject({ ok: true });
  });

  it("tells another certificate and another time apart", async () => {
    const other = `sha256:${"0".repeat(64)}`;
    expect((await page({ origin: origin(), cert: other })).json).toMatchObject({
      valid: false,
      checks: { cert: "differs", served_at: "not_given" },
    });
    expect((await page({ origin: origin(), served_at: "2020-01-01T00:00:00Z" })).json).toMatchObject({
      valid: false,
      checks: { served_at: "outside" },
    });
  });

  it.each(["Z", ".5Z", ".123456789Z", "-00:00", "+14:00", "-12:00"])(
    "takes a date-time with any fraction and offset: %s",
    async (ending) => {
      const answer = await page({ origin: origin(), served_at: `2020-01-01T00:00:00${ending}` });
      expect(answer.json).toMatchObject({ status: "current", checks: { served_at: "outside" } });
    },
  );

  it("answers an unknown id and a hash that does not match alike", async () => {
    const known = await page({ origin: `sha256:${"0".repeat(64)}` });
    const unknown = await page({ origin: origin() }, `svc_${"a".repeat(26)}`);
    expect([known.status, known.text]).toEqual([404, unknown.text]);
  });

  it("knows a version that was replaced", async () => {
    await sealAndPublish(
      world.surfaces.services,
      world.business,
      [product("a", { brand: "New" }), product("b", { brand: "New" })],
      { seq: 2, aiPolicyVersion: 1 },
    );
    expect((await page({ origin: origin() })).json).toMatchObject({ status: "superseded", valid: true });
  });

  it("is a page for a person", async () => {
    const answer = await page({ origin: origin(), format: "html" });
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.text).toContain("Diamonds Ltd");
  });

  it.each<readonly [Readonly<Record<string, string>>, string]>([
    [{}, "/query/origin"],
    [{ origin: "x" }, "/query/origin"],
    [{ origin: `sha256:${"0".repeat(64)}`, cert: "x" }, "/query/cert"],
    ...["yesterday", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00", "9999-12-31T23:59:59-01:00"].map(
      (served_at) => [{ origin: `sha256:${"0".repeat(64)}`, served_at }, "/query/served_at"] as const,
    ),
  ])("refuses %j", async (query, pointer) => {
    expect(await page(query)).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer },
    });
  });
});
