// An assistant with the official SDK beside a running sandbox: over both transports and in both eras it finds a diamond,
// fetches it, verifies the evidence and has the source line; then every tool once.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "../cli/running-sandbox.fixture.ts";
import { generatePrivateJwk } from "../client/signing-key.ts";
import { parseSourceLine } from "../protocol/source-line.ts";
import { root, type StartedProcess, startProcess } from "../tools/process.ts";
import {
  type Assistant,
  assistant,
  callTool,
  clientOf,
  overStdio,
  type ToolAnswer,
} from "./mcp-client.fixture.ts";

let sandbox: RunningSandbox;
let http: { readonly process: StartedProcess; readonly url: string };
const token = "a-token-of-this-test-only";
const settings = { MASTERDB_MCP_ADS: "true", MASTERDB_MCP_VERIFY_ONLINE: "true" };

beforeAll(async () => {
  sandbox = await startSandbox();
  http = await startHttp(sandbox.home);
});
afterAll(async () => {
  await http?.process.stop(5_000);
  await sandbox?.[Symbol.asyncDispose]();
});

/** `svc mcp` over HTTP on a free port, whose address it writes to stderr. */
async function startHttp(home: string): Promise<typeof http> {
  const process_ = startProcess(process.execPath, ["cli/main.ts", "mcp", "--sandbox", "--home", home], {
    cwd: root,
    stdio: ["ignore", "ignore", "pipe"],
    env: {
      ...{ ...process.env, ...settings, TEST_TOKEN: token },
      MASTERDB_MCP_TRANSPORT_TYPE: "http",
      MASTERDB_MCP_TRANSPORT_PORT: "0",
      MASTERDB_MCP_TRANSPORT_BEARER_TOKEN_ENV: "TEST_TOKEN",
    },
  });
  let text = "";
  for await (const chunk of process_.child.stderr ?? []) {
    text += String(chunk);
    const url = /serves (http:\S+) /.exec(text)?.[1];
    if (url !== undefined) return { process: process_, url };
  }
  throw new Error(`svc mcp ended: ${text}`);
}

type Era = "session" | "alone";

function overHttp(era: Era): Promise<Assistant> {
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(http.url), { requestInit });
  return assistant(clientOf(era), (client) => client.connect(transport));
}

const ways: readonly (readonly [name: string, open: (era: Era) => Promise<Assistant>])[] = [
  ["stdio", (era) => overStdio(["--sandbox", "--home", sandbox.home], settings, era)],
  ["HTTP", overHttp],
];
const eras: readonly Era[] = ["session", "alone"];

describe.each(ways)("an assistant over %s", (_name, open) => {
  it.each(eras)("finds, fetches and verifies a diamond (%s)", async (era) => {
    await using own = await open(era);
    const found = await callTool(own, "search_products", {
      ...{ q: "diamond", filter: { all: [{ country: "US" }, { price_amount: { lte: 5_000 } }] } },
      ...{ sort_by: "price_amount:desc", limit: 3 },
    });
    const rows = found.body["rows"] as readonly { readonly record_id: string; readonly price_US: number }[];
    expect(rows).toHaveLength(3);
    expect(rows.every((row) => row.price_US <= 5_000)).toBe(true);
    const { record_id: id } = rows[0] ?? { record_id: "" };
    const checkedRows = await callTool(own, "verify", { retrieval_id: found.notes["retrieval_id"] });
    expect(checkedRows.body).toMatchObject({ verdict: "valid", complete: true, answer: "search" });

    const fetched = await callTool(own, "fetch", { record_id: id });
    expect(fetched.body).toMatchObject({ record_id: id, type: "products" });
    const line = String(fetched.notes["source_line"]);
    expect(parseSourceLine(line)).toMatchObject({ ok: true, value: { record_id: id } });
    expect(fetched.blocks[0]).toContain(line);

    const checked = await callTool(own, "verify", { record_id: id });
    const checks = checked.body["checks"] as readonly { readonly name: string; readonly state: string }[];
    expect(checked.body).toMatchObject({ verdict: "valid", complete: true, answer: "fetched" });
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["receipt", "sidecar", "seal", "statement", "ai_policy_statement"]),
    );
    expect(checked.blocks).toHaveLength(4);
    expect([found, fetched, checked].map(({ notes }) => notes["billable"])).toEqual([false, false, false]);
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

describe("every tool, resource and prompt", () => {
  let own: Assistant;
  beforeAll(async () => {
    own = await overHttp("session");
  });
  afterAll(() => own?.[Symbol.asyncDispose]());

  const searches = [
    ["search_products", "price_amount:asc", "US"],
    ["search_business_files", "published_at:desc", "US"],
    ["search_events", "start_at:asc", "DE"],
    ["search_jobs", "closing_date:asc", "DE"],
    ["search_updates", "published_at:desc", "US"],
  ] as const;

  it("is offered, and nothing else", async () => {
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

  it.each(searches)(
    "%s answers rows of its collection, for the user's country",
    async (name, sort_by, country) => {
      const meta = { "masterdb.ai/country": country };
      const { body, notes, isError } = await callTool(own, name, { sort_by, limit: 2 }, meta);
      expect(isError).toBe(false);
      expect(notes["country"]).toEqual({ code: country, from: "metadata" });
      expect(body["collection"]).toBe(name.replace("search_", ""));
      expect((body["rows"] as readonly unknown[]).length).toBeGreaterThan(0);
    },
  );

  it.each(["receipts", "usage", "terms", "ai_policy_key"])(
    "%s answers what the service keeps",
    async (name) => {
      const { body, notes, isError } = await callTool(own, name);
      expect(isError, JSON.stringify(body)).toBe(false);
      expect(notes).toMatchObject({ billable: false, retrieval_id: null });
    },
  );

  it("ai_policy explains the bits of a row", async () => {
    const { body } = await callTool(own, "search_products", { sort_by: "published_at:desc", limit: 1 });
    const [row] = body["rows"] as readonly { readonly ai_policy_bits: unknown }[];
    const { body: words } = await callTool(own, "ai_policy", { bits: row?.ai_policy_bits });
    expect(words["not_allowed"]).toContain("Do not make a reservation or booking on a person's behalf.");
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
    await using other = await overHttp("session");
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
