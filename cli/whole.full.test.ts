// A merchant's daily feed against a running sandbox: what has not changed is not sent, and what the file no longer has is
// withdrawn only as far as was allowed.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

let sandbox: RunningSandbox;
const fileOf = (name: string): string => join(sandbox.home, name);

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

/** A business of its own with an empty catalogue, and `svc` as it. */
async function openShop(name: string) {
  const config = fileOf(`${name}.json`);
  const granted = await sandbox.svc("grant", "--name", name, "--country", "US", "--out", config);
  expect(granted.code, granted.output).toBe(0);
  const svc = (...words: readonly string[]) => sandbox.svc(...words, "--config", config);
  const push = async (rows: readonly string[], ...words: readonly string[]) => {
    const path = fileOf(`${name}.csv`);
    await writeFile(path, [header, ...rows].join("\n"));
    return await svc("push", path, ...words);
  };
  const live = async (): Promise<readonly string[]> => {
    const { output } = await svc("catalogue", "--limit", "5000", "--json");
    const lines = output.split("\n").filter((line) => line.startsWith("{"));
    return lines.map((line) => String(JSON.parse(line)["business_product_id"])).toSorted();
  };
  return { config, svc, push, live };
}

const header =
  "business_product_id,product_name,language,vertical,category,channel,brand,short_description,on_sale,availability,product_url,price_US,price_currency_US";
const row = (id: string, price = "4.20"): string =>
  `${id},Loaf,en,food_drink,groceries,online,Saltmarsh,A loaf.,no,in_stock,https://saltmarsh.example/${id},${price},USD`;
const rows = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => row(`loaf-${1_000 + index}`));

describe("a file that was pushed before", () => {
  it("sends only what has changed, says so before, and again what another key sealed or what was withdrawn", async () => {
    const shop = await openShop("Daily");
    expect((await shop.push(rows(200))).output).toContain("200 products: 200 published, 0 updated");
    const changed = [row("loaf-1000", "4.30"), row("loaf-1001", "4.30"), ...rows(200).slice(2)];
    const judged = await shop.push(changed, "--dry-run");
    expect(judged.output).toContain("198 of 200 products are unchanged; 2 to send.");
    expect(judged.output).toContain("0 would be published, 2 updated, 0 rejected, 198 unchanged.");
    const pushed = await shop.push(changed);
    expect(pushed.code, pushed.output).toBe(0);
    expect(pushed.output).toContain("200 products: 0 published, 2 updated, 0 rejected, 198 unchanged.");
    const sent = await shop.svc("attempts", "--status", "updated", "--limit", "1000", "--json");
    expect(sent.output.match(/"attempt_id"/g)).toHaveLength(2);
    expect((await shop.svc("withdraw", "loaf-1007")).code).toBe(0);
    expect((await shop.push(changed)).output).toContain("1 published, 0 updated, 0 rejected, 199 unchanged.");
    const second = fileOf("second.json");
    const joined = await shop.svc("grant", "--join", "--out", second);
    expect(joined.code, joined.output).toBe(0);
    const other = await sandbox.svc("push", fileOf("Daily.csv"), "--config", second);
    expect(other.output).toContain("200 products: 0 published, 200 updated, 0 rejected. Push");
  });

  it("sends what a held push would still replace", async () => {
    const shop = await openShop("Held");
    expect((await shop.push(rows(25))).code).toBe(0);
    const dear = [row("loaf-1000", "99.00"), ...rows(25).slice(1)];
    expect((await shop.push(dear)).output).toContain("held: price_jump");
    const back = await shop.push(rows(25));
    expect(back.output).toContain("1 updated, 0 rejected, 24 unchanged.");
  });
});

