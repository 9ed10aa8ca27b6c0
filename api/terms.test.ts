import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nativeCrypto } from "../crypto/native.ts";
import { sandboxTerms } from "../node/terms-file.ts";
import { utf8 } from "../protocol/bytes.ts";
import { hashOf } from "../protocol/hash.ts";
import type { TermsAnswer } from "../protocol/wire/terms.ts";
import { createReadTerms, type TermsText } from "../service/terms.ts";
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

function readAt(at: string, terms: readonly TermsText[] = all) {
  const read = createReadTerms({ terms: () => terms, clock: { now: () => Date.parse(at) }, sha256 });
  return (version: string | null): TermsAnswer | string => {
    const outcome = read({ version });
    if (outcome.kind === "answer") return JSON.parse(String(outcome.body)) as TermsAnswer;
    return outcome.problem.code;
  };
}

describe("the terms of AI companies", () => {
  it("of a sandbox say what it is", async () => {
    const { status, headers, json } = await ask();
    expect([status, headers.get("cache-control")]).toEqual([200, "private, max-age=300"]);
    const [first] = sandboxTerms;
    expect(json).toMatchObject({ ...first, current_version: 1, media_type: "text/markdown; charset=utf-8" });
    expect(json["sha256"]).toBe(hashOf(utf8(first?.text ?? "")));
    expect((await ask("?version=1")).json).toEqual(json);
  });

  it("are for signed readers, and of a version that is there", async () => {
    expect((await send(surfaces.retrievalUrl, null, { path: "/v1/terms" })).status).toBe(401);
    expect(await ask("?version=2")).toMatchObject({ status: 404, json: { code: "not_found" } });
    for (const version of ["0", "01", "x", "", "12345678"])
      expect(await ask(`?version=${version}`), version).toMatchObject({
        status: 400,
        json: { code: "request_invalid", pointer: "/query/version" },
      });
    expect(await ask("?edition=1")).toMatchObject({ status: 400, json: { code: "request_invalid" } });
  });

  it("answers any version, with the hash of its text", () => {
    const read = readAt("2026-03-15T00:00:00.000Z");
    for (const { version, text } of all)
      expect(read(String(version))).toMatchObject({
        ...{ version, text, sha256: hashOf(utf8(text)), current_version: 2 },
        versions: all.map(({ text: of, ...rest }) => ({ ...rest, sha256: hashOf(utf8(of)) })),
      });
    expect(read("3")).toBe("not_found");
  });

  it("come into force by themselves at their instant, and not before", () => {
    expect(readAt("2026-01-31T23:59:59.999Z")(null)).toMatchObject({ version: 1, current_version: 1 });
    expect(readAt("2026-02-01T00:00:00.000Z")(null)).toMatchObject({ version: 2, current_version: 2 });
    const early = readAt("2025-12-31T23:59:59.999Z");
    expect(early(null)).toBe("not_found");
    expect(early("1")).toMatchObject({ version: 1, current_version: null });
    expect(readAt("2026-03-15T00:00:00.000Z", [])(null)).toBe("not_found");
  });
});
