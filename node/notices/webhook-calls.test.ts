// Calls to endpoints, over DNS and HTTPS of domains on loopback.

import type { RequestListener } from "node:http";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { LogEntry } from "../../actors/system/ports.ts";
import type { WebhookBody } from "../../protocol/wire/webhook.ts";
import { type DomainServers, startDomainServers, switching } from "../domains/domain-servers.fixture.ts";
import { createWebhookCalls, type WebhookCallsDeps } from "./webhook-calls.ts";
import { createWebhookKeys } from "./webhook-keys.ts";
import { isSigned, type Received, receiving } from "./webhook-receiver.fixture.ts";

const host = "hooks.shop.example";
const url = `https://${host}/in/secret-path`;
const actor = "webhook/b.whk_1";
const body: WebhookBody = {
  v: 1,
  id: `whd_${"0".repeat(32)}`,
  kind: "push.ended",
  business_uuid: "00000000-0000-4000-8000-000000000001",
  push_id: `bat_${"0".repeat(24)}`,
  at: "2026-01-01T00:00:00.000Z",
};
const keys = createWebhookKeys(new Uint8Array(32).fill(7));

let servers: DomainServers;
let received: Received[];
let logged: LogEntry[];
beforeEach(async () => {
  servers = await startDomainServers([host]);
  servers.dns.a.set(host, ["127.0.0.1"]);
  [received, logged] = [[], []];
});
afterEach(() => servers[Symbol.asyncDispose]());

const answerBy = (answer: RequestListener): void => {
  servers.answer = receiving(received, answer);
};
const answerWith = (status: number, headers: Record<string, string> = {}): void =>
  answerBy((_request, response) => void response.writeHead(status, headers).end("x"));
const open = (changes: Partial<WebhookCallsDeps> = {}) =>
  createWebhookCalls({
    resolving: servers.options,
    keys,
    clock: { now: Date.now },
    log: (entry) => logged.push(entry),
    ...changes,
  });
const call = (changes: Partial<WebhookCallsDeps> = {}, to = url) =>
  open(changes).call({ actor, url: to, body });

