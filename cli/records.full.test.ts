// What a business's developer does with records that are published: look, withdraw, delete, and follow pushes.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { imageOf } from "../node/images/images.fixture.ts";
import { sampleBusiness } from "../node/sandbox/businesses.ts";
import { hashOf } from "../protocol/bytes.ts";
import { domainChallenge } from "../protocol/keys/certificate.ts";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

let sandbox: RunningSandbox;
const business = ["--business", "2"];
const svc = (...words: readonly string[]) => sandbox.svc(...words, ...business);

const header =
  "business_product_id,product_name,language,vertical,category,channel,brand,tags,short_description,on_sale,availability,product_url,price_US,price_currency_US";
const row = (id: string): string =>
  `${id},Loaf,en,food_drink,fresh_food,online,Saltmarsh,bread,A loaf.,false,in_stock,https://saltmarsh.example/loaf,4.20,USD`;
const ids = Array.from({ length: 12 }, (_, index) => `loaf/${index}`);

beforeAll(async () => {
  sandbox = await startSandbox();
  const file = join(sandbox.home, "loaves.csv");
  await writeFile(file, [header, ...ids.map(row)].join("\n"));
  const pushed = await svc("push", file);
  expect(pushed, pushed.output).toMatchObject({ code: 0 });
});
afterAll(() => sandbox[Symbol.asyncDispose]());

/** The answers that a command printed with `--json`. */
async function answers(...words: readonly string[]) {
  const { code, output } = await svc(...words, "--json");
  expect(code, output).toBe(0);
  const lines = output.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}

it("catalogue lists what is live, and shows one record by either id", async () => {
  const entries = await answers("catalogue", "--type", "products", "--limit", "1000");
  const loaves = entries.filter((entry) => String(entry["business_product_id"]).startsWith("loaf/"));
  expect(loaves).toHaveLength(12);
  const listed = await svc("catalogue", "-n", "3");
  expect(listed).toMatchObject({ code: 0 });
  expect(listed.output).toMatch(/^RECORD +LAST UPDATED +SOURCE +YOUR ID$/m);
  expect(listed.output).toContain("The first 3 are shown");
  const [record] = await answers("catalogue", "loaf/3");
  expect(record).toMatchObject({ business_product_id: "loaf/3", type: "products", source: "api" });
  const shown = await svc("catalogue", String(record?.["record_id"]), "--record");
  expect(JSON.parse(shown.output)).toEqual(record?.["record"]);
});

it("withdraw takes records out by either id, and they may be published again", async () => {
  const [record] = await answers("catalogue", "loaf/1");
  const id = String(record?.["record_id"]);
  const said = await svc("withdraw", "loaf/0", id);
  expect(said.output).toContain(`${id} was withdrawn`);
  expect(said.code, said.output).toBe(0);
  expect(await sandbox.svc("fetch", id)).toMatchObject({ code: 1 });
  expect(await svc("catalogue", "loaf/0")).toMatchObject({
    code: 1,
    output: expect.stringContaining("No live record"),
  });
  expect(await svc("withdraw", "loaf/0")).toMatchObject({
    code: 2,
    output: expect.stringContaining("No live record"),
  });
  const again = join(sandbox.home, "again.csv");
  await writeFile(again, [header, row("loaf/0")].join("\n"));
  expect(await svc("push", again)).toMatchObject({ code: 0 });
  expect(await svc("catalogue", "loaf/0")).toMatchObject({ code: 0 });
});

it("delete asks first, and takes --yes where nobody can be asked", async () => {
  expect(await svc("delete", "loaf/2")).toMatchObject({ code: 2, output: expect.stringContaining("--yes") });
  expect(await svc("catalogue", "loaf/2")).toMatchObject({ code: 0 });
  const [deleted] = await answers("delete", "loaf/2", "--yes");
  expect(deleted).toMatchObject({ action: "delete", live_in: [] });
  expect(await svc("catalogue", "loaf/2")).toMatchObject({ code: 1 });
});

