// `svc hold` on a fresh sandbox: what anybody can try with the passkey of a sample business's owner.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "../running-sandbox.fixture.ts";

let sandbox: RunningSandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const header =
  "business_product_id,product_name,language,vertical,category,channel,brand,tags,short_description,on_sale,availability,product_url,price_US,price_currency_US";
const row = (index: number, price: string): string =>
  `hold-${index},Loaf ${index},en,food_drink,fresh_food,online,Saltmarsh,bread,A loaf.,false,in_stock,https://saltmarsh.example/loaf,${price},USD`;

/** Pushes products as the second business; `prices` are those of the first, second … loaf. */
async function push(...prices: readonly string[]) {
  const file = join(sandbox.home, `loaves-${prices.join("-")}.csv`);
  await writeFile(file, `${[header, ...prices.map((price, index) => row(index, price))].join("\n")}\n`);
  return sandbox.svc("push", file, "--business", "2");
}

const hold = (...words: readonly string[]) => sandbox.svc("hold", ...words, "--business", "2");

it("lists what is held, and the owner confirms one push and rejects another", async () => {
  const catalogue = await push(...Array<string>(25).fill("4.00"));
  expect(catalogue.code, catalogue.output).toBe(0);
  expect((await hold("list")).output).toContain("Nothing is held.");
  const held = await push("9.90");
  expect(held.code, held.output).toBe(1);
  expect(held.output).toMatch(/held: [a-z_]+ .+/);
  expect(held.output).toContain("  hold-0 US: 4.00 USD -> 9.90 USD (+5.9)");
  expect((await push("40")).code).toBe(1);
  const waiting = (await sandbox.svc("pushes", "--business", "2")).output.match(
    /bat_[0-9a-f]{24}(?=.*held)/,
  )?.[0];
  // It must end: only a person can change anything.
  const watched = await sandbox.svc("pushes", waiting ?? "", "--watch", "--business", "2");
  expect(watched.code, watched.output).toBe(1);
  expect(watched.output).toMatch(/Held until \S+Z: an owner or admin decides/);
  expect(watched.output).toContain(`svc hold confirm ${waiting} --business 2`);
  expect(watched.output).not.toMatch(/ 0 {2}held/);
  const { output } = await hold("list");
  expect(output).toContain("hold-0 US: 4.00 USD -> 9.90 USD (+5.9)");
  const [first = "", second = ""] = output.match(/^bat_[0-9a-f]{24}/gm) ?? [];
  expect(await hold("confirm", first)).toMatchObject({ code: 0 });
  expect((await hold("reject", second)).output).toContain("failed: hold_rejected");
  expect((await hold("list")).output).toContain("Nothing is held.");
  const again = await hold("confirm", second);
  expect([again.code, again.output]).toEqual([3, expect.stringContaining("409 push_not_held")]);
  const status = await sandbox.svc("push-status", first, "--business", "2");
  expect(status.output).toMatch(/complete\n/);
});

it("sends a file again after its push was cancelled", async () => {
  expect((await push("55")).code).toBe(1);
  const [id = ""] = (await hold("list")).output.match(/^bat_[0-9a-f]{24}/m) ?? [];
  const cancelled = await sandbox.svc("cancel", id, "--business", "2");
  expect(cancelled.code, cancelled.output).toBe(0);
  const again = await push("55");
  expect(again.output).toContain("is held.");
  expect(again.output).not.toContain(id);
});

it("says where people decide, if it has no passkey of the business", async () => {
  const path = join(sandbox.home, "sandbox.json");
  const text = await readFile(path, "utf8");
  const { businesses, business_url } = JSON.parse(text);
  const pushId = `bat_${"0".repeat(24)}`;
  // As if the business were none of the samples.
  await writeFile(path, text.replaceAll('"owner": {', '"former": {'));
  const none = await hold("confirm", pushId);
  await writeFile(path, text);
  expect([none.code, none.output]).toEqual([2, expect.stringContaining("no passkey of this business")]);
  const [config, key] = [join(sandbox.home, "elsewhere.json"), join(sandbox.home, "key.json")];
  const [{ grant, private_jwk }] = businesses[0].integration_keys;
  await writeFile(key, JSON.stringify(private_jwk), { mode: 0o600 });
  const connection = { business_base_url: business_url, key: { file: key }, sandbox_key_grant: grant };
  await writeFile(config, JSON.stringify({ version: 1, environment: "sandbox", ...connection }));
  const elsewhere = await sandbox.svc("hold", "confirm", pushId, "--config", config);
  expect([elsewhere.code, elsewhere.output]).toEqual([2, expect.stringContaining("--document FILE")]);
  const document = join(sandbox.home, "decision.json");
  const send = () => sandbox.svc("hold", "confirm", pushId, "--config", config, "--document", document);
  expect((await send()).output).toContain("cannot be read (ENOENT)");
  await writeFile(document, "{}");
  const sent = await send();
  expect([sent.code, sent.output]).toEqual([3, expect.stringContaining("400 request_invalid")]);
});