describe("a call", () => {
  it("is signed under its own tag, as another implementation verifies, and each attempt anew", async () => {
    answerWith(204);
    const calls = open();
    for (const _ of [1, 2])
      expect(await calls.call({ actor, url, body })).toEqual({ failure: null, status: 204 });
    const published = keys.publishedAt(Date.now());
    expect(published).toHaveLength(3);
    for (const each of received) {
      expect([each.url, each.body]).toEqual([url, body]);
      expect(await isSigned(each, published)).toBe(true);
      expect(await isSigned({ ...each, url: `https://${host}/else` }, published)).toBe(false);
      expect(await isSigned(each, createWebhookKeys(new Uint8Array(32)).publishedAt(Date.now()))).toBe(false);
    }
    const [first, second] = received.map(({ headers }) => headers["signature-input"]);
    expect([first === second, received.length]).toEqual([false, 2]);
    expect(first).toMatch(
      /^sig1=\("@method" "@authority" "@path" "content-digest"\);created=\d+;expires=\d+;nonce="[\w-]{43}";keyid="[\w-]{43}";tag="svc-webhook"$/,
    );
  });

  it.each([
    [200, null],
    [202, null],
    [301, "redirect"],
    [307, "redirect"],
    [400, "status"],
    [410, "status"],
    [503, "status"],
  ])("that is answered with %i is %j, and never sent elsewhere (C3, WC1)", async (status, failure) => {
    servers.dns.a.set("else.example", ["127.0.0.1"]);
    answerWith(status, { location: url });
    expect(await call()).toEqual({ failure, status });
    expect(received).toHaveLength(1);
  });

  it("takes no endless answer: its status counts, and the connection ends (WC2)", async () => {
    const ended = Promise.withResolvers<void>();
    answerBy((_request, response) => {
      response.on("close", () => ended.resolve());
      const more = (): void => {
        while (!response.destroyed && response.write("x".repeat(4_096)));
        if (!response.destroyed) response.once("drain", more);
      };
      response.writeHead(200);
      more();
    });
    // Nothing but its length ends it here.
    expect(await call({ limits: { wholeMs: 600_000 } })).toEqual({ failure: null, status: 200 });
    await ended.promise;
  });

  it("waits for no slow answer, and for no slow end of one (WC2)", async () => {
    answerBy(() => {});
    expect(await call({ limits: { wholeMs: 300 } })).toEqual({ failure: "slow", status: null });
    answerBy((_request, response) => void response.writeHead(200).write("x"));
    expect(await call({ limits: { wholeMs: 300 } })).toEqual({ failure: null, status: 200 });
  });

  it("fails where the server switches protocols, or sends many interim answers (C4)", async () => {
    answerBy((_request, { socket }) => void socket?.end(switching));
    expect(await call({ limits: { wholeMs: 600_000 } })).toEqual({ failure: "unreachable", status: null });
    const ended = Promise.withResolvers<void>();
    const interim = (count: number) =>
      answerBy((_request, response) => {
        for (let sent = 0; sent < count; sent += 1) response.writeProcessing();
        if (count === 8) response.writeHead(200).end();
        else response.on("close", () => ended.resolve());
      });
    interim(8);
    expect(await call()).toEqual({ failure: null, status: 200 });
    interim(9);
    expect(await call({ limits: { wholeMs: 600_000 } })).toEqual({ failure: "unreachable", status: null });
    await ended.promise;
  });

  it("looks a name up once, and goes where that led (C2)", async () => {
    answerWith(200);
    await call();
    // One question for each family of addresses.
    expect(servers.dns.asked).toEqual([host, host]);
  });

  it("goes to no address that is not public, which a name has (C2)", async () => {
    answerWith(200);
    const { resolvers } = servers.options;
    for (const address of [
      "127.0.0.1",
      "10.0.0.1",
      "100.64.0.1",
      "169.254.169.254",
      "192.168.1.1",
      "224.0.0.1",
    ]) {
      servers.dns.a.set(host, [address]);
      expect(await call({ resolving: { resolvers } })).toEqual({ failure: "private_address", status: null });
    }
    expect(received).toEqual([]);
  });

  it.each(["127.0.0.1", "127.1", "2130706433", "[::1]", "[::ffff:10.0.0.1]", "192.0.2.1"])(
    "goes to no address in place of a name, such as %s (C2)",
    async (literal) => {
      answerWith(200);
      expect(await call({}, `https://${literal}/in`)).toEqual({ failure: "private_address", status: null });
      expect(received).toEqual([]);
    },
  );

  it("needs a certificate that is valid for the name", async () => {
    answerWith(200);
    servers.dns.a.set("other.example", ["127.0.0.1"]);
    expect(await call({}, "https://other.example/in")).toEqual({ failure: "tls", status: null });
    expect(received).toEqual([]);
  });

  it("says why it reached nobody", async () => {
    const { local, resolvers } = servers.options;
    expect(await call({}, "https://nowhere.example/in")).toEqual({ failure: "no_address", status: null });
    expect(await call({ resolving: { resolvers, local: { ...local, port: 1 } } })).toEqual({
      failure: "unreachable",
      status: null,
    });
  });

  it("is counted, and logged without the address (WC3)", async () => {
    const calls = open();
    answerWith(200);
    await calls.call({ actor, url, body });
    answerWith(500);
    await calls.call({ actor, url, body });
    expect(calls.readings().map(({ name, value }) => [name, value])).toEqual([
      ["svc_webhook_calls_total", 2],
      ["svc_webhook_calls_failed_total", 1],
    ]);
    expect(logged).toEqual([
      { level: "info", event: "webhook.delivered", actor, detail: `${body.id}: 200` },
      { level: "warn", event: "webhook.not_delivered", actor, detail: `${body.id}: 500` },
    ]);
  });
});

describe("the keys (WK1)", () => {
  it("change every ninety days, and each is published before it signs and after", () => {
    const dayMs = 86_400_000;
    const signed = new Set<string>();
    for (let day = 0; day < 1_000; day += 10) {
      const nowMs = Date.UTC(2026, 0, 1) + day * dayMs;
      const { keyId } = keys.signerAt(nowMs);
      signed.add(keyId);
      const published = keys.publishedAt(nowMs);
      const own = published.find(({ kid }) => kid === keyId);
      expect(own !== undefined && own.nbf * 1_000 <= nowMs && nowMs < own.exp * 1_000).toBe(true);
      for (const offset of [-90, 90])
        expect(published.map(({ kid }) => kid)).toContain(keys.signerAt(nowMs + offset * dayMs).keyId);
    }
    expect(signed.size).toBeGreaterThanOrEqual(11);
    expect(createWebhookKeys(new Uint8Array(32).fill(7)).signerAt(0).keyId).toBe(keys.signerAt(0).keyId);
  });
});
