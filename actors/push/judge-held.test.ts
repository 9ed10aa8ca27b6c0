// What is found of the records of a push before it is held.

import { describe, expect, it } from "vitest";
import { sha256 } from "../../protocol/bytes.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { noCertifiedNames } from "../../protocol/records/name-index.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { FileUnfit } from "../../storage/staging-area.ts";
import { pushFacts } from "../facts.fixture.ts";
import type { Message } from "../messages/protocol.ts";
import type { ActivityContext } from "../system/definition.ts";
import { judgeHeld } from "./activities.ts";
import type { Judging } from "./prepare-chunk.ts";
import { createChunkFailures } from "./process-chunk.ts";

const leaf = (id: string, changes: object = {}): Uint8Array =>
  canonicalBytes({ ...sampleRecords.products, business_product_id: id, ...changes });

/** The judgement of these leaves, and what was told on the way. */
async function judge(leaves: readonly Uint8Array[], fault?: Error) {
  const told: Message[] = [];
  const ports = part<Judging>({
    leaves: part({
      load: async (_: unknown, first: number, count: number) => {
        if (fault !== undefined) throw fault;
        return leaves.slice(first, first + count);
      },
    }),
    parsed: { take: () => undefined, note: () => {}, drop: () => {} },
    lists: { protectedNames: [], exemptNames: [], blockedHosts: [], certified: noCertifiedNames },
    crypto: part({ sha256 }),
    paces: { inline: () => () => null, queued: () => () => null },
    recordIdOf: (_business: string, _collection: string, id: string) => `svc_${id}`,
  });
  const context = part<ActivityContext<"push">>({
    actor: { kind: "push", id: "u.bat_1" },
    ask: rubbish(async (_to: unknown, message: Message) => {
      told.push(message);
      return { status: "done" };
    }),
    signal: rubbish({ aborted: false }),
  });
  const failures = createChunkFailures();
  const facts = pushFacts({ records: leaves.length });
  for (let attempt = 1; ; attempt += 1) {
    const reply = await judgeHeld({ ports, failures }, facts, context).catch(() => null);
    if (reply !== null) return { reply, told, attempts: attempt };
  }
}

describe("a push that is to be held", () => {
  it("is judged leaf by leaf: faulty ones, and the second of a product, are rejected, the others name their records (J1)", async () => {
    const faulty = leaf("b", { product_name: 7 });
    const { reply, told } = await judge([leaf("a"), faulty, leaf("a"), leaf("b"), Uint8Array.of(0xff)]);
    expect(reply).toEqual({ type: "push.judged", rejected: [3] });
    const named = ["a", "b", "a", "b"].map((id) => ({ record_id: `svc_${id}`, business_product_id: id }));
    const outcomes = [
      { leaf_index: 0, outcome: "held", record_id: "svc_a", errors: [] },
      { outcome: "rejected", record_id: null, names: "svc_b", errors: [{ code: "type_invalid" }] },
      { outcome: "rejected", record_id: "svc_a", errors: [{ code: "duplicate_in_batch" }] },
      { outcome: "held", record_id: "svc_b" },
      { outcome: "rejected", record_id: null, errors: [{ code: "utf8_invalid" }] },
    ];
    expect(told).toMatchObject([
      { type: "names.keep", number: 1, names: named },
      { type: "chunk.judge", chunk: 0, outcomes },
    ]);
  });

  it("counts what is rejected by chunk, up to the last one with any", async () => {
    const leaves = Array.from({ length: 601 }, (_, at) => leaf(`p${at}`, at === 250 ? { brand: 7 } : {}));
    expect((await judge(leaves)).reply).toEqual({ type: "push.judged", rejected: [0, 1] });
    expect((await judge([leaf("a")])).reply).toEqual({ type: "push.judged", rejected: [] });
  });

  it("ends where its records cannot be judged for a reason of their own (J3)", async () => {
    const { reply, attempts } = await judge([leaf("a")], new Error("It breaks."));
    expect(reply).toMatchObject({ type: "push.fail", code: "processing_failed" });
    expect(attempts).toBeGreaterThan(1);
    expect((await judge([leaf("a")], new FileUnfit(0))).reply).toMatchObject({ code: "seal_invalid" });
  });
});
