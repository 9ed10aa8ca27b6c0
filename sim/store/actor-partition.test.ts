import { describe, expect, it } from "vitest";
import { rowTable } from "../../storage/actor-store.ts";
import { passedOverMax } from "../../storage/memory/actor-store.ts";
import { ActorPartition, type Mutation, type PartitionHead } from "./actor-partition.ts";

const known = (): boolean => true;
const unknown = (): boolean => false;

function raise(head: number): { holds: (found: PartitionHead) => boolean; mutation: Mutation } {
  return { holds: (found) => found.head === head - 1, mutation: { head: { head }, puts: [], deletes: [] } };
}

describe("a partition", () => {
  it("commits what a majority accepted with the next serial statement, and shows it to no plain read before (P1, P2)", () => {
    const partition = new ActorPartition("business", "a");
    expect(partition.cas(raise(1), "unseen", unknown).applied).toBe(true);
    expect(partition.plainRead().head).toBe(0);
    expect(partition.isBehind).toBe(true);
    expect(partition.serialRead(unknown).head).toBe(1);
    expect(partition.plainRead().head).toBe(1);
  });

  it("commits or forgets what a minority accepted, as the next asked know of it (P1)", () => {
    const found = new ActorPartition("business", "a");
    found.cas(raise(1), "partial", known);
    expect(found.serialRead(known).head).toBe(1);
    const lost = new ActorPartition("business", "b");
    lost.cas(raise(1), "partial", known);
    expect(lost.serialRead(unknown).head).toBe(0);
  });

  it("never brings a proposal back once it was settled (P3)", () => {
    const partition = new ActorPartition("business", "a");
    partition.cas(raise(1), "partial", known);
    expect(partition.serialRead(unknown).head).toBe(0);
    expect(partition.serialRead(known).head).toBe(0);
    expect(partition.cas(raise(1), "full", known)).toMatchObject({ applied: true, found: { head: 0 } });
    expect(partition.cas(raise(1), "full", known)).toMatchObject({ applied: false, found: { head: 1 } });
  });

  it("settles first, so that a condition is judged by what was accepted before it (P1)", () => {
    const partition = new ActorPartition("business", "a");
    partition.cas(raise(1), "unseen", unknown);
    expect(partition.cas(raise(1), "full", unknown).applied).toBe(false);
    expect(partition.cas(raise(2), "full", unknown).applied).toBe(true);
  });

  it("fails a page that passes over more deleted rows than one commit deletes (TR1)", () => {
    const partition = new ActorPartition("business", "a");
    const rt = rowTable.firstKeyed;
    const rows = Array.from({ length: passedOverMax + 2 }, (_, k) => ({ rt, k, k2: "", body: "{}" }));
    partition.apply({ head: {}, puts: rows, deletes: [] });
    partition.apply({ head: {}, puts: [], deletes: rows.slice(0, passedOverMax) });
    expect(partition.select({ rt, limit: 1 }, 0)).toHaveLength(1);
    partition.apply({ head: {}, puts: [], deletes: rows.slice(passedOverMax, passedOverMax + 1) });
    expect(() => partition.select({ rt, limit: 1 }, 0)).toThrow(`passes over ${passedOverMax + 1} rows`);
    expect(partition.select({ rt, after: { k: 0, k2: "" }, limit: 1 }, 0)).toEqual(rows.slice(-1));
  });
});
