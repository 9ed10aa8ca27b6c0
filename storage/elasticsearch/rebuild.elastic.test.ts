import { describe, expect, it } from "vitest";
import { MemoryRowIndex } from "../memory/row-index.ts";
import { recordIdFor } from "../row-index.fixture.ts";
import type { RowChange, RowQuery } from "../row-index.ts";
import { hasElastic, openFresh, removeAll } from "./elastic.fixture.ts";
import {
  makeGeneration,
  readGenerations,
  readNote,
  switchGenerations,
  withdrawGeneration,
} from "./generations.ts";
import { layoutOf } from "./layout.ts";
import { abandonedAfterMs, rebuildIndex } from "./rebuild.ts";
import { ElasticRowIndex } from "./row-index.ts";

type Opened = Awaited<ReturnType<typeof openFresh>>;

const collection = "updates";
const query: RowQuery = {
  collection,
  country: "US",
  clauses: [],
  sort: [{ field: "published_at", direction: "asc" }],
  limit: 50,
  excludeBusinesses: [],
};
const nowMs = () => 1_800_000_000_000;

function put(n: number, change: number): RowChange {
  const row = {
    record_id: recordIdFor(collection, 3, n),
    published_at: 1_000 + n,
    countries: ["US"],
    change,
    headline: `number ${n}`,
  };
  return {
    kind: "put",
    collection,
    record_id: row.record_id,
    business_uuid: "b",
    generation: change,
    change,
    row: JSON.stringify(row),
  };
}

function remove(n: number, change: number): RowChange {
  return { kind: "remove", collection, record_id: recordIdFor(collection, 3, n), change };
}

/** The source of truth, as a record store holds it: it contains a change before the change is applied. */
class Truth {
  readonly changes = new Map<string, RowChange>();
  readonly reference = new MemoryRowIndex();

  async apply(index: ElasticRowIndex, ...changes: readonly RowChange[]): Promise<void> {
    this.put(...changes);
    await index.apply(changes);
  }

  put(...changes: readonly RowChange[]): void {
    for (const change of changes) this.changes.set(change.record_id, change);
    void this.reference.apply(changes);
  }

  /** Every record's last change; `between` is run after the first of them, and after each if it wants. */
  async *source(between: (read: number) => Promise<void> = async () => {}): AsyncGenerator<RowChange> {
    let read = 0;
    for (const change of [...this.changes.values()]) {
      yield change;
      read += 1;
      await between(read);
    }
  }
}

async function withIndex(run: (opened: Opened) => Promise<void>): Promise<void> {
  const opened = await openFresh([collection]);
  try {
    await run(opened);
  } finally {
    await opened.close();
  }
}

async function rowsOf(index: { search(asked: RowQuery): Promise<readonly { readonly row: string }[]> }) {
  return (await index.search(query)).map(({ row }) => row);
}

function generationsOf(index: ElasticRowIndex) {
  return readGenerations(index.engine, index.namesOf(collection));
}

