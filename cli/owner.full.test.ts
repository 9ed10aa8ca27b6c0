// A business of one's own whose push is held: its owner, whom `svc grant` made, confirms one and rejects another.

import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

let sandbox: RunningSandbox;
const file = (name: string): string => join(sandbox.home, name);

beforeAll(async () => {
  sandbox = await startSandbox();
  const names = ["--name", "My Bakery", "--country", "GB"];
  const granted = await sandbox.svc("grant", ...names, "--out", file("business.json"));
  expect(granted.code, granted.output).toBe(0);
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const header =
  "business_product_id,product_name,language,vertical,category,channel,brand,tags,short_description,on_sale,availability,product_url,price_US,price_currency_US";
const row = (index: number, price: string): string =>
  `own-${index},Loaf ${index},en,food_drink,fresh_food,online,Mine,bread,A loaf.,false,in_stock,https://mine.example/loaf,${price},USD`;

async function push(...prices: readonly string[]) {
  const path = file(`loaves-${prices.join("-")}.csv`);
  await writeFile(path, `${[header, ...prices.map((price, index) => row(index, price))].join("\n")}\n`);
  return sandbox.svc("push", path, "--config", file("business.json"));
}

/** Runs the command that the message of a held push names, but with another decision. */
function decide(output: string, decision: string) {
  const [, words = ""] = /\(svc (hold confirm bat_[^)]*)\); then/.exec(output) ?? [];
  expect(words).toContain(` --config ${file("business.json")}`);
  return sandbox.svc(...words.replace("confirm", decision).split(" "));
}

it("lets its owner decide with the command that the held push names", async () => {
  expect((await stat(file("business.owner.json"))).mode & 0o777).toBe(0o600);
  const catalogue = await push(...Array<string>(25).fill("4.00"));
  expect(catalogue.code, catalogue.output).toBe(0);
  const held = await push("9.90");
  expect([held.code, held.output]).toEqual([1, expect.stringContaining("1 held")]);
  const confirmed = await decide(held.output, "confirm");
  expect([confirmed.code, confirmed.output]).toEqual([0, expect.stringContaining("confirmed; now")]);
  const published = await push("9.90");
  expect([published.code, published.output]).toEqual([0, expect.stringContaining("1 updated")]);
  const dear = await push("90");
  expect([dear.code, dear.output]).toEqual([1, expect.stringContaining("1 held")]);
  const rejected = await decide(dear.output, "reject");
  expect([rejected.code, rejected.output]).toEqual([0, expect.stringContaining("failed: hold_rejected")]);
  const { output } = await sandbox.svc("hold", "list", "--config", file("business.json"));
  expect(output).toContain("Nothing is held.");
});

it("lets the owner decide beside a further key of the business as well", async () => {
  const joining = ["grant", "--join", "--config", file("business.json"), "--out", file("second.json")];
  const joined = await sandbox.svc(...joining);
  expect(joined.code, joined.output).toBe(0);
  const held = await push("70");
  const [pushId = ""] = /bat_[0-9a-f]{24}/.exec(held.output) ?? [];
  const confirmed = await sandbox.svc("hold", "confirm", pushId, "--config", file("second.json"));
  expect([confirmed.code, confirmed.output]).toEqual([0, expect.stringContaining("confirmed; now")]);
});

it("says what to do with a configuration that names no owner, or a wrong one", async () => {
  const text = await readFile(file("business.json"), "utf8");
  const { owner, ...others } = JSON.parse(text) as { owner: Record<string, string> };
  const decideWith = async (config: object, name = "other.json") => {
    await writeFile(file(name), JSON.stringify(config));
    const { code, output } = await sandbox.svc(
      "hold",
      "confirm",
      `bat_${"0".repeat(24)}`,
      "--config",
      file(name),
    );
    return [code, output];
  };
  expect(await decideWith(others)).toEqual([2, expect.stringContaining("names no owner's passkey")]);
  const missing = { ...others, owner: { ...owner, file: "nonesuch.json" } };
  expect(await decideWith(missing)).toEqual([2, expect.stringContaining("cannot be read")]);
  const wrong = { ...others, owner: { ...owner, file: "business.key.json" } };
  expect(await decideWith(wrong)).toEqual([2, expect.stringContaining("is not a P-256 key")]);
  const { sandbox_key_grant: _, ...ungranted } = others as Record<string, unknown>;
  const production = { ...ungranted, environment: "production", owner };
  expect(await decideWith(production)).toEqual([2, expect.stringContaining("owner is for the sandbox only")]);
  expect(await decideWith({ ...others, owner })).toEqual([3, expect.stringContaining("404")]);
});

it("makes no owner for a business that exists, and writes over no file", async () => {
  const same = ["grant", "--key", file("business.key.json"), "--name", "My Bakery", "--country", "GB"];
  const again = await sandbox.svc(...same, "--out", file("again.json"));
  expect(again.code, again.output).toBe(0);
  expect(JSON.parse(await readFile(file("again.json"), "utf8"))).not.toHaveProperty("owner");
  await writeFile(file("taken.owner.json"), "mine");
  const over = await sandbox.svc(...same, "--out", file("taken.json"));
  expect([over.code, over.output]).toEqual([2, expect.stringContaining("is not overwritten")]);
  expect(await readFile(file("taken.owner.json"), "utf8")).toBe("mine");
});
