import { describe, expect, it } from "vitest";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { sidecarText } from "../../protocol/sidecar.fixture.ts";
import type { PurgedVersion, RecordStore } from "../../storage/record-store.ts";
import { businessUuid as uuid } from "../facts.fixture.ts";
import type { LatePurges, Purge } from "../messages/removal.ts";
import type { AskOptions } from "../system/definition.ts";
import { purgeRecords } from "./purge.ts";

describe("the work of a purge", () => {
  const purge: Purge = {
    record_id: "svc_a",
    collection: "products",
    generation: 2,
    document_hash: "d",
    number: 3,
    due_ms: 0,
    deleted_at_ms: 0,
  };

  const signed = { adl_row_sig: "s", ai_policy_version: 4 };

  function world({
    live = false,
    replies = ["applied", "applied"],
    waiting = [] as readonly Purge[],
    early = [] as readonly string[],
  } = {}) {
    const late: (LatePurges | string)[] = [];
    const purged: PurgedVersion[] = [];
    const records = part<RecordStore>({
      readHead: async () =>
        part({ record_id: "svc_a", live, generation: 2, change: 9, hash: "h2", type: "products" }),
      listVersions: async (_id, below) =>
        [2, 1]
          .filter((generation) => generation < (below ?? 9))
          .map((generation) => ({ generation, hash: `h${generation}`, published_at_ms: 0 })),
      readPublished: async () => part({ sidecar: sidecarText({ change: 7 }), row: JSON.stringify(signed) }),
      purgeVersions: async (versions) => void purged.push(...versions),
      overwriteUnused: async () => void told.push("overwritten"),
    });
    const left = [...replies];
    const waited: (number | undefined)[] = [];
    const told: unknown[] = [];
    const context = {
      actor: { kind: "business", id: uuid },
      workId: "w",
      nowMs: () => 5,
      signal: { aborted: false },
      ask: async (
        to: { readonly id: string },
        command: Readonly<Record<string, unknown>>,
        options?: AskOptions,
      ) => {
        const { type, after, record_id, number } = command;
        if (type === "purges.due")
          return { purges: [purge], waiting, push_id: waiting.length > 0 ? "p" : null, next: null };
        if (type === "purges.forget")
          return after === ""
            ? { push_ids: ["p1", "p2"], held: ["p2"], more: true }
            : { push_ids: ["p3"], held: [], more: false };
        if (type === "push.forget") {
          told.push([to.id, record_id, number]);
          return { status: early.includes(to.id) ? "early" : "done" };
        }
        told.push(type);
        waited.push(options?.timeoutMs);
        return { status: left.shift() };
      },
    };
    const latePurges = { note: (each: LatePurges) => late.push(each), forget: (id: string) => late.push(id) };
    const run = () => purgeRecords({ records, regions: () => ["one", "two"], latePurges }, rubbish(context));
    return { purged, run, waited, late, told };
  }

  it("waits for a region's answer no longer than for any other, as it may be lost (Z4)", async () => {
    const { run, waited } = world();
    await run();
    expect(waited).toEqual([undefined, undefined]);
  });

  it("purges every version up to the deleted one, and keeps what its sidecar said of it", async () => {
    const { purged, run } = world();
    expect(await run()).toMatchObject({
      type: "purges.done",
      purged: [
        { versions: [{ generation: 2 }, { generation: 1 }], regions: ["one", "two"], purged_at_ms: 5 },
      ],
    });
    expect(purged.map(({ generation }) => generation)).toEqual([2, 1]);
    expect(JSON.parse(purged[0]?.remains ?? "")).toMatchObject({ purged: { change: 7 }, signed });
  });

  it("has every push that was held because of the record forget it, before the files are overwritten (Z5)", async () => {
    const { told, run } = world();
    await run();
    expect(told).toEqual([
      ...["p1", "p2", "p3"].map((id) => [`${uuid}.${id}`, "svc_a", 3]),
      "rows.purge",
      "rows.purge",
      "overwritten",
    ]);
  });

  it("proves nothing before a push that is to be held has its reasons; one that was dropped is not waited for (Z6)", async () => {
    await expect(world({ early: [`${uuid}.p2`] }).run()).rejects.toThrow("p2 is to be held because of svc_a");
    await world({ early: [`${uuid}.p1`, `${uuid}.p3`] }).run();
  });

  it("proves nothing before every region has confirmed (Z3)", async () => {
    await expect(world({ replies: ["applied", "unavailable"] }).run()).rejects.toThrow("region two");
  });

  it("says what it waits for: regions, a store, an earlier push; and when it waits for nothing more", async () => {
    const reported = async (...options: Parameters<typeof world>) => {
      const { run, late } = world(...options);
      await run().catch(() => {});
      return late;
    };
    expect(await reported({ replies: ["applied", "unavailable"] })).toMatchObject([
      { business_uuid: uuid, purges: [purge], waits_for: "region", regions: ["two"], push_id: null },
    ]);
    expect(await reported({ live: true })).toMatchObject([
      { waits_for: "store", regions: [], detail: "svc_a is still served." },
    ]);
    const waits = { purges: [purge], waits_for: "push", push_id: "p" };
    expect(await reported({ waiting: [purge] })).toMatchObject([waits]);
    expect(await reported({ live: true, waiting: [purge] })).toMatchObject([{ purges: [purge, purge] }]);
    expect(await reported()).toEqual([uuid]);
  });

  it("purges nothing that the store still serves (Z2)", async () => {
    const { purged, run } = world({ live: true });
    await expect(run()).rejects.toThrow("still served");
    expect(purged).toEqual([]);
  });
});
