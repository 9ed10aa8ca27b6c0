import { describe, expect, it } from "vitest";
import { analysisVersion } from "../../collections/text-analysis.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { recordIdFor } from "../row-index.fixture.ts";
import type { RowChange, RowQuery } from "../row-index.ts";
import { freshOptions, hasElastic, openFresh, removeAll, rowsOf } from "./elastic.fixture.ts";
import { makeGeneration, readGenerations, readNote } from "./generations.ts";
import { type IndexLayout, layoutOf } from "./layout.ts";
import { rebuildIndex } from "./rebuild.ts";
import { ElasticRowIndex } from "./row-index.ts";

const put: RowChange = {
  kind: "put",
  collection: "jobs",
  record_id: recordIdFor("jobs", 5, 1),
  business_uuid: "b",
  generation: 1,
  change: 1,
  row: JSON.stringify({ countries: ["US"], city: "Leeds", salary_min: 10, title: "smith" }),
};
const query: RowQuery = {
  collection: "jobs",
  country: "US",
  clauses: [],
  sort: [{ field: "published_at", direction: "desc" }],
  limit: 50,
  excludeBusinesses: [],
};
const byCity: RowQuery = { ...query, clauses: [{ field: "city", op: "eq", value: "Leeds" }] };
const byText: RowQuery = { ...query, text: { words: [{ exact: "smith", forms: [] }], fields: ["title"] } };

/** The layout of jobs, with part of its making changed. */
function layoutWith(
  making: (making: Readonly<Record<string, string>>) => Readonly<Record<string, string>>,
  properties = layoutOf("jobs").properties,
): IndexLayout {
  return { ...layoutOf("jobs"), making: making(layoutOf("jobs").making), properties, digest: "another" };
}

/** An index whose jobs have an earlier layout. */
async function withLayout(
  layout: IndexLayout,
  run: (index: ElasticRowIndex) => Promise<void>,
): Promise<void> {
  const options = freshOptions();
  await using index = new ElasticRowIndex(options);
  try {
    const names = index.namesOf("jobs");
    await makeGeneration(index.engine, { names, layout, settings: options, number: 1, role: "serving" });
    await run(index);
  } finally {
    await removeAll(index.engine, options.prefix);
  }
}

