// What one address may request of the public surface: its cost is bounded, and no ordinary checker reaches the bound.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createRequestRate } from "../service/request-rate.ts";
import { rawHead, sendRaw } from "./raw-request.fixture.ts";
import { openSurfaces, type TestSurfaces } from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let nowMs = 0;

beforeAll(async () => {
  const rate = (reason: string) =>
    createRequestRate({
      perSecond: 1,
      burst: 2,
      elapsedMs: () => nowMs,
      subject: { reason, words: "One may" },
    });
  const addressRates = { reads: rate("address_reads"), verifications: rate("address_verifications") };
  surfaces = await openSurfaces({}, { addressRates });
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const nobody = "00000000-0000-4000-8000-0000000000ff";
const ask = (line: string, localAddress: string, fields: Readonly<Record<string, string>> = {}) =>
  sendRaw(surfaces.verifyUrl, rawHead(line, { host: "a", ...fields }), { localAddress });

async function statuses(
  line: string,
  address: string,
  fields?: Readonly<Record<string, string>>,
): Promise<number[]> {
  const seen: number[] = [];
  for (let index = 0; index < 4; index += 1) seen.push((await ask(line, address, fields)).status);
  return seen;
}

describe("one address", () => {
  it.each([
    `/v1/certificates/${nobody}`,
    `/v1/certificates/${nobody}/keys`,
    `/v1/certificates/${nobody}/key-custody`,
    "/.well-known/svc-keys",
    `/v1/verify/svc_${"a".repeat(26)}?origin=sha256:${"0".repeat(64)}`,
  ])("may look up so much and no more at once: %s", async (path) => {
    nowMs += 60_000;
    const seen = await statuses(`GET ${path}`, "127.0.0.2");
    expect(seen.slice(2)).toEqual([429, 429]);
    expect(seen.slice(0, 2)).not.toContain(429);
    const limited = await ask(`GET ${path}`, "127.0.0.2");
    expect(limited.headers["retry-after"]).toBe("1");
    expect(JSON.parse(limited.body)).toMatchObject({ code: "rate_limited", reason: "address_reads" });
    expect((await ask(`GET ${path}`, "127.0.0.3")).status).not.toBe(429);
    nowMs += 1_000;
    expect((await ask(`GET ${path}`, "127.0.0.2")).status).not.toBe(429);
  });

  it.each([
    "/.well-known/keys",
    "/v1/projections/products/1",
    "/v1/ai-policy-key",
    "/v1/vocabularies/countries",
    "/v1/envelope-specification",
  ])("may read what is the same for everybody as often as it likes: %s", async (path) => {
    expect(await statuses(`GET ${path}`, "127.0.0.4")).toEqual([200, 200, 200, 200]);
  });

  it("may have so much verified, and is refused before its body is read", async () => {
    const seen = await statuses("POST /v1/verify", "127.0.0.5", { "content-length": "0" });
    expect(seen).toEqual([400, 400, 429, 429]);
    const refused = await ask("POST /v1/verify", "127.0.0.5", { "content-length": "200000" });
    expect(JSON.parse(refused.body)).toMatchObject({ code: "rate_limited", reason: "address_verifications" });
  });
});
