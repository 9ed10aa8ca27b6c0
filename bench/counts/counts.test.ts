// What an operation costs is counted and not timed, so it is the same on a busy machine: a change that costs a statement or a
// promise says so in figures.json. With SVC_WRITE_COUNTS=1 the run writes the figures that have changed.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { differences, type Figures, figuresOf, keepNear } from "./figures.fixture.ts";
import { type Counted, countOperations, type Operation, operations } from "./operations.fixture.ts";

const file = new URL("figures.json", import.meta.url);
const names = Object.keys(operations) as Operation[];
/** Alone it takes ten seconds; another process may take the processor away for minutes. */
const timeoutMs = 1_200_000;
let folder: string;
let kept: Readonly<Partial<Record<Operation, Figures>>>;
let now: Readonly<Record<Operation, Figures>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-counts-"));
  const counted: Readonly<Record<Operation, Counted>> = await countOperations(join(folder, "node"));
  const each = <T>(of: (name: Operation) => T) =>
    Object.fromEntries(names.map((name) => [name, of(name)])) as Record<Operation, T>;
  now = each((name) => figuresOf(name, counted[name]));
  kept = JSON.parse(await readFile(file, "utf8"));
  if (process.env["SVC_WRITE_COUNTS"] !== "1") return;
  kept = each((name) => keepNear(name, kept[name] ?? {}, now[name]));
  await writeFile(file, `${JSON.stringify(kept, null, 2)}\n`);
}, timeoutMs);
afterAll(() => rm(folder, { recursive: true }));

it.each(names)("%s costs what is kept", (name) => {
  const changes = differences(name, kept[name] ?? {}, now[name]).map(
    (each) => `${operations[name]}: ${each.name} ${each.kept} before, ${each.now} now`,
  );
  expect(changes, "If this is intended, run this file with SVC_WRITE_COUNTS=1 and say why.").toEqual([]);
});
