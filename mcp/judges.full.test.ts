// Judges that were not written here, beside a running sandbox: the official conformance suite for both eras of the protocol
// and the official inspector before the local server and the hosted one, and the official client for Python, which calls
// every tool of the local server over both transports and every tool of the hosted one.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Tool } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "../cli/running-sandbox.fixture.ts";
import { toBase64, utf8 } from "../protocol/bytes.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import { installMcpJudges, type McpJudges } from "../tools/mcp-judges.fixture.ts";
import {
  installPythonClients,
  type PythonClient,
  type PythonClients,
  type PythonServer,
} from "../tools/mcp-python.fixture.ts";
import { root } from "../tools/process.ts";
import { conformanceOf, offersOf } from "./conformance-needs.fixture.ts";
import { type Call, callEveryTool, everything } from "./every-tool.fixture.ts";
import { type HttpProcess, overHttp, startHttp } from "./http-process.fixture.ts";
import { answerOf, type ToolResult } from "./mcp-client.fixture.ts";

let sandbox: RunningSandbox;
let file: Readonly<Record<"verify_url" | "mcp_url", string>>;
let http: HttpProcess;
let closed: HttpProcess;
let judges: McpJudges | null;
let python: PythonClients | null;
/** Why a test is skipped; in CI the judge's absence has failed already. */
const notInstalled = "its judge cannot be installed here";

beforeAll(async () => {
  sandbox = await startSandbox();
  file = JSON.parse(await readFile(join(sandbox.home, "sandbox.json"), "utf8")) as typeof file;
  http = await startHttp(sandbox.home, everything, true);
  closed = await startHttp(sandbox.home, everything);
  judges = await installMcpJudges();
  python = await installPythonClients();
}, 600_000);
afterAll(async () => {
  for (const each of [python, judges, closed, http, sandbox]) await each?.[Symbol.asyncDispose]();
});

const hostedUrl = (): string => `${file.mcp_url}/v1/mcp/public`;
const stdioArgs = (): readonly string[] => [join(root, "mcp/bin.mjs"), "--sandbox", "--home", sandbox.home];
const modes = ["legacy", "2026-07-28"] as const;

/** By these scenarios of a revision a server is judged that has tools, resources and prompts. */
const ofSessions = ["ping", "server-initialize", "server-session-lifecycle", "server-sse-polling"];
const ofRevision = {
  "2025-11-25": ["dns-rebinding-protection", "server-sse-multiple-streams", "tools-list", ...ofSessions],
  "2026-07-28": [
    "caching",
    "dns-rebinding-protection",
    "http-header-validation",
    "input-required-result-unsupported-methods",
    "server-sse-multiple-streams",
    "server-stateless",
    "tools-list",
  ],
} as const;
const revisions = ["2025-11-25", "2026-07-28"] as const;

describe("the official conformance suite", () => {
  const verdictOn = async (url: string, revision: (typeof revisions)[number]) => {
    await using own = await overHttp({ url, headers: {} }, revision === "2025-11-25" ? "session" : "alone");
    return conformanceOf((await judges?.conformance(url, revision)) ?? [], await offersOf(own));
  };

  it.for(revisions)(
    "finds nothing wrong with the local server over HTTP (%s)",
    async (revision, { skip }) => {
      if (judges === null) return skip(notInstalled);
      const { judged, faults } = await verdictOn(http.url, revision);
      expect(faults).toEqual([]);
      const ofResources = revision === "2026-07-28" ? ["sep-2164-resource-not-found"] : [];
      const expected = [...ofRevision[revision], "prompts-list", "resources-list", ...ofResources];
      expect(judged).toEqual(expected.sort());
    },
  );

  it.for(revisions)("finds nothing wrong with the hosted server (%s)", async (revision, { skip }) => {
    if (judges === null) return skip(notInstalled);
    const { judged, faults } = await verdictOn(hostedUrl(), revision);
    expect(faults).toEqual([]);
    expect(judged).toEqual([...ofRevision[revision]].sort());
  });
});

describe("the official inspector", () => {
  const inspect = async (...args: readonly string[]): Promise<JsonObject> => {
    const { code, stdout, stderr } = (await judges?.inspect(...args)) ?? {
      code: 0,
      stdout: "{}",
      stderr: "",
    };
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout) as JsonObject;
  };
  const overHttpTo = (url: string, ...args: readonly string[]) =>
    inspect(url, "--transport", "http", ...args);

  it("finds no schema of a tool that a client could not read", async ({ skip }) => {
    if (judges === null) return skip(notInstalled);
    for (const url of [http.url, hostedUrl()]) {
      const { tools } = await overHttpTo(url, "--method", "tools/list", "--strict");
      expect((tools as readonly unknown[]).length).toBeGreaterThan(7);
    }
  });

  it.for(["legacy", "modern"])("searches and reads over stdio and HTTP (%s)", async (era, { skip }) => {
    if (judges === null) return skip(notInstalled);
    const args = {
      sort_by: "price_amount:asc",
      limit: 1,
      filter: [{ field: "country", operator: "eq", values: ["US"] }],
    };
    const call = ["--protocol-era", era, "--method", "tools/call", "--tool-name", "search_products"];
    call.push("--tool-args-json", JSON.stringify(args));
    for (const found of [
      await inspect("node", ...stdioArgs(), ...call),
      await overHttpTo(http.url, ...call),
    ]) {
      const { body, isError } = answerOf(found as unknown as ToolResult);
      expect([isError, (body["rows"] as readonly unknown[]).length]).toEqual([false, 1]);
    }
    const read = await overHttpTo(http.url, "--method", "resources/read", "--uri", "masterdb://spec");
    expect(JSON.stringify(read)).toContain("masterdb://spec");
    const prompt = ["--method", "prompts/get", "--prompt-name", "answer_with_source_line"];
    const filled = await overHttpTo(http.url, ...prompt, "--prompt-args", "question=Which diamond?");
    expect(JSON.stringify(filled)).toContain("Which diamond?");
    const keys = ["--method", "tools/call", "--tool-name", "keys", "--tool-arg", "of=service"];
    const hosted = await overHttpTo(hostedUrl(), "--protocol-era", era, ...keys);
    expect(answerOf(hosted as unknown as ToolResult).body).toHaveProperty("signed");
  });
});

