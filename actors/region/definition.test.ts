import { describe, expect, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import { driveActor } from "../actor.fixture.ts";
import { minuteName } from "./activities.ts";
import { regionActor } from "./definition.ts";

const apply = (id: string) => ({ type: "rows.apply", work_id: id, changes: [] }) as const;
const applied = (id: string) => ({ type: "rows.applied", work_id: id, stale: 1, rows: 3 }) as const;

describe("region", () => {
  it("answers when the rows are in the index, and starts a piece of work once (R1)", () => {
    const region = driveActor(regionActor, "eu-west1");
    expect(region.send(apply("w"))).toBeUndefined();
    expect(region.send(apply("w"))).toBeUndefined();
    expect(region.effects).toHaveLength(1);
    region.send(applied("w"));
    expect(region.send(apply("w"))).toEqual({ status: "applied", stale: 1 });
    expect(region.snapshot.context).toMatchObject({ work: {}, rowsApplied: 3 });
  });

  it("says unavailable when the index fails, and is serving again after a success", () => {
    const region = driveActor(regionActor, "eu-west1");
    region.send(apply("w"));
    region.send({ type: "rows.failed", work_id: "w", detail: "no disk" });
    expect(region.send(apply("w"))).toMatchObject({ status: "unavailable" });
    expect(region.snapshot.value).toMatchObject({ index: "catching_up" });
    region.send(apply("v"));
    region.send(applied("v"));
    expect(region.snapshot.value).toMatchObject({ index: "serving" });
  });

  it("leaves places for other work, however many purges wait for the engine", () => {
    const region = driveActor(regionActor, "eu-west1");
    const purge = (at: number) =>
      ({ type: "rows.purge", work_id: `p${at}`, collections: ["products"] }) as const;
    for (let at = 0; at < 16; at += 1) expect(region.send(purge(at))).toBeUndefined();
    expect(region.send(purge(16))).toMatchObject({ status: "unavailable" });
    expect(region.send(purge(3))).toBeUndefined();
    expect(region.send(apply("w"))).toBeUndefined();
    region.send(applied("purge p3"));
    expect(region.send(purge(3))).toMatchObject({ status: "applied" });
    expect(region.send(purge(16))).toBeUndefined();
  });

  it("tells whether a search finds a record once its index said so, and changes nothing", () => {
    const region = driveActor(regionActor, "eu-west1");
    const find = (id: string) =>
      ({ type: "rows.find", work_id: id, collection: "products", record_id: "svc_a" }) as const;
    expect(region.send(find("f"))).toBeUndefined();
    expect(region.effects).toMatchObject([{ name: "findRow", params: { record_id: "svc_a" } }]);
    region.send({ type: "rows.found", work_id: "f", found: true });
    expect(region.send(find("f"))).toEqual({ status: "found", found: true });
    region.send(find("g"));
    region.send({ type: "rows.found", work_id: "g", found: null });
    expect(region.send(find("g"))).toMatchObject({ status: "unavailable" });
    expect(region.snapshot.context.work).toEqual({});
    expect(region.snapshot.value).toMatchObject({ index: "serving" });
  });

  it("takes a bounded number of pieces of work at once", () => {
    const region = driveActor(regionActor, "eu-west1");
    for (let index = 0; index < 64; index += 1) expect(region.send(apply(`w${index}`))).toBeUndefined();
    expect(region.send(apply("one more"))).toMatchObject({ status: "unavailable" });
  });

  it("keeps no place for work that was answered to nobody", () => {
    const region = driveActor(regionActor, "eu-west1");
    for (let index = 0; index < 200; index += 1) {
      expect(region.send(apply(`w${index}`))).toBeUndefined();
      region.send(applied(`w${index}`));
    }
    expect(region.send(apply("w199"))).toEqual({ status: "applied", stale: 1 });
    // Its result was forgotten, so it is done again, which changes nothing.
    expect(region.send(apply("w0"))).toBeUndefined();
    expect(Object.keys(region.snapshot.context.work).length).toBeLessThan(70);
  });

  it("closes receipt batches once a minute, and forgets those that are old enough (R2, R3)", () => {
    const region = driveActor(regionActor, "eu-west1");
    region.send({ type: "region.open", region: "eu-west1" });
    expect(regionActor.effects["closeReceipts"]?.({}, part({ id: "eu-west1" }))).toEqual([
      { kind: "activity", name: "closeReceipts", params: { region: "eu-west1" } },
    ]);
    expect(regionActor.effects["forgetReceipts"]?.({}, part({ id: "eu-west1" }))).toEqual([
      { kind: "activity", name: "forgetReceipts", params: { region: "eu-west1" } },
    ]);
    expect(region.send({ type: "receipts.forgotten", batches: 2 })).toEqual({ status: "done" });
    expect(region.snapshot.context).toMatchObject({ batchesForgotten: 2 });
    expect(minuteName(Date.UTC(2026, 0, 2, 3, 4, 59))).toBe("202601020304");
  });
});
