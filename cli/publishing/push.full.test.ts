// `svc push` of every format, as a business's developer runs it against a sandbox.

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { merchantRss, merchantTsv } from "../../client/feeds/feed.fixture.ts";
import { startProcess } from "../../tools/process.ts";
import { type RunningSandbox, startSandbox } from "../running-sandbox.fixture.ts";

let sandbox: RunningSandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox[Symbol.asyncDispose]());

async function fileOf(name: string, contents: string): Promise<string> {
  const path = join(sandbox.home, name);
  await writeFile(path, contents);
  return path;
}

/** The events of a run with `--json`. */
async function events(...words: readonly string[]) {
  const { code, output } = await sandbox.svc(...words, "--json");
  const told = output.split("\n").filter((line) => line.startsWith("{"));
  return { code, output, events: told.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

function loafs(count: number, prefix: string): string {
  const header =
    "business_product_id,language,product_name,vertical,category,channel,brand,short_description,on_sale,availability,product_url,price_US,price_currency_US";
  const rows = Array.from(
    { length: count },
    (_, index) =>
      `${prefix}-${index},en,Loaf ${index},food_drink,groceries,online,Saltmarsh,A loaf.,no,in_stock,https://saltmarsh.example/${index},4.20,USD`,
  );
  return [header, ...rows].join("\n");
}

describe("a Google Merchant feed", () => {
  it("is published, and what it says that products do not have is reported with its lines", async () => {
    const file = await fileOf("merchant.txt", merchantTsv);
    const report = join(sandbox.home, "report.ndjson");
    const pushed = await sandbox.svc("push", file, "--set", "language=en", "--report", report);
    expect(pushed.output).toContain("image_link: Products have no member for it.");
    expect(pushed.output).toContain("  line 2, such as");
    expect(pushed).toMatchObject({ code: 0, output: expect.stringContaining("2 products: 2 published") });
    const notes = (await readFile(report, "utf8")).trimEnd().split("\n");
    expect(notes.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { place: 2, id: "lamp-1", attribute: "image_link", effect: "attribute_left_out" },
      { place: 3, id: "lamp-2", attribute: "gtin", value: "4006381333932", code: "value_invalid" },
    ]);
  });

  it("may be RSS, and is published as it is", async () => {
    const file = await fileOf("merchant.xml", merchantRss);
    const pushed = await events("push", file);
    expect(pushed.code, pushed.output).toBe(0);
    expect(pushed.events.at(-1)).toMatchObject({ type: "push.finished", published: true, records: 1 });
  });

  it("is not sent while items cannot be mapped, unless the others are asked for", async () => {
    const file = await fileOf("half.txt", merchantTsv.replace("59.00 USD", "59 dollars"));
    const refused = await sandbox.svc("push", file, "--set", "language=en");
    expect(refused.code).toBe(2);
    expect(refused.output).toContain("price: Must be an amount and a currency");
    expect(refused.output).toContain(
      "1 of 2 items of half.txt cannot be read as products; nothing was sent.",
    );
    const skipped = await events("push", file, "--set", "language=en", "--skip-unmapped");
    expect(skipped.code, skipped.output).toBe(1);
    expect(skipped.events.at(-1)).toMatchObject({
      type: "push.finished",
      published: true,
      records: 1,
      left_out: 1,
    });
  });

  it("with a document type declaration is refused", async () => {
    const file = await fileOf("bomb.xml", merchantRss.replace("<rss", "<!DOCTYPE rss><rss"));
    const refused = await sandbox.svc("push", file);
    expect(refused).toMatchObject({ code: 2, output: expect.stringContaining("document type declaration") });
  });
});

describe("a table with other columns", () => {
  const mapping = {
    v: 1,
    columns: {
      SKU: "business_product_id",
      Name: "product_name",
      Stock: { to: "availability", values: { yes: "in_stock", no: "out_of_stock" } },
      Shelf: null,
    },
    prices: [{ amount: "Price", currency: "USD" }],
    constants: {
      language: "en",
      vertical: "food_drink",
      category: "groceries",
      channel: "online",
      on_sale: false,
    },
    defaults: {
      brand: "Saltmarsh",
      countries: ["US"],
      short_description: "A loaf.",
      product_url: "https://saltmarsh.example/",
    },
  };

  it("is published by a mapping file", async () => {
    const file = await fileOf(
      "stock.csv",
      "SKU,Name,Stock,Price,Shelf\nM-1,Rye,yes,4.20,A7\nM-2,Oat,no,3.90,A8\n",
    );
    const map = await fileOf("map.json", JSON.stringify(mapping));
    const pushed = await sandbox.svc("push", file, "--mapping", map);
    expect(pushed).toMatchObject({ code: 0, output: expect.stringContaining("2 products: 2 published") });
  });

  it.each<[string, unknown, string]>([
    ["that is not JSON", "{", "is not JSON"],
    ["with a mistake in it", { ...mapping, columns: { SKU: "busines_product_id" } }, "business_product_id"],
    ["that names a column which is not there", { ...mapping, columns: { Sku: "brand" } }, '"Sku"'],
  ])("is refused with a mapping file %s", async (_name, contents, said) => {
    const file = await fileOf("stock.csv", "SKU,Name,Stock,Price,Shelf\nM-1,Rye,yes,4.20,A7\n");
    const map = await fileOf("bad.json", typeof contents === "string" ? contents : JSON.stringify(contents));
    const refused = await sandbox.svc("push", file, "--mapping", map);
    expect(refused).toMatchObject({ code: 2, output: expect.stringContaining(said) });
  });
});

it("an export of products of a shop is recognised, and published without a mapping", async () => {
  const header = "Title,URL handle,Description,Vendor,Product category,Price,SKU";
  const row = "Pot,pot,A pot.,Clay,Home & Garden > Decor,9.00,pot-1";
  const file = await fileOf("products_export.csv", `${header}\n${row}\n`);
  const unsaid = await sandbox.svc("push", file);
  expect(unsaid).toMatchObject({ code: 2, output: expect.stringContaining("--set shop=https://") });
  const of = ["shop=https://shop.example", "currency=USD", "countries=US", "language=en"];
  const pushed = await sandbox.svc("push", file, ...of.flatMap((each) => ["--set", each]));
  expect(pushed).toMatchObject({ code: 0, output: expect.stringContaining("1 product: 1 published") });
});

it("--check and --dry-run publish nothing", async () => {
  const file = await fileOf("faulty.csv", `${loafs(2, "check")}\ncheck-2,en,,,,,,,,,,,\n`);
  const checked = await events("push", file, "--check");
  expect(checked.code).toBe(1);
  expect(checked.events.at(-1)).toEqual({ type: "check.finished", records: 3, faulty: 1, left_out: 0 });
  expect(checked.events[0]).toMatchObject({ type: "record.faulty", place: 4 });
});

it("--check names a product that the file has twice", async () => {
  const file = await fileOf("twice.csv", `${loafs(2, "twice")}\n${loafs(1, "twice").split("\n")[1]}`);
  const checked = await events("push", file, "--check");
  expect(checked.code, checked.output).toBe(1);
  expect(checked.events[0]).toMatchObject({
    type: "feed.note",
    code: "duplicate_in_file",
    places: [4],
    value: "twice-0",
    detail: expect.stringContaining("at 2"),
  });
});

it("--quiet prints the result only", async () => {
  const file = await fileOf("quiet.csv", loafs(3, "quiet"));
  expect(await sandbox.svc("push", file, "--quiet")).toMatchObject({
    code: 0,
    output: expect.stringMatching(
      /^3 products: 3 published, 0 updated, 0 rejected\. Push bat_[0-9a-f]+\.\n$/,
    ),
  });
});

it.each([
  ["a file that is not there", ["push", "nothing.csv"], "cannot be used"],
  ["a format that is not one", ["push", "README.md", "--format", "xml"], "merchant-xml"],
  [
    "a file that is no feed",
    ["push", "package.json", "--format", "merchant-xml"],
    "cannot be read as products",
  ],
  ["a report that cannot be written", ["push", "package.json", "--report", "/nowhere/x"], "cannot be used"],
])("refuses %s and sends nothing", async (_name, words, said) => {
  expect(await sandbox.svc(...words)).toMatchObject({ code: 2, output: expect.stringContaining(said) });
});

it("goes on after Ctrl-C and after kill -9, publishes nothing twice, and leaves no spool behind", async () => {
  const file = await fileOf("many.csv", loafs(12_000, "many"));
  const pushes = join(sandbox.home, "pushes");
  const words = ["cli/main.ts", "push", file, "--home", sandbox.home, "--json"];
  for (const [signal, moment] of [
    ["SIGKILL", '"batch.uploading"'],
    ["SIGINT", '"batch.sent"'],
  ] as const) {
    const { child } = startProcess(process.execPath, words, { stdio: ["ignore", "pipe", "pipe"] });
    const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      if (text.includes(moment)) child.kill(signal);
    });
    expect(await ended).toBe(signal === "SIGINT" ? 130 : null);
  }
  const resumed = await events("push", file);
  expect(resumed.code, resumed.output).toBe(0);
  expect(resumed.events.at(-1)).toMatchObject({
    published: true,
    records: 12_000,
    accepted: 12_000,
    updated: 0,
  });
  const listed = await events("pushes");
  expect(listed.events.filter(({ records }) => records === 12_000)).toMatchObject([
    { source: "bulk", state: "complete" },
  ]);
  expect((await readdir(pushes)).filter((name) => name.endsWith(".spool"))).toEqual([]);
});