describe("the definitions of all fourteen tools", () => {
  const listed = async (): Promise<readonly Tool[]> => {
    await using own = await overHttp({ url: http.url, headers: {} }, "session");
    return (await own.client.listTools()).tools;
  };

  it("cost a model at most 6,000 tokens (cl100k) for what it is told to choose and call them by", async ({
    skip,
  }) => {
    if (judges === null) return skip(notInstalled);
    const tools = await listed();
    expect(tools).toHaveLength(14);
    const given = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
    const counts = await Promise.all(given.map((tool) => judges?.tokens(JSON.stringify(tool)) ?? 0));
    expect(counts.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(6_000);
  });

  it("leave `tdqs lint` nothing to note", async ({ skip }) => {
    if (python === null) return skip(notInstalled);
    expect(await python.lint(await listed())).toBe("0 errors, 0 warnings, 0 notes");
  });

  it("are graded B by `agent-friend`, which finds no fault and suggests nothing: what it counts is their length", async ({
    skip,
  }) => {
    if (python === null) return skip(notInstalled);
    expect(await python.grade(await listed())).toMatchObject({
      overall_grade: "B",
      correctness: { score: 100 },
      quality: { score: 100 },
    });
  });
});

function callOf(client: PythonClient): Call {
  return async (name, args = {}, meta) => {
    const question = { call: name, arguments: args, ...(meta === undefined ? {} : { meta }) };
    return answerOf((await client.ask(question)) as unknown as ToolResult);
  };
}

async function listedNames(client: PythonClient): Promise<readonly string[]> {
  const { tools } = (await client.ask({ list: "tools" })) as { readonly tools: readonly { name: string }[] };
  return tools.map(({ name }) => name).sort();
}

describe("the official client for Python", () => {
  const ways: readonly (readonly [name: string, server: (mode: PythonServer["mode"]) => PythonServer])[] = [
    ["stdio", (mode) => ({ command: "node", args: stdioArgs(), env: everything, mode })],
    ["HTTP", (mode) => ({ url: closed.url, headers: closed.headers, mode })],
  ];

  it.for(ways.flatMap(([name, server]) => modes.map((mode) => [name, mode, server] as const)))(
    "calls every tool over %s, and reads resources and prompts (%s)",
    async ([, mode, server], { skip }) => {
      if (python === null) return skip(notInstalled);
      await using client = await python.open(server(mode));
      expect([...(await callEveryTool(callOf(client)))].sort()).toEqual(await listedNames(client));
      const read = await client.ask({ read: "masterdb://vocabularies/countries" });
      expect(JSON.stringify(read)).toContain("masterdb://vocabularies/countries");
      const prompt = { prompt: "answer_with_source_line", arguments: { question: "Which diamond?" } };
      expect(JSON.stringify(await client.ask(prompt))).toContain("Which diamond?");
      await expect(client.ask({ call: "search_product" })).rejects.toThrow("Did you mean search_products?");
    },
  );

  it("needs the token where one is configured", async ({ skip }) => {
    if (python === null) return skip(notInstalled);
    await using stranger = await python.open({ url: closed.url, mode: "2026-07-28" });
    await expect(stranger.ask({ list: "tools" })).rejects.toThrow("The bearer token is missing or wrong.");
  });

  it.for(modes)("calls every tool of the hosted server (%s)", async (mode, { skip }) => {
    if (python === null) return skip(notInstalled);
    await using local = await python.open({ url: http.url, mode });
    const found = await callOf(local)("search_products", { sort_by: "published_at:desc", limit: 1 });
    const [row] = found.body["rows"] as readonly JsonObject[];
    const { blocks, body } = await callOf(local)("fetch", { record_id: row?.["record_id"] });
    const record = exactMember(blocks[0] ?? "", "record") ?? "";
    const { seal, sidecar } = body;
    const uuid = row?.["business_uuid"];
    await using hosted = await python.open({ url: hostedUrl(), mode });
    const call = callOf(hosted);
    const verified = await call("verify", { record_base64: toBase64(utf8(record)), seal, sidecar, row });
    expect(verified.body).toMatchObject({ valid: true });
    const reads: readonly (readonly [name: string, args: object, path: string])[] = [
      ["certificate", { uuid }, `/v1/certificates/${uuid}?format=json`],
      ["keys", { of: "service" }, "/.well-known/keys"],
      ["projection", { type: "products", version: 1 }, "/v1/projections/products/1"],
      ["spec", {}, "/v1/envelope-specification"],
      ["vocabularies", {}, "/v1/vocabularies"],
      ["log_checkpoint", {}, "/v1/log/checkpoint"],
      ["log_proof", { first: 999_999_999 }, "/v1/log/consistency?first=999999999"],
    ];
    for (const [name, args, path] of reads) {
      const answer = await call(name, args as JsonObject);
      const api = await (await fetch(`${file.verify_url}${path}`)).text();
      const wholeOf = (text = ""): string => text.replace(/"(?:retrieved_at|instance)":"[^"]*"/g, "");
      expect(wholeOf(answer.blocks[0]), name).toBe(wholeOf(api));
    }
    expect(await listedNames(hosted)).toEqual(["verify", ...reads.map(([name]) => name)].sort());
  });
});
