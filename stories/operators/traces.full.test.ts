// Traces of a node, as a collector receives them: from a request to the index that finds what was published.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createBusiness, importSigningKey } from "../../client/index.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import type { Sandbox } from "../../node/sandbox/sandbox-file.ts";
import { type OtlpReceiver, openOtlpReceiver } from "../../node/telemetry/otlp-receiver.fixture.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { indexUnavailable, type RowIndex } from "../../storage/row-index.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const callersSpan = "00f067aa0ba902b7";
const traceparent = `00-${traceId}-${callersSpan}-00`;

/** Every test seeds a sandbox, some two: far more than that takes on a slow machine. */
vi.setConfig({ testTimeout: 240_000, hookTimeout: 120_000 });

let home: string;
let collector: OtlpReceiver;
let node: RunningNode | null;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "svc-traces-"));
  collector = await openOtlpReceiver();
  node = null;
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await node?.[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

async function start(
  settings: Readonly<Record<string, string>>,
  platform: Parameters<typeof startNode>[1] = {},
): Promise<RunningNode> {
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  const started = await startNode({ home, portBase: 0, logLevel: "info" }, platform);
  node = started;
  await started.seeded;
  return started;
}

interface Answer {
  readonly path: string;
  readonly requestId: string | null;
}

/** A sample business, whose requests have a `traceparent` and whose answers are noted. */
async function business(sent: string, answers: Answer[]) {
  const sandbox = JSON.parse(readFileSync(join(home, "sandbox.json"), "utf8")) as Sandbox;
  const key = sandbox.businesses[0]?.integration_keys[0];
  if (key === undefined) throw new Error("The sandbox has no business.");
  return createBusiness({
    businessUrl: sandbox.business_url,
    key: await importSigningKey(key.private_jwk),
    grant: key.grant,
    fetch: async (url, init) => {
      const headers = { ...(init?.headers as Record<string, string>), traceparent: sent };
      const answer = await fetch(url, { ...init, headers });
      answers.push({ path: new URL(String(url)).pathname, requestId: answer.headers.get("request-id") });
      return answer;
    },
  });
}

const product = (id: string) => ({ ...sampleRecords.products, business_product_id: id });
const metric = async (name: string): Promise<number> => {
  const text = await (await fetch(`${node?.urls.ops_url}/metrics`)).text();
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${name} `))
      ?.split(" ")[1],
  );
};

/** What a push does, from its request to the index. */
const published = [
  "POST /v1/publish/products",
  "POST /v1/publish/products > business push.admit",
  "POST /v1/publish/products > integration-key push.charge",
  "POST /v1/publish/products > push push.accept",
  "POST /v1/publish/products > push push.accept > push processInlineChunk",
  "POST /v1/publish/products > push push.accept > push processInlineChunk > business chunk.assign",
  "POST /v1/publish/products > push push.accept > push processInlineChunk > region rows.apply",
  "POST /v1/publish/products > push push.accept > push processInlineChunk > region rows.apply > region applyRows",
  "POST /v1/publish/products > push push.accept > push processInlineChunk > sign versions",
  "POST /v1/publish/products > push push.accept > push processInlineChunk > store versions",
];

describe("a push that is recorded", () => {
  it("is one trace from the request to the index, in the caller's, under the answer's request id", async () => {
    const { config, services } = await start({ SVC_OTLP_ENDPOINT: collector.url, SVC_TRACE_RATIO: "1" });
    const answers: Answer[] = [];
    const from = await business(traceparent, answers);
    const [text, secret] = ["A text that nobody else has", "traced-product-1"];
    const records = [{ ...product(secret), short_description: text }];
    await from.push(records);
    await expect
      .poll(() => collector.roads(traceId), { timeout: 30_000 })
      .toEqual(expect.arrayContaining(published));
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    const request = spans.find(({ name }) => name === published[0]);
    const requestId = answers.find(({ path }) => path === "/v1/publish/products")?.requestId;
    expect(request).toMatchObject({
      parentId: callersSpan,
      attributes: {
        "svc.request_id": requestId,
        "svc.surface": "business",
        "http.route": "/v1/publish/products",
        "http.request.method": "POST",
        "http.response.status_code": 200,
      },
      node: {
        "service.name": "svc",
        "service.instance.id": services.incarnation,
        "svc.region": config.region,
      },
    });
    // The same ids in the line of the log.
    const log = readFileSync(join(home, "node.log"), "utf8").trim().split("\n");
    const lines = log.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter((line) => line["request_id"] === requestId)).toMatchObject([
      { msg: "answered", trace_id: traceId },
    ]);
    // The index is written within the push; each span is dated to the millisecond.
    const [applied, chunk] = ["region applyRows", "push processInlineChunk"].map((name) =>
      spans.find((span) => span.name === name),
    );
    const datedNs = 2_000_000n;
    expect(applied?.startNs).toBeGreaterThanOrEqual((chunk?.startNs ?? 0n) - datedNs);
    expect(applied?.endNs).toBeLessThanOrEqual((chunk?.endNs ?? 0n) + datedNs);
    // TR3: nothing of a record, a key or a grant.
    const said = JSON.stringify(collector.spans, (_key, value) => (typeof value === "bigint" ? "" : value));
    for (const each of [text, secret, "svc_sbxk1", "private", '"d":']) expect(said).not.toContain(each);
    await expect.poll(() => metric("svc_trace_spans_total")).toBeGreaterThan(published.length);
  });

  it("goes on over a restart, from what the push left in its outbox", async () => {
    const settings = { SVC_OTLP_ENDPOINT: collector.url, SVC_TRACE_RATIO: "1" };
    let isAway = false;
    const index = (rows: RowIndex): RowIndex => ({
      apply: async (changes) => {
        if (isAway) throw indexUnavailable("unreachable", "Nobody is there.");
        return rows.apply(changes);
      },
      search: (query) => rows.search(query),
      isFindable: (collection, id) => rows.isFindable(collection, id),
      purge: (collections) => rows.purge(collections),
      count: (collection) => rows.count(collection),
    });
    const first = await start(settings, { index });
    const from = await business(traceparent, []);
    isAway = true;
    // It is answered as settled; only the index has to hear of it.
    from.push([product("late")]).catch(() => {});
    const road = "POST /v1/publish/products > push push.accept > push indexChunk";
    await expect.poll(() => collector.roads(traceId), { timeout: 30_000 }).toContain(road);
    // The metrics say the same: a chunk waits for this region's index.
    const region = `region="${first.config.region}"`;
    expect(await metric(`svc_index_unconfirmed_chunks{${region}}`)).toBe(1);
    expect(await metric(`svc_index_lag_seconds{${region}}`)).toBeGreaterThan(0);
    expect(await metric('svc_actors_outbox_oldest_seconds{kind="push"}')).toBeGreaterThan(0);
    await first[Symbol.asyncDispose]();
    expect(collector.spans.filter(({ name }) => name === "push indexChunk")).not.toContainEqual(
      expect.objectContaining({ failure: null }),
    );
    await start(settings);
    const indexed = () =>
      collector.spans.some(
        ({ name, failure, traceId: its }) =>
          its === traceId && name === "push indexChunk" && failure === null,
      );
    await expect.poll(indexed, { timeout: 30_000 }).toBe(true);
    expect(collector.roads(traceId)).toContain(`${road} > region rows.index > region indexRows`);
    await expect.poll(() => metric(`svc_index_unconfirmed_chunks{${region}}`)).toBe(0);
    const nodes = collector.spans.filter((span) => span.traceId === traceId);
    expect(new Set(nodes.map((span) => span.node["service.instance.id"])).size).toBe(2);
  });
});

describe("what is not recorded", () => {
  it("is everything unless a collector is named: no span, no trace id in the log", async () => {
    const { services } = await start({});
    const from = await business(traceparent.replace(/00$/, "01"), []);
    await from.push([product("untraced")]);
    expect(services.tracing).toBeNull();
    expect(readFileSync(join(home, "node.log"), "utf8")).not.toContain("trace_id");
    expect(await metric("svc_trace_spans_total")).toBe(0);
    expect(collector.spans).toEqual([]);
  });

  it("is left to the node, not to the caller", async () => {
    await start({ SVC_OTLP_ENDPOINT: collector.url, SVC_TRACE_RATIO: "0" });
    const from = await business(traceparent.replace(/00$/, "01"), []);
    await from.push([product("unsampled")]);
    await node?.[Symbol.asyncDispose]();
    node = null;
    expect(collector.spans).toEqual([]);
  });

  it("is a caller's trace that is none: the request begins its own", async () => {
    await start({ SVC_OTLP_ENDPOINT: collector.url, SVC_TRACE_RATIO: "1" });
    await fetch(`${node?.urls.base_url}/v1/search`, {
      method: "POST",
      headers: { traceparent: `${"f".repeat(8_000)}` },
    });
    const refused = () => collector.spans.find(({ name }) => name === "POST /v1/search");
    await expect.poll(refused, { timeout: 30_000 }).toMatchObject({
      parentId: null,
      failure: null,
      attributes: { "http.response.status_code": 401, "svc.problem.code": expect.any(String) },
    });
  });
});

describe("a collector that is away", () => {
  it.each(["refuses", "hangs"] as const)("costs spans and no request if it %s", async (how) => {
    await start({ SVC_OTLP_ENDPOINT: collector.url, SVC_TRACE_RATIO: "1" });
    collector.behave(how);
    const from = await business(traceparent, []);
    await from.push([product("unheard")]);
    const beganMs = performance.now();
    await node?.[Symbol.asyncDispose]();
    node = null;
    // A node that stops does not wait for it for long (SQ3).
    expect(performance.now() - beganMs).toBeLessThan(15_000);
    expect(collector.roads(traceId)).toEqual([]);
  });
});
