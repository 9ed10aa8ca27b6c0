// A long body is read only for a signature that verifies; everything else is reported in the order of the checks
// (specification, «Authentication»).

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBusiness, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import { chunk, type RawAnswer, rawHead, sendRaw } from "./raw-request.fixture.ts";
import { openSurfaces, signed, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let business: TestBusiness;

beforeAll(async () => {
  surfaces = await openSurfaces({ bodyGraceMs: 300, bodyBytesPerSecondMin: 10_000_000 });
  business = await openBusiness(surfaces.services);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const path = "/v1/publish/products";
const forged = `sig1=:${Buffer.alloc(64).toString("base64")}:`;

interface Sent {
  readonly isForged: boolean;
  /** The body that was signed. */
  readonly body: string;
  readonly fields: Readonly<Record<string, string>>;
  /** What is sent (default: only the head). */
  readonly sent?: string;
}

async function publish({ isForged, body, fields, sent = "" }: Sent): Promise<RawAnswer> {
  const caller = { key: business.signingKey, grant: "" };
  const { headers } = await signed(surfaces.businessUrl, caller, { path, tag: "svc-push", body });
  const head = rawHead(`POST ${path}`, {
    host: new URL(surfaces.businessUrl).host,
    ...headers,
    ...(isForged ? { signature: forged } : {}),
    "idempotency-key": "k",
    ...fields,
  });
  return sendRaw(surfaces.businessUrl, `${head}${sent}`);
}

const codeOf = ({ body }: RawAnswer): string => (JSON.parse(body) as { readonly code: string }).code;
const short = "x".repeat(16_384);
const long = "x".repeat(16_385);
const length = (body: string): Readonly<Record<string, string>> => ({
  "content-length": String(body.length),
});
const other = (body: string): string => `y${body.slice(1)}`;

describe("with a forged signature", () => {
  it("a long body is refused before any of it is sent", async () => {
    const fromMs = performance.now();
    const answer = await publish({ isForged: true, body: long, fields: length(long) });
    expect([codeOf(answer), answer.status]).toEqual(["signature_invalid", 401]);
    // Had the server waited for the body, the answer would be a 408 after this time.
    expect(performance.now() - fromMs).toBeLessThan(300);
    expect(surfaces.edge.usage().bodyBytes).toBe(0);
  });

  it("a body in chunks is refused before any of it is sent, and the connection is ended", async () => {
    const answer = await publish({ isForged: true, body: "x", fields: { "transfer-encoding": "chunked" } });
    expect([codeOf(answer), answer.headers["connection"]]).toEqual(["signature_invalid", "close"]);
  });

  it.each([
    ["is the one that was signed for", short, "signature_invalid"],
    ["is another one", other(short), "digest_mismatch"],
  ])("a short body that %s is told so", async (_what, sent, code) => {
    expect(codeOf(await publish({ isForged: true, body: short, fields: length(short), sent }))).toBe(code);
  });

  it("a short body that never comes is told that", async () => {
    expect(codeOf(await publish({ isForged: true, body: short, fields: length(short) }))).toBe(
      "request_timeout",
    );
  });

  it("a body that is declared too long is told that", async () => {
    const fields = { "content-length": "33554433" };
    expect(codeOf(await publish({ isForged: true, body: "x", fields }))).toBe("record_too_large");
  });

  it("a Content-Digest that is none is told so where the body is read", async () => {
    const fields = { ...length("x"), "content-digest": "sha-512=:AAAA:" };
    expect(codeOf(await publish({ isForged: true, body: "x", fields, sent: "x" }))).toBe("digest_mismatch");
  });
});

describe("with a genuine signature", () => {
  it("a long body that is another one is told so, declared or in chunks", async () => {
    const declared = { isForged: false, body: long, fields: length(long), sent: other(long) };
    expect(codeOf(await publish(declared))).toBe("digest_mismatch");
    const chunked = { "transfer-encoding": "chunked" };
    const sent = `${chunk(long)}${chunk("z")}0\r\n\r\n`;
    expect(codeOf(await publish({ isForged: false, body: long, fields: chunked, sent }))).toBe(
      "digest_mismatch",
    );
  });

  it("a long body that is the one that was signed for is judged by what it says, declared or in chunks", async () => {
    const declared = { isForged: false, body: long, fields: length(long), sent: long };
    expect(codeOf(await publish(declared))).toBe("request_invalid");
    const sent = `${chunk(long.slice(0, 9_000))}${chunk(long.slice(9_000))}0\r\n\r\n`;
    const chunked = { isForged: false, body: long, fields: { "transfer-encoding": "chunked" }, sent };
    // The Idempotency-Key was used with the same body, so its answer is replayed.
    expect(codeOf(await publish(chunked))).toBe("request_invalid");
  });

  it("a long body that never comes is told that, and leaves its room to others", async () => {
    expect(codeOf(await publish({ isForged: false, body: long, fields: length(long) }))).toBe(
      "request_timeout",
    );
    expect(surfaces.edge.usage().bodyBytes).toBe(0);
  });
});
