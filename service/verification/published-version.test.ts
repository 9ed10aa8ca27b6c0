import { expect, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import { sidecarText } from "../../protocol/sidecar.fixture.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import { findPublished } from "./published-version.ts";

const recordId = `svc_${"a".repeat(26)}`;
const hashOf = (digit: string): string => `sha256:${digit.repeat(64)}`;

interface Given {
  readonly digit: string;
  readonly atMs: number;
  /** One more for what happened to the record before. */
  readonly change: number;
}

/** The answers of a record store that holds the given versions, oldest first. */
function recordsOf(given: readonly Given[], live = true): RecordStore {
  const common = { record_id: recordId, business_uuid: "00000000-0000-4000-8000-000000000001" };
  const versions = given.map(({ digit, atMs }, index) => ({
    generation: index + 1,
    hash: hashOf(digit),
    published_at_ms: atMs,
  }));
  const newest = versions.at(-1);
  return part<RecordStore>({
    readHead: async () =>
      newest === undefined
        ? null
        : { ...common, ...newest, type: "products", live, change: given.at(-1)?.change ?? 0 },
    listVersions: async (_id, below, limit) =>
      versions
        .filter(({ generation }) => below === null || generation < below)
        .reverse()
        .slice(0, limit),
    newestWith: async (_id, hash, below) =>
      versions.findLast((each) => each.hash === hash && each.generation < below) ?? null,
    readPublished: async (id) => ({
      ...id,
      row: "{}",
      sidecar: sidecarText({ generation: id.generation, change: given[id.generation - 1]?.change ?? 0 }),
      seal_id: "bat_",
      leaf_index: 0,
      proof: new Uint8Array(),
    }),
  });
}

const twice = [
  { digit: "1", atMs: 100, change: 1 },
  { digit: "2", atMs: 200, change: 2 },
  { digit: "1", atMs: 300, change: 3 },
];

it.each<readonly [string, number | null, number, number | null, boolean]>([
  ["nobody says when", null, 3, null, true],
  ["it was served before any", 99, 3, null, true],
  ["the first was new", 100, 1, 200, false],
  ["the first was about to end", 199, 1, 200, false],
  ["another version was served", 200, 3, null, true],
  ["the last was new", 300, 3, null, true],
  ["it is served still", 9_999, 3, null, true],
])(
  "of the versions with the same bytes, when %s, it is the right one",
  async (_name, at, generation, ended, served) => {
    const found = await findPublished(recordsOf(twice), { recordId, hash: hashOf("1"), servedAtMs: at });
    expect([found?.generation, found?.endedAtMs, found?.isServed]).toEqual([generation, ended, served]);
  },
);

it("of bytes that were replaced, whenever that was asked, it is the one there is", async () => {
  for (const servedAtMs of [null, 1, 200, 299, 300, 9_999]) {
    const found = await findPublished(recordsOf(twice), { recordId, hash: hashOf("2"), servedAtMs });
    expect([found?.generation, found?.endedAtMs, found?.isServed]).toEqual([2, 300, false]);
  }
});

it("does not say when a version ended that was withdrawn before the next one", async () => {
  const [first, second] = [
    { digit: "1", atMs: 100, change: 1 },
    { digit: "2", atMs: 200, change: 3 },
  ];
  const ask = { recordId, hash: hashOf("1"), servedAtMs: 150 };
  expect(await findPublished(recordsOf([first, second]), ask)).toMatchObject({
    endedAtMs: null,
    isServed: false,
  });
  expect(await findPublished(recordsOf([first], false), ask)).toMatchObject({
    endedAtMs: null,
    isServed: false,
  });
});

it("finds the oldest of many versions, and nothing where there is nothing", async () => {
  const many = Array.from({ length: 1_000 }, (_, index) => ({
    digit: index < 3 ? "1" : "2",
    atMs: 10 * (index + 1),
    change: index + 1,
  }));
  const ask = { recordId, hash: hashOf("1"), servedAtMs: 15 };
  expect(await findPublished(recordsOf(many), ask)).toMatchObject({ generation: 1, endedAtMs: 20 });
  expect(await findPublished(recordsOf(many), { ...ask, servedAtMs: null })).toMatchObject({ generation: 3 });
  expect(await findPublished(recordsOf(many), { ...ask, hash: hashOf("3") })).toBeNull();
  expect(await findPublished(recordsOf([]), ask)).toBeNull();
});

it("asks the store a few times, however many versions there are, and once for bytes that nobody published", async () => {
  const many = Array.from({ length: 100_000 }, (_, index) => ({
    digit: String(1 + (index % 3)),
    atMs: 10 * (index + 1),
    change: index + 1,
  }));
  const records = recordsOf(many);
  let asked = 0;
  const counted: typeof records = part({
    readHead: records.readHead,
    newestWith: (...question) => {
      asked += 1;
      return records.newestWith(...question);
    },
    listVersions: async (id, below, limit) => {
      asked += 1;
      expect(limit).toBeLessThanOrEqual(200);
      const newest = Math.min(many.length, (below ?? Number.POSITIVE_INFINITY) - 1);
      return many
        .slice(Math.max(0, newest - limit), newest)
        .map(({ digit, atMs }, index) => ({
          generation: Math.max(0, newest - limit) + index + 1,
          hash: hashOf(digit),
          published_at_ms: atMs,
        }))
        .reverse();
    },
    readPublished: records.readPublished,
  });
  expect(await findPublished(counted, { recordId, hash: hashOf("9"), servedAtMs: 500 })).toBeNull();
  expect(asked).toBe(1);
  for (const [generation, servedAtMs] of [
    [1, 19],
    [50_000, 500_000],
    [99_999, 999_999],
    [100_000, 1_000_000],
  ] as const) {
    asked = 0;
    const { digit = "" } = many[generation - 1] ?? {};
    const found = await findPublished(counted, { recordId, hash: hashOf(digit), servedAtMs });
    expect([found?.generation, asked < 25]).toEqual([generation, true]);
  }
});
