// What an AI company's developer reads of what its keys were answered, and checks of receipts that are presented.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type RunningSandbox, startSandbox } from "./running-sandbox.fixture.ts";

let sandbox: RunningSandbox;
/** The answer of a search, as its caller saved it. */
let saved: { readonly retrieval_id: string; readonly rows: readonly Record<string, unknown>[] };
let file: string;

beforeAll(async () => {
  sandbox = await startSandbox();
  const answer = await sandbox.svc("search", "products", "--country", "US", "-n", "3", "--json");
  expect(answer.code, answer.output).toBe(0);
  saved = JSON.parse(answer.output) as typeof saved;
  file = join(sandbox.home, "answer.json");
  await writeFile(file, answer.output);
  await sandbox.svc("search", "products", "--country", "US", "-n", "1", "--company", "2");
});
afterAll(() => sandbox[Symbol.asyncDispose]());

const check = (...words: readonly string[]) => sandbox.svc("receipts", "check", ...words, "--sandbox");

it("receipts lists those of the company, and shows one with what was found about it", async () => {
  const listed = await sandbox.svc("receipts");
  expect(listed.code, listed.output).toBe(0);
  expect(listed.output).toMatch(/^SERVED +RETRIEVAL +KIND +COLLECTION +COUNTRY +ROWS +BILLED +KEY$/m);
  expect(listed.output.split("\n").filter((line) => line.includes("ret_"))).toHaveLength(1);
  expect(listed.output).toMatch(new RegExp(`${saved.retrieval_id} +search +products +US +3 +no`));
  const one = await sandbox.svc("receipts", saved.retrieval_id);
  expect(one.code, one.output).toBe(0);
  expect(one.output).toMatch(/^receipt +valid$/m);
  expect(one.output).toMatch(/^log +does not contain it yet$/m);
  const other = await sandbox.svc("receipts", saved.retrieval_id, "--company", "2");
  expect(other).toMatchObject({ code: 1, output: expect.stringContaining("not yours") });
  expect(await sandbox.svc("receipts", "--from", "2026-01-01", "--to", "2026-01-02")).toMatchObject({
    code: 1,
  });
  expect(await sandbox.svc("receipts", "--from", "yesterday")).toMatchObject({ code: 3 });
});

it("usage counts the same", async () => {
  const counted = await sandbox.svc("usage", "--by", "kind,country");
  expect(counted.code, counted.output).toBe(0);
  expect(counted.output).toMatch(/^KIND +COUNTRY +REQUESTS +BILLED +ROWS$/m);
  expect(counted.output).toMatch(/^search +US +1 +0 +3$/m);
  const exact = JSON.parse((await sandbox.svc("usage", "--json")).output) as Record<string, unknown>;
  expect(exact["total"]).toEqual({ requests: 1, billable: 0, rows: 3 });
  expect(await sandbox.svc("usage", "--from", "2026-01-01", "--to", "2026-01-02")).toMatchObject({ code: 1 });
});

it("check accepts the caller's own receipt with its rows, alone, and as the service lists it", async () => {
  const whole = await check(file);
  expect(whole.code, whole.output).toBe(0);
  for (const name of ["key_set", "receipt", "rows/0", "rows/2"])
    expect(whole.output).toMatch(new RegExp(`^ok +${name}`, "m"));
  expect(whole.output).toMatch(/^not checked +log/m);
  const listed = join(sandbox.home, "listed.json");
  await writeFile(listed, (await sandbox.svc("receipts", "--json")).output);
  expect(await check(listed)).toMatchObject({ code: 0 });
  expect(await check(listed, "--rows", file)).toMatchObject({ code: 0 });
});

it("check refuses a receipt that another caller presents, and rows that it does not list", async () => {
  const stranger = await check(file, "--company", "2");
  expect(stranger).toMatchObject({ code: 1, output: expect.stringContaining("receipt_caller_mismatch") });
  expect((await check(file, "--caller", "A".repeat(43))).output).toContain("receipt_caller_mismatch");
  const [first, ...others] = saved.rows;
  const rows = join(sandbox.home, "rows.json");
  await writeFile(rows, JSON.stringify([{ ...first, adl_origin: `sha256:${"0".repeat(64)}` }, ...others]));
  const changed = await check(file, "--rows", rows);
  expect(changed).toMatchObject({ code: 1, output: expect.stringContaining("receipt_row_mismatch") });
});

it("check needs a receipt, and anchors that are named", async () => {
  const none = join(sandbox.home, "none.json");
  await writeFile(none, "{}");
  expect(await check(none)).toMatchObject({ code: 2, output: expect.stringContaining("no receipt") });
  expect(await sandbox.svc("receipts", "check", file)).toMatchObject({ code: 2 });
});
