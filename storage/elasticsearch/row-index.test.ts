// What the index does with a cluster that fails, in whole or in part. No engine is needed.

import { describe, expect, it, vi } from "vitest";
import { collectionNames } from "../../protocol/identifiers.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { brokenRowIndexConformance } from "../row-index.conformance.ts";
import { recordIdFor } from "../row-index.fixture.ts";
import type { RowChange, RowQuery } from "../row-index.ts";
import { rebuildIndex } from "./rebuild.ts";
import { ElasticRowIndex } from "./row-index.ts";
import { openStubCluster, type StubReply, type StubRequest } from "./stub-cluster.fixture.ts";

const generation = "svc-stub-products-000001";
const aliases = {
  [generation]: { aliases: { "svc-stub-products": { is_write_index: true }, [`${generation}.rows`]: {} } },
};
/** Nothing needs what was deleted in it. */
const copyWithout = {
  seq_no: { max_seq_no: 1 },
  merges: { current: 0 },
  retention_leases: { leases: [{ retaining_seq_no: 2 }] },
};
const whole = { _shards: { failed: 0 } };

/** A healthy cluster without rows, except for what `broken` answers. */
function healthy({ path, body }: StubRequest): StubReply {
  if (path.includes("/_alias")) return { body: aliases };
  if (path.includes("/_search")) return { body: { ...whole, timed_out: false } };
  if (path.includes("/_count")) return { body: { ...whole, count: 0 } };
  if (path.includes("/_refresh")) return { body: whole };
  return { body: { items: itemsOf(body, { status: 201 }) } };
}

/** One for each row of a bulk request. */
function itemsOf(body: string, index: unknown): readonly unknown[] {
  const rows = body.split("\n").filter((line) => line.startsWith('{"index"'));
  return rows.map(() => ({ index }));
}

async function open(
  reply: (request: StubRequest) => StubReply,
  options: { readonly searchTimeoutMs?: number; readonly writeTimeoutMs?: number } = {},
) {
  const cluster = await openStubCluster(reply);
  const index = new ElasticRowIndex({ nodes: [cluster.url], prefix: "svc-stub-", ...options });
  return {
    index,
    cluster,
    close: async () => {
      await index.close();
      await cluster.close();
    },
  };
}

function error(status: number, type: string): StubReply {
  return { status, body: { error: { type, reason: "a reason" }, status } };
}

/** Every work request gets this answer; the requests that lead to it are healthy. */
function everywhere(answer: StubReply): () => ReturnType<typeof open> {
  return () => open((request) => (request.path.includes("/_alias") ? healthy(request) : answer));
}

const timeouts = { searchTimeoutMs: 50, writeTimeoutMs: 50 };

brokenRowIndexConformance("Elasticsearch", {
  "no connection": async () => {
    const opened = await open(healthy);
    await opened.cluster.close();
    return { index: opened.index, close: () => opened.index.close() };
  },
  "connections closed": everywhere("reset"),
  "no answer in time": () => open(() => "hang", timeouts),
  "too many requests": everywhere(error(429, "es_rejected_execution_exception")),
  "all shards failed": everywhere(error(503, "search_phase_execution_exception")),
  "no master": everywhere(error(503, "master_not_discovered_exception")),
  "a gateway's page": everywhere({ status: 502, body: "<html>" }),
  "an index that is missing": everywhere(error(404, "index_not_found_exception")),
  "not allowed": everywhere(error(403, "security_exception")),
  "no JSON": everywhere({ body: "{" }),
  "an empty object": everywhere({ body: {} }),
  "another shape": everywhere({ body: { _shards: 1, items: [{}], count: "1", hits: { hits: [{}] } } }),
  "a failed shard": () =>
    open((request) => {
      const answer = healthy(request);
      return typeof answer === "object" && !request.path.includes("_alias")
        ? { body: { ...(answer.body as object), _shards: { failed: 1 } } }
        : answer;
    }),
  "no serving generation": () =>
    open((request) =>
      request.path.includes("/_alias") ? { body: {} } : error(404, "index_not_found_exception"),
    ),
});

const query: RowQuery = {
  collection: "products",
  country: "US",
  clauses: [],
  sort: [{ field: "published_at", direction: "desc" }],
  limit: 50,
  excludeBusinesses: [],
};

function put(n: number, change = 1): RowChange {
  return {
    kind: "put",
    collection: "products",
    record_id: recordIdFor("products", 1, n),
    business_uuid: "b",
    generation: change,
    change,
    row: JSON.stringify({ n, countries: ["US"] }),
  };
}

async function withCluster(
  reply: (request: StubRequest) => StubReply,
  run: (opened: Awaited<ReturnType<typeof open>>) => Promise<void>,
): Promise<void> {
  const opened = await open(reply);
  try {
    await run(opened);
  } finally {
    await opened.close();
  }
}

