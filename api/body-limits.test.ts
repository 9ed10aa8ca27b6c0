import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contentDigest } from "../protocol/http-signature.ts";
import { openBusiness, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import { chunk, type RawAnswer, rawHead, sendRaw } from "./raw-request.fixture.ts";
import {
  bytesOf,
  freshNonce,
  newCaller,
  openSurfaces,
  send,
  signed,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let company: TestCaller;
let business: TestBusiness;
const retrievalMax = 16_384;
const verifyMax = 286_720;
const publishMax = 33_554_432;

beforeAll(async () => {
  surfaces = await openSurfaces({ bodyGraceMs: 300, headTimeoutMs: 500 });
  const { services } = surfaces;
  company = await newCaller(services.keys.grant, "retrieval", "10000000-0000-4000-8000-000000000001");
  business = await openBusiness(services);
  await send(surfaces.retrievalUrl, company, { path: "/v1/search", body: "{}" });
});
afterAll(() => surfaces[Symbol.asyncDispose]());

/** The headers of a request that is signed for the body `body`, without any that give its length. */
async function signedHeaders(body: string, nonce = freshNonce()): Promise<Record<string, string>> {
  const { headers } = await signed(surfaces.retrievalUrl, company, { path: "/v1/search", body, nonce });
  return { host: new URL(surfaces.retrievalUrl).host, "content-type": "application/json", ...headers };
}

const codeOf = (answer: RawAnswer): string =>
  String((JSON.parse(answer.body) as Record<string, unknown>)["code"]);

describe("a body on the retrieval surface", () => {
  it("may have 16 KiB", async () => {
    const answer = await send(surfaces.retrievalUrl, company, {
      path: "/v1/search",
      body: "x".repeat(retrievalMax),
    });
    expect(answer).toMatchObject({ status: 400, json: { code: "request_invalid" } });
  });

  it("of one byte more is 413, and its nonce is unused", async () => {
    const nonce = freshNonce();
    const over = await send(surfaces.retrievalUrl, company, {
      path: "/v1/search",
      body: "x".repeat(retrievalMax + 1),
      nonce,
    });
    expect(over).toMatchObject({ status: 413, json: { code: "record_too_large" } });
    const within = await send(surfaces.retrievalUrl, company, { path: "/v1/search", body: "{}", nonce });
    expect(within).toMatchObject({ status: 400 });
  });

  it("declared too long is refused before any of it is sent", async () => {
    const headers = { ...(await signedHeaders("x")), "content-length": String(retrievalMax + 1) };
    const answer = await sendRaw(surfaces.retrievalUrl, rawHead("POST /v1/search", headers));
    expect(answer).toMatchObject({ status: 413, headers: { connection: "close" } });
    expect(codeOf(answer)).toBe("record_too_large");
    expect(answer.headers["request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("in chunks that never end is refused at the limit", async () => {
    const headers = { ...(await signedHeaders("x")), "transfer-encoding": "chunked" };
    let sent = 0;
    const next = (): string => {
      // Few enough that even a machine without time sends them within the grace that bodies have here.
      sent += 8_192;
      return chunk("x".repeat(8_192));
    };
    const answer = await sendRaw(surfaces.retrievalUrl, rawHead("POST /v1/search", headers), { next });
    expect(codeOf(answer)).toBe("record_too_large");
    expect(sent).toBeGreaterThan(retrievalMax);
  });

  it("in chunks of 16 KiB and one byte is refused although it ends", async () => {
    const headers = { ...(await signedHeaders("x")), "transfer-encoding": "chunked" };
    const body = `${chunk("x".repeat(retrievalMax))}${chunk("x")}0\r\n\r\n`;
    expect(codeOf(await sendRaw(surfaces.retrievalUrl, rawHead("POST /v1/search", headers) + body))).toBe(
      "record_too_large",
    );
  });

  it("in chunks is the body that was signed", async () => {
    const headers = {
      ...(await signedHeaders('{"limit":1}')),
      "svc-sandbox-key": company.grant,
      "transfer-encoding": "chunked",
    };
    const body = `${chunk('{"limit"')}${chunk(":1}")}0\r\n\r\n`;
    expect(codeOf(await sendRaw(surfaces.retrievalUrl, rawHead("POST /v1/search", headers) + body))).toBe(
      "request_invalid",
    );
    const other = { ...(await signedHeaders('{"limit":2}')), "transfer-encoding": "chunked" };
    expect(codeOf(await sendRaw(surfaces.retrievalUrl, rawHead("POST /v1/search", other) + body))).toBe(
      "digest_mismatch",
    );
  });

  it("too long from nobody is refused for that, and not read", async () => {
    const headers = { host: new URL(surfaces.retrievalUrl).host, "transfer-encoding": "chunked" };
    const next = (): string => chunk("x".repeat(1_024));
    const answer = await sendRaw(surfaces.retrievalUrl, rawHead("POST /v1/search", headers), { next });
    expect([codeOf(answer), answer.headers["connection"]]).toEqual(["signature_missing", "close"]);
  });

  it.each([
    ["declared", { "content-length": "10" }],
    ["in chunks", { "transfer-encoding": "chunked" }],
  ])("that never arrives, %s, is 408", async (_name, length) => {
    const headers = { ...(await signedHeaders("x")), ...length };
    const answer = await sendRaw(surfaces.retrievalUrl, rawHead("POST /v1/search", headers));
    expect(answer).toMatchObject({
      status: 408,
      headers: { connection: "close", "content-type": "application/problem+json" },
    });
    expect(codeOf(answer)).toBe("request_timeout");
  });
});

describe("the connection", () => {
  it("is used again after a refusal that left a short body unread", async () => {
    const host = new URL(surfaces.retrievalUrl).host;
    const unsigned = `${rawHead("POST /v1/search", { host, "content-length": "5" })}hello`;
    const last = rawHead("GET /nowhere", { host, connection: "close" });
    const answers = await sendRaw(surfaces.retrievalUrl, unsigned + last).catch((error: Error) => error);
    expect(answers).toMatchObject({ status: 401, headers: { connection: "keep-alive" } });
  });

  it.each([
    ["a head that never ends", "GET / HTTP/1.1\r\nhost: x\r\n", 408, "request_timeout"],
    [
      "headers over the limit",
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${"x".repeat(40_000)}\r\n\r\n`,
      431,
      "header_too_large",
    ],
    ["no HTTP at all", "HELLO\r\n\r\n", 400, "request_invalid"],
  ])("with %s is answered a problem", async (_name, bytes, status, code) => {
    const answer = await sendRaw(surfaces.retrievalUrl, bytes);
    expect(answer).toMatchObject({ status, headers: { "content-type": "application/problem+json" } });
    expect(codeOf(answer)).toBe(code);
    expect(answer.headers["request-id"]).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe("other limits", () => {
  it("of verification are 286,720 bytes, declared or in chunks", async () => {
    const post = (length: number) =>
      fetch(new URL("/v1/verify", surfaces.verifyUrl), { method: "POST", body: "x".repeat(length) }).then(
        (answer) => answer.status,
      );
    expect([await post(verifyMax), await post(verifyMax + 1)]).toEqual([400, 413]);
    const headers = { host: new URL(surfaces.verifyUrl).host, "transfer-encoding": "chunked" };
    const next = (): string => chunk("x".repeat(16_384));
    expect(codeOf(await sendRaw(surfaces.verifyUrl, rawHead("POST /v1/verify", headers), { next }))).toBe(
      "record_too_large",
    );
  });

  it("of publishing are 32 MiB", async () => {
    const caller: TestCaller = { key: business.signingKey, grant: "" };
    const request = {
      path: "/v1/publish/products",
      tag: "svc-push",
      headers: { "idempotency-key": "k" },
    } as const;
    const body = new Uint8Array(publishMax).fill(32);
    expect(await send(surfaces.businessUrl, caller, { ...request, body })).toMatchObject({
      status: 400,
      json: { code: "request_invalid" },
    });
    const { headers } = await signed(surfaces.businessUrl, caller, { ...request, body: "x" });
    const declared = {
      host: new URL(surfaces.businessUrl).host,
      ...headers,
      "content-length": String(publishMax + 1),
    };
    const answer = await sendRaw(surfaces.businessUrl, rawHead("POST /v1/publish/products", declared));
    expect(codeOf(answer)).toBe("record_too_large");
  });

  it("do not spare a GET that has a body: it is covered, or refused", async () => {
    const host = new URL(surfaces.retrievalUrl).host;
    const path = `/v1/records/svc_${"a".repeat(26)}`;
    const body = bytesOf("{}") ?? new Uint8Array();
    const uncovered = (await signed(surfaces.retrievalUrl, company, { path })).headers;
    const first = await sendRaw(
      surfaces.retrievalUrl,
      `${rawHead(`GET ${path}`, { host, ...uncovered, "content-length": "2" })}{}`,
    );
    expect(codeOf(first)).toBe("signature_invalid");
    const covered = (await signed(surfaces.retrievalUrl, company, { path, method: "GET", body })).headers;
    expect(covered["content-digest"]).toBe(contentDigest(body));
    const second = await sendRaw(
      surfaces.retrievalUrl,
      `${rawHead(`GET ${path}`, { host, ...covered, "content-length": "2" })}{}`,
    );
    expect(codeOf(second)).toBe("not_found");
  });
});
