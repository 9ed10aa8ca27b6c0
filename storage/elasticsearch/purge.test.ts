import { describe, expect, it } from "vitest";
import { EngineRefusal, type EngineRequest } from "./engine.ts";
import { expungeDeleted } from "./purge.ts";

interface State {
  readonly leases: readonly number[];
  readonly last?: number;
  readonly merges?: number;
}

/** An engine with a shard whose copies go through these states, one a look; the last one stays. */
function engineWith(looks: readonly (readonly State[])[], refused?: EngineRefusal) {
  const said: string[] = [];
  let look = -1;
  const engine = {
    read: async () => {
      look = Math.min(look + 1, looks.length - 1);
      said.push("look");
      const copies = looks[look]?.map(({ leases, last = 51, merges = 0 }) => ({
        seq_no: { max_seq_no: last },
        retention_leases: { leases: leases.map((retaining_seq_no) => ({ retaining_seq_no })) },
        merges: { current: merges },
      }));
      return { indices: { rows: { shards: { 0: copies } } } };
    },
    write: async ({ path }: EngineRequest) => {
      if (refused !== undefined) throw refused;
      said.push(path.replace(/^\/rows\/_(\w+).*$/, "$1"));
    },
  };
  const waited: number[] = [];
  const purge = () => expungeDeleted(engine, "rows", async (ms) => void waited.push(ms));
  return { said, waited, purge };
}

describe("what is deleted in a generation", () => {
  it("is merged away once no copy needs it any more", async () => {
    const { said, purge } = engineWith([
      [{ leases: [0] }, { leases: [52] }],
      [{ leases: [51, 90] }, { leases: [52] }],
      [{ leases: [52] }, { leases: [52] }],
    ]);
    await purge();
    expect(said).toEqual(["settings", "flush", "look", "look", "look", "forcemerge", "flush"]);
  });

  it("need not wait for what is written meanwhile", async () => {
    const { said, purge } = engineWith([[{ leases: [51] }], [{ leases: [60], last: 99 }]]);
    await purge();
    expect(said.filter((each) => each === "look")).toHaveLength(2);
  });

  it("is known from the copy that has most", async () => {
    const { said, purge } = engineWith([
      [
        { leases: [40], last: 39 },
        { leases: [60], last: 51 },
      ],
      [{ leases: [52] }, { leases: [60] }],
    ]);
    await purge();
    expect(said.filter((each) => each === "look")).toHaveLength(2);
  });

  it("waits for merges that began before, and not for ever", async () => {
    const some = engineWith([[{ leases: [52], merges: 1 }], [{ leases: [52] }]]);
    await some.purge();
    expect(some.waited).toEqual([1_000]);
    const always = engineWith([[{ leases: [52], merges: 2 }]]);
    await always.purge();
    expect(always.waited).toHaveLength(90);
    expect(always.said.slice(-2)).toEqual(["forcemerge", "flush"]);
  });

  it("is not said to be gone while a copy needs it", async () => {
    const { said, purge } = engineWith([[{ leases: [51] }]]);
    await expect(purge()).rejects.toMatchObject({ reason: "index", message: /^incomplete: a copy of rows/ });
    expect(said).not.toContain("forcemerge");
  });

  it("is nothing in a generation that has gone", async () => {
    await engineWith([], new EngineRefusal(404, "index_not_found_exception", "")).purge();
    const refused = new EngineRefusal(400, "illegal_argument_exception", "");
    await expect(engineWith([], refused).purge()).rejects.toBe(refused);
  });
});