describe.skipIf(!hasElastic)("building an index anew", () => {
  it("takes the place of the old one with every row, and removes it", () =>
    withIndex(async ({ index }) => {
      const truth = new Truth();
      await truth.apply(index, put(1, 1), put(2, 1), put(3, 4), remove(4, 2));
      const before = await generationsOf(index);
      // A row that the truth does not have: the new generation is built from the truth.
      await index.apply([put(9, 1)]);
      const rebuilt = await rebuildIndex(index, { collection, source: truth.source(), nowMs });
      const after = await generationsOf(index);
      expect(rebuilt).toEqual({ ok: true, value: { generation: after.serving, changes: 4 } });
      expect(after).toMatchObject({ next: null, others: [] });
      expect(after.serving).not.toBe(before.serving);
      expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
      expect(await index.apply([put(4, 1), put(3, 4), put(1, 2)])).toEqual(["stale", "stale", "applied"]);
      expect(await readNote(index.engine, after.serving ?? "")).not.toHaveProperty("built_at_ms");
    }));

  it("serves as ever meanwhile, and loses no change made while it goes on (G1, G2)", () =>
    withIndex(async ({ index, options }) => {
      await using other = new ElasticRowIndex(options);
      const truth = new Truth();
      await truth.apply(index, ...Array.from({ length: 12 }, (_, n) => put(n, 1)));
      // It has written before, so it knows only the serving generation.
      await truth.apply(other, put(12, 1));
      let steps = 0;
      const meanwhile = async (read: number): Promise<void> => {
        const writer = read % 2 === 0 ? index : other;
        // Already read, not yet read, removed, new; and by a node that has not heard of the new generation.
        await truth.apply(writer, put(read - 1, 10 + read), put(11, 20 + read));
        await truth.apply(writer, remove(read, 30 + read), put(20 + read, 1));
        expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
        steps += 1;
      };
      const rebuilt = await rebuildIndex(index, { collection, source: truth.source(meanwhile), nowMs });
      expect(rebuilt).toMatchObject({ ok: true });
      expect(steps).toBe(13);
      for (const node of [index, other]) {
        expect(await rowsOf(node)).toEqual(await rowsOf(truth.reference));
        expect(await node.count(collection)).toBe(await truth.reference.count(collection));
      }
      await truth.apply(other, put(40, 1));
      expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
    }));

  it("loses none of many changes by several nodes at the very switch, and no search finds a gap (G2)", () =>
    withIndex(async ({ index, options }) => {
      const truth = new Truth();
      await truth.apply(index, ...Array.from({ length: 30 }, (_, n) => put(n, 1)));
      await using second = new ElasticRowIndex(options);
      await using third = new ElasticRowIndex(options);
      let isOver = false;
      let change = 1;
      const done = [0, 0, 0] as [number, number, number];
      const write = async (node: ElasticRowIndex, share: 0 | 1): Promise<void> => {
        for (; !isOver; done[share] += 1) {
          change += 1;
          await truth.apply(node, put(((change * 7) % 15) * 2 + share, change));
        }
      };
      const search = async (): Promise<void> => {
        for (; !isOver; done[2] += 1) expect(await index.search(query)).toHaveLength(30);
      };
      // Each writes its own records, so that the truth has its changes in order.
      const background = [write(second, 0), write(third, 1), search()];
      for (let round = 0; round < 3 || Math.min(...done) < 4; round += 1) {
        const rebuilt = await rebuildIndex(index, { collection, source: truth.source(), nowMs });
        expect(rebuilt).toMatchObject({ ok: true });
      }
      isOver = true;
      await Promise.all(background);
      expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
    }));

  it("is refused while another is under way (G3)", () =>
    withIndex(async ({ index, options }) => {
      await using other = new ElasticRowIndex(options);
      const truth = new Truth();
      await truth.apply(index, put(1, 1));
      const refused: unknown[] = [];
      const source = truth.source(async () => {
        const rival = new Truth();
        refused.push(await rebuildIndex(other, { collection, source: rival.source(), nowMs }));
      });
      expect(await rebuildIndex(index, { collection, source, nowMs })).toMatchObject({ ok: true });
      expect(refused).toMatchObject([{ ok: false, code: "rebuild_under_way" }]);
      expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
      const both = [index, other].map((node) =>
        rebuildIndex(node, { collection, source: truth.source(), nowMs }),
      );
      expect((await Promise.all(both)).filter((each) => each.ok).length).toBeGreaterThan(0);
      expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
    }));

  it("leaves the serving one as it was when it fails, and nothing of its own (G1)", () =>
    withIndex(async ({ index }) => {
      const truth = new Truth();
      await truth.apply(index, put(1, 1), put(2, 1));
      const before = await generationsOf(index);
      const source = truth.source(async () => {
        throw new Error("the source broke");
      });
      await expect(rebuildIndex(index, { collection, source, nowMs })).rejects.toThrow("the source broke");
      expect(await generationsOf(index)).toEqual(before);
      expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
    }));

  it("removes what a builder that died left, once it was silent for long enough (G3)", () =>
    withIndex(async ({ index }) => {
      const truth = new Truth();
      await truth.apply(index, put(1, 1));
      const died = await makeGeneration(index.engine, {
        names: index.namesOf(collection),
        layout: layoutOf(collection),
        settings: { replicas: 0 },
        number: 2,
        role: "next",
        builtAtMs: nowMs() - abandonedAfterMs,
      });
      expect(died).not.toBeNull();
      await truth.apply(index, put(2, 1));
      const again = (atMs: number) =>
        rebuildIndex(index, { collection, source: truth.source(), nowMs: () => atMs });
      expect(await again(nowMs())).toMatchObject({ ok: false, code: "rebuild_under_way" });
      expect(await again(nowMs() + 1)).toMatchObject({ ok: true });
      expect(await generationsOf(index)).toMatchObject({ next: null, others: [], numberMax: 3 });
      expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
    }));

  it("does not let a builder that was taken for dead switch (G4)", () =>
    withIndex(async ({ index, options }) => {
      await using other = new ElasticRowIndex(options);
      const truth = new Truth();
      await truth.apply(index, put(1, 1));
      let taken: unknown;
      const slow = truth.source(async () => {
        const later = () => nowMs() + abandonedAfterMs + 1;
        taken = await rebuildIndex(other, { collection, source: truth.source(), nowMs: later });
        await truth.apply(other, put(2, 1));
      });
      const outcome = await rebuildIndex(index, { collection, source: slow, nowMs }).catch(
        (error: unknown) => (error instanceof Error ? error.name : error),
      );
      // It found out when it wrote.
      expect(outcome).toBe("Unavailable");
      expect(taken).toMatchObject({ ok: true });
      expect(await generationsOf(index)).toMatchObject({ next: null, others: [] });
      expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
    }));

  it("is switched to only in its role (G4)", () =>
    withIndex(async ({ index }) => {
      const { engine } = index;
      const names = index.namesOf(collection);
      const wanted = { names, layout: layoutOf(collection), settings: { replicas: 0 }, builtAtMs: 1 };
      const to = await makeGeneration(engine, { ...wanted, number: 2, role: "next" });
      const from = names.generation(1);
      if (to === null) throw new Error("there is a second generation");
      expect(await makeGeneration(engine, { ...wanted, number: 3, role: "next" })).toBeNull();
      expect(await switchGenerations(engine, names, { from: names.generation(7), to })).toBe(false);
      expect(await switchGenerations(engine, names, { from, to })).toBe(true);
      expect(await switchGenerations(engine, names, { from, to })).toBe(false);
      // The serving generation is not withdrawn, even by a node that took it for the next one.
      expect(await withdrawGeneration(engine, names, to)).toBe(false);
      expect(await generationsOf(index)).toEqual({ serving: to, next: null, others: [from], numberMax: 2 });
      const after = await makeGeneration(engine, { ...wanted, number: 3, role: "next" });
      if (after === null) throw new Error("there is a third generation");
      // This is how withdrawing begins: from then on a concurrent switch comes too late.
      const actions = [{ remove: { index: after, alias: names.next } }];
      await engine.write({ method: "POST", path: "/_aliases", body: { actions } });
      expect(await switchGenerations(engine, names, { from: to, to: after })).toBe(false);
      await engine.write({
        method: "POST",
        path: "/_aliases",
        body: { actions: [{ add: { index: after, alias: names.next } }] },
      });
      expect(await withdrawGeneration(engine, names, after)).toBe(true);
      expect(await switchGenerations(engine, names, { from: to, to: after })).toBe(false);
      expect(await generationsOf(index)).toMatchObject({ serving: to, next: null });
    }));

  it("cannot switch to the generation of another builder under its name, after all was lost (G4)", () =>
    withIndex(async ({ index, options }) => {
      await using other = new ElasticRowIndex(options);
      const truth = new Truth();
      await truth.apply(index, put(1, 1), put(2, 1), put(3, 1));
      let second: Promise<unknown> = Promise.resolve();
      const { promise: firstEnded, resolve: endFirst } = Promise.withResolvers<void>();
      const first = rebuildIndex(index, {
        collection,
        nowMs,
        source: truth.source(async (read) => {
          if (read < 3) return;
          const lost = await generationsOf(index);
          await removeAll(index.engine, options.prefix);
          // The other builder makes the same generation again, and has not written a row before the first one goes on.
          const begun = Promise.withResolvers<void>();
          const late = async function* () {
            begun.resolve();
            await firstEnded;
            yield* truth.source();
          };
          const names = index.namesOf(collection);
          await makeGeneration(index.engine, {
            names,
            layout: layoutOf(collection),
            settings: { replicas: 0 },
            role: "serving",
            number: names.number(lost.serving ?? "") ?? 0,
          });
          second = rebuildIndex(other, { collection, source: late(), nowMs });
          await begun.promise;
          expect((await generationsOf(index)).next).toBe(lost.next);
        }),
      });
      expect(await first.then(({ ok }) => ok).finally(endFirst)).toBe(false);
      // Nor does the first one take that generation away.
      expect(await second).toMatchObject({ ok: true });
      expect(await rowsOf(index)).toEqual(await rowsOf(truth.reference));
    }));
});
