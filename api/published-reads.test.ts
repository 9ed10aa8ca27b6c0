// What is the same for everybody: vocabularies, projections, schemas, with tags for conditional requests.

import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nativeCrypto } from "../crypto/native.ts";
import { vectorBytesMax, vectorFolder } from "../node/composition/surfaces.ts";
import { hashOf } from "../protocol/bytes.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import type { envelopeSpecification } from "../protocol/envelope-specification.ts";
import { vocabularyNames } from "../protocol/records/vocabularies/vocabulary-document.ts";
import type { VocabularyIndex } from "../protocol/wire/published.ts";
import { openSurfaces, type ReceivedAnswer, send, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;

/** A small suite in a folder, with a file beside it that it does not name. */
const cases = '{"v":1,"cases":[]}\n';
const casesHash = createHash("sha256").update(cases).digest("hex");
const index = `${JSON.stringify({ v: 1, files: [{ path: "log/inclusion.json", sha256: casesHash, cases: 0 }] })}\n`;
let place = "";

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), "svc-vectors-"));
  const folder = join(place, "vectors");
  await mkdir(join(folder, "log"), { recursive: true });
  await writeFile(join(folder, "index.json"), index);
  await writeFile(join(folder, "README.md"), "# Vectors\n");
  await writeFile(join(folder, "log", "inclusion.json"), cases);
  await writeFile(join(folder, "log", "other.json"), cases);
  await writeFile(join(place, "secret.json"), cases);
  surfaces = await openSurfaces({}, { vectors: vectorFolder(folder) });
});
afterAll(async () => {
  await surfaces[Symbol.asyncDispose]();
  await rm(place, { recursive: true, force: true });
});

const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<ReceivedAnswer> =>
  send(surfaces.verifyUrl, null, { path, headers });

describe("what is the same for everybody", () => {
  it.each([
    "/v1/vocabularies",
    "/v1/vocabularies/subdivisions",
    "/v1/vocabularies/subdivisions?version=1",
    "/v1/projections/products/1",
    "/v1/schemas/products/1",
    "/v1/ai-policy-key",
    "/v1/payloads/seal/2",
    "/v1/envelope-specification",
    "/v1/envelope-specification?format=markdown",
    "/v1/test-vectors",
    "/v1/test-vectors?format=markdown",
    "/v1/test-vectors/log/inclusion.json",
    `/v1/test-vectors/log/inclusion.json?sha256=${casesHash}`,
  ])("has a tag by which a reader asks whether it has changed: %s", async (path) => {
    const found = await get(path);
    expect(found.status).toBe(200);
    const etag = found.headers.get("etag") ?? "";
    expect(etag).toBe(`"${hashOf(new TextEncoder().encode(found.text), nativeCrypto.sha256)}"`);
    expect(found.headers.get("cache-control")).toMatch(/^public, max-age=[1-9]\d{3,}(, immutable)?$/);
    expect(found.headers.get("access-control-allow-origin")).toBe("*");
    for (const held of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const again = await get(path, { "if-none-match": held });
      expect([held, again.status, again.text]).toEqual([held, 304, ""]);
      expect(again.headers.get("etag")).toBe(etag);
      expect(again.headers.get("cache-control")).toBe(found.headers.get("cache-control"));
    }
    expect((await get(path, { "if-none-match": '"other"' })).status).toBe(200);
    expect((await send(surfaces.retrievalUrl, null, { path })).text).toBe(found.text);
    expect((await get(`${path}${path.includes("?") ? "&" : "?"}nonesuch=1`)).status).toBe(400);
  });
});

describe("the envelope specification", () => {
  it("leads to the JSON Schema of every payload and of every record, which are served", async () => {
    const { json, headers } = await get("/v1/envelope-specification");
    expect(headers.get("content-type")).toBe("application/json");
    const { payloads, records } = json as unknown as ReturnType<typeof envelopeSpecification>;
    expect(payloads.map(({ payload_type }) => payload_type).toSorted()).toEqual(
      Object.values(payloadTypes).toSorted(),
    );
    for (const { kind, version, schema } of payloads) {
      const served = await get(schema);
      expect(served.headers.get("content-type")).toBe("application/schema+json");
      expect(served.json["$id"]).toBe(`urn:svc:payload:${kind}:${version}`);
    }
    for (const { path } of records) expect((await get(path)).status).toBe(200);
  });

  it("is answered as a text as well, which is that of docs", async () => {
    const { text, headers } = await get("/v1/envelope-specification?format=markdown");
    expect(headers.get("content-type")).toBe("text/markdown; charset=utf-8");
    expect(text).toBe(await readFile("docs/envelope-specification.md", "utf8"));
    const explicit = await get("/v1/envelope-specification?format=json");
    expect(explicit.text).toBe((await get("/v1/envelope-specification")).text);
  });

  it("has no other format, and no schema of what is no payload", async () => {
    const { status, json } = await get("/v1/envelope-specification?format=pdf");
    expect([status, json]).toMatchObject([400, { code: "request_invalid", pointer: "/query/format" }]);
    for (const path of ["seal/3", "seal/02", "row/1"]) {
      const none = await get(`/v1/payloads/${path}`);
      expect([none.status, none.json["code"]]).toEqual([404, "not_found"]);
      expect(none.json["allowed"]).toContain("seal/2");
    }
  });
});