describe("a whole feed", () => {
  it("withdraws what it no longer has, with a limit, and otherwise shows it", async () => {
    const shop = await openShop("Whole");
    expect((await shop.push(rows(40))).code).toBe(0);
    const less = rows(40).slice(0, 37);
    const said = await shop.push(less);
    expect([said.code, said.output]).toEqual([
      0,
      expect.stringContaining(
        "3 live products are not in the file and stay published; --whole withdraws them.",
      ),
    ]);
    const shown = await shop.push(less, "--whole");
    expect(shown.code).toBe(1);
    expect(shown.output).toContain("3 live products are not in the file: loaf-1037, loaf-1038, loaf-1039.");
    expect(shown.output).toContain("say how many may be, such as --remove-at-most 3");
    for (const limit of ["2", "7%"]) {
      const refused = await shop.push(less, "--whole", "--remove-at-most", limit);
      expect([refused.code, refused.output]).toEqual([
        1,
        expect.stringContaining("3 are more than --remove-at-most allows."),
      ]);
    }
    expect(await shop.live()).toHaveLength(40);
    const rehearsed = await shop.push(less, "--whole", "--remove-at-most", "3", "--dry-run");
    expect(rehearsed.code, rehearsed.output).toBe(0);
    expect(await shop.live()).toHaveLength(40);
    const done = await shop.push(less, "--whole", "--remove-at-most", "3");
    expect(done.code, done.output).toBe(0);
    expect(done.output).toContain("0 rejected, 37 unchanged, 3 withdrawn.");
    expect(await shop.live()).toEqual(less.map((line) => line.split(",")[0]));
    expect((await shop.push(less, "--whole", "--remove-at-most", "0")).code).toBe(0);
  });

  it("leaves more than one fifth to a person, and what it does not have to the report", async () => {
    const shop = await openShop("Fifth");
    expect((await shop.push(rows(40))).code).toBe(0);
    const report = fileOf("fifth.ndjson");
    const half = rows(40).slice(0, 31);
    const refused = await shop.push(half, "--whole", "--remove-at-most", "100%", "--report", report);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain("9 of 40 live products are more than one fifth");
    const missing = (await readFile(report, "utf8")).trimEnd().split("\n");
    const ids = missing.map((line) => JSON.parse(line) as { effect: string; id: string });
    expect(ids.map(({ id }) => id).toSorted()).toEqual(
      rows(40)
        .slice(31)
        .map((line) => line.split(",")[0]),
    );
    expect((await shop.push(rows(40).slice(0, 32), "--whole", "--remove-at-most", "8")).code).toBe(0);
    await writeFile(fileOf("gone.txt"), `${ids.map(({ id }) => id).join("\n")}\n`);
    const rest = await shop.svc("withdraw", "--from", fileOf("gone.txt"));
    expect(rest.code).toBe(1);
    expect(rest.output).toContain("1 record was withdrawn.");
    expect(rest.output).toContain("8 ids are of no live record: ");
    expect(await shop.live()).toHaveLength(31);
  });

  it("never withdraws what it has and cannot be read", async () => {
    const shop = await openShop("Faulty");
    expect((await shop.push(rows(40))).code).toBe(0);
    const words = ["--whole", "--remove-at-most", "5", "--skip-unmapped"];
    const faulty = [...rows(40).slice(0, 39), row("loaf-1039").replace(",no,", ",perhaps,")];
    const left = await shop.push(faulty, ...words);
    expect(left.output).toContain("39 unchanged, 1 of the file left out.");
    expect(await shop.live()).toHaveLength(40);
    const rejected = [...rows(40).slice(0, 39), row("loaf-1039").replace(",USD", ",ABC")];
    expect((await shop.push(rejected, ...words)).output).toContain("1 rejected, 39 unchanged");
    const path = fileOf("unnamed.ndjson");
    await writeFile(path, `{"not json\n{"business_product_id":7}\n`);
    const unnamed = await shop.svc("push", path, ...words);
    expect(unnamed.output).toContain("of 2 items of the file the id cannot be read");
    expect(await shop.live()).toHaveLength(40);
  });

  it.each([
    [["--remove-at-most", "5"], "belongs to --whole"],
    [["--whole", "--remove-at-most", "some"], "a share such as 5%"],
    [["--whole", "--remove-at-most", "101%"], "a share such as 5%"],
    [["--whole", "--remove-at-most", "1.5"], "a share such as 5%"],
  ])("%j is refused", async (words, said) => {
    const refused = await sandbox.svc("push", "package.json", ...words);
    expect(refused).toMatchObject({ code: 2, output: expect.stringContaining(said) });
  });
});

