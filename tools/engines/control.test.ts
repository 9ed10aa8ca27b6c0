import { describe, expect, it } from "vitest";
import { faultsAt, serveFaults } from "./control.ts";
import type { EngineFaults } from "./profiles.ts";

function recorder(): { readonly faults: EngineFaults; readonly done: string[] } {
  const done: string[] = [];
  const note = (name: string) => async (index: number) => {
    if (index > 2) throw new Error(`There is no engine ${index}`);
    done.push(`${name} ${index}`);
  };
  const faults: EngineFaults = {
    killCassandra: note("kill c"),
    startCassandra: note("start c"),
    pauseCassandra: note("pause c"),
    resumeCassandra: note("resume c"),
    compactCassandra: note("compact c"),
    killElastic: note("kill e"),
    startElastic: note("start e"),
    pauseElastic: note("pause e"),
    resumeElastic: note("resume e"),
  };
  return { faults, done };
}

describe("faults on request", () => {
  it("are made in the process that owns the engines, each by its own name", async () => {
    const { faults, done } = recorder();
    await using server = await serveFaults(faults);
    const remote = faultsAt(server.url);
    await remote.killCassandra(0);
    await remote.startCassandra(0);
    await remote.pauseCassandra(1);
    await remote.resumeCassandra(1);
    await remote.compactCassandra(1);
    await remote.killElastic(2);
    await remote.startElastic(2);
    await remote.pauseElastic(0);
    await remote.resumeElastic(0);
    expect(done).toEqual([
      "kill c 0",
      "start c 0",
      "pause c 1",
      "resume c 1",
      "compact c 1",
      "kill e 2",
      "start e 2",
      "pause e 0",
      "resume e 0",
    ]);
  });

  it("come back as errors where they could not be made", async () => {
    await using server = await serveFaults(recorder().faults);
    await expect(faultsAt(server.url).killCassandra(7)).rejects.toThrow("There is no engine 7");
  });

  it("are not for those who do not know the address, nor by other names", async () => {
    const { faults, done } = recorder();
    await using server = await serveFaults(faults);
    const { origin } = new URL(server.url);
    for (const url of [`${origin}/guess/killCassandra/0`, `${server.url}/stop/0`]) {
      expect((await fetch(url, { method: "POST" })).status).toBe(404);
    }
    expect((await fetch(`${server.url}/killCassandra/0`)).status).toBe(404);
    expect(done).toEqual([]);
  });
});
