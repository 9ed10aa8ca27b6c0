// Source allow-lists of mandates behind a load balancer: real signed requests at a whole node, which takes the caller's
// address from X-Forwarded-For if a trusted proxy sent the request, and otherwise only from the connection.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { rawHead, sendRaw } from "../../api/raw-request.fixture.ts";
import { freshNonce, signed } from "../../api/surfaces.fixture.ts";
import { product, type TestBusiness } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  batchBody,
  giveMandate,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";

let node: AttackNode;
let business: TestBusiness;

const listed = ["198.51.100.0/24", "2001:db8:1::/48"];

async function open(trusted: string | undefined, allowList: readonly string[] = listed): Promise<void> {
  vi.stubEnv("SVC_SAMPLES", "no");
  vi.stubEnv("SVC_TRUSTED_PROXIES", trusted);
  node = await openAttackNode();
  business = await newBusiness(node);
  await giveMandate(node, business, { scope: { source_ip_allow_list: allowList } });
}

/** `request_invalid` from inside the list, because the body is judged next; `source_not_allowed` from outside. */
async function codeFrom(forwardedFor: string | null): Promise<unknown> {
  const headers = { "x-forwarded-for": forwardedFor };
  return (await publishOver(node, business, "{", { headers })).json["code"];
}

const inside = "request_invalid";
const outside = "source_not_allowed";

describe("without trusted proxies", () => {
  beforeAll(() => open(undefined));
  afterAll(() => node.close());
  afterEach(() => vi.unstubAllEnvs());

  it("X-Forwarded-For neither lets anybody in nor keeps anybody out", async () => {
    expect(await codeFrom("198.51.100.7")).toBe(outside);
    const scope = { source_ip_allow_list: ["127.0.0.1/32"] };
    await giveMandate(node, business, { scope, fromMs: Date.now() + 1 });
    expect(await codeFrom("203.0.113.9")).toBe(inside);
    expect(await codeFrom(null)).toBe(inside);
  });
});

describe("behind trusted proxies", () => {
  beforeAll(() => open("127.0.0.1, 10.1.0.0/16,2001:db8:ffff::/48"));
  afterAll(() => node.close());
  afterEach(() => vi.unstubAllEnvs());

  it("a batch from a listed address is published, and one from another address is not", async () => {
    const { body } = await batchBody(business, [product("listed")], { seq: 1 });
    const from = (address: string) =>
      publishOver(node, business, body, { headers: { "x-forwarded-for": address } });
    expect(await from("203.0.113.9")).toMatchObject({ status: 403, json: { code: outside } });
    expect(await from("198.51.100.7")).toMatchObject({ status: 200, json: { held: false } });
  });

  it.each([
    ["a listed IPv6 address", "2001:db8:1::7", inside],
    ["another IPv6 address", "2001:db8:2::7", outside],
    ["a listed address written by the caller, before its own", "198.51.100.7, 203.0.113.9", outside],
    ["its own listed address, after whatever it wrote", "203.0.113.9, not-an-address, 198.51.100.7", inside],
    ["a listed address through two more proxies", "198.51.100.7, 10.1.2.3, 2001:db8:ffff::1", inside],
    ["another address through two more proxies", "203.0.113.9, 10.1.2.3, 10.1.0.9", outside],
    [
      "a listed address written by the caller, through a proxy",
      "198.51.100.7, 203.0.113.9, 10.1.2.3",
      outside,
    ],
    ["an address near a trusted range that is not in it", "198.51.100.7, 10.2.0.1", outside],
    ["a listed address with its port", "198.51.100.7:50123", inside],
    ["a listed IPv6 address with its port", "[2001:db8:1::7]:50123", inside],
    ["another address with its port", "203.0.113.9:50123", outside],
    ["a listed address behind a proxy with its port", "198.51.100.7, 10.1.2.3:443", inside],
    ["a listed address in its IPv4-mapped form", "::ffff:198.51.100.7", inside],
    ["another address in its IPv4-mapped form", "::ffff:203.0.113.9", outside],
    ["no proxy's address but a trusted one", "10.1.2.3", outside],
    ["no X-Forwarded-For at all", null, outside],
    ["an empty X-Forwarded-For", "", outside],
    ["an address that the proxy left out", "198.51.100.7, ", outside],
    ["a word for an address", "198.51.100.7, unknown", outside],
    ["an address with something after it", "198.51.100.7 203.0.113.9", outside],
    ["a range for an address", "198.51.100.0/24", outside],
    ["a port that is none", "198.51.100.7:http", outside],
    ["an address written with leading zeros", "198.051.100.007", outside],
  ])("%s is judged by the caller's own address", async (_name, forwardedFor, code) => {
    expect(await codeFrom(forwardedFor)).toBe(code);
  });

  it.each([
    ["198.51.100.7", "203.0.113.9", outside],
    ["203.0.113.9", "198.51.100.7", inside],
  ])("several X-Forwarded-For fields count in their order: %s, then %s", async (first, second, code) => {
    expect(await rawCode([first, second], "127.0.0.1")).toBe(code);
  });

  it("who connects past the proxies is judged by the connection", async () => {
    expect(await rawCode(["198.51.100.7"], "127.0.0.2")).toBe(outside);
    const scope = { source_ip_allow_list: ["127.0.0.2/32"] };
    await giveMandate(node, business, { scope, fromMs: Date.now() + 1 });
    expect(await rawCode(["203.0.113.9"], "127.0.0.2")).toBe(inside);
    // The trusted proxy itself is not a source, whatever list it is in.
    await giveMandate(node, business, {
      scope: { source_ip_allow_list: ["127.0.0.1/32"] },
      fromMs: Date.now() + 2,
    });
    expect(await codeFrom(null)).toBe(outside);
  });
});

describe("an allow-list of AS numbers", () => {
  afterEach(async () => {
    await node.close();
    vi.unstubAllEnvs();
  });

  it("admits the addresses of those systems by the operator's table", async () => {
    const folder = await mkdtemp(join(tmpdir(), "svc-as-"));
    await writeFile(join(folder, "as.txt"), "198.51.100.0/24 64500\n198.51.100.128/25 64501\n");
    vi.stubEnv("SVC_AS_TABLE", join(folder, "as.txt"));
    await open("127.0.0.1", ["AS64500", "203.0.113.9/32"]);
    expect(await codeFrom("198.51.100.7")).toBe(inside);
    expect(await codeFrom("198.51.100.200")).toBe(outside);
    expect(await codeFrom("203.0.113.9")).toBe(inside);
    expect(await codeFrom("203.0.113.10")).toBe(outside);
    await rm(folder, { recursive: true });
  });

  it("admits nobody without a table", async () => {
    await open("127.0.0.1", ["AS64500"]);
    expect(await codeFrom("198.51.100.7")).toBe(outside);
  });
});

async function rawCode(forwardedFor: readonly string[], localAddress: string): Promise<unknown> {
  const path = "/v1/publish/products";
  const url = node.running.urls.business_url;
  const caller = { key: business.signingKey, grant: "" };
  const { headers } = await signed(url, caller, { path, body: "{", tag: "svc-push" });
  const own = { host: new URL(url).host, "idempotency-key": freshNonce(), "content-length": "1" };
  const lines = forwardedFor.map((each) => `x-forwarded-for: ${each}\r\n`).join("");
  const head = rawHead(`POST ${path}`, { ...own, ...headers });
  const answer = await sendRaw(url, `${head.slice(0, -2)}${lines}\r\n{`, { localAddress });
  return (JSON.parse(answer.body) as { readonly code?: string }).code;
}
