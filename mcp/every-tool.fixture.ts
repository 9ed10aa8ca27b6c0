// Every tool of the local server once, as an assistant uses them one after the other, whichever client calls them.

import { expect } from "vitest";
import { exactMember } from "../protocol/json/strict-json.ts";
import { parseSourceLine } from "../protocol/source-line.ts";
import type { ToolAnswer } from "./mcp-client.fixture.ts";
import { countryMeta } from "./tool.ts";

export type Call = (
  name: string,
  args?: Readonly<Record<string, unknown>>,
  meta?: Readonly<Record<string, unknown>>,
) => Promise<ToolAnswer>;

/** What is set beside the sandbox's own configuration, so that every tool is offered and makes every check. */
export const everything = { MASTERDB_MCP_ADS: "true", MASTERDB_MCP_VERIFY_ONLINE: "true" };

export const searches = [
  ["search_products", "price_amount:asc", "US"],
  ["search_business_files", "published_at:desc", "US"],
  ["search_events", "start_at:asc", "DE"],
  ["search_jobs", "closing_date:asc", "DE"],
  ["search_updates", "published_at:desc", "US"],
] as const;

/** The names of the tools that were called, each of which answered what it should. */
export async function callEveryTool(call: Call): Promise<readonly string[]> {
  const called = new Set<string>();
  const ask: Call = async (name, args, meta) => {
    called.add(name);
    const answer = await call(name, args, meta);
    expect(answer.isError, `${name}: ${answer.blocks[0]}`).toBe(false);
    expect(answer.notes["billable"]).toBe(false);
    return answer;
  };
  for (const [name, sort_by, country] of searches) {
    const { body, notes } = await ask(name, { sort_by, limit: 2 }, { [countryMeta]: country });
    expect(notes["country"]).toEqual({ code: country, from: "metadata" });
    expect(body["collection"]).toBe(name.replace("search_", ""));
    expect((body["rows"] as readonly unknown[]).length).toBeGreaterThan(0);
  }
  await checkDiamond(ask);
  for (const name of ["receipts", "usage", "terms", "ai_policy_key"])
    expect((await ask(name)).notes).toMatchObject({ retrieval_id: null });
  await confirmAd(ask);
  return [...called];
}

/** Finds a diamond, verifies the rows, fetches the record, verifies it, and has its policy explained. */
export async function checkDiamond(ask: Call): Promise<void> {
  const found = await ask("search_products", {
    words: "diamond",
    filter: [
      { field: "country", operator: "eq", values: ["US"] },
      { field: "price_amount", operator: "lte", values: ["5000"] },
    ],
    sort_by: "price_amount:desc",
    limit: 3,
  });
  const rows = found.body["rows"] as readonly Readonly<Record<string, unknown>>[];
  expect(rows).toHaveLength(3);
  expect(rows.every((row) => Number(row["price_US"]) <= 5_000)).toBe(true);
  const checkedRows = await ask("verify", { retrieval_id: found.notes["retrieval_id"] });
  expect(checkedRows.body).toMatchObject({ verdict: "valid", complete: true, answer: "search" });

  const id = rows[0]?.["record_id"];
  const fetched = await ask("fetch", { record_id: id });
  expect(fetched.body).toMatchObject({ record_id: id, type: "products" });
  const line = String(fetched.notes["source_line"]);
  expect(parseSourceLine(line)).toMatchObject({ ok: true, value: { record_id: id } });
  expect(fetched.blocks[0]).toContain(line);

  const checked = await ask("verify", { record_id: id });
  const checks = checked.body["checks"] as readonly { readonly name: string; readonly state: string }[];
  expect(checked.body).toMatchObject({ verdict: "valid", complete: true, answer: "fetched" });
  expect(checks.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["receipt", "sidecar", "seal", "statement", "ai_policy_statement"]),
  );
  expect(checked.blocks).toHaveLength(4);
  const ofBits = await ask("ai_policy", { bits: rows[0]?.["ai_policy_bits"] });
  expect(ofBits.body["not_allowed"]).toContain("Do not make a reservation or booking on a person's behalf.");
  const policy = exactMember(fetched.blocks[0] ?? "", "ai_policy", "record");
  const { version } = fetched.body["ai_policy"] as { readonly version: number };
  const ofRecord = await ask("ai_policy", { record: policy, ai_policy_version: version });
  expect(ofRecord.body["not_allowed"]).toEqual(ofBits.body["not_allowed"]);
}

async function confirmAd(ask: Call): Promise<void> {
  const pool = await ask("ads_pool", { keywords: ["diamonds"], sort_by: "net_price:desc" });
  expect(pool.notes["retrieval_id"]).toBe(pool.body["retrieval_id"]);
  const checked = await ask("verify", { retrieval_id: pool.notes["retrieval_id"] });
  const checks = checked.body["checks"] as readonly { readonly name: string; readonly state: string }[];
  expect(checked.body).toMatchObject({ verdict: "valid", answer: "pool" });
  expect(checks.filter(({ state }) => state === "ok").map(({ name }) => name)).toEqual(
    expect.arrayContaining(["receipt", "ads/0/row", "ads/0/seal", "ads/0/creative", "ads/0/ai_policy_bits"]),
  );
  const [item] = pool.body["ads"] as readonly { readonly ad_id: string; readonly render_token: string }[];
  const render = { kind: "ad_render", render_token: item?.render_token, format: "text" };
  const rendered = await ask("report", render);
  expect(rendered.body).toMatchObject({ ad_id: item?.ad_id, label: {} });
  const click = { kind: "ad_click", click_token: rendered.body["click_token"] };
  expect((await ask("report", click)).body).toMatchObject({ ad_id: item?.ad_id });
  const filter = { all: [{ country: "GB" }, { sponsored: true }] };
  const rows = await ask("search_products", { filter, sort_by: "published_at:desc", limit: 1 });
  const [row] = rows.body["rows"] as readonly { readonly record_id: string }[];
  expect(rows.notes).toMatchObject({ sponsored: [row?.record_id] });
  const { retrieval_id } = rows.notes;
  const shown = { kind: "ad_render", retrieval_id, record_id: row?.record_id, format: "card" };
  expect((await ask("report", shown)).body).toMatchObject({ record_id: row?.record_id, label: {} });
}
