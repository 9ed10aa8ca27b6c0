// Whether a file is held: which of its leaves count, and with what.

import { describe, expect, it } from "vitest";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import type { Listings } from "../../protocol/price-shock.ts";
import { noCertifiedNames } from "../../protocol/records/name-index.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { Message } from "../messages/protocol.ts";
import type { ActivityContext } from "../system/definition.ts";
import { preparePush } from "./activities.ts";
import { createChunkFailures } from "./process-chunk.ts";

const [price] = sampleRecords.products["prices"] as readonly [{ readonly country: string }];
const { country } = price;

function leaf(id: string, amount: string, changes: Readonly<Record<string, unknown>> = {}): Uint8Array {
  const prices = [{ ...price, amount, currency: "GBP" }];
  const countries = [country];
  return canonicalBytes({
    ...sampleRecords.products,
    business_product_id: id,
    prices,
    countries,
    ...(changes as object),
  });
}

const listed = (amount: string): Listings => ({ [country]: [amount, "GBP"] });

/** Prepares a file of these leaves; the catalogue has these records among its hundred. */
async function prepare(leaves: readonly Uint8Array[], live: Readonly<Record<string, Listings>>) {
  let judged = 0;
  /** The places of the leaves that no chunk has to judge again. */
  const accepted: number[] = [];
  const lists = {
    get protectedNames() {
      judged += 1;
      return [];
    },
    exemptNames: [],
    blockedHosts: [],
    certified: noCertifiedNames,
  };
  const ask = async (
    _to: unknown,
    { record_ids: ids = [] }: Message & { record_ids?: readonly string[] },
  ) => ({
    held_reasons: null,
    pending: [],
    listings: 100,
    status: "done",
    records: ids.flatMap((record_id) => {
      const listings = live[record_id.slice("svc_".length)];
      return listings === undefined ? [] : [{ record_id, bpid: null, listings }];
    }),
  });
  const ports = {
    leaves: {
      load: async (_: unknown, first: number, count: number) => leaves.slice(first, first + count),
    },
    lists,
    paces: { queued: () => async () => {} },
    parsed: { note: (_push: string, at: number) => void accepted.push(at) },
    planOf: async () => [],
    holdMs: 1_000,
    recordIdOf: (_business: string, _collection: string, id: string) => `svc_${id}`,
  };
  const prepared = await preparePush(
    { ports: rubbish(ports), failures: createChunkFailures() },
    pushFacts({ records: leaves.length }),
    part<ActivityContext<"push">>({
      actor: { kind: "push", id: "u.bat_1" },
      ask: rubbish(ask),
      signal: rubbish({ aborted: false }),
    }),
  );
  if (prepared.type !== "push.prepared") throw new Error(prepared.type);
  const reasons = prepared.held_reasons.map(({ code, count }) => [code, count]);
  return { judged: judged > 0, reasons, accepted };
}

describe("whether a file is held", () => {
  it("is decided without judging records that have no listings", async () => {
    const leaves = Array.from({ length: 250 }, (_, index) => leaf(`new-${index}`, "10.00"));
    expect(await prepare(leaves, {})).toEqual({ judged: false, reasons: [], accepted: [] });
  });

  it("depends on the records that have, among those that have none", async () => {
    const leaves = [leaf("new", "10.00"), leaf("known", "20.00"), leaf("other", "11.00")];
    const live = { known: listed("10.00"), other: listed("10.00") };
    expect(await prepare(leaves, live)).toEqual({
      judged: true,
      reasons: [["price_jump", 1]],
      accepted: [1, 2],
    });
  });

  it("depends on the first leaf of a record that would be accepted", async () => {
    const live = { known: listed("10.00") };
    const refused = leaf("known", "30.00", { product_name: 7 });
    expect(await prepare([refused, leaf("known", "10.00")], live)).toMatchObject({
      reasons: [],
      accepted: [1],
    });
    expect((await prepare([refused, leaf("known", "20.00")], live)).reasons).toEqual([["price_jump", 1]]);
    const twice = [leaf("known", "10.00"), leaf("known", "20.00")];
    expect(await prepare(twice, live)).toMatchObject({ reasons: [], accepted: [0] });
    expect((await prepare(twice.toReversed(), live)).reasons).toEqual([["price_jump", 1]]);
  });

  it("depends on nothing that cannot be read", async () => {
    const unreadable = [new Uint8Array([0xff]), Buffer.from("{"), Buffer.from("7"), Buffer.from('{"a":1}')];
    expect(await prepare([...unreadable, leaf("known", "20.00")], { known: listed("10.00") })).toEqual({
      judged: true,
      reasons: [["price_jump", 1]],
      accepted: [4],
    });
  });

  it("ends before its file does", async () => {
    const dayMs = 86_400_000;
    const hourMs = 3_600_000;
    let atMs = 9 * dayMs;
    const held = async (kept_until_ms: number | undefined) => {
      const ports = { holdMs: 30 * dayMs };
      const ask = async (_to: unknown, { type }: Message) => {
        if (type === "upload.read") return { kept_until_ms };
        // The comparison takes a day.
        atMs = 10 * dayMs;
        return { held_reasons: [{ code: "price_jump", detail: "d" }], pending: [], listings: 0, records: [] };
      };
      const file = { upload_id: "bup_1", name: "n", root: "r" };
      const prepared = await preparePush(
        { ports: rubbish(ports), failures: createChunkFailures() },
        pushFacts({ source: "bulk", file }),
        part<ActivityContext<"push">>({
          actor: { kind: "push", id: "u.bat_1" },
          ask: rubbish(ask),
          signal: rubbish({ aborted: false }),
          nowMs: () => atMs,
        }),
      );
      return prepared.type === "push.prepared" ? prepared.hold_ms : null;
    };
    expect(await held(16 * dayMs)).toBe(6 * dayMs - hourMs);
    expect(await held(50 * dayMs)).toBe(30 * dayMs);
    expect(await held(undefined)).toBe(30 * dayMs);
    expect(await held(9 * dayMs)).toBe(1);
  });
});
