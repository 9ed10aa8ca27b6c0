import { describe, expect, it } from "vitest";
import { indexDocument } from "../../collections/index-document.ts";
import { bulkLines } from "./document.ts";

const recordId = "svc_abcdefghijklmnopqrstuvwxyz";

describe("a row in a bulk request", () => {
  it("is JSON whatever its terms are, each with its impact by text and in all", () => {
    const document = { ...indexDocument("updates", {}), texts: { title: 'a "b" b', body: "字 12 a \\n" } };
    const row = '{"title":"x"}';
    const put = {
      kind: "put",
      collection: "updates",
      record_id: recordId,
      business_uuid: "u",
      change: 7,
      row,
    };
    const lines = bulkLines({ ...put, kind: "put", document });
    const [action, body, rest] = lines.split("\n");
    expect(rest).toBe("");
    expect(JSON.parse(action ?? "")).toEqual({
      index: { _id: recordId, version: 7, version_type: "external" },
    });
    const parsed = JSON.parse(body ?? "") as Record<string, Record<string, number>>;
    expect(parsed).toMatchObject({ business_uuid: "u", row });
    const [title = {}, text = {}] = [parsed["term.title"], parsed["term.body"]];
    expect(Object.keys(title).sort()).toEqual(['"b"', "a", "b"]);
    expect(Object.keys(text).sort()).toEqual(["12", "\\n", "a", "字"]);
    const all = Object.values(parsed).find((each) => each["字"] !== undefined && each['"b"'] !== undefined);
    expect(all?.["a"]).toBe((title["a"] ?? 0) + (text["a"] ?? 0));
  });

  it("has no terms where it has no text, and is empty once it was removed", () => {
    const document = indexDocument("updates", {});
    const put = { collection: "updates", record_id: recordId, business_uuid: "u", change: 1, row: "{}" };
    expect(bulkLines({ kind: "put", ...put, document })).not.toContain("term.");
    const removed = bulkLines({ kind: "remove", collection: "updates", record_id: recordId, change: 2 });
    expect(removed.split("\n")[1]).toBe("{}");
  });
});
