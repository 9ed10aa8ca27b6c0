import { describe, expect, it } from "vitest";
import { SvcProblemError } from "../../client/errors.ts";
import type { PlanDeps } from "../../client/push-plan.ts";
import { recordSet } from "../../client/record-set.ts";
import { parseArguments, UsageError } from "../command.ts";
import { createTerminal } from "../terminal.ts";
import { FeedReport } from "./feed-report.ts";
import { push } from "./push.ts";
import { planFile, wholeOf, withdrawalRefused } from "./whole-feed.ts";

function whole(...words: readonly string[]) {
  const args = parseArguments(push, ["feed.xml", ...words]);
  if (args === null) throw new Error("Help was asked for.");
  return wholeOf(args);
}

describe("the limit of --whole", () => {
  it("is a number or a share, and belongs to --whole", () => {
    expect(whole()).toBeNull();
    expect(whole("--whole")).toEqual({ limit: null });
    expect(whole("--whole", "--remove-at-most", "50")).toEqual({ limit: { count: 50 } });
    expect(whole("--whole", "--remove-at-most", "0.5%")).toEqual({ limit: { percent: 0.5 } });
    for (const wrong of ["", "-1", "1.5", "101%", "%", "all", "5 %"])
      expect(() => whole("--whole", `--remove-at-most=${wrong}`)).toThrow(UsageError);
    expect(() => whole("--remove-at-most", "5")).toThrow("belongs to --whole");
  });

  it("withdraws nothing without one, nor where an id of the file cannot be read", async () => {
    await using report = await FeedReport.open(null);
    const plan = { changed: [], unchanged: 9, live: 10, isWaiting: false };
    const missing = [{ record_id: "svc_a", business_product_id: "a" }];
    expect(withdrawalRefused({ limit: null }, { ...plan, missing }, report)).toContain("--remove-at-most 1");
    expect(withdrawalRefused({ limit: null }, { ...plan, missing: [] }, report)).toBeNull();
    expect(withdrawalRefused({ limit: { count: 1 } }, { ...plan, missing }, report)).toBeNull();
    await report.add({ place: 1, id: null, bytes: null, notes: [] });
    expect(withdrawalRefused({ limit: { count: 1 } }, { ...plan, missing }, report)).toContain(
      "cannot be read",
    );
  });

  it("counts what the file has left out as had, unless it has expired", async () => {
    await using report = await FeedReport.open(null);
    const why = { effect: "item_left_out", attribute: "", value: "", detail: "" } as const;
    await report.add({ place: 1, id: "faulty", bytes: null, notes: [{ ...why, code: "value_invalid" }] });
    await report.add({ place: 2, id: "old", bytes: null, notes: [{ ...why, code: "expired" }] });
    expect([...report.leftOutIds]).toEqual(["faulty"]);
  });

  it("is told the same of a line once, whatever says it twice there", async () => {
    await using report = await FeedReport.open(null);
    const note = { effect: "value_changed", code: "markup_removed", attribute: "tags" } as const;
    const notes = [1, 2].map(() => ({ ...note, value: "", detail: "Markup." }));
    for (const place of [1, 2]) await report.add({ place, id: "a", bytes: null, notes });
    expect(report.lines("line")[1]).toBe("  lines 1, 2");
  });
});

describe("a catalogue that was read too often in this hour", () => {
  const refused = new SvcProblemError({
    status: 429,
    code: "rate_limited",
    detail: "Read on later.",
    retryAfterSeconds: 3_600,
    problem: { reason: "catalogue_reads" },
  });
  const nothing = async () => ({ body: { attempts: [], holds: [], next_cursor: null } });
  const patience = { now: () => 0, wait: async () => {}, patienceMs: 0, onWaiting: () => {} };
  const client = {
    attemptsPage: nothing,
    holdsPage: nothing,
    cataloguePage: async () => {
      throw refused;
    },
  };
  const deps = { client, patience, key: { keyId: "mine" } } as unknown as PlanDeps;

  it("is not compared, which is said; and a whole feed stops", async () => {
    await using report = await FeedReport.open(null);
    const said: string[] = [];
    const stream = { isTTY: false, columns: 80, write: (text: string) => void said.push(text) };
    const terminal = createTerminal(stream, stream, { plain: true });
    const input = { records: recordSet([new Uint8Array([1])]), report };
    const screen = { terminal, style: "people" } as const;
    expect(await planFile(deps, input, { ...screen, isWhole: false })).toBeNull();
    expect(said.join("")).toContain("Nothing is compared: every product is sent.");
    await expect(planFile(deps, input, { ...screen, isWhole: true })).rejects.toBe(refused);
  });
});