describe("feeds for two countries", () => {
  const feed = (items: readonly string[]): string =>
    `<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Lamps</title><link>https://lamps.example/</link><language>en</language>\n${items.join("\n")}\n</channel></rss>`;
  const item = (id: string, price: string, title = "Desk lamp"): string =>
    `<item><g:id>${id}</g:id><title>${title}</title><description>A lamp.</description><link>https://lamps.example/${id}</link><g:price>${price}</g:price><g:availability>in_stock</g:availability><g:brand>Glim</g:brand><g:google_product_category>594</g:google_product_category></item>`;

  it("are published as one record with both prices, and never end each other", async () => {
    const shop = await openShop("Countries");
    const [de, ch] = [fileOf("de.xml"), fileOf("ch.xml")];
    await writeFile(de, feed(["m-1", "m-2", "m-3"].map((id) => item(id, "19.99 EUR"))));
    await writeFile(ch, feed(["m-1", "m-2"].map((id) => item(id, "21.00 CHF"))));
    const pushed = await shop.svc("push", `${de}=DE`, `${ch}=CH`);
    expect(pushed.code, pushed.output).toBe(0);
    expect(pushed.output).toContain("3 products: 3 published");
    const [both, one] = await Promise.all(
      ["m-1", "m-3"].map(async (id) => JSON.parse((await shop.svc("catalogue", id, "--record")).output)),
    );
    expect(both).toMatchObject({
      countries: ["CH", "DE"],
      prices: [
        { country: "CH", currency: "CHF", amount: "21.00" },
        { country: "DE", currency: "EUR", amount: "19.99" },
      ],
    });
    expect(one).toMatchObject({ countries: ["DE"], prices: [{ country: "DE" }] });
    expect((await shop.svc("push", `${ch}=CH`, `${de}=DE`)).output).toContain("0 rejected, 3 unchanged.");
    await writeFile(ch, feed([item("m-1", "21.00 CHF", "Desk lamp, new"), item("m-2", "21 francs")]));
    const differ = await shop.svc("push", `${de}=DE`, `${ch}=CH`);
    expect(differ.code).toBe(2);
    expect(differ.output).toContain("product_name: A feed after this one has Desk lamp, new.");
    expect(differ.output).toContain("  ch.xml: line ");
    const skipped = await shop.svc("push", `${de}=DE`, `${ch}=CH`, "--skip-unmapped");
    expect(skipped.output).toContain("1 unchanged, 2 of the file left out.");
    expect(JSON.parse((await shop.svc("catalogue", "m-2", "--record")).output)).toMatchObject({
      countries: ["CH", "DE"],
    });
    await writeFile(ch, feed(["<item><title>Nameless</title></item>", item("m-1", "21.00 CHF")]));
    const nameless = await shop.svc("push", `${de}=DE`, `${ch}=CH`, "--skip-unmapped");
    expect(nameless).toMatchObject({ code: 2, output: expect.stringContaining("whose prices are missing") });
    const plain = await shop.svc("push", de, `${ch}=CH`);
    expect(plain).toMatchObject({ code: 2, output: expect.stringContaining("write de.xml=DE") });
  });
});

it("withdraws a thousand records of a file", { timeout: 120_000 }, async () => {
  const shop = await openShop("Thousand");
  expect((await shop.push(rows(1_200))).code).toBe(0);
  const gone = rows(1_000).map((line) => line.split(",")[0]);
  await writeFile(fileOf("thousand.txt"), gone.join("\n"));
  const done = await shop.svc("withdraw", "--from", fileOf("thousand.txt"));
  expect(done, done.output).toMatchObject({ code: 0, output: expect.stringContaining("1,000 records were") });
  expect(await shop.live()).toHaveLength(200);
});
