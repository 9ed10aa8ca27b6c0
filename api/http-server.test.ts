import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { problemCodes } from "../protocol/problem.ts";
import { NotAnswered } from "../service/retrieval/receipts.ts";
import { Unavailable } from "../std/unavailable.ts";
import { StoreError } from "../storage/actor-store.ts";
import { openBusiness } from "../stories/publishing/publishing.fixture.ts";
import { createEdge } from "./edge.ts";
import { buildServer } from "./http-server.ts";
import { rawHead, sendRaw } from "./raw-request.fixture.ts";
import type { Route } from "./route.ts";
import { openSurfaces, send, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;

beforeAll(async () => {
  surfaces = await openSurfaces();
});
afterAll(() => surfaces[Symbol.asyncDispose]());

describe("an address that is not there", () => {
  it("is a problem, with the nearest one that is", async () => {
    const answer = await send(surfaces.retrievalUrl, null, { path: "/v1/product/search", body: "{}" });
    expect(answer).toMatchObject({
      status: 404,
      json: { code: "not_found", suggestion: "/v1/products/search" },
    });
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
  });

  it.each([
    ["GET", "/v1/search", "POST"],
    ["DELETE", `/v1/records/svc_${"a".repeat(26)}`, "GET, HEAD"],
    ["PUT", "/v1/verify", "POST, OPTIONS"],
    ["HEAD", "/v1/search", "POST"],
  ])("for %s %s is 405", async (method, path, allow) => {
    const answer = await send(surfaces.retrievalUrl, null, { path, method });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
    if (method !== "HEAD") expect(answer.json).toMatchObject({ code: "method_not_allowed" });
  });

  it.each(["/%", "/v1/records/%zz", "http://other.test/v1/search"])(
    "that cannot be read is a problem: %s",
    async (target) => {
      const answer = await sendRaw(surfaces.retrievalUrl, rawHead(`GET ${target}`, { host: "x" }));
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.status).toBeLessThan(500);
      expect(answer.headers["content-type"]).toBe("application/problem+json");
      expect(answer.headers["request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    },
  );
});

describe("every answer", () => {
  it("has a request id that is in the logs and a place in the metrics", async () => {
    const answer = await send(surfaces.verifyUrl, null, {
      path: "/v1/certificates/90000000-0000-4000-8000-000000000009",
    });
    const id = answer.headers.get("request-id");
    const route = "/v1/certificates/:uuid";
    expect(surfaces.log).toContainEqual(
      expect.objectContaining({ request_id: id, status: 404, route, surface: "verification", level: 30 }),
    );
    expect(surfaces.observed).toContainEqual(
      expect.objectContaining({ surface: "verification", method: "GET", route, status: 404 }),
    );
    expect(id).not.toBe(
      (await send(surfaces.verifyUrl, null, { path: "/openapi.json" })).headers.get("request-id"),
    );
  });
});

describe("a refused key that is registered", () => {
  it("is named in the log, as one that is in force is", async () => {
    const { key, party, signingKey } = await openBusiness(surfaces.services);
    const { parties, register } = surfaces.services;
    await parties.revokeKey({
      uuid: party.uuid,
      key_id: key.key_id,
      compromised_from: null,
      revoked_at: formatTimestamp(Date.now()),
    });
    await register.refresh();
    const asked = { path: "/v1/seal-context", tag: "svc-business-read" } as const;
    const answer = await send(surfaces.businessUrl, { key: signingKey, grant: "" }, asked);
    expect(answer.json["code"]).toBe("key_unknown");
    expect(surfaces.log).toContainEqual(
      expect.objectContaining({ status: 401, code: "key_unknown", key_id: key.key_id }),
    );
  });
});

describe("a failure", () => {
  const failing = (error: unknown): Route => ({
    method: "GET",
    path: "/",
    tags: [],
    doc: { summary: "fails", answers: {} },
    handle: async () => {
      throw error;
    },
  });
  const unavailable = (reason: string, retryAfterSeconds: number): Error =>
    new Unavailable("x", { reason, retryAfterSeconds, effect: "unknown" });

  const failingServer = async (error: unknown, lines: string[]) => {
    const { pino } = await import("pino");
    const logger = pino({ level: "warn" }, { write: (line: string) => void lines.push(line) });
    const http = {
      logger,
      clock: { now: () => 0 },
      observer: { observe: () => {} },
      edge: createEdge(),
      hosts: null,
    };
    return buildServer(http, {
      name: "failing",
      info: { title: "", description: "", servers: [] },
      routes: [failing(error)],
      isPublic: false,
    });
  };

  it("that may have left a receipt behind ends the connection without an answer", async () => {
    const lines: string[] = [];
    const server = await failingServer(new NotAnswered(), lines);
    const url = await server.listen({ host: "127.0.0.1", port: 0 });
    await expect(sendRaw(url, rawHead("GET /", { host: "x" }))).rejects.toThrow('no answer: ""');
    await server.close();
    expect(JSON.parse(lines[0] ?? "{}")).toMatchObject({ msg: "closed without an answer" });
  });

  it.each<readonly [string, unknown, number, string, string | null]>([
    ["of the store", new StoreError("unknown", "gone"), 503, "unavailable", "1"],
    ["of an actor that moves", unavailable("restarting", 2), 503, "unavailable", "2"],
    ["of an actor with too much to do", unavailable("overloaded", 3), 429, "rate_limited", "3"],
    ["of ours", new Error("a secret detail"), 500, "internal_error", null],
  ])("%s is a problem, and is logged", async (_name, error, status, code, retryAfter) => {
    const lines: string[] = [];
    const server = await failingServer(error, lines);
    const answer = await server.inject({ method: "GET", url: "/" });
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ code });
    expect(answer.headers["retry-after"] ?? null).toBe(retryAfter);
    expect(answer.json().retry_after_seconds).toBe(retryAfter === null ? undefined : Number(retryAfter));
    expect(answer.body).not.toContain("secret");
    expect(JSON.parse(lines[0] ?? "{}")).toMatchObject({
      request_id: answer.headers["request-id"],
      err: { message: expect.any(String) },
    });
  });
});

describe("/openapi.json", () => {
  interface Operation {
    readonly operationId: string;
    readonly parameters: readonly { readonly name: string; readonly in: string }[];
    readonly responses: Readonly<Record<string, { readonly description: string }>>;
    readonly security: readonly object[];
    readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  }
  interface Document {
    readonly openapi: string;
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  }
  const read = async (base: string): Promise<Document> =>
    (await send(base, null, { path: "/openapi.json" })).json as unknown as Document;

  it("is on every surface, and every operation has its own id, its path parameters and its problems", async () => {
    const seen: string[] = [];
    for (const base of [surfaces.retrievalUrl, surfaces.businessUrl, surfaces.verifyUrl, surfaces.toolsUrl]) {
      const document = await read(base);
      expect(document.openapi).toBe("3.1.0");
      for (const [path, operations] of Object.entries(document.paths)) {
        for (const operation of Object.values(operations)) {
          seen.push(`${base} ${operation.operationId}`);
          const named = [...path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]);
          expect(operation.parameters.filter((each) => each.in === "path").map((each) => each.name)).toEqual(
            named,
          );
          expect(operation.responses["500"]?.description).toContain("internal_error");
          expect(operation.security).toBeDefined();
        }
      }
    }
    expect(new Set(seen).size).toBe(seen.length);
  });

  it("names 429 and its Retry-After wherever a signature is demanded", async () => {
    let signedOperations = 0;
    for (const base of [surfaces.retrievalUrl, surfaces.businessUrl]) {
      for (const operations of Object.values((await read(base)).paths)) {
        for (const operation of Object.values(operations).filter((each) => each.security.length > 0)) {
          signedOperations += 1;
          expect(operation.responses["429"]).toMatchObject({
            description: expect.stringContaining("rate_limited"),
            headers: { "Retry-After": { schema: { type: "integer" } } },
          });
        }
      }
    }
    expect(signedOperations).toBeGreaterThan(10);
  });

  it("says of every signed address what its body may be refused with, reads included, and where Retry-After comes", async () => {
    for (const base of [surfaces.retrievalUrl, surfaces.businessUrl]) {
      for (const operations of Object.values((await read(base)).paths)) {
        for (const { security, responses } of Object.values(operations)) {
          if (security.length === 0) continue;
          expect(responses["413"]?.description).toContain("record_too_large");
          expect(responses["415"]?.description).toContain("media_type_unsupported");
        }
      }
    }
    const publish = (await read(surfaces.businessUrl)).paths["/v1/publish/products"]?.["post"];
    expect(publish?.responses["409"]).toMatchObject({ headers: { "Retry-After": {} } });
  });

  it("names the search body of every collection and the signature codes", async () => {
    const { paths } = await read(surfaces.retrievalUrl);
    for (const path of [
      "/v1/search",
      "/v1/products/search",
      "/v1/business-files/search",
      "/v1/events/search",
      "/v1/jobs/search",
      "/v1/updates/search",
    ]) {
      const operation = paths[path]?.["post"];
      const named = { $ref: expect.stringMatching(/\/[A-Z]\w+Search$/) };
      expect(operation?.requestBody?.content["application/json"]?.schema).toMatchObject(
        path === "/v1/search" ? { type: "object" } : named,
      );
      expect(operation?.responses["401"]?.description).toContain("nonce_reused");
      expect(operation?.security).toEqual([{ httpSignature: [] }]);
    }
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining(["/v1/verify", "/v1/certificates/{uuid}", "/v1/records/{record_id}"]),
    );
  });
});

/** Specification, «Errors»: the statuses that it names. The others are this service's. */
it.each([
  ["request_invalid", 400],
  ["key_unknown", 401],
  ["allowance_exhausted", 402],
  ["source_not_allowed", 403],
  ["not_found", 404],
  ["method_not_allowed", 405],
  ["idempotency_in_progress", 409],
  ["record_too_large", 413],
  ["idempotency_key_reused", 422],
  ["rate_limited", 429],
  ["unavailable", 503],
] as const)("the code %s has the status %i", (code, status) => {
  expect(problemCodes[code].status).toBe(status);
});
