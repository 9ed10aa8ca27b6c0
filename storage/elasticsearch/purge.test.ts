import { describe, expect, it } from "vitest";
import { indexUnavailable } from "../row-index.ts";
import { EngineRefusal, type EngineRequest } from "./engine.ts";
import { expungeDeleted } from "./purge.ts";

interface State {
  readonly leases: readonly number[];
  readonly last?: number;
  readonly merges?: number;
}

const merged = { completed: true, response: { _shards: { failed: 0 } } };

/**
 * An engine with a shard whose copies go through these states, one a look; the last one stays. `tasks` are what it answers of the task of
 * a merge.
 */
function engineWith(
  looks: readonly (readonly State[])[],
  refused?: EngineRefusal,
  tasks: readonly unknown[] = [merged],
) {
  const said: string[] = [];
  const asked = [...tasks];
  let look = -1;
  const engine = {
    read: async ({ path }: EngineRequest) => {
      if (path === "/_tasks/node:7") {
        const task = asked.shift();
        if (task instanceof Error) throw task;
        return task;
      }
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
      return path.includes("wait_for_completion=false") ? { task: "node:7" } : {};
    },
  };
  const waited: number[] = [];
  const purge = () => expungeDeleted(engine, "rows", async (ms) => void waited.push(ms));
  return { said, waited, asked, purge };
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

  it("is gone when the merge has ended, however long that takes and whatever is not answered meanwhile", async () => {
    const underWay = Array.from({ length: 200 }, () => ({ completed: false }));
    const away = indexUnavailable("timeout", "no answer");
    const { said, waited, asked, purge } = engineWith([[{ leases: [52] }]], undefined, [
      away,
      ...underWay,
      away,
      away,
      merged,
    ]);
    await purge();
    expect([asked.length, waited.length, said.at(-1)]).toEqual([0, 203, "flush"]);
  });

  it.each([
    ["ended with a fault", { completed: true, error: { type: "x" } }],
    ["failed on a shard", { completed: true, response: { _shards: { failed: 1 } } }],
    ["is not known any more", new EngineRefusal(404, "resource_not_found_exception", "")],
  ])("is not said to be gone where the merge %s", async (_what, task) => {
    const { said, purge } = engineWith([[{ leases: [52] }]], undefined, [{ completed: false }, task]);
    await expect(purge()).rejects.toMatchObject({ reason: "index" });
    expect(said.at(-1)).toBe("forcemerge");
  });

  it("is nothing in a generation that has gone", async () => {
    await engineWith([], new EngineRefusal(404, "index_not_found_exception", "")).purge();
    const refused = new EngineRefusal(400, "illegal_argument_exception", "");
    await expect(engineWith([], refused).purge()).rejects.toBe(refused);
  });
});
