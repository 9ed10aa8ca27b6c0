// A newcomer's first minutes with a key of their own: a grant, a push and a search in a fresh sandbox.

import { readFile, stat, writeFile } from "node:fs/promises";
import { join, matchesGlob } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../tools/process.ts";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

let sandbox: RunningSandbox;
const file = (name: string): string => join(sandbox.home, name);

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const loaf = {
  schema: "svc/products/1",
  language: "en",
  business_product_id: "loaf-spelt",
  product_name: "Spelt loaf of my own",
  countries: ["GB"],
  vertical: "food_drink",
  category: "fresh_food",
  channel: "in_store",
  brand: "Mine",
  tags: ["bread"],
  short_description: "A loaf of spelt.",
  prices: [{ country: "GB", currency: "GBP", amount: "4.80" }],
  on_sale: false,
  availability: "in_stock",
  product_url: "https://my-bakery.example/spelt",
};

it("publishes and searches with keys of its own", async () => {
  const { svc } = sandbox;
  const names = ["--name", "My Bakery", "--country", "GB"];
  const business = await svc("grant", ...names, "--out", file("business.json"));
  expect(business).toMatchObject({ code: 0, output: expect.stringContaining("My Bakery (sandbox), GB") });
  expect((await stat(file("business.key.json"))).mode & 0o777).toBe(0o600);
  const company = await svc(
    "grant",
    "--as",
    "ai-company",
    "--alg",
    "ES256",
    ...names,
    "--out",
    file("company.json"),
  );
  expect(company.code, company.output).toBe(0);
  await writeFile(file("loaf.ndjson"), `${JSON.stringify(loaf)}\n`);
  const pushed = await svc("push", file("loaf.ndjson"), "--config", file("business.json"));
  expect(pushed).toMatchObject({ code: 0, output: expect.stringContaining("1 published") });
  const words = ["products", "spelt", "loaf", "--sort", "_text_match:desc", "--json"];
  const found = await svc("search", ...words, "--config", file("company.json"));
  expect(found.code, found.output).toBe(0);
  const { rows } = JSON.parse(found.output) as { rows: readonly Record<string, unknown>[] };
  const config = JSON.parse(await readFile(file("business.json"), "utf8")) as Record<string, string>;
  const [, data = ""] = config["sandbox_key_grant"]?.split(".") ?? [];
  const { party } = JSON.parse(Buffer.from(data, "base64url").toString()) as { party: { uuid: string } };
  expect(rows[0]).toMatchObject({ product_name: loaf.product_name, business_uuid: party.uuid });
});

it("gives the tool server a configuration that it takes, with the anchors by which it verifies", async () => {
  const checked = await sandbox.svc("mcp", "--config", file("company.json"), "--check");
  expect(checked.code, checked.output).toBe(0);
  expect(checked.output).toContain("verified under the anchors");
});

it("writes private keys under names that git ignores", async () => {
  const ignored = (await readFile(join(root, ".gitignore"), "utf8"))
    .split("\n")
    .filter((line) => /^[^#]/.test(line));
  for (const name of ["business.key.json", "business.owner.json", "company.key.json"]) {
    expect((await stat(file(name))).isFile()).toBe(true);
    expect(
      ignored.some((pattern) => matchesGlob(name, pattern)),
      name,
    ).toBe(true);
  }
});

it("gets a further key for the same party, with which it publishes too", async () => {
  const { svc } = sandbox;
  const joined = await svc(
    "grant",
    "--join",
    "--config",
    file("business.json"),
    "--out",
    file("second.json"),
  );
  expect(joined).toMatchObject({ code: 0, output: expect.stringContaining("My Bakery (sandbox), GB") });
  await writeFile(file("more.ndjson"), `${JSON.stringify({ ...loaf, business_product_id: "loaf-two" })}\n`);
  const pushed = await svc("push", file("more.ndjson"), "--config", file("second.json"));
  expect(pushed).toMatchObject({ code: 0, output: expect.stringContaining("1 published") });
});

it("gets the same party for the same key, and no file is written over", async () => {
  const { svc } = sandbox;
  const same = ["grant", "--key", file("business.key.json"), "--name", "Another", "--country", "FR"];
  const again = await svc(...same, "--out", file("again.json"));
  expect(again).toMatchObject({ code: 0, output: expect.stringContaining("My Bakery (sandbox), GB") });
  const over = await svc(...same, "--out", file("again.json"));
  expect(over).toMatchObject({ code: 2, output: expect.stringContaining("is not overwritten") });
});

it("says what is missing, and what the sandbox refuses", async () => {
  const { svc } = sandbox;
  expect(await svc("grant")).toMatchObject({ code: 2, output: expect.stringContaining("--out FILE") });
  expect(await svc("grant", "--out", file("x.json"))).toMatchObject({
    code: 2,
    output: expect.stringContaining("--name NAME"),
  });
  const nowhere = ["grant", "--name", "Mine", "--country", "XX", "--out", file("x.json")];
  expect(await svc(...nowhere)).toMatchObject({
    code: 3,
    output: expect.stringContaining("This is not a country code"),
  });
});
