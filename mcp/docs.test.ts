// docs/mcp.md: what it tells people to paste is what the program accepts, and its tables are complete.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { root } from "../tools/process.ts";
import { overrideNames, parseConfig } from "./config.ts";
import { resources, resourceTemplates } from "./server.ts";
import { connected, testServer } from "./tool-server.fixture.ts";

const page = readFileSync(join(root, "docs/mcp.md"), "utf8");
const blocks = [...page.matchAll(/^```(json|sh|toml)\n([\s\S]*?)^```/gm)].map(([, kind = "", text = ""]) => ({
  kind,
  text,
}));

describe("docs/mcp.md", () => {
  const snippets = blocks.filter(({ text }) => text.includes("--sandbox"));

  it("starts the program of this project in every assistant", () => {
    expect(snippets.map(({ kind }) => kind)).toEqual(["json", "sh", "json", "toml"]);
    for (const { text } of snippets) {
      expect(text).toMatch(/node"?,?[\s\S]*\/path\/to\/svc\/mcp\/bin\.mjs/);
      expect(text.match(/--[a-z-]{2,}/g)).toEqual(["--sandbox", "--home"]);
    }
    expect(existsSync(join(root, "mcp/bin.mjs"))).toBe(true);
    for (const { kind, text } of snippets) if (kind === "json") expect(() => JSON.parse(text)).not.toThrow();
  });

  it("has a configuration that is accepted", () => {
    const [example] = blocks.filter(({ text }) => text.includes("api_base_url"));
    expect(parseConfig(JSON.parse(example?.text ?? "null") as JsonValue, {})).toMatchObject({ ok: true });
  });

  it("names every variable, tool and resource", async () => {
    const [, list = ""] = /Defaults come last:\n\n((?:- .*\n)+)/.exec(page) ?? [];
    const members = [...list.matchAll(/^- `([a-z_.]+)`: /gm)].map(
      ([, name = ""]) => `MASTERDB_MCP_${name.replaceAll(".", "_").toUpperCase()}`,
    );
    expect(members).toEqual(overrideNames);
    await using own = await connected(await testServer([], { ads: true }));
    const { tools } = await own.client.listTools();
    const names = [...tools, ...(await own.client.listPrompts()).prompts].map(({ name }) => `\`${name}\``);
    const addresses = [resources[0]?.uri ?? "", ...resourceTemplates.map(({ uriTemplate }) => uriTemplate)];
    expect([...names, ...addresses].filter((each) => !page.includes(each))).toEqual([]);
  });
});