it("tells every fault of a file in one check, whatever kind it is", async () => {
  const file = join(sandbox.home, "two-kinds.ndjson");
  await writeFile(file, '{"not json\n{"schema":"svc/products/1"}\n');
  const report = join(sandbox.home, "two-kinds.report.ndjson");
  const reported = async () =>
    (await readFile(report, "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  for (const how of ["--check", "--dry-run"]) {
    const checked = await sandbox.svc("push", file, how, "--report", report);
    expect(checked.code, checked.output).toBe(1);
    expect(checked.output).toContain("syntax_invalid");
    expect(checked.output).toContain("member_missing at /brand");
    const lines = await reported();
    expect(lines).toContainEqual(expect.objectContaining({ place: 1, code: "syntax_invalid" }));
    expect(lines).toContainEqual(
      expect.objectContaining({
        place: 2,
        effect: "record_faulty",
        attribute: "/brand",
        code: "member_missing",
      }),
    );
  }
  await writeFile(file, "<!doctype html>\n<title>Log in</title>");
  expect(await sandbox.svc("push", file, "--report", report)).toMatchObject({ code: 2 });
  expect(await reported()).toMatchObject([
    { place: 0, effect: "file_refused", detail: expect.stringContaining("HTML") },
  ]);
  await writeFile(file, "a\n", "utf16le");
  expect(await sandbox.svc("push", file, "--encoding", "latin")).toMatchObject({
    code: 2,
    output: expect.stringContaining("windows-1252"),
  });
});

describe("a file that was pushed before", () => {
  it("is sent where the catalogue differs from it, whatever was pushed or withdrawn meanwhile", async () => {
    const first = await fileOf("first.csv", loafs(2, "back"));
    const second = await fileOf("second.csv", loafs(2, "back").replaceAll("A loaf.", "Another loaf."));
    for (const file of [first, second]) expect((await sandbox.svc("push", file)).code).toBe(0);
    expect((await sandbox.svc("push", first)).output).toContain("2 updated");
    const repeated = await sandbox.svc("push", first);
    expect(repeated.output).toContain("2 products: 0 published, 0 updated, 0 rejected, 2 unchanged.");
    expect((await sandbox.svc("withdraw", "back-1")).code).toBe(0);
    const restored = await sandbox.svc("push", first);
    expect(restored.output).toContain("1 published, 0 updated, 0 rejected, 1 unchanged.");
    const again = await sandbox.svc("push", first, "--again");
    expect(again.output).toContain("2 products: 0 published, 2 updated, 0 rejected. Push");
  });
});
