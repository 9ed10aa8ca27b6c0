// Images of ads over HTTP: sending them, and fetching them by their links.

import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { imageLinksOf } from "../node/images/ad-images.ts";
import { animationOf, imageOf } from "../node/images/images.fixture.ts";
import { hashOf, utf8 } from "../protocol/bytes.ts";
import { type ImageMediaType, imageMediaTypes } from "../protocol/image-type.ts";
import { imageBytesMax } from "../protocol/limits.ts";
import { openBusiness } from "../stories/publishing/publishing.fixture.ts";
import {
  newCaller,
  openSurfaces,
  type SentRequest,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

const path = "/v1/ads/images";
let surfaces: TestSurfaces;
let business: TestCaller;

beforeAll(async () => {
  surfaces = await openSurfaces();
  business = { key: (await openBusiness(surfaces.services)).signingKey, grant: "" };
});
afterAll(() => surfaces[Symbol.asyncDispose]());

function upload(body: Uint8Array, type: string | null, changes: Partial<SentRequest> = {}) {
  const headers = { "content-type": type };
  return send(surfaces.businessUrl, business, { path, body, tag: "svc-push", headers, ...changes });
}

async function uploaded(type: ImageMediaType = "image/png"): Promise<Uint8Array> {
  const bytes = await imageOf(type);
  expect((await upload(bytes, type)).status).toBe(201);
  return bytes;
}

/** A link as an ad's item has it, made at an instant. */
function linkTo(bytes: Uint8Array, atMs = Date.now()): URL {
  const { services } = surfaces;
  return new URL(
    imageLinksOf({ ...services, clock: { now: () => atMs } }, surfaces.retrievalUrl).linkOf(hashOf(bytes)),
  );
}

const get = (url: URL, changes: Partial<SentRequest> = {}) =>
  send(surfaces.retrievalUrl, null, { path: `${url.pathname}${url.search}`, ...changes });

const withQuery = (url: URL, name: string, value: string | null): URL => {
  const changed = new URL(url);
  if (value === null) changed.searchParams.delete(name);
  else changed.searchParams.set(name, value);
  return changed;
};

describe("an image that a business sends", () => {
  it.each(imageMediaTypes)("of type %s is stored, and stays the same when it is sent again", async (type) => {
    const bytes = await imageOf(type, { width: 120, height: 90 });
    const wanted = { sha256: hashOf(bytes), media_type: type, width: 120, height: 90, bytes: bytes.length };
    for (let times = 0; times < 2; times += 1) {
      const { status, json, headers } = await upload(bytes, type);
      expect([status, json, headers.get("cache-control")]).toEqual([201, wanted, "no-store"]);
    }
  });

  it("is refused for its own reason", async () => {
    const png = await imageOf("image/png");
    const svg = utf8('<svg xmlns="http://www.w3.org/2000/svg"/>');
    const large = await imageOf("image/png", { isNoisy: false, width: 5_000, height: 10 });
    for (const [body, type, status, code, reason] of [
      [png, "image/jpeg", 415, "media_type_unsupported", "image_type_unsupported"],
      [png, "application/json", 415, "media_type_unsupported", "image_type_unsupported"],
      [png, "image/svg+xml", 415, "media_type_unsupported", "image_type_unsupported"],
      [svg, "image/png", 415, "media_type_unsupported", "image_type_unsupported"],
      [utf8("a text"), "image/webp", 415, "media_type_unsupported", "image_type_unsupported"],
      [await animationOf(2), "image/webp", 415, "media_type_unsupported", "image_type_unsupported"],
      [large, "image/png", 400, "request_invalid", "image_dimensions"],
      [png.slice(0, 900), "image/png", 400, "request_invalid", "image_invalid"],
      [new Uint8Array(imageBytesMax + 1), "image/png", 413, "record_too_large", "image_too_large"],
    ] as const)
      expect(await upload(body, type), `${type} ${reason}`).toMatchObject({ status, json: { code, reason } });
    const { json } = await upload(png, "text/plain");
    expect(json["pointer"]).toBe("/headers/content-type");
  });

  it("may have as many bytes as the limit says", async () => {
    const { status, json } = await upload(new Uint8Array(imageBytesMax).fill(1), "image/png");
    expect([status, json["reason"]]).toEqual([415, "image_type_unsupported"]);
  });

  it("is signed by a business's key, for a push", async () => {
    const body = await imageOf("image/png");
    expect((await upload(body, "image/png", { tag: "svc-business-read" })).status).toBe(401);
    const headers = { "content-type": "image/png" };
    expect(await send(surfaces.businessUrl, null, { path, body, headers })).toMatchObject({
      status: 401,
      json: { code: "signature_missing" },
    });
    const { grant } = surfaces.services.keys;
    const company = await newCaller(grant, "retrieval", "10000000-0000-4000-8000-000000000001");
    expect(await send(surfaces.businessUrl, company, { path, body, headers, tag: "svc-push" })).toMatchObject(
      { status: 403, json: { code: "role_not_allowed" } },
    );
    const other = await imageOf("image/png");
    const digest = {
      "content-digest": `sha-256=:${Buffer.from(hashOf(other).slice(7), "hex").toString("base64")}:`,
    };
    expect((await upload(body, "image/png", { headers: { ...headers, ...digest } })).status).toBe(401);
    expect(await surfaces.services.imageStore.read(hashOf(body))).toBeNull();
  });
});

describe("a link to an image", () => {
  it.each(imageMediaTypes)("answers the bytes of a %s as they were sent", async (type) => {
    const bytes = await uploaded(type);
    const link = linkTo(bytes);
    expect(link.pathname).toBe(`/v1/ads/images/${hashOf(bytes).slice(7)}`);
    const answer = await fetch(link);
    expect(answer.status).toBe(200);
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes);
    const { headers } = answer;
    expect(headers.get("content-type")).toBe(type);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toBe("default-src 'none'");
    expect(headers.get("etag")).toBe(`"${hashOf(bytes)}"`);
    const [, age] = /^private, max-age=([0-9]+)$/.exec(headers.get("cache-control") ?? "") ?? [];
    expect(Number(age)).toBeGreaterThan(800);
    expect(Number(age)).toBeLessThanOrEqual(900);
    // Documented, and the same again when it comes from memory.
    expect((await get(link)).status).toBe(200);
  });

  it("answers HEAD, and a conditional request", async () => {
    const bytes = await uploaded();
    const link = linkTo(bytes);
    const head = await new Promise<{ status: number | undefined; length: string | undefined }>(
      (resolve, reject) =>
        httpRequest(link, { method: "HEAD" }, (answer) => {
          answer.resume();
          resolve({ status: answer.statusCode, length: answer.headers["content-length"] });
        })
          .on("error", reject)
          .end(),
    );
    expect(head).toEqual({ status: 200, length: String(bytes.length) });
    const held = await get(link, { headers: { "if-none-match": `"${hashOf(bytes)}"` } });
    expect([held.status, held.text]).toEqual([304, ""]);
    expect((await get(link, { method: "HEAD" })).headers.get("content-type")).toBe("image/png");
  });

  it("is the same 404 when it is forged, expired, of another image, or to none", async () => {
    const [bytes, other] = [await uploaded(), await uploaded("image/jpeg")];
    const link = linkTo(bytes);
    expect((await get(link)).status).toBe(200);
    const expires = Number(link.searchParams.get("expires"));
    const token = link.searchParams.get("token") ?? "";
    const elsewhere = new URL(link);
    elsewhere.pathname = linkTo(other).pathname;
    const upper = new URL(link);
    upper.pathname = `${path}/${hashOf(bytes).slice(7).toUpperCase()}`;
    const wrong = [
      withQuery(link, "expires", String(expires + 1)),
      withQuery(link, "expires", `0${expires}`),
      withQuery(link, "expires", null),
      withQuery(link, "token", null),
      withQuery(link, "token", ""),
      withQuery(link, "token", `${token.startsWith("A") ? "B" : "A"}${token.slice(1)}`),
      withQuery(link, "token", `${token}=`),
      elsewhere,
      upper,
      linkTo(bytes, Date.now() - 901_000),
      linkTo(await imageOf("image/webp")),
    ];
    const texts = new Set<string>();
    for (const each of wrong) {
      const answer = await get(each);
      expect(answer, each.href).toMatchObject({ status: 404, json: { code: "not_found" } });
      expect(answer.headers.get("cache-control")).toBe("no-store");
      texts.add(answer.text);
    }
    expect(texts.size).toBe(1);
    expect((await get(withQuery(link, "size", "1"))).status).toBe(400);
  });

  it("is valid for 15 minutes", async () => {
    const bytes = await uploaded();
    const nowMs = Date.now();
    expect((await get(linkTo(bytes, nowMs - 890_000))).status).toBe(200);
    expect((await get(linkTo(bytes, nowMs - 901_000))).status).toBe(404);
    const link = linkTo(bytes);
    surfaces.skipMs(901_000);
    expect((await get(link)).status).toBe(404);
    surfaces.skipMs(-901_000);
    expect((await get(link)).status).toBe(200);
  });

  it("is the same 404 once its image is forgotten", async () => {
    const bytes = await uploaded();
    await surfaces.services.imageStore.forget(hashOf(bytes));
    expect((await get(linkTo(bytes))).status).toBe(404);
  });
});
