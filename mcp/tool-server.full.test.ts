// An assistant with the official SDK beside a running sandbox: over both transports and in both eras it calls every tool, finds
// a diamond, fetches it, verifies the evidence and has the source line.

import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "../cli/running-sandbox.fixture.ts";
import { generatePrivateJwk } from "../client/signing-key.ts";
import { exactItems, exactMember } from "../protocol/json/strict-json.ts";
import { callEveryTool, everything, searches } from "./every-tool.fixture.ts";
import { type HttpProcess, overHttp, startHttp } from "./http-process.fixture.ts";
import { type Assistant, callTool, overStdio, type ToolAnswer } from "./mcp-client.fixture.ts";

let sandbox: RunningSandbox;
let http: HttpProcess;

beforeAll(async () => {
  sandbox = await startSandbox();
  http = await startHttp(sandbox.home, everything);
});
afterAll(async () => {
  await http?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
});

type Era = "session" | "alone";

const ways: readonly (readonly [name: string, open: (era: Era) => Promise<Assistant>])[] = [
  ["stdio", (era) => overStdio(["--sandbox", "--home", sandbox.home], everything, era)],
  ["HTTP", (era) => overHttp(http, era)],
];
const eras: readonly Era[] = ["session", "alone"];

/** What the process has and nobody is told (O3). */
async function secrets(): Promise<readonly string[]> {
  const file = JSON.parse(await readFile(join(sandbox.home, "sandbox.json"), "utf8")) as SandboxFile;
  const [key] = file.ai_companies[0]?.keys ?? [];
  const found = [key?.private_jwk.d ?? "", key?.grant ?? "", http.headers["authorization"]?.slice(7) ?? ""];
  expect(found.map((secret) => secret.length > 15)).toEqual([true, true, true]);
  return found;
}

interface SandboxFile {
  readonly ai_companies: readonly {
    readonly keys: readonly { readonly private_jwk: { readonly d: string }; readonly grant: string }[];
  }[];
}

describe.each(ways)("an assistant over %s", (_name, open) => {
  it.each(eras)("finds, fetches and verifies a diamond, and calls every other tool (%s)", async (era) => {
    await using own = await open(era);
    const answers: string[] = [];
    const called = await callEveryTool(async (name, args, meta) => {
      const answer = await callTool(own, name, args, meta);
      answers.push(...answer.blocks);
      return answer;
    });
    for (const secret of await secrets()) expect(answers.filter((text) => text.includes(secret))).toEqual([]);
    const { tools } = await own.client.listTools();
    expect(called.toSorted()).toEqual(tools.map(({ name }) => name).sort());
  });
});

