import { describe, expect, it } from "vitest";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { StoreError } from "../../storage/actor-store.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { ActivityContext } from "../system/definition.ts";
import { pushActivities } from "./activities.ts";
import { chunkFailuresMax } from "./process-chunk.ts";

describe("a chunk that a region has not confirmed", () => {
  const indexChunk = async (regions: readonly string[]) => {
    const asked: string[] = [];
    const { indexChunk: activity } = pushActivities(part({ regions: () => regions }));
    const ask = async (to: { readonly kind: string; readonly id: string }) => {
      asked.push(`${to.kind}/${to.id}`);
      return to.kind === "push" ? { references: [] } : { status: "unavailable" };
    };
    const context = part<ActivityContext>({
      actor: { kind: "push", id: "u.bat_1" },
      workId: "1",
      ask: rubbish(ask),
    });
    const params = { collection: "products", chunk: 3, region: "eu-west1" };
    const outcome = await activity?.(params, context).catch((error: Error) => error.message);
    return { asked, outcome };
  };

  it("is told to it again and again", async () => {
    expect(await indexChunk(["eu-west1", "us-east1"])).toEqual({
      asked: ["push/u.bat_1", "region/eu-west1"],
      outcome: "The index of region eu-west1 is unavailable.",
    });
  });

  it("is not waited for once the region was declared dead", async () => {
    expect(await indexChunk(["us-east1"])).toEqual({
      asked: [],
      outcome: { type: "chunk.indexed", chunk: 3, region: "eu-west1" },
    });
  });
});

describe("the notice of a push", () => {
  it("is one line, however often its business could not be told", async () => {
    const lines: unknown[] = [];
    const record = { deliver: async (notice: unknown) => void lines.push(notice) };
    const { recordNotice } = pushActivities(part({ notices: part({ record }) }));
    let failures = 3;
    const told: unknown[] = [];
    const ask = async (_to: unknown, command: unknown) => {
      failures -= 1;
      if (failures >= 0) throw new Error("The business is away.");
      told.push(command);
    };
    const counts = { accepted: 1, updated: 1, rejected: 0, held: 0 };
    const notice = {
      notice_id: "n",
      business_uuid: "u",
      push_id: "p",
      state: "complete",
      records: 2,
      counts,
    };
    const give = () => recordNotice?.(notice, part<ActivityContext>({ ask: rubbish(ask) }));
    for (let time = 0; time < 3; time += 1) await expect(give()).rejects.toThrow("away");
    expect(await give()).toBeNull();
    expect([lines, told]).toMatchObject([[notice], [{ type: "notice.give", notice_id: "n" }]]);
  });
});

describe("the preparation of a file", () => {
  /** What became of it, time after time, while the plan of the push before it fails with this. */
  const prepareOften = async (error: Error, times: number) => {
    const planOf = async (): Promise<never> => Promise.reject(error);
    const { preparePush } = pushActivities(part({ planOf }));
    const ask = async () => ({ held_reasons: null, pending: ["bat_before"], listings: 0, records: [] });
    const context = part<ActivityContext>({
      actor: { kind: "push", id: "u.bat_1" },
      ask: rubbish(ask),
      signal: rubbish({ aborted: false }),
    });
    const outcomes: unknown[] = [];
    for (let time = 0; time < times; time += 1)
      outcomes.push(await preparePush?.({ facts: pushFacts({}) }, context).catch(({ message }) => message));
    return outcomes;
  };

  it("that keeps failing for a reason of its own ends the push, before anything of it is published", async () => {
    const outcomes = await prepareOften(new TypeError("x is undefined"), chunkFailuresMax);
    expect(new Set(outcomes.slice(0, -1))).toEqual(new Set(["x is undefined"]));
    expect(outcomes.at(-1)).toEqual({
      type: "push.fail",
      code: "processing_failed",
      detail: "The file could not be prepared: x is undefined",
    });
  });

  it("is repeated for as long as a store is away", async () => {
    const outcomes = await prepareOften(new StoreError("unknown", "away"), 10 * chunkFailuresMax);
    expect(new Set(outcomes)).toEqual(new Set(["away"]));
  });
});
