import { describe, expect, it } from "vitest";
import type { ClusterOps } from "./cluster.ts";
import type { ActorDetail } from "./inspection-shapes.ts";
import { createMetrics, processMetrics } from "./metrics.ts";
import { act, authorization, noInspection, noPurges, openOps, report, token } from "./ops.fixture.ts";
import type { ClusterState } from "./shapes.ts";

describe("operators", () => {
  it.each([
    ["/healthz", 200, { status: "ok" }],
    ["/readyz", 200, { ready: true, checks: { store: "ok" } }],
    ["/ops/actors/push/bat_1", 200, report],
    ["/ops/actors/push/bat_2", 404, { code: "not_found" }],
    ["/nowhere", 404, { code: "not_found" }],
    ["/openapi.json", 200, { openapi: "3.1.0" }],
  ])("%s answers %i", async (url, status, members) => {
    const answer = await openOps().inject({ method: "GET", url });
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject(members);
    expect(answer.headers["request-id"]).toMatch(/^ops-t-/);
  });

  it.each(["/healthz", "/nowhere", "/ops/actors?limit=x", "/%", "/ui/"])(
    "are answered what no browser keeps or takes for another media type: %s",
    async (url) => {
      const { headers } = await openOps().inject({ url });
      expect(headers).toMatchObject({ "cache-control": "no-store", "x-content-type-options": "nosniff" });
    },
  );

  it("are shown the pushes that stall, a hundred at most", async () => {
    const push = {
      push_id: "bat_1",
      business_uuid: "10000000-0000-4000-8000-000000000001",
      records: 400,
      settled: 200,
      regions: ["us-east1"],
      since: "2026-11-20T03:00:00.000Z",
    };
    const server = openOps({ stalledPushes: () => Array.from({ length: 101 }, () => push) });
    const { pushes } = (await server.inject("/ops/stalled-pushes")).json();
    expect([pushes.length, pushes[0]]).toEqual([100, push]);
    expect((await openOps().inject("/ops/stalled-pushes")).json()).toEqual({ pushes: [] });
  });

  it("are shown late purges, and the deletions of a business in pages", async () => {
    const late = {
      business_uuid: "10000000-0000-4000-8000-000000000001",
      purges: 2,
      waits_for: "region" as const,
      regions: ["us-east1"],
      push_id: null,
      detail: "The index of region us-east1 has not purged yet.",
      oldest_deleted_at: "2026-10-20T03:00:00.000Z",
      limit_at: "2026-11-19T03:00:00.000Z",
    };
    const asked: unknown[] = [];
    const server = openOps({
      purges: {
        ...noPurges,
        late: () => Array.from({ length: 101 }, () => late),
        ofBusiness: async (uuid, after) => {
          asked.push([uuid, after]);
          return { purges: [], next_after: after === 0 ? 250 : null };
        },
      },
    });
    const answer = (await server.inject("/ops/purges")).json();
    expect([answer.late.length, answer.late[0]]).toEqual([100, late]);
    expect((await server.inject("/ops/purges/u")).json()).toEqual({
      business_uuid: "u",
      purges: [],
      next_after: 250,
    });
    expect((await server.inject("/ops/purges/u?after=250")).json()).toMatchObject({ next_after: null });
    expect(asked).toEqual([
      ["u", 0],
      ["u", 250],
    ]);
    expect((await server.inject("/ops/purges/u?after=x")).json()).toMatchObject({ code: "request_invalid" });
  });

  it("each member of a request that names an actor counts", async () => {
    const server = openOps();
    for (const query of ["before=x", "after=a&after=b"]) {
      const refused = await server.inject(`/ops/actors?${query}`);
      expect([refused.statusCode, refused.json().code]).toEqual([400, "request_invalid"]);
    }
    for (const [kind, id, status] of [
      ["push", "bat_1", 200],
      ["push", "bat_2", 404],
      ["region", "bat_1", 404],
    ])
      expect((await server.inject(`/ops/actors/${kind}/${id}`)).statusCode).toBe(status);
  });

  it.each(["/healthz", "/readyz", "/metrics", "/ops/counts", "/openapi.json", "/nowhere"])(
    "may ask with HEAD whatever they may read: %s",
    async (url) => {
      const get = await openOps().inject({ method: "GET", url });
      const head = await openOps().inject({ method: "HEAD", url });
      expect([head.statusCode, head.body]).toEqual([get.statusCode, ""]);
      for (const name of ["content-type", "content-length", "cache-control"])
        expect(head.headers[name]).toBe(get.headers[name]);
    },
  );

  it("are told 503 while the node is not ready, or cannot tell", async () => {
    const notReady = async () => ({
      ready: false,
      degraded: [],
      checks: { store: "unreachable" },
      plain_text: [],
    });
    expect(await openOps({ ready: notReady }).inject("/readyz")).toMatchObject({ statusCode: 503 });
    const broken = async () => Promise.reject(new Error("no store"));
    const answer = await openOps({ ready: broken }).inject("/readyz");
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      { ready: false, degraded: [], checks: { readiness: "Error: no store" }, plain_text: [] },
    ]);
  });

  it("read an actor whose id has characters of its own", async () => {
    const asked: object[] = [];
    const detail = async (ref: object): Promise<ActorDetail> => {
      asked.push({ ...ref });
      return report;
    };
    await openOps({ inspection: { ...noInspection, detail } }).inject(
      "/ops/actors/integration-key/abc%40eu-west1",
    );
    expect(asked).toEqual([{ kind: "integration-key", id: "abc@eu-west1" }]);
  });
});

