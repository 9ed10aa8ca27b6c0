// What the tool server sends: how often, and how much at once.

import { describe, expect, it, vi } from "vitest";
import { callTool } from "./mcp-client.fixture.ts";
import {
  asked,
  connected,
  noRows,
  type Reply,
  search,
  type TestServer,
  testServer,
} from "./tool-server.fixture.ts";

describe("retries", () => {
  const nonceOf = ({ sent }: TestServer, at: number): string =>
    /nonce="([^"]+)"/.exec(sent[at]?.headers["signature-input"] ?? "")?.[1] ?? "";
  const refused = Object.assign(new Error("refused"), { code: "ECONNREFUSED" });

  it.each<[string, Reply]>([
    ["429", { status: 429, headers: { "retry-after": "2" } }],
    ["503", { status: 503, headers: { "retry-after": "2" } }],
    ["502", { status: 502 }],
    ["504", { status: 504 }],
    ["a connection that was refused", { error: refused }],
  ])("follow %s, each signed again", async (_name, reply) => {
    const on = await testServer([reply, { body: noRows }]);
    const { isError } = await asked(on, "search_products", search);
    expect([isError, on.sent.length]).toEqual([false, 2]);
    expect(nonceOf(on, 0)).not.toBe("");
    expect(nonceOf(on, 1)).not.toBe(nonceOf(on, 0));
    if (reply.headers !== undefined) expect(on.waits).toEqual([2_000]);
  });

  it.each<[string, Reply, string, boolean | null]>([
    [
      "a Retry-After over max_delay_ms",
      { status: 503, headers: { "retry-after": "6" }, body: '{"code":"unavailable"}' },
      "unavailable",
      false,
    ],
    ["500", { status: 500, body: '{"code":"internal_error"}' }, "internal_error", false],
    ["a time-out after sending", { error: new DOMException("late", "TimeoutError") }, "unavailable", null],
  ])("do not follow %s", async (_name, reply, code, billable) => {
    const on = await testServer([reply, { body: noRows }]);
    const { body, notes } = await asked(on, "search_products", search);
    expect([body["code"], notes["billable"], on.sent.length]).toEqual([code, billable, 1]);
  });

  it.each<[string, string, Readonly<Record<string, unknown>>, string]>([
    ["a search", "search_products", search, '{"ok":true}'],
    ["a search, in a list", "search_products", search, "[]"],
    ["a record", "fetch", { record_id: `svc_${"a".repeat(26)}` }, '{"ok":true}'],
  ])(
    "an answer of 200 that is not that of %s is told apart, and nobody knows whether it is billed",
    async (_, tool, args, body) => {
      const on = await testServer([{ body }]);
      const answer = await asked(on, tool, args);
      expect([answer.isError, answer.body["code"], answer.notes["billable"]]).toEqual([
        true,
        "unavailable",
        null,
      ]);
      expect(on.sent).toHaveLength(1);
    },
  );

  it("end after max_attempts", async () => {
    const on = await testServer([{ status: 502 }], { retry: { max_attempts: 2 } });
    expect((await asked(on, "terms")).isError).toBe(true);
    expect(on.sent).toHaveLength(2);
  });
});

describe("calls and reads of resources (T1)", () => {
  it("run eight at once, wait up to a number, and are then refused", async () => {
    const gate = Promise.withResolvers<void>();
    const on = await testServer([{ body: noRows, until: gate.promise }]);
    await using own = await connected(on);
    await using other = await connected(on);
    const [served, refused] = [8 + 256, 6];
    const outcomes: boolean[] = [];
    const asked = Array.from({ length: served + refused }, async (_, at) => {
      const work =
        at % 2 === 0
          ? callTool(own, "search_products", search).then(({ isError }) => !isError)
          : other.client.readResource({ uri: "masterdb://spec" }).then(() => true);
      outcomes.push(await work.catch((error: Error) => !error.message.includes("too many calls at once")));
    });
    const counts = () => [outcomes.filter((isServed) => !isServed).length, outcomes.length, on.sent.length];
    await vi.waitFor(() => expect(counts()).toEqual([refused, refused, 8]), { timeout: 30_000 });
    gate.resolve();
    await Promise.all(asked);
    expect(outcomes.filter(Boolean)).toHaveLength(served);
  });
});
