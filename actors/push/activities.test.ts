import { describe, expect, it } from "vitest";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import type { ActivityContext } from "../system/definition.ts";
import { pushActivities } from "./activities.ts";

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