describe("a projection", () => {
  it.each(["products/01", "products/1e0", "products/0x1", "products/2", "Products/1", "none/1"])(
    "has one address, and %s is none",
    async (path) => {
      const none = await get(`/v1/projections/${path}`);
      expect([none.status, none.json["code"]]).toEqual([404, "not_found"]);
    },
  );
});

describe("the index of vocabularies", () => {
  it("names every vocabulary, and each of its versions with the hash of what is served", async () => {
    const { json } = await get("/v1/vocabularies");
    const { vocabularies: listed } = json as unknown as VocabularyIndex;
    expect(listed.map(({ name }) => name)).toEqual(vocabularyNames);
    for (const { name, version, versions } of listed) {
      expect(versions.map((each) => each.version)).toEqual(
        Array.from({ length: version }, (_, index) => version - index),
      );
      for (const each of versions) {
        const served = await get(each.path);
        expect(served.json).toMatchObject({ name, version: each.version });
        expect(served.headers.get("etag")).toBe(`"${each.sha256}"`);
      }
      expect((await get(`/v1/vocabularies/${name}`)).headers.get("etag")).toBe(`"${versions[0]?.sha256}"`);
    }
  });
});

describe("the vocabularies", () => {
  it("have the hashes that docs/choices.md promises for ever, and no version is missing there", async () => {
    const choices = await readFile("docs/choices.md", "utf8");
    const promised = [
      ...choices.matchAll(/^\| `([a-z_]+)` \| ([0-9]+) \| [^|]+ \| `(sha256:[0-9a-f]{64})` \|$/gm),
    ].map(([, name, version, sha256]) => `${name} ${version} ${sha256}`);
    const { json } = await get("/v1/vocabularies");
    const { vocabularies } = json as unknown as VocabularyIndex;
    const published = vocabularies.flatMap(({ name, versions }) =>
      versions.map(({ version, sha256 }) => `${name} ${version} ${sha256}`),
    );
    expect(published.length).toBeGreaterThan(6);
    expect(promised.toSorted()).toEqual(published.toSorted());
  });
});

describe("the test vectors", () => {
  it("are listed, and served byte for byte to those who do not hold them", async () => {
    expect((await get("/v1/test-vectors")).text).toBe(index);
    const served = await get("/v1/test-vectors/log/inclusion.json");
    expect([served.text, served.headers.get("content-type")]).toEqual([cases, "application/json"]);
    expect(served.headers.get("cache-control")).toBe("public, max-age=3600");
    for (const each of ["/v1/test-vectors", "/v1/test-vectors/log/inclusion.json"]) {
      const etag = (await get(each)).headers.get("etag") ?? "";
      expect((await get(each, { "if-none-match": etag })).status).toBe(304);
    }
    const path = `/v1/test-vectors/log/inclusion.json?sha256=${casesHash}`;
    expect((await get(path)).headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
  });

  it.each([
    "log/other.json",
    "log/inclusion.json/",
    "log",
    "index.json",
    "..%2fsecret.json",
    "log/..%2f..%2fsecret.json",
    "%2e%2e/secret.json",
    "log//inclusion.json",
    "log%00/inclusion.json",
    `log/inclusion.json?sha256=${"0".repeat(64)}`,
    "log/inclusion.json?sha256=",
  ])("have no file that the index does not name: %s", async (path) => {
    const { status, json } = await get(`/v1/test-vectors/${path}`);
    expect([status, json["code"]]).toEqual([404, "not_found"]);
  });
});

describe("the folder of a release", () => {
  it("gives nothing for a folder or what is not there, and refuses what is too large", async () => {
    const folder = vectorFolder(place);
    for (const path of ["vectors", "none.json", "none/none.json"]) expect(await folder.read(path)).toBeNull();
    await writeFile(join(place, "large.json"), new Uint8Array(vectorBytesMax + 1));
    await expect(folder.read("large.json")).rejects.toThrow(/too large/);
  });
});
