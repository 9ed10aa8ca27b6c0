// `svc ops watch`: what it prints of a live view, and that it goes on by itself.

import { expect, it } from "vitest";
import { noInspection, report } from "../../ops/ops.fixture.ts";
import { serveOps } from "./ops-commands.fixture.ts";
import { opsWatch } from "./show.ts";

const enough = new Error("enough was seen");

it("prints one actor whenever it changed, says what cannot be read, and follows again where a view ends", async () => {
  const printed: string[] = [];
  let [head, ends, faults] = [0, 0, 0];
  const detail = async () => {
    head += 1;
    if (printed.length > 0 && faults === 0) {
      faults += 1;
      throw new Error("The store is away.");
    }
    return {
      ...report,
      head,
      waits: [{ code: "chunk", words: `Step ${head}.`, until: null, next: null, attention: null }],
    };
  };
  const live = { everyMs: 5, beatMs: 10_000, lastsMs: 1_000 };
  await using ops = await serveOps({ inspection: { ...noInspection, detail }, live });
  const heads = (): readonly number[] =>
    printed.flatMap((line) => /^#(\d+) /.exec(line)?.[1] ?? []).map(Number);
  const wait = async (): Promise<void> => {
    ends += 1;
    // A view lasts for a second, in which a busy machine may show little.
    if (ends >= 2 && heads().length > 2 && faults > 0) throw enough;
  };
  const terminal = {
    print: (line: string) => void printed.push(line),
    note: (line: string) => void printed.push(line),
  };
  await expect(ops.run(opsWatch, ["push/bat_1"], { wait, terminal: Object(terminal) })).rejects.toBe(enough);
  expect(printed[0]).toMatch(/^#\d+ active processing {2}Step \d+\.$/);
  expect(printed.some((line) => line.startsWith("Not readable now: "))).toBe(true);
  expect(heads()).toEqual([...heads()].sort((a, b) => a - b));
});
