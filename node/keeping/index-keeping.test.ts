// What a node does about indexes that are missing, with a cluster that answers as the test says.

import { describe, expect, it } from "vitest";
import type { LogEntry } from "../../actors/system/ports.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { ok, refuse } from "../../protocol/result.ts";
import { indexUnavailable } from "../../storage/row-index.ts";
import { type KeptIndex, keepIndexWhole, untilStopped } from "./index-keeping.ts";

/** A cluster with a list of the collections that it has lost, and a node that looks whenever the test says so. */
function open(lost: readonly CollectionName[], more: Partial<KeptIndex> = {}) {
  const world = { lost, built: [] as CollectionName[] };
  const scheduled: { readonly delayMs: number; readonly run: () => void }[] = [];
  const log: LogEntry[] = [];
  const keeping = keepIndexWhole({
    index: {
      prepare: async () => new Map(),
      missing: async () => world.lost,
      build: async (collection) => {
        world.built.push(collection);
        world.lost = world.lost.filter((each) => each !== collection);
        return ok({ changes: 7 });
      },
      ...more,
    },
    timers: {
      schedule: (delayMs, run) => {
        const entry = { delayMs, run };
        scheduled.push(entry);
        return () => void scheduled.splice(scheduled.indexOf(entry), scheduled.includes(entry) ? 1 : 0);
      },
    },
    log: (entry) => void log.push(entry),
  });
  return {
    keeping,
    world,
    log,
    scheduled,
    events: () => log.map(({ event }) => event),
    /** Waits until the node has looked, and waits for its next look. */
    looked: () => expect.poll(() => scheduled.length).toBe(1),
    lookAgain: async () => {
      scheduled.shift()?.run();
      await expect.poll(() => scheduled.length).toBe(1);
    },
  };
}

describe("a node whose region's indexes are missing", () => {
  it("builds each of them once, and then only looks (K1)", async () => {
    const node = open(collectionNames);
    expect(node.keeping.missing()).toEqual(collectionNames);
    await node.looked();
    expect(node.world.built).toEqual(collectionNames);
    expect(node.keeping.missing()).toEqual([]);
    expect(node.events()).toEqual(collectionNames.map(() => "index.built"));
    await node.lookAgain();
    expect(node.world.built).toEqual(collectionNames);
    expect(node.scheduled[0]?.delayMs).toBe(10_000);
  });

  it("notices a loss while it runs, says so, and builds what was lost alone (K3)", async () => {
    const node = open([]);
    await node.looked();
    expect(node.log).toEqual([]);
    node.world.lost = ["jobs"];
    await node.lookAgain();
    expect(node.world.built).toEqual(["jobs"]);
    expect(node.log.map(({ event, detail }) => [event, detail])).toEqual([
      ["index.missing", expect.stringContaining("jobs")],
      ["index.built", "jobs, with 7 changes"],
    ]);
  });

  it("leaves it to the node that builds already, and takes over from it if it ends without (K2)", async () => {
    let isBusy = true;
    const node = open(["jobs"], {
      build: async () => {
        if (isBusy) return refuse("rebuild_under_way", "Another node builds.");
        node.world.lost = [];
        return ok({ changes: 0 });
      },
    });
    await node.looked();
    expect(node.keeping.missing()).toEqual(["jobs"]);
    expect(node.scheduled[0]?.delayMs).toBe(2_000);
    isBusy = false;
    await node.lookAgain();
    expect(node.keeping.missing()).toEqual([]);
    expect(node.events()).toEqual(["index.missing", "index.built"]);
  });

  it("tries again what failed, and goes on with the others meanwhile (K3)", async () => {
    let isBroken = true;
    const node = open(["jobs", "events"], {
      build: async (collection) => {
        if (collection === "jobs" && isBroken) throw indexUnavailable("overloaded", "Too much.");
        node.world.lost = node.world.lost.filter((each) => each !== collection);
        return ok({ changes: 1 });
      },
    });
    await node.looked();
    expect(node.keeping.missing()).toEqual(["jobs"]);
    expect(node.events()).toEqual(["index.missing", "index.build_failed", "index.built"]);
    isBroken = false;
    await node.lookAgain();
    expect(node.keeping.missing()).toEqual([]);
  });

  it("takes all for missing until the cluster can be asked", async () => {
    let isAway = true;
    const node = open([], {
      missing: async () => {
        if (isAway) throw indexUnavailable("unreachable", "Nobody is there.");
        return [];
      },
    });
    await node.looked();
    expect(node.keeping.missing()).toEqual(collectionNames);
    expect(node.events()).toEqual(["index.not_prepared"]);
    isAway = false;
    await node.lookAgain();
    expect(node.keeping.missing()).toEqual([]);
  });

  it("has the builder withdraw when the node stops, and does not look again", async () => {
    const begun = Promise.withResolvers<void>();
    let isWithdrawn = false;
    const node = open(["jobs", "events"], {
      build: async (_, stopped) => {
        begun.resolve();
        await new Promise((resolve) => stopped.addEventListener("abort", resolve));
        isWithdrawn = true;
        stopped.throwIfAborted();
        return ok({ changes: 0 });
      },
    });
    await begun.promise;
    await node.keeping.stop();
    expect(isWithdrawn).toBe(true);
    expect(node.events()).toEqual(["index.missing", "index.build_failed"]);
    expect(node.scheduled).toEqual([]);
  });
});

it("a source ends with an error once it is stopped, also if it has no more changes", async () => {
  const stopping = new AbortController();
  const source = untilStopped(
    (async function* () {
      yield 1;
      yield 2;
    })(),
    stopping.signal,
  );
  expect(await source.next()).toEqual({ done: false, value: 1 });
  stopping.abort();
  await expect(source.next()).rejects.toThrow("aborted");
  const empty = untilStopped((async function* () {})(), stopping.signal);
  await expect(empty.next()).rejects.toThrow("aborted");
});