it("ads image sends an image, and shows its hash", async () => {
  const file = join(sandbox.home, "banner.png");
  const bytes = await imageOf("image/png", { width: 30, height: 20 });
  await writeFile(file, bytes);
  const [image] = await answers("ads", "image", file);
  const sha256 = hashOf(bytes);
  expect(image).toEqual({ sha256, media_type: "image/png", width: 30, height: 20, bytes: bytes.length });
  const line = `${sha256} image/png 30x20 ${bytes.length} bytes`;
  expect(await svc("ads", "image", file)).toMatchObject({ code: 0, output: expect.stringContaining(line) });
  await writeFile(file, "a text");
  expect(await svc("ads", "image", file)).toMatchObject({
    code: 3,
    output: expect.stringContaining("none of image/png"),
  });
  expect(await svc("ads", "image", join(sandbox.home, "none.png"))).toMatchObject({ code: 2 });
});

it("attempts lists what became of each record, with the reasons, and the batches that were refused", async () => {
  const file = join(sandbox.home, "faulty.csv");
  await writeFile(file, [header, row("attempt/0"), row("attempt/1").replace(",USD", ",ABC")].join("\n"));
  expect(await svc("push", file)).toMatchObject({ code: 1 });
  const rejected = await answers("attempts", "--status", "rejected");
  expect(rejected.at(-1)).toMatchObject({
    business_product_id: "attempt/1",
    category: "validation",
    leaf_index: 1,
  });
  const shown = await svc("attempts", "--limit", "1000");
  expect(shown.output).toMatch(/^RECEIVED +STATUS +PUSH +RECORD +WHAT +WHY$/m);
  expect(shown.output).toMatch(/ rejected +bat_[0-9a-f]{24} +2 +attempt\/1 +validation: /);
  const future = await svc("attempts", "--from", "2200-01-01");
  expect(future).toMatchObject({ code: 1, output: "Nothing was sent in that time.\n" });
  expect(await svc("attempts", "--from", "yesterday")).toMatchObject({ code: 3 });
});

it("domains shows whether control of each is confirmed, and what to publish, and a sandbox looks at none", async () => {
  const domain = "saltmarsh-bakery.example";
  const shown = await svc("domains");
  expect(shown.code, shown.output).toBe(1);
  expect(shown.output).toMatch(/^DOMAIN +STATUS +SINCE +LAST CONFIRMED +LAST LOOK$/m);
  expect(shown.output).toMatch(/^saltmarsh-bakery\.example +unconfirmed +\S+ +- +-$/m);
  expect(shown.output).toMatch(
    /TXT record of _svc-challenge\.saltmarsh-bakery\.example: svc-domain=\S{43}$/m,
  );
  const json = await svc("domains", "--json");
  expect(json.code).toBe(1);
  const lines = json.output.split("\n").filter((line) => line.startsWith("{"));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { domain, status: "unconfirmed", confirmed_at: null, probed: null },
  ]);
  expect(json.output).toContain(domainChallenge(sampleBusiness("bakery").uuid, domain));
});

it("pushes lists what was pushed from here, and follows one", async () => {
  const listed = await answers("pushes");
  expect(listed.length).toBeGreaterThan(0);
  const pushId = String(listed.at(-1)?.["push_id"]);
  const watched = await svc("pushes", pushId, "--watch");
  expect(watched.code, watched.output).toBe(0);
  expect(watched.output).toMatch(/complete {2}12 of 12: 12 accepted, 0 updated, 0 rejected/);
  expect(await svc("cancel", pushId)).toMatchObject({
    code: 3,
    output: expect.stringContaining("409 push_not_cancellable"),
  });
});

it("--dry-run judges by all checks of the service, and publishes nothing", async () => {
  const file = join(sandbox.home, "dry.csv");
  await writeFile(
    file,
    [header, row("dry/0"), row("loaf/5").replace("4.20", "4.30"), row("dry/1").replace(",USD", ",ABC")].join(
      "\n",
    ),
  );
  const judged = await svc("push", file, "--dry-run");
  expect(judged.code, judged.output).toBe(1);
  expect(judged.output).toContain("1 would be published, 1 updated, 1 rejected. Nothing was published.");
  expect(judged.output).toContain("  line 4");
  expect(await svc("catalogue", "dry/0")).toMatchObject({ code: 1 });
});

