import { h } from "preact";
import { renderToString } from "preact-render-to-string";
import { describe, expect, it } from "vitest";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/json/canonical-json.ts";
import { judgeRecord } from "../../protocol/records/judge-record.ts";
import { createNameIndex, noBrands } from "../../protocol/records/name-index.ts";
import { recordTypes } from "../../protocol/records/parse-record.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { controlsIn } from "../portal.fixture.ts";
import { faultSummary, recordFields, type ShownFault, writtenRecord } from "./record-form.ts";

const nobody = {
  index: createNameIndex(),
  legalNameOf: () => null,
  changes: () => 0,
  brandsOf: () => noBrands,
};
const lists = { protectedNames: [], exemptNames: [], blockedHosts: [], certified: nobody };

function shown(type: CollectionName, record: JsonObject, faults: readonly ShownFault[] = []): string {
  const all = { members: recordTypes[type].members, record, faults };
  return renderToString(h("form", null, faultSummary(all), recordFields(all)));
}

function read(type: CollectionName, controls: Readonly<Record<string, string>>) {
  return writtenRecord(recordTypes[type].members, (name) => controls[name] ?? "");
}

function judged(collection: CollectionName, record: JsonObject): readonly ShownFault[] {
  const rules = { collection, countries: null, lists, ownNames: null, brands: noBrands };
  const found = judgeRecord(canonicalBytes(record), rules);
  return found.ok ? [] : found.faults;
}

/** What is written beside the control to which a pointer leads. */
function notesAt(html: string, pointer: string): string {
  for (let at = pointer; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    if (!html.includes(`id="field${at}"`)) continue;
    expect([at, html.includes(`href="#field${at}"`)]).toEqual([at, true]);
    const described = new RegExp(`id="field${at}"[^>]*aria-describedby="fault${at}[ "]`).test(html);
    expect([at, described]).toEqual([at, true]);
    return new RegExp(`<p id="fault${at}"[^>]*>(.*?)</p>`).exec(html)?.[1] ?? "";
  }
  return "";
}

const escaped = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

describe.each(collectionNames)("the form of a record: %s", (type) => {
  const sample = sampleRecords[type];
  const written = Object.keys(controlsIn(shown(type, sample)));
  const filled = (value: string) => read(type, Object.fromEntries(written.map((name) => [name, value])));

  it("is read as what it shows", () => {
    expect(read(type, controlsIn(shown(type, sample)))).toEqual({ record: sample, faults: [] });
    expect(judged(type, sample)).toEqual([]);
  });

  it("has a control for every field, and nothing beside the members of the type", () => {
    const { record } = filled("?");
    for (const name of Object.keys(recordTypes[type].members)) expect(record).toHaveProperty(name);
    expect(judged(type, record).map(({ pointer, detail }) => `${pointer} ${detail}`)).not.toContain(
      "This member does not exist here.",
    );
  });

  it.each(["", "?", "2", "{", "on"])(
    "has every fault beside its field where %j is written everywhere",
    (value) => {
      const { record, faults } = filled(value);
      const all = [...faults, ...judged(type, record)];
      const html = shown(type, record, all);
      expect(all.length).toBeGreaterThan(3);
      for (const { pointer, detail } of all) expect(notesAt(html, pointer)).toContain(escaped(detail));
    },
  );

  it("shows what is written as text, whatever it is, and keeps it", () => {
    const script = `<script>alert("1")</script>'&`;
    const { record, faults } = filled(script);
    const html = shown(type, record, [...faults, ...judged(type, record)]);
    expect(html.includes("<script>")).toBe(false);
    const kept = Object.values(controlsIn(html)).filter((each) => each.trim() === script);
    expect(kept.length).toBeGreaterThanOrEqual(Math.floor(written.length * 0.6));
  });
});

describe("what cannot be read", () => {
  it("is no JSON, which is said beside the list", () => {
    const { record, faults } = read("business_files", { "/locations": "[{" });
    expect(faults).toMatchObject([{ pointer: "/locations" }]);
    const html = shown("business_files", record, faults);
    expect(notesAt(html, "/locations")).toContain("This is not JSON.");
    expect(html.includes("[{</textarea>")).toBe(true);
  });

  it("is JSON that is nested deeper than any field (RF3)", () => {
    const nested = (depth: number) =>
      read("business_files", { "/locations": "[".repeat(depth) + "]".repeat(depth) }).faults;
    expect(nested(8)).toEqual([]);
    expect(nested(9)).toMatchObject([
      { pointer: "/locations", detail: expect.stringContaining("deeper than 8") },
    ]);
  });

  it("is handed on as it is written, so that the rules say what is wrong with it", () => {
    const { record } = read("events", { "/start_at": "soon", "/ticketed": "perhaps", "/geo/lat": "north" });
    expect(record).toMatchObject({ start_at: "soon", ticketed: "perhaps", geo: { lat: "north" } });
    const html = shown("events", record);
    for (const value of ["soon", "perhaps", "north"]) expect(html.includes(`value="${value}"`)).toBe(true);
  });
});

it("shows long JSON on one line (RF3)", () => {
  const shownOf = (count: number) => {
    const { record } = read("business_files", { "/locations": `[${"[[[[[[]]]]]],".repeat(count)}[]]` });
    return controlsIn(shown("business_files", record))["/locations"]?.length ?? 0;
  };
  expect(shownOf(2)).toBeGreaterThan(100);
  expect(shownOf(10_000)).toBe(10_000 * "[[[[[[]]]]]],".length + "[[]]".length);
});

it("leaves out empty rows, and shows further ones", () => {
  const { record } = read("products", { "/prices/0/amount": "1.00", "/prices/4/country": "GB" });
  expect(record["prices"]).toEqual([{ amount: "1.00" }, { country: "GB" }]);
  expect(Object.keys(controlsIn(shown("products", record)))).toContain("/prices/4/amount");
});

it("reads moments in UTC, with or without seconds", () => {
  const read_ = (text: string) => read("updates", { "/relevant_until": text }).record["relevant_until"];
  expect(["2026-12-01T08:00", "2026-12-01T08:00:05", "2026-12-01T08:00:05.5"].map(read_)).toEqual([
    "2026-12-01T08:00:00.000Z",
    "2026-12-01T08:00:05.000Z",
    "2026-12-01T08:00:05.500Z",
  ]);
});
