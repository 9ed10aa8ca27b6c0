import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { SvcConnectionError, SvcProblemError } from "./errors.ts";
import { answerBytesMax, createSender, type Fetch, type SenderOptions } from "./sender.ts";
import { generatePrivateJwk, parseSigningKey, type SigningKey } from "./signing-key.ts";

let key: SigningKey;
beforeAll(async () => {
  const parsed = await parseSigningKey(await generatePrivateJwk("Ed25519"));
  if (!parsed.ok) throw new Error(parsed.detail);
  key = parsed.value;
});

type Step = (() => Response) | Error;

function problem(status: number, code: string, headers: Record<string, string> = {}): () => Response {
  return () => new Response(JSON.stringify({ code, detail: "No." }), { status, headers });
}

const served = () => new Response('{"ok":true}');

function refusedConnection(): Error {
  const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
  return new TypeError("fetch failed", { cause: new AggregateError([cause, cause]) });
}

/** A sender with scripted answers that records what was sent and how long it waited. */
function scripted(steps: readonly Step[], options: Partial<SenderOptions> = {}) {
  const sent: { url: string; headers: Record<string, string> }[] = [];
  const waited: number[] = [];
  const fetch: Fetch = async (url, init) => {
    const step = steps[sent.length];
    sent.push({ url, headers: init.headers });
    if (step instanceof Error) throw step;
    if (step === undefined) throw new Error("nothing is scripted");
    return step();
  };
  const send = createSender({
    fetch,
    key,
    wait: async (delayMs) => void waited.push(delayMs),
    now: () => 1_700_000_000_000,
    ...options,
  });
  const request = { method: "GET", url: "http://127.0.0.1:1/v1/x", tag: "svc-retrieval" } as const;
  return { sent, waited, send: () => send(request) };
}

describe("a sender", () => {
  it("has the platform's own fetch unless it is given another", async () => {
    const server = createServer((_, answer) => answer.end("{}")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const asked = createSender({ key: null })({ method: "GET", url: `http://127.0.0.1:${port}/`, tag: null });
    await expect(asked).resolves.toMatchObject({ status: 200, text: "{}" });
    server.close();
  });

  it("reads no more of an answer than one may have, however little was sent, and does not ask again", async () => {
    let given = 0;
    const endless = (): Response =>
      new Response(
        new ReadableStream({
          pull: (stream) => {
            given += 1_048_576;
            stream.enqueue(new Uint8Array(1_048_576).fill(32));
          },
        }),
      );
    const run = scripted([endless]);
    await expect(run.send()).rejects.toThrow(SvcProblemError);
    expect(given).toBeLessThan(answerBytesMax + 4 * 1_048_576);
    expect(run.sent).toHaveLength(1);
  });

  it("tries again what was not served, each time signed anew", async () => {
    const run = scripted([problem(503, "unavailable", { "retry-after": "2" }), refusedConnection(), served]);
    expect((await run.send()).text).toBe('{"ok":true}');
    expect(run.waited).toEqual([2_000, 400]);
    const nonces = run.sent.map(
      ({ headers }) => /nonce="([^"]+)"/.exec(headers["signature-input"] ?? "")?.[1],
    );
    expect(new Set(nonces).size).toBe(3);
    for (const nonce of nonces) expect(nonce).toMatch(/^[A-Za-z0-9_-]{43}$/);
  });

  it.each([
    ["429", problem(429, "rate_limited", { "retry-after": "0" })],
    ["502", problem(502, "unavailable")],
    ["504", problem(504, "unavailable")],
  ])("tries a %s again", async (_, step) => {
    const run = scripted([step, served]);
    expect((await run.send()).status).toBe(200);
  });

  it("does not wait longer than it was allowed to, and says how long it would have been", async () => {
    const run = scripted([problem(429, "rate_limited", { "retry-after": "3600" }), served]);
    await expect(run.send()).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 3_600 });
    expect(run.sent).toHaveLength(1);
  });

  it.each([
    ["a refusal", problem(422, "seal_invalid")],
    ["an internal error", problem(500, "internal_error")],
    [
      "a connection lost after sending",
      Object.assign(new TypeError("fetch failed"), {
        cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }),
      }),
    ],
    ["a timeout after sending", new DOMException("The operation was aborted due to timeout", "TimeoutError")],
  ])("never tries again after %s", async (_, step) => {
    const run = scripted([step, served]);
    await expect(run.send()).rejects.toThrow();
    expect(run.sent).toHaveLength(1);
  });

  it("gives up after the attempts it has", async () => {
    const run = scripted([refusedConnection(), refusedConnection(), refusedConnection(), served]);
    const error = await run.send().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SvcConnectionError);
    expect(error).toMatchObject({ effect: "not_applied" });
    expect(run.sent).toHaveLength(3);
  });

  it("tells problems as they were told", async () => {
    const answer = { code: "seal_invalid", detail: "Stale.", ai_policy_version: 4 };
    const run = scripted([() => new Response(JSON.stringify(answer), { status: 422 })]);
    const error = await run.send().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(SvcProblemError);
    expect(error).toMatchObject({ status: 422, code: "seal_invalid", detail: "Stale.", problem: answer });
  });

  it("knows by how much its clock is ahead of the service's, or behind", async () => {
    for (const [date, clockAheadSeconds] of [
      ["Tue, 14 Nov 2023 22:13:20 GMT", 0],
      ["Tue, 14 Nov 2023 22:09:20 GMT", 240],
      ["Tue, 14 Nov 2023 22:23:20 GMT", -600],
      ["nonsense", null],
    ] as const) {
      const run = scripted([problem(401, "signature_expired", { date })]);
      await expect(run.send()).rejects.toMatchObject({ clockAheadSeconds });
    }
  });

  it("does not take a page of a proxy for a problem", async () => {
    const run = scripted([() => new Response("<html>", { status: 403 })]);
    await expect(run.send()).rejects.toMatchObject({ status: 403, code: "unexpected_answer" });
  });

  it("sends the sandbox grant with signed requests only", async () => {
    const run = scripted([served], { grant: "svc_sbxk1.a.b" });
    await run.send();
    expect(run.sent[0]?.headers["svc-sandbox-key"]).toBe("svc_sbxk1.a.b");
    const unsigned: Record<string, string>[] = [];
    const send = createSender({
      fetch: async (_, init) => {
        unsigned.push(init.headers);
        return served();
      },
      key: null,
      grant: "svc_sbxk1.a.b",
    });
    await send({ method: "GET", url: "http://127.0.0.1:1/v1/x", tag: null });
    expect(unsigned[0]).not.toHaveProperty("svc-sandbox-key");
    expect(unsigned[0]).not.toHaveProperty("signature");
  });
});