describe("verify without verify_online", () => {
  let own: Assistant;
  let ads: Assistant;
  beforeAll(async () => {
    const open = (settings: Readonly<Record<string, string>>) =>
      overStdio(["--sandbox", "--home", sandbox.home], { MASTERDB_MCP_VERIFY_ONLINE: "false", ...settings });
    own = await open({});
    ads = await open({ MASTERDB_MCP_ADS: "true" });
  });
  afterAll(async () => {
    await ads?.[Symbol.asyncDispose]();
    await own?.[Symbol.asyncDispose]();
  });

  const verify = async (args: Readonly<Record<string, unknown>>) => {
    const { body, blocks } = await callTool(own, "verify", args);
    const checks = body["checks"] as readonly { readonly name: string; readonly state: string }[];
    const named = (state: string) => checks.filter((each) => each.state === state).map(({ name }) => name);
    return { verdict: body["verdict"], ok: named("ok"), failed: named("failed"), blocks };
  };

  it("checks row signatures, receipt and sidecar here, and finds what was changed", async () => {
    const found = await callTool(own, "search_products", { sort_by: "price_amount:asc", limit: 2 });
    const rows = found.blocks[0] ?? "";
    const asked = { retrieval_id: found.notes["retrieval_id"] };
    const whole = await verify(asked);
    expect(whole).toMatchObject({ verdict: "valid", failed: [] });
    expect(whole.ok).toEqual(expect.arrayContaining(["key_set", "receipt", "rows/0", "rows/1"]));
    const other = rows.replace(/"price_US":[0-9.]+/, '"price_US":1.5');
    expect(other).not.toBe(rows);
    expect(await verify({ body: other })).toMatchObject({ verdict: "not_valid", failed: ["rows/0"] });

    const [row] = found.body["rows"] as readonly { readonly record_id: string }[];
    const fetched = await callTool(own, "fetch", { record_id: row?.record_id });
    const record = await verify({ record_id: row?.record_id });
    expect(record).toMatchObject({ verdict: "valid", failed: [] });
    expect(record.ok).toEqual(expect.arrayContaining(["receipt", "sidecar"]));
    expect([record.ok.includes("statement"), record.blocks.length]).toEqual([false, 2]);
    const text = fetched.blocks[0] ?? "";
    const changed = text.replace(/"product_name":"/, '"product_name":"Fine ');
    expect(changed).not.toBe(text);
    const refused = await verify({ body: changed });
    expect(refused.verdict).toBe("not_valid");
    expect(refused.failed).toEqual(expect.arrayContaining(["receipt", "sidecar"]));
  });

  it("checks every ad of a pool here, and finds one that was changed, left out or put into another pool", async () => {
    const question = { keywords: ["diamonds"], sort_by: "net_price:desc" };
    const pools = [await callTool(ads, "ads_pool", question), await callTool(ads, "ads_pool", question)];
    const [text = "", other = ""] = pools.map(({ blocks }) => blocks[0]);
    const items = pools[0]?.body["ads"] as readonly unknown[];
    expect(items.length).toBeGreaterThan(1);
    const whole = await verify({ body: text });
    expect(whole).toMatchObject({ verdict: "valid", failed: [] });
    for (const name of ["receipt", "ads/0/row", "ads/0/seal", "ads/1/creative"])
      expect(whole.ok).toContain(name);
    const changed = text.replace(/"headline":"/, '"headline":"Best ');
    expect(await verify({ body: changed })).toMatchObject({ failed: ["ads/0/creative"] });
    const list = exactMember(text, "ads") ?? "";
    const [first = ""] = exactItems(list) ?? [];
    expect(await verify({ body: text.replace(list, `[${first}]`) })).toMatchObject({ failed: ["receipt"] });
    const receipt = exactMember(text, "receipt") ?? "";
    const swapped = text.replace(receipt, exactMember(other, "receipt") ?? "");
    expect(await verify({ body: swapped })).toMatchObject({ failed: ["receipt"] });
    expect(await verify({ body: text.replace(list, "{}") })).toMatchObject({ failed: ["answer"] });
  });
});

describe("verify with verify_online", () => {
  it("claims nothing about a record while the service answers nothing about its business", async () => {
    const { verify_url } = JSON.parse(await readFile(join(sandbox.home, "sandbox.json"), "utf8")) as {
      readonly verify_url: string;
    };
    const asked: string[] = [];
    const server = createServer(async (request, response) => {
      const path = request.url ?? "";
      asked.push(path);
      if (path !== "/.well-known/keys") return response.writeHead(500).end();
      response.end(await (await fetch(`${verify_url}${path}`)).text());
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const public_base_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const settings = { MASTERDB_MCP_VERIFY_ONLINE: "true", MASTERDB_MCP_PUBLIC_BASE_URL: public_base_url };
    const own = await overStdio(["--sandbox", "--home", sandbox.home], settings);
    try {
      const found = await callTool(own, "search_products", { sort_by: "price_amount:asc", limit: 1 });
      const [row] = found.body["rows"] as readonly { readonly record_id: string }[];
      await callTool(own, "fetch", { record_id: row?.record_id });
      const checked = await callTool(own, "verify", { record_id: row?.record_id });
      expect(checked).toMatchObject({ isError: true, body: { code: "internal_error" } });
      expect(checked.blocks.join()).not.toContain("verdict");
      expect(asked.some((path) => path.startsWith("/v1/certificates/"))).toBe(true);
      const rows = await callTool(own, "verify", { retrieval_id: found.notes["retrieval_id"] });
      expect(rows.body).toMatchObject({ verdict: "valid", complete: true });
    } finally {
      await own[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    }
  });
});

describe("svc mcp over HTTP", () => {
  it("serves on when nobody reads any longer what it writes to stderr", async () => {
    const headers = {
      ...http.headers,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2031-01-01",
      "mcp-method": "tools/list",
    };
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2031-01-01",
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta } });
    // It logs each refusal, and the first line tells it that its peer has closed.
    for (let count = 0; count < 5; count += 1)
      expect((await fetch(http.url, { method: "POST", headers, body })).status).toBe(400);
  });
});

describe("svc mcp --check", () => {
  it("finds nothing wrong with the sandbox", async () => {
    const { code, output } = await sandbox.svc("mcp", "--sandbox", "--check");
    expect(code, output).toBe(0);
    expect(output.match(/^ok +/gm), output).toHaveLength(4);
  });

  it("says how to mend what is wrong", async () => {
    const [key, file] = [join(sandbox.home, "another.key.json"), join(sandbox.home, "another.json")];
    const { base_url } = JSON.parse(await readFile(join(sandbox.home, "sandbox.json"), "utf8")) as {
      base_url: string;
    };
    await writeFile(key, JSON.stringify(await generatePrivateJwk("Ed25519")));
    const members = { version: 1, environment: "sandbox", api_base_url: base_url, key: { file: key } };
    await writeFile(file, JSON.stringify(members));
    const { code, output } = await sandbox.svc("mcp", "--config", file, "--check");
    expect([code, output]).toEqual([1, expect.stringContaining("set sandbox_key_grant")]);
    await writeFile(file, JSON.stringify({ ...members, api_base_url: "http://127.0.0.1:2" }));
    const away = await sandbox.svc("mcp", "--config", file, "--check");
    expect([away.code, away.output]).toEqual([1, expect.stringContaining("cannot be reached")]);
    await writeFile(file, JSON.stringify({ ...members, contry: "US" }));
    const wrong = await sandbox.svc("mcp", "--config", file);
    expect([wrong.code, wrong.output]).toEqual([2, expect.stringContaining("Did you mean country?")]);
  });
});

describe("what is offered", () => {
  let own: Assistant;
  beforeAll(async () => {
    own = await overHttp(http, "session");
  });
  afterAll(() => own?.[Symbol.asyncDispose]());

  it("is these tools, and nothing else", async () => {
    const { tools } = await own.client.listTools();
    const others = [
      "fetch",
      "verify",
      "ai_policy",
      "receipts",
      "usage",
      "terms",
      "ai_policy_key",
      "ads_pool",
      "report",
    ];
    expect(tools.map(({ name }) => name)).toEqual([...searches.map(([name]) => name), ...others]);
  });

  it("ads_pool answers items, which report confirms once in a conversation", async () => {
    const question = { keywords: ["diamonds"], sort_by: "net_price:desc" };
    const pool = await callTool(own, "ads_pool", question);
    expect(pool.notes).toMatchObject({ retrieval_id: pool.body["retrieval_id"], billable: false });
    const [item] = pool.body["ads"] as readonly { readonly ad_id: string; readonly render_token: string }[];
    const token = item?.render_token;
    const rendered = await callTool(own, "report", {
      kind: "ad_render",
      render_token: token,
      format: "text",
    });
    expect(rendered.body, rendered.blocks[0]).toMatchObject({ ad_id: item?.ad_id, label: {} });
    const click = { kind: "ad_click", click_token: rendered.body["click_token"] };
    expect((await callTool(own, "report", click)).body).toMatchObject({ ad_id: item?.ad_id });
    const idsOf = ({ body }: ToolAnswer) =>
      (body["ads"] as readonly { readonly ad_id: string }[]).map(({ ad_id }) => ad_id);
    expect(idsOf(await callTool(own, "ads_pool", question))).not.toContain(item?.ad_id);
    await using other = await overHttp(http, "session");
    expect(idsOf(await callTool(other, "ads_pool", question))).toContain(item?.ad_id);
    const refused = await callTool(own, "report", { ...click, click_token: "svc_adc1.made.up" });
    expect(refused).toMatchObject({ isError: true, body: { code: "ad_token_invalid" } });
  });

  it.each([
    ["masterdb://spec", "sections"],
    ["masterdb://terms/1", "effective_from"],
    ["masterdb://projections/products/1", "field_map"],
    ["masterdb://vocabularies/countries", "entries"],
  ])("%s is read", async (uri, member) => {
    const { contents } = await own.client.readResource({ uri });
    expect(
      JSON.parse(contents[0] !== undefined && "text" in contents[0] ? contents[0].text : ""),
    ).toHaveProperty(member);
  });

  it("the certificate of a business is read", async () => {
    const { body } = await callTool(own, "search_products", { sort_by: "published_at:desc", limit: 1 });
    const [row] = body["rows"] as readonly { readonly business_uuid: string }[];
    const { contents } = await own.client.readResource({
      uri: `masterdb://certificates/${row?.business_uuid}`,
    });
    expect(JSON.stringify(contents)).toContain("active");
  });
});
