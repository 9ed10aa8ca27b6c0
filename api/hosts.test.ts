import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rawHead, sendRaw } from "./raw-request.fixture.ts";
import { openSurfaces, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;

beforeAll(async () => {
  surfaces = await openSurfaces({}, { hosts: ["verify.svc.test", "127.0.0.1:7302"] });
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const path = "/v1/ai-policy-key";
const ask = (line: string, host: string, base = surfaces.verifyUrl) => sendRaw(base, rawHead(line, { host }));
const codeOf = (body: string): unknown => (JSON.parse(body) as { readonly code?: string }).code;

describe("an unsigned request", () => {
  it.each(["verify.svc.test", "VERIFY.svc.test:443", "verify.svc.test:80", "127.0.0.1:7302"])(
    "to a host of the surface is answered: %s",
    async (host) => {
      expect((await ask(`GET ${path}`, host)).status).toBe(200);
    },
  );

  it.each(["attacker.example", "verify.svc.test:7302", "verify.svc.test.", "127.0.0.1", "localhost:7302"])(
    "to another host is refused: %s",
    async (host) => {
      const answer = await ask(`GET ${path}`, host);
      expect([answer.status, codeOf(answer.body)]).toEqual([421, "host_not_allowed"]);
    },
  );

  it("is judged by the host that its target names", async () => {
    for (const scheme of ["http", "HTTP", "Https"]) {
      const answer = await ask(`GET ${scheme}://attacker.example${path}`, "verify.svc.test");
      expect(answer.status, scheme).toBe(421);
    }
  });

  it.each([
    ["POST /v1/verify", "verifyUrl"],
    [`OPTIONS ${path}`, "verifyUrl"],
    ["GET /openapi.json", "businessUrl"],
    ["GET /nowhere", "retrievalUrl"],
    ["POST /v1/mcp/public", "toolsUrl"],
  ] as const)("is refused wherever it goes: %s", async (line, surface) => {
    expect((await ask(line, "attacker.example", surfaces[surface])).status).toBe(421);
  });

  it("without Host is answered where HTTP/1.0 may leave it out", async () => {
    expect((await sendRaw(surfaces.verifyUrl, `GET ${path} HTTP/1.0\r\n\r\n`)).status).toBe(200);
  });
});

it("a signed address tells another host as its signature does", async () => {
  const answer = await ask("GET /v1/seal-context", "attacker.example", surfaces.businessUrl);
  expect(codeOf(answer.body)).toBe("signature_missing");
});

describe("answers", () => {
  it("are not guessed at by browsers, whatever they are", async () => {
    const answers = [
      await ask(`GET ${path}`, "verify.svc.test"),
      await ask("GET /nowhere", "verify.svc.test"),
      await ask("GET /%", "verify.svc.test"),
      await ask("GET /v1/seal-context", "verify.svc.test", surfaces.businessUrl),
      await sendRaw(surfaces.verifyUrl, "HELLO\r\n\r\n"),
    ];
    for (const { headers } of answers) expect(headers["x-content-type-options"]).toBe("nosniff");
  });

  it("that are pages run and load nothing, and are framed by nobody", async () => {
    const nobody = "00000000-0000-4000-8000-0000000000ff";
    const record = `svc_${"a".repeat(26)}?origin=sha256:${"0".repeat(64)}&`;
    for (const page of [`certificates/${nobody}?`, `verify/${record}`]) {
      const { headers } = await ask(`GET /v1/${page}format=html`, "verify.svc.test");
      expect(headers["content-type"]).toMatch(/^text\/html/);
      expect(headers["content-security-policy"]).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
      expect(headers["referrer-policy"]).toBe("no-referrer");
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
  });

  it("have ids that tell nothing of how many there were", async () => {
    const ids = new Set<string>();
    for (let index = 0; index < 5; index += 1) {
      const { headers } = await ask(`GET ${path}`, "verify.svc.test");
      expect(headers["request-id"]).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      ids.add(headers["request-id"] ?? "");
    }
    expect(ids.size).toBe(5);
  });
});
