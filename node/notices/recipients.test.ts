import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readRecipients } from "./notices.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-recipients-"));
});
afterAll(() => rm(folder, { recursive: true }));

const business = "00000000-0000-4000-8000-000000000001";

it("are the first twenty addresses of a business, each once", async () => {
  const path = join(folder, "recipients.json");
  const addresses = Array.from({ length: 25 }, (_, index) => `person${index}@shop.example`);
  const table = { [business]: ["no address", 7, addresses[0], ...addresses], other: ["other@shop.example"] };
  await writeFile(path, JSON.stringify(table));
  expect(await readRecipients(path, business)).toEqual(addresses.slice(0, 20));
});