describe("operators of a cluster", () => {
  const said: unknown[] = [];
  const outcome = (...what: readonly (string | null)[]): Promise<string> => {
    said.push(what);
    return Promise.resolve(what.includes("xx-nowhere1") ? "region_unknown" : String(what[0]));
  };
  const cluster: ClusterOps = {
    state: () => clusterState,
    move: (party, to) => outcome("moved", party, to),
    declareDead: ({ region, successor, force }) =>
      force || region !== "eu-west2"
        ? outcome("declared", region, successor)
        : Promise.resolve({ outcome: "still_beats", detail: "10.0.0.5:7401 still beats." }),
    putIn: (region) => outcome("put_in", region),
    rejoin: (region) => outcome("rejoined", region),
    rebuild: (collection) => outcome("begun", collection),
    supplyCheckpoint: (note) =>
      note.startsWith("svc.test/log")
        ? outcome("taken", note)
        : Promise.resolve({ outcome: "checkpoint_invalid", detail: "It is of another log." }),
  };
  const clusterState: ClusterState = {
    region: "eu-west1",
    self: null,
    holds_lease: false,
    regions: [],
    transport: null,
    fence_refusals: [],
  };
  const party = "6f1c0a2e-0000-4000-8000-000000000001";

  it.each([
    ["moves", { party, to: "us-east1" }, ["moved", party, "us-east1"]],
    ["moves", { party: "svc-log", to: "us-east1" }, ["moved", "svc-log", "us-east1"]],
    ["log-checkpoint", { checkpoint: "svc.test/log\n1\n" }, ["taken", "svc.test/log\n1\n"]],
    ["declare-dead", { region: "us-east1", successor: "eu-west1" }, ["declared", "us-east1", "eu-west1"]],
    [
      "declare-dead",
      { region: "eu-west2", successor: "eu-west1", force: true },
      ["declared", "eu-west2", "eu-west1"],
    ],
    ["rejoin", { region: "us-east1" }, ["rejoined", "us-east1"]],
    ["put-in", { region: "us-east1" }, ["put_in", "us-east1"]],
    ["rebuild", { collection: "events" }, ["begun", "events"]],
  ])("say %s %j", async (address, payload, expected) => {
    said.length = 0;
    const answer = await openOps({ cluster }).inject({
      method: "POST",
      url: `/ops/cluster/${address}`,
      headers: { authorization },
      payload: { ...act, ...payload },
    });
    expect([answer.statusCode, answer.json()]).toEqual([200, { outcome: expected[0] }]);
    expect(said).toEqual([expected]);
  });

  it.each([
    ["moves", { party: "somebody", to: "us-east1" }, /party/],
    ["log-checkpoint", { checkpoint: "other/log\n1\n" }, /It is of another log/],
    ["log-checkpoint", {}, /checkpoint/],
    ["moves", { party, to: "Mars" }, /to/],
    ["moves", { party }, /to/],
    ["rejoin", { region: "us-east1", force: true }, /additional/],
    ["declare-dead", { region: "us-east1" }, /successor/],
    ["declare-dead", { region: "us-east1", successor: null }, /successor/],
    ["declare-dead", { region: "us-east1", successor: "us-east1" }, /cannot take over from itself/],
    ["rejoin", { region: "xx-nowhere1" }, /region unknown/],
    ["declare-dead", { region: "eu-west2", successor: "eu-west1" }, /10\.0\.0\.5:7401 still beats/],
    ["rejoin", { region: "us-east1", by: "Bob" }, /additional/],
    ["rejoin", { region: "us-east1", reason: undefined }, /reason/],
    ["rejoin", { region: "us-east1", reason: "" }, /reason/],
    ["rejoin", { region: "us-east1", reason: "x".repeat(501) }, /reason/],
    ["put-in", { region: "us-east1", reason: undefined }, /reason/],
    ["declare-dead", { region: "us-east1", successor: "eu-west1", reason: undefined }, /reason/],
  ])("are refused %s %j", async (address, payload, detail) => {
    const answer = await openOps({ cluster }).inject({
      method: "POST",
      url: `/ops/cluster/${address}`,
      headers: { authorization },
      payload: { ...act, ...payload },
    });
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toMatchObject({ code: "request_invalid", detail: expect.stringMatching(detail) });
  });

  it("see it, and find its addresses described; a node alone has none of them", async () => {
    expect((await openOps({ cluster }).inject("/ops/cluster")).json()).toEqual(clusterState);
    expect(Object.keys((await openOps({ cluster }).inject("/openapi.json")).json().paths)).toContain(
      "/ops/cluster/moves",
    );
    expect((await openOps().inject("/ops/cluster")).statusCode).toBe(404);
    expect(Object.keys((await openOps().inject("/openapi.json")).json().paths)).not.toContain("/ops/cluster");
  });

  it("find said of every answer what it is", async () => {
    const { paths } = (await openOps({ cluster }).inject("/openapi.json")).json() as {
      readonly paths: Record<
        string,
        Record<string, { readonly responses: Record<string, { readonly content: object }> }>
      >;
    };
    const schemas = Object.values(paths)
      .flatMap((operations) => Object.values(operations))
      .flatMap(({ responses }) => Object.values(responses))
      .flatMap(({ content }) => Object.values(content as Record<string, { readonly schema: object }>));
    expect(schemas.length).toBeGreaterThan(100);
    expect(schemas.filter(({ schema }) => Object.keys(schema).length === 0)).toEqual([]);
  });
});

