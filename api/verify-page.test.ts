import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { utf8 } from "../protocol/bytes.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import { rubbish } from "../protocol/rubbish.fixture.ts";
import type { VerifyPageAnswer } from "../protocol/wire/verification.ts";
import { product, sealAndPublish } from "../stories/publishing/publishing.fixture.ts";
import { removeBy, sealRemoval } from "../stories/publishing/removal.fixture.ts";
import { sealedWords } from "../verifier/sealed-words.ts";
import { verifyPage } from "../verifier/service-statements.ts";
import { openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import type { ReceivedAnswer } from "./surfaces.fixture.ts";

let world: Verifiable;

/** The texts and numbers in an answer; an empty list and null are said in other words. */
function valuesIn(value: unknown): readonly string[] {
  if (value === null) return [];
  return typeof value === "object" ? Object.values(value).flatMap(valuesIn) : [String(value)];
}

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
    const { statement, ...findings } = answer.json as { statement: { payload: string }; record_id: string };
    expect(JSON.parse(atob(statement.payload))).toEqual(findings);
    const about = {
      bytes: utf8(exactMember(world.fetched.text, "record") ?? ""),
      recordId: findings.record_id,
    };
    expect(verifyPage(world.trust, rubbish(statement), about)).toMatchObject({ ok: true });
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

  const publish = async (seq: number, changes: Readonly<Record<string, unknown>>): Promise<void> => {
    const { services } = world.surfaces;
    const records = ["a", "b"].map((id) => product(id, changes));
    await sealAndPublish(services, world.business, records, { seq, aiPolicyVersion: 1 });
  };
  interface Page {
    readonly checks: { readonly served_at: string };
    readonly version: {
      readonly generation: number;
      readonly published_at: string;
      readonly ended_at: string;
    };
  }
  const versionPage = async (servedAt: string): Promise<Page & ReceivedAnswer["json"]> =>
    (await page({ origin: origin(), served_at: servedAt })).json as unknown as Page & ReceivedAnswer["json"];
  const timestamp = (ms: number): string => new Date(ms).toISOString();

  it("knows a version whose bytes were published again: the source line of then stays right", async () => {
    const line = String((world.fetched.json["provenance"] as Record<string, unknown>)["source_line"]);
    const servedAt = / served=(\S+) /.exec(line)?.[1] ?? "";
    await publish(2, {});
    const then = await versionPage(servedAt);
    expect(then).toMatchObject({
      valid: true,
      status: "current",
      version: { generation: 1 },
      checks: { served_at: "within" },
    });
    const now = await versionPage(timestamp(Date.now()));
    expect(now).toMatchObject({
      valid: true,
      version: { generation: 2, ended_at: null },
      checks: { served_at: "within" },
    });
    expect(then.version.ended_at).toBe(now.version.published_at);
  });

  it("knows a version that was replaced, and when it was", async () => {
    await publish(3, { brand: "New" });
    const { json } = await page({ origin: origin() });
    expect(json).toMatchObject({ status: "superseded", valid: true, version: { generation: 2 } });
    const endedMs = Date.parse((json as unknown as Page).version.ended_at);
    expect(await versionPage(timestamp(endedMs - 1))).toMatchObject({
      valid: true,
      version: { generation: 2 },
      checks: { served_at: "within" },
    });
    expect(await versionPage(timestamp(endedMs))).toMatchObject({
      valid: false,
      checks: { served_at: "outside" },
    });
  });

  it("cannot tell when a version ended that was withdrawn", async () => {
    const { business, surfaces } = world;
    const { services } = surfaces;
    const served = await services.records.readServed(String(world.row["record_id"]));
    const document = { record_id: String(world.row["record_id"]), action: "withdraw" } as const;
    const sealed = await sealRemoval(business, document, business.signingKey, { ai_policy_version: 1 });
    await removeBy(services, business, "withdraw", sealed);
    // The removal continues after it was decided.
    while ((await page({ origin: origin() })).json["status"] !== "withdrawn");
    const after = timestamp(Date.now());
    const withdrawn = await page({ origin: served?.head.hash ?? "", served_at: after });
    expect(withdrawn.json).toMatchObject({
      status: "withdrawn",
      valid: true,
      version: { generation: 3, ended_at: null },
      checks: { served_at: "unknown" },
    });
    const { seal, document_base64 } = rubbish(withdrawn.json["removal"]) as Readonly<
      NonNullable<VerifyPageAnswer["removal"]>
    >;
    const words = sealedWords(world.trust, seal.payloadType, {
      payload: Uint8Array.fromBase64(seal.payload),
      document: Uint8Array.fromBase64(document_base64),
    });
    const html = (await page({ origin: served?.head.hash ?? "", format: "html" })).text;
    expect(words.ok && html.includes(`>${escaped(words.value.join("\n"))}</pre>`)).toBe(true);
    await publish(4, {});
    const between = await page({ origin: served?.head.hash ?? "", served_at: after });
    expect(between.json).toMatchObject({
      status: "superseded",
      version: { generation: 3, ended_at: null },
      checks: { served_at: "unknown" },
    });
  });

  it("is a page for a person", async () => {
    const answer = await page({ origin: origin(), format: "html" });
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(answer.text).toContain("Diamonds Ltd");
  });

  it("shows a person everything that it tells a machine", async () => {
    const query = { origin: origin(), cert: world.business.certId, served_at: new Date().toISOString() };
    const { v, valid, statement, source_line, checked_at, ...shown } = (await page(query)).json;
    const html = (await page({ ...query, format: "html" })).text;
    const words = valuesIn(shown).map((each) => escaped(each).replaceAll("_", " "));
    expect(words.length).toBeGreaterThan(15);
    expect(words.filter((each) => !html.replaceAll("_", " ").includes(each))).toEqual([]);
    expect([v, valid, typeof statement, typeof source_line, typeof checked_at]).toEqual([
      1,
      true,
      "object",
      "string",
      "string",
    ]);
    expect(html).toContain("Genuine and current");
  });

  it("says at a glance that what was cited is not valid", async () => {
    const html = (await page({ origin: origin(), cert: `sha256:${"0".repeat(64)}`, format: "html" })).text;
    expect(html).toContain("the citation is not valid");
    expect(html).toContain("differs from the one that the seal names");
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
    const html = await page({ ...query, format: "html" });
    expect([html.status, html.headers.get("content-type")]).toEqual([400, "text/html; charset=utf-8"]);
    expect(html.text).toContain("The address is not complete");
  });
});

/** A text as it is written in HTML. */
function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
