import { describe, expect, it } from "vitest";
import { bulkLines } from "./bulk.ts";

const recordId = "svc_abcdefghijklmnopqrstuvwxyz";

describe("a row in a bulk request", () => {
  it("is JSON whatever its terms are, each with its impact by text and in all", () => {
    const row = JSON.stringify({ headline: "a b b", body: "字 12 a жук 日本語" });
    const put = {
      kind: "put",
      collection: "updates",
      record_id: recordId,
      business_uuid: "u",
      generation: 3,
      change: 7,
      row,
    } as const;
    const lines = bulkLines(put);
    const [action, body, rest] = lines.split("\n");
    expect(rest).toBe("");
    expect(JSON.parse(action ?? "")).toEqual({
      index: { _id: recordId, version: 7, version_type: "external" },
    });
    const parsed = JSON.parse(body ?? "") as Record<string, Record<string, number>>;
    expect(parsed).toMatchObject({ business_uuid: "u", row });
    const [headline = {}, text = {}] = [parsed["term.headline"], parsed["term.body"]];
    expect(Object.keys(headline).sort()).toEqual(["a", "b"]);
    expect(Object.keys(text).sort()).toEqual(["12", "a", "жук", "字", "日本", "本語"].sort());
    const all = Object.values(parsed).find((each) => each["字"] !== undefined && each["b"] !== undefined);
    expect(all?.["a"]).toBe((headline["a"] ?? 0) + (text["a"] ?? 0));
  });

  it("has no terms where it has no text, and is empty once it was removed", () => {
    const row = { collection: "updates", record_id: recordId, business_uuid: "u" } as const;
    const put = { ...row, generation: 1, change: 1, row: "{}" };
    expect(bulkLines({ kind: "put", ...put })).not.toContain("term.");
    const removed = bulkLines({ kind: "remove", collection: "updates", record_id: recordId, change: 2 });
    expect(removed.split("\n")[1]).toBe("{}");
  });
});