describe.skipIf(!hasElastic)("preparing the indices", () => {
  it("may be done by many nodes at once, and again, and makes no index that nobody has built (W1)", async () => {
    const options = freshOptions();
    const nodes = Array.from({ length: 6 }, () => new ElasticRowIndex(options));
    const [first] = nodes;
    if (first === undefined) throw new Error("there are nodes");
    try {
      for (const outdated of await Promise.all(nodes.map((node) => node.prepare())))
        expect(outdated.size).toBe(0);
      expect(await first.missing()).toEqual(collectionNames);
      await expect(first.search(query)).rejects.toMatchObject({ reason: "index", retryAfterSeconds: 5 });
      for (const collection of collectionNames) {
        const built = await Promise.all(
          nodes.map((node) =>
            rebuildIndex(node, { collection, source: rowsOf(), nowMs: Date.now, onlyMissing: true }),
          ),
        );
        expect(built.filter(({ ok }) => ok)).toHaveLength(1);
      }
      await Promise.all(nodes.map((node) => node.prepare()));
      expect(await first.missing()).toEqual([]);
      for (const collection of collectionNames) {
        const names = first.namesOf(collection);
        expect(await readGenerations(first.engine, names)).toMatchObject({
          serving: expect.any(String),
          next: null,
          others: [],
        });
      }
      await nodes[1]?.apply([put]);
      expect(await nodes[2]?.search(byCity)).toHaveLength(1);
    } finally {
      await removeAll(first.engine, options.prefix);
      await Promise.all(nodes.map((node) => node.close()));
    }
  });

  it("does not have terms kept a second time for a source that there is not", async () => {
    const { index, close } = await openFresh(["jobs"]);
    try {
      const name = index.namesOf("jobs").generation(1);
      const path = `/${name}/_settings/index.mapping.exclude_source_vectors?flat_settings=true`;
      expect(await index.engine.read({ method: "GET", path })).toEqual({
        [name]: { settings: { "index.mapping.exclude_source_vectors": "false" } },
      });
    } finally {
      await close();
    }
  });

  it("leaves an index alone that was built anew before", async () => {
    const { index, options, close } = await openFresh(["jobs"]);
    try {
      await index.apply([put]);
      const source = (async function* () {
        yield put;
      })();
      expect(await rebuildIndex(index, { collection: "jobs", source, nowMs: Date.now })).toMatchObject({
        ok: true,
      });
      await using other = new ElasticRowIndex(options);
      await other.prepare(["jobs"]);
      expect(await other.search(byCity)).toHaveLength(1);
      expect(await readGenerations(index.engine, index.namesOf("jobs"))).toMatchObject({ numberMax: 2 });
    } finally {
      await close();
    }
  });

  it("adds fields that an older index does not have, and refuses to be asked about them until it is built anew (L1, L2)", () =>
    withLayout(
      layoutWith(
        ({ city: _, ...rest }) => rest,
        Object.fromEntries(Object.entries(layoutOf("jobs").properties).filter(([name]) => name !== "city")),
      ),
      async (index) => {
        await index.apply([put]);
        expect(await index.prepare(["jobs"])).toEqual(new Map([["jobs", ["city"]]]));
        expect(await index.search(query)).toHaveLength(1);
        await expect(index.search(byCity)).rejects.toMatchObject({
          name: "Unavailable",
          message: expect.stringMatching(/^incomplete: .*city/),
        });
        // Recorded by the first node; the rows still lack it for every node that asks.
        expect(await index.prepare(["jobs"])).toEqual(new Map([["jobs", ["city"]]]));
        const source = (async function* () {
          yield put;
        })();
        expect(await rebuildIndex(index, { collection: "jobs", source, nowMs: Date.now })).toMatchObject({
          ok: true,
        });
        // Without being prepared again.
        expect(await index.search(byCity)).toHaveLength(1);
        expect(await index.prepare(["jobs"])).toEqual(new Map());
      },
    ));

  it("adds the fields of a new country, which no row from before can lack (L1)", async () => {
    const options = freshOptions();
    await using index = new ElasticRowIndex(options);
    const layout = layoutOf("products");
    const { price_ZW: _, ...properties } = layout.properties;
    const earlier = { ...layout, properties, digest: "another" };
    const names = index.namesOf("products");
    try {
      await makeGeneration(index.engine, {
        names,
        layout: earlier,
        settings: options,
        number: 1,
        role: "serving",
      });
      expect(await index.prepare(["products"])).toEqual(new Map());
      const row = JSON.stringify({ countries: ["ZW"], price_ZW: 5 });
      await index.apply([
        { ...put, collection: "products", record_id: recordIdFor("products", 5, 1), row } as RowChange,
      ]);
      const dear: RowQuery = {
        ...query,
        collection: "products",
        country: "ZW",
        clauses: [{ field: "price_ZW", op: "gt", value: 4 }],
      };
      expect(await index.search(dear)).toHaveLength(1);
    } finally {
      await removeAll(index.engine, options.prefix);
    }
  });

  it("refuses texts of another analysis, in any field", () =>
    withLayout(
      layoutWith((making) =>
        Object.fromEntries(
          Object.entries(making).map(([name, how]) => [
            name,
            name.startsWith("term") ? how.replace(`${analysisVersion}.`, "0.") : how,
          ]),
        ),
      ),
      async (index) => {
        const outdated = await index.prepare(["jobs"]);
        expect(outdated.get("jobs")?.toSorted()).toEqual(["term.description", "term.title", "terms"]);
        await expect(index.search(byText)).rejects.toMatchObject({ name: "Unavailable" });
        await index.apply([put]);
        expect(await index.search(byCity)).toHaveLength(1);
      },
    ));

  it("takes a field that became another for one to be built anew, and says so", () =>
    withLayout(
      layoutWith((making) => ({ ...making, salary_min: "keyword", city: "keyword many" }), {
        ...layoutOf("jobs").properties,
        salary_min: { type: "keyword" },
      }),
      async (index) => {
        expect((await index.prepare(["jobs"])).get("jobs")?.toSorted()).toEqual(["city", "salary_min"]);
        const note = await readNote(index.engine, index.namesOf("jobs").generation(1));
        expect(note?.making["salary_min"]).toBe("keyword");
        await expect(
          index.search({ ...query, clauses: [{ field: "salary_min", op: "gt", value: 1 }] }),
        ).rejects.toMatchObject({ message: expect.stringMatching(/^incomplete: /) });
      },
    ));

  it("says that nothing can be asked of an index whose rows lie otherwise altogether", () =>
    withLayout(
      layoutWith((making) => making, { ...layoutOf("jobs").properties, row: { type: "binary" } }),
      async (index) => {
        expect((await index.prepare(["jobs"])).get("jobs")).toEqual(Object.keys(layoutOf("jobs").making));
      },
    ));
});
