import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { buildLogJudge, type JudgedLog, type LogJudge } from "./log-judge.fixture.ts";
import { root } from "./process.ts";
import { type CrashOptions, isProven, readCsv, runPushCrash } from "./push-crash.ts";

const crash: CrashOptions = {
  csv: readCsv(join(root, "node/sandbox/data/diamonds-slice.csv")),
  stones: 5_000,
  batchSize: 640,
  kills: 3,
  seed: 20_261_121,
  samples: 20,
  log: (line) => console.log(line),
};

/** Every stone is published once, with its exact bytes, and is found and verified. */
async function expectProven(options: CrashOptions): Promise<void> {
  const report = await runPushCrash(options);
  const { stones, samples } = options;
  expect(new Set(report.killed)).toEqual(new Set(["node", "program", "both"]));
  expect(report).toMatchObject({
    live: stones,
    firstGeneration: stones,
    exactBytes: stones,
    indexed: stones,
    samples,
    found: samples,
    verified: samples,
    sentAgain: false,
  });
  expect(isProven(report, options)).toBe(true);
}

describe("a push of 5,000 stones in eight batches", () => {
  it("survives three kills and publishes every stone once", () => expectProven(crash));
});

/** The sample grown to more stones than it has: each further copy of a stone costs a dollar more. */
function grownTo(count: number): string {
  const [header = "", ...lines] = crash.csv.trimEnd().split("\n");
  const price = header.replaceAll(`"`, "").split(",").indexOf("price");
  const grown = Array.from({ length: count }, (_, at) => {
    const fields = (lines[at % lines.length] ?? "").split(",");
    return fields.with(price, String(Number(fields[price]) + Math.floor(at / lines.length))).join(",");
  });
  return [header, ...grown, ""].join("\n");
}

async function logOf(home: string): Promise<JudgedLog> {
  const { verify_url, anchors } = JSON.parse(await readFile(join(home, "sandbox.json"), "utf8")) as {
    readonly verify_url: string;
    readonly anchors: unknown;
  };
  return { verifyUrl: verify_url, anchors };
}

/** Keeps a checkpoint after every kill; the log that has the seal of the file in the end continues all of them. */
function judging(judge: LogJudge): NonNullable<CrashOptions["looks"]> {
  let atFirst = 0;
  return {
    started: async (home) => {
      const log = await logOf(home);
      // After a kill the checkpoint that was published last is there at once; at first the samples are sequenced.
      if (atFirst === 0)
        atFirst = await vi.waitUntil(() => judge.sizeOf(log), { timeout: 120_000, interval: 200 });
      await judge.keepCheckpoint(log);
    },
    published: async (home) => {
      const log = await logOf(home);
      const isIn = async (): Promise<boolean> => (await judge.sizeOf(log)) > atFirst;
      await vi.waitUntil(isIn, { timeout: 120_000, interval: 200 });
      expect((await judge.judge(log)).consistency).toBeGreaterThan(2);
      await judge.fsck(log);
    },
  };
}

/** What a busy machine takes for the work of a minute. */
const timeout = 900_000;

describe("a push of 30,000 stones in one file", () => {
  it("survives five kills and publishes every stone once, and other people's programs accept its log", {
    timeout,
  }, async () => {
    const judge = await buildLogJudge();
    const looks = judge === null ? {} : { looks: judging(judge) };
    await expectProven({
      ...crash,
      csv: grownTo(30_000),
      stones: 30_000,
      batchSize: null,
      kills: 5,
      ...looks,
    });
    await judge?.close();
  });

  it("is no proof where everything was settled before the last kill", async () => {
    const few = { ...crash, stones: 60, batchSize: null, kills: 5, samples: 1 };
    await expect(runPushCrash(few)).rejects.toThrow(/ended before kill|settled before kill/);
  });
});