describe("metrics", () => {
  it("are in the Prometheus text format", async () => {
    const metrics = createMetrics();
    const request = { surface: "retrieval", method: "POST", route: "/v1/search", key_id: null, from: null };
    metrics.observe({ ...request, status: 200, code: null, durationMs: 3 });
    metrics.observe({ ...request, status: 200, code: null, durationMs: 70 });
    metrics.observe({ ...request, status: 401, code: "nonce_reused", durationMs: 20_000 });
    const { headers, body } = await openOps({ metrics }).inject("/metrics");
    expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    const lines = body.split("\n");
    expect(lines).toEqual(
      expect.arrayContaining([
        'svc_http_requests_total{surface="retrieval",method="POST",route="/v1/search",status="200"} 2',
        'svc_http_requests_total{surface="retrieval",method="POST",route="/v1/search",status="401"} 1',
        'svc_http_request_duration_seconds_bucket{le="0.0025",surface="retrieval",route="/v1/search"} 0',
        'svc_http_request_duration_seconds_bucket{le="0.005",surface="retrieval",route="/v1/search"} 1',
        'svc_http_request_duration_seconds_bucket{le="10",surface="retrieval",route="/v1/search"} 2',
        'svc_http_request_duration_seconds_bucket{le="+Inf",surface="retrieval",route="/v1/search"} 3',
        'svc_http_request_duration_seconds_count{surface="retrieval",route="/v1/search"} 3',
        'svc_http_refusals_total{surface="retrieval",code="nonce_reused"} 1',
        "# TYPE svc_actors_active gauge",
        "svc_actors_active 3",
      ]),
    );
    for (const line of lines)
      expect(line).toMatch(/^$|^# (HELP|TYPE) \w+ .+$|^\w+(\{(\w+="[^"]*",?)+\})? [\d.]+$/);
  });

  it("have each reading under its own type", async () => {
    const text = await createMetrics().text([
      { name: "svc_now", help: "May fall.", kind: "gauge", value: -2.5 },
      { name: "svc_ever_total", help: "Never falls.", kind: "counter", value: 0 },
    ]);
    const lines = text.split("\n");
    for (const [name, kind, value] of [
      ["svc_now", "gauge", "-2.5"],
      ["svc_ever_total", "counter", "0"],
    ])
      expect(lines).toEqual(expect.arrayContaining([`# TYPE ${name} ${kind}`, `${name} ${value}`]));
    // A second scrape does not add to what was read.
    const again = await createMetrics().text([
      { name: "svc_ever_total", help: "h", kind: "counter", value: 7 },
    ]);
    expect(again).toContain("\nsvc_ever_total 7\n");
  });

  it("have what the process takes up, its event loop and its garbage collection, for each node of it", async () => {
    for (const metrics of [createMetrics([processMetrics()]), createMetrics([processMetrics()])]) {
      const lines = (await metrics.text([])).split("\n");
      for (const [name, kind] of [
        ["process_cpu_seconds_total", "counter"],
        ["process_resident_memory_bytes", "gauge"],
        ["nodejs_eventloop_lag_p99_seconds", "gauge"],
        ["nodejs_gc_duration_seconds", "histogram"],
      ])
        expect(lines.filter((line) => line === `# TYPE ${name} ${kind}`)).toHaveLength(1);
      const resident = lines.find((line) => line.startsWith("process_resident_memory_bytes "));
      expect(Number(resident?.split(" ")[1])).toBeGreaterThan(10_000_000);
    }
  });

  it("stay bounded however many different requests there are", async () => {
    const metrics = createMetrics();
    for (let index = 0; index < 5_000; index += 1) {
      metrics.observe({
        surface: "s",
        method: `M${index}`,
        route: "/",
        status: 200,
        code: null,
        durationMs: 1,
        key_id: null,
        from: null,
      });
    }
    expect((await metrics.text([])).split("\n").length).toBeLessThan(2_100);
  });
});

describe("access to the operators' surface", () => {
  const cluster = { state: () => ({}), rejoin: async () => "rejoined" } as unknown as ClusterOps;
  const rejoin = {
    method: "POST",
    url: "/ops/cluster/rejoin",
    payload: { ...act, region: "us-east1" },
  } as const;
  const outside = { access: { hosts: ["10.0.0.5:7304"], token, isLoopback: false }, cluster };
  const host = "10.0.0.5:7304";

  it.each([["attacker.example"], ["localhost:81"], ["localhost.attacker.example:80"]])(
    "is refused to a page that reaches it as %s (G1)",
    async (name) => {
      for (const url of ["/healthz", "/ops/counts"]) {
        const answer = await openOps().inject({ url, headers: { host: name, authorization } });
        expect([answer.statusCode, answer.json().code]).toEqual([421, "host_not_allowed"]);
      }
    },
  );

  it("changes nothing without the token, on loopback either (G2)", async () => {
    for (const headers of [{}, { authorization: `Bearer ${token}x` }, { authorization: `Basic ${token}` }]) {
      const answer = await openOps({ cluster }).inject({ ...rejoin, headers });
      expect([answer.statusCode, answer.json().code]).toEqual([401, "token_invalid"]);
      expect(answer.headers["www-authenticate"]).toMatch(/^Bearer/);
    }
    expect((await openOps({ cluster }).inject({ ...rejoin, headers: { authorization } })).statusCode).toBe(
      200,
    );
  });

  it("shows others nothing but health without the token (G3)", async () => {
    for (const url of ["/healthz", "/readyz"])
      expect((await openOps(outside).inject({ url, headers: { host } })).statusCode).toBe(200);
    for (const url of ["/metrics", "/ops/counts", "/ops/cluster", "/openapi.json", "/healthz/../metrics"]) {
      expect((await openOps(outside).inject({ url, headers: { host } })).statusCode).toBe(401);
      expect((await openOps(outside).inject({ url, headers: { host, authorization } })).statusCode).not.toBe(
        401,
      );
    }
  });
});
