import { describe, expect, it } from "vitest";
import { prepareChunk } from "./prepare-chunk.ts";

describe("a chunk whose leaves are not all there", () => {
  it("is not begun: its outcomes would be settled without them", async () => {
    const asked: unknown[] = [];
    const ports = { records: { loadLeaves: async () => [new Uint8Array(), new Uint8Array()] } };
    const facts = { push_id: "bat_0", records: 203 };
    const note = (what: unknown) => {
      asked.push(what);
    };
    const prepared = prepareChunk(
      ports as never,
      { facts: facts as never, chunk: 1 },
      { ask: async (to) => note(to) as never, assigned: () => note("assigned") },
    );
    await expect(prepared).rejects.toThrow("A leaf of chunk 1 of bat_0 is not staged.");
    expect(asked).toEqual([]);
  });
});