describe("the index in Elasticsearch", () => {
  it("takes a search that was cut short for none (X5)", () =>
    withCluster(
      (request) =>
        request.path.includes("/_search") ? { body: { ...whole, timed_out: true } } : healthy(request),
      async ({ index }) => {
        await expect(index.search(query)).rejects.toMatchObject({
          reason: "index",
          message: expect.stringMatching(/^timeout: /),
        });
      },
    ));

  it("looks at every item of a bulk answer (B2)", async () => {
    const late = { status: 429, error: { type: "es_rejected_execution_exception", reason: "full" } };
    const conflict = { status: 409, error: { type: "version_conflict_engine_exception", reason: "newer" } };
    const bad = { status: 400, error: { type: "document_parsing_exception", reason: "bad" } };
    const answering =
      (items: readonly object[]) =>
      (request: StubRequest): StubReply =>
        request.path.includes("/_bulk")
          ? { body: { items: items.map((index) => ({ index })) } }
          : healthy(request);
    const ok = { status: 201 };
    for (const [items, expected] of [
      [
        [ok, conflict, { status: 200 }],
        ["applied", "stale", "applied"],
      ],
      [[ok, ok, late], "Unavailable"],
      [[ok, ok], "Unavailable"],
      [[ok, bad, ok], "EngineRefusal"],
    ] as const) {
      await withCluster(answering(items), async ({ index }) => {
        const told = await index
          .apply([put(1), put(2), put(3)])
          .catch((failure: unknown) => (failure instanceof Error ? failure.name : failure));
        expect(told).toEqual(expected);
      });
    }
  });

  it("sends the changes of one record in one request, in their order, and bounds requests (B1)", () =>
    withCluster(healthy, async ({ index, cluster }) => {
      const many = Array.from({ length: 2_500 }, (_, n) => put(n + 200));
      const outcomes = await index.apply([put(1), ...many, put(1, 2), put(2), put(1, 3)]);
      expect(outcomes).toHaveLength(2_504);
      const sent = cluster.requests.filter(({ path }) => path.includes("/_bulk")).map(({ body }) => body);
      expect(sent).toHaveLength(3);
      const first = put(1).record_id;
      const withFirst = sent.filter((body) => body.includes(`"${first}"`));
      expect(withFirst).toHaveLength(1);
      const versions = [...(withFirst[0] ?? "").matchAll(/"_id":"([^"]*)","version":(\d+)/g)]
        .filter(([, found]) => found === first)
        .map(([, , version]) => version);
      expect(versions).toEqual(["1", "2", "3"]);
    }));

  it("answers once a refresh that began after the writing is done, also for what was stale (X4, V1)", () => {
    const conflict = { status: 409, error: { type: "version_conflict_engine_exception", reason: "newer" } };
    return withCluster(
      (request) =>
        request.path.includes("/_bulk")
          ? { body: { items: itemsOf(request.body, conflict) } }
          : healthy(request),
      async ({ index, cluster }) => {
        expect(await Promise.all([1, 2, 3, 4].map((n) => index.apply([put(n)])))).toEqual(
          Array.from({ length: 4 }, () => ["stale"]),
        );
        const order = cluster.requests.map(({ path }) => /_bulk|_refresh/.exec(path)?.[0]).filter(Boolean);
        expect(order.lastIndexOf("_refresh")).toBeGreaterThan(order.lastIndexOf("_bulk"));
        expect(order.filter((each) => each === "_refresh").length).toBeLessThan(4);
      },
    );
  });

  it("says which of its indices take no writes, and why, while it answers searches", async () => {
    let settings: object = { "svc-stub-products-000001": { settings: {} } };
    await withCluster(
      (request) => (request.path.includes("/_settings") ? { body: settings } : healthy(request)),
      async ({ index }) => {
        expect(await index.writeBlock()).toBe(null);
        const full = { "index.blocks.read_only_allow_delete": "true", "index.blocks.write": "false" };
        settings = { ...settings, "svc-stub-events-000002": { settings: full } };
        expect(await index.writeBlock()).toMatch(
          /^svc-stub-events-000002 has read_only_allow_delete: make room/,
        );
        expect(await index.search(query)).toEqual([]);
      },
    );
  });

  it("purges for all who asked before a merge began, and waits for one that takes longer than any request (X7)", async () => {
    let looks = 0;
    const slow = (request: StubRequest): StubReply => {
      const { path } = request;
      if (path.includes("/_forcemerge"))
        return path.includes("wait_for_completion=false") ? { body: { task: "node:7" } } : "hang";
      if (path.includes("/_tasks/node:7")) {
        looks += 1;
        return { body: looks % 20 === 0 ? { completed: true, response: whole } : { completed: false } };
      }
      if (path.includes("/_stats"))
        return { body: { indices: { [generation]: { shards: { 0: [copyWithout] } } } } };
      return path.includes("/_alias") ? { body: aliases } : { body: {} };
    };
    const cluster = await openStubCluster(slow);
    const index = new ElasticRowIndex({
      nodes: [cluster.url],
      prefix: "svc-stub-",
      writeTimeoutMs: 2_000,
      wait: async () => {},
    });
    await Promise.all(Array.from({ length: 100 }, () => index.purge(["products"])));
    // The first asked before the others: they share one that began after them.
    const merges = cluster.requests.filter(({ path }) => path.includes("/_forcemerge"));
    expect([merges.length, looks]).toEqual([2, 40]);
    await index.close();
    await cluster.close();
  });

  it("asks another node of the cluster where one is not reached, and no node twice to write (N2)", async () => {
    const alive = await openStubCluster(healthy);
    const dead = await openStubCluster(() => "reset");
    const index = new ElasticRowIndex({ nodes: [dead.url, alive.url], prefix: "svc-stub-" });
    for (let n = 0; n < 4; n += 1) expect(await index.search(query)).toEqual([]);
    await index.close();
    await alive.close();
    await dead.close();
    await withCluster(
      (request) => (request.path.includes("/_bulk") ? "reset" : healthy(request)),
      async ({ index: written, cluster }) => {
        await expect(written.apply([put(1)])).rejects.toBeInstanceOf(Unavailable);
        expect(cluster.requests.filter(({ path }) => path.includes("/_bulk"))).toHaveLength(1);
      },
    );
  });

  it("makes no index that nobody has built, and refuses to search it, saying when to ask again (W1, E2)", () =>
    withCluster(
      ({ path }) => (path.includes("/_alias") ? { body: {} } : error(404, "index_not_found_exception")),
      async ({ index, cluster }) => {
        expect(await index.prepare()).toEqual(new Map());
        expect(await index.missing()).toEqual(collectionNames);
        const refused = { reason: "index", retryAfterSeconds: 5 };
        await expect(index.search(query)).rejects.toMatchObject(refused);
        await expect(index.isFindable("products", put(1).record_id)).rejects.toMatchObject(refused);
        await expect(index.count("products")).rejects.toMatchObject(refused);
        await expect(index.apply([put(1)])).rejects.toMatchObject({ reason: "index" });
        expect(cluster.requests.filter(({ method }) => method === "PUT")).toEqual([]);
      },
    ));

  it("writes a change to the first generation while that is built, and confirms it once it serves (E2)", () => {
    let alias = "svc-stub-products.next";
    return withCluster(
      (request) =>
        request.path.includes("/_alias")
          ? { body: { [generation]: { aliases: { [alias]: {}, [`${generation}.rows`]: {} } } } }
          : healthy(request),
      async ({ index, cluster }) => {
        const sent = (part: string) => cluster.requests.filter(({ path }) => path.includes(part)).length;
        await expect(index.apply([put(1)])).rejects.toMatchObject({ reason: "index" });
        expect([sent("/_bulk"), sent("/_alias")]).toEqual([1, 2]);
        expect((await index.missing()).includes("products")).toBe(true);
        alias = "svc-stub-products";
        expect(await index.apply([put(1)])).toEqual(["applied"]);
        expect((await index.missing()).includes("products")).toBe(false);
      },
    );
  });

  it("is shown to be built also while its builder reads nothing of its collection (G3)", () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const reading = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const source = (async function* () {
      reading.resolve();
      await ended.promise;
      yield put(1);
    })();
    let nowMs = 1_000;
    return withCluster(
      (request) => {
        if (request.path.includes("/_alias") && request.method === "GET") return { body: {} };
        if (request.path.includes("/_cluster/health")) return { body: { timed_out: false } };
        if (request.path.includes("/_bulk") || request.path.includes("/_refresh")) return healthy(request);
        return { body: { acknowledged: true } };
      },
      async ({ index, cluster }) => {
        const built = rebuildIndex(index, { collection: "products", source, nowMs: () => nowMs });
        await reading.promise;
        nowMs += 15_000;
        vi.advanceTimersByTime(15_000);
        ended.resolve();
        expect(await built).toMatchObject({ ok: true, value: { changes: 1 } });
        const notes = cluster.requests.filter(({ path }) => path.includes("/_mapping"));
        expect(notes.map(({ body }) => /"built_at_ms":(\d+)/.exec(body)?.[1])).toEqual(["16000", undefined]);
      },
    ).finally(() => vi.useRealTimers());
  });
});