it("--dry-run judges more products than a batch may have as one file", { timeout: 120_000 }, async () => {
  const file = join(sandbox.home, "large.csv");
  const rows = Array.from({ length: 10_002 }, (_, index) => row(`large/${index % 10_001}`));
  await writeFile(file, [header, ...rows].join("\n"));
  const judged = await svc("push", file, "--dry-run");
  expect(judged.code, judged.output).toBe(1);
  expect(judged.output).toContain("10,001 would be published, 0 updated, 0 rejected");
  // What the file names twice is told with both places, before the service is asked.
  expect(judged.output).toContain("The file has it before, at 2");
  expect(judged.output).toContain('  line 10003, such as "large/0"');
});

it.each([
  ["withdraw without an id", ["withdraw"], 2, "ID is missing"],
  ["withdraw of a record that nobody has", ["withdraw", `svc_${"a".repeat(26)}`], 3, "404"],
  ["delete of an own id that nobody has", ["delete", "nothing", "--yes"], 2, "No live record"],
  ["a catalogue of another kind", ["catalogue", "--type", "things"], 2, "products"],
  ["a push id that is none", ["pushes", "bat_1"], 3, "404"],
  ["cancel without an id", ["cancel"], 2, "PUSH_ID is missing"],
])("%s is refused", async (_name, words, code, said) => {
  const refused = await svc(...words);
  expect(refused.code, refused.output).toBe(code);
  expect(refused.output).toContain(said);
});

it("terms shows those in force, and says which version there is not", async () => {
  const shown = await sandbox.svc("terms");
  expect(shown.code, shown.output).toBe(0);
  expect(shown.output).toMatch(/^# Terms of this sandbox\n/);
  expect(shown.output).toMatch(/2 \(in force\) +2026-02-01T00:00:00.000Z +en +sha256:[0-9a-f]{64}/);
  const exact = JSON.parse((await sandbox.svc("terms", "1", "--json")).output) as {
    readonly version: number;
  };
  expect(exact.version).toBe(1);
  expect(await sandbox.svc("terms", "7")).toMatchObject({ code: 3 });
  expect(shown.output).toContain("has not agreed to this version: svc terms agree 2 sha256:");
  const [, hash = ""] = /agree 2 (sha256:[0-9a-f]{64})/.exec(shown.output) ?? [];
  const unagreed = await sandbox.svc("entitlement");
  expect([unagreed.code, unagreed.output]).toEqual([3, expect.stringContaining("terms_not_agreed")]);
  for (let times = 0; times < 2; times += 1)
    expect((await sandbox.svc("terms", "agree", "2", hash)).output).toMatch(
      /agreed to version 2, sha256:.*, at 2/,
    );
  expect((await sandbox.svc("terms")).output).toContain("Your company agreed to this version at ");
  expect((await sandbox.svc("entitlement")).output).toMatch(/Terms +version 2, agreed at 2/);
  const { verify_url: url } = JSON.parse(await readFile(join(sandbox.home, "sandbox.json"), "utf8"));
  const keys = await fetch(`${url}/.well-known/keys`);
  await writeFile(join(sandbox.home, "keys.json"), await keys.text());
  await writeFile(join(sandbox.home, "own.json"), (await sandbox.svc("entitlement", "--json")).output);
  const files = [join(sandbox.home, "own.json"), "--key-set", join(sandbox.home, "keys.json"), "--sandbox"];
  const checked = await sandbox.svc("verify", ...files);
  expect([checked.code, checked.output]).toEqual([0, expect.stringMatching(/entitlement +Of .*, until 2/)]);
  expect(await sandbox.svc("terms", "agree", "1", hash)).toMatchObject({ code: 3 });
  for (const words of [["2"], ["2", "x"], ["x", hash], ["2", hash, "more"]])
    expect(await sandbox.svc("terms", "agree", ...words)).toMatchObject({ code: 2 });
  expect(await sandbox.svc("terms", "x")).toMatchObject({ code: 2 });
});
