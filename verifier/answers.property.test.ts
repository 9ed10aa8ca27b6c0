// Whatever member of an answer or of an evidence file is changed, left out or added, the report says so: the verdict changes, or the
// member is one of those that no signature covers, and is named.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nativeCrypto } from "../crypto/native.ts";
import { utf8 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { type AnswerName, unsignedMembers } from "../protocol/unsigned-members.ts";
import { isFullDose } from "../tools/test-dose.ts";
import { memberSubjects, type Subject } from "./answers.fixture.ts";
import type { Report } from "./members.ts";

type Path = readonly (string | number)[];

interface Change {
  readonly path: Path;
  readonly how: "changed" | "left out" | "added" | "repeated";
}

/** Every member and item is changed and left out, every object gets one more, every item is repeated. */
function* changes(value: JsonValue, path: Path = []): Generator<Change> {
  if (path.length > 0) yield* [{ path, how: "changed" } as const, { path, how: "left out" } as const];
  if (value === null || typeof value !== "object") return;
  if (!Array.isArray(value)) yield { path: [...path, "another"], how: "added" };
  for (const [name, each] of Object.entries(value)) {
    const at = [...path, Array.isArray(value) ? Number(name) : name];
    if (Array.isArray(value)) yield { path: at, how: "repeated" };
    yield* changes(each as JsonValue, at);
  }
}

type Place = Record<string | number, JsonValue>;

function changed(whole: JsonValue, { path, how }: Change, by: number): JsonValue {
  const copy = structuredClone(whole) as JsonObject;
  let place = copy as Place;
  for (const name of path.slice(0, -1)) place = place[name] as unknown as Place;
  const name = path.at(-1) as string | number;
  if (how === "added") place[name] = 1;
  else if (how === "changed") place[name] = other(place[name] as JsonValue, by);
  else if (how === "repeated")
    (place as unknown as JsonValue[]).splice(Number(name), 0, place[name] as JsonValue);
  else if (Array.isArray(place)) place.splice(Number(name), 1);
  else delete place[name];
  return copy;
}

/** Another value, mostly of the same kind. A list is not emptied: that is the same as leaving its items out. */
function other(value: JsonValue, by: number): JsonValue {
  if (by % 5 === 0 || (Array.isArray(value) && value.length === 0)) return value === null ? 0 : null;
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  if (typeof value !== "string") return value === null ? "x" : Array.isArray(value) ? {} : [];
  const at = value.length === 0 ? 0 : by % value.length;
  const letters = "AQgw019abz_-/+=é";
  const letter = letters[by % letters.length] as string;
  return value.slice(0, at) + (value[at] === letter ? "~" : letter) + value.slice(at + 1);
}

/** The name of the check about a member that no signature covers; null for any other member. */
function unsignedName(answer: AnswerName, path: Path): string | null {
  const found = unsignedMembers.find(({ answer: of, member }) => {
    const names = member.slice(1).split("/");
    return of === answer && names.every((name, index) => name === "*" || name === String(path[index]));
  });
  return found === undefined ? null : `unsigned${found.member}`;
}

/** Whether the report tells that this was changed. */
function isTold(report: Report, change: Change, { answer, within, saysLess, genuine }: Judged): boolean {
  const { path, how } = change;
  const isNamed = (name: string | null): boolean => report.checks.some((check) => check.name === name);
  if (!report.valid || (genuine.complete && !report.complete && how !== "added")) return true;
  if (answer === null) return false;
  if (how === "added") return within.length === 0 && !report.complete && isNamed(`unknown/${path.join("/")}`);
  const isLess = how !== "changed" && saysLess.some((less) => less.test(path.join("/")));
  if (isLess || !within.every((name, index) => name === path[index])) return isLess;
  const at = path.slice(within.length);
  if (answer !== "ad_pool" || at[0] !== "ads") return isNamed(unsignedName(answer, at));
  // An item of a pool is an answer of its own.
  const inItem = unsignedName("ad_item", at.slice(2));
  return inItem !== null && isNamed(`ads/${at[1]}/${inItem}`);
}

type Judged = Subject & { readonly genuine: Report };

const subjects: readonly Judged[] = (await memberSubjects(nativeCrypto)).map((subject) => ({
  ...subject,
  genuine: subject.judge(utf8(JSON.stringify(subject.value))),
}));

describe.each(subjects)("$name", (subject) => {
  const { value, judge, genuine } = subject;
  const all = [...changes(value)];

  it("is valid, and leaves nothing open but what no signature covers", () => {
    const left = genuine.checks.filter(({ name, state }) => state !== "ok" && !subject.open.test(name));
    expect(left.filter(({ state }) => state !== "unsigned")).toEqual([]);
    expect(genuine.valid).toBe(true);
    expect(left.length > 0).toBe(subject.answer !== null);
  });

  it("tells of every member that is changed, left out, added or repeated", () => {
    const told = (change: Change, by: number) => {
      const report = judge(utf8(JSON.stringify(changed(value, change, by))));
      expect(isTold(report, change, subject), `${change.how}: ${change.path.join("/")}`).toBe(true);
    };
    expect(all.length).toBeGreaterThan(40);
    const drawn = fc.tuple(fc.constantFrom(...all), fc.nat(1_000_000));
    if (isFullDose())
      for (const change of all)
        fc.assert(
          fc.property(fc.nat(1_000_000), (by) => told(change, by)),
          { numRuns: 3 },
        );
    else
      fc.assert(
        fc.property(drawn, ([change, by]) => told(change, by)),
        { numRuns: 150 },
      );
  });
});
