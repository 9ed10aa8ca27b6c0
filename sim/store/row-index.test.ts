// The index of a simulated region, as its nodes reach it; the kernel drives the time of each call.

import { brokenRowIndexConformance, rowIndexConformance } from "../../storage/row-index.conformance.ts";
import { Kernel, Trace } from "../kernel/kernel.ts";
import { Life } from "../kernel/life.ts";
import { until } from "../kernel/until.fixture.ts";
import { type IndexFate, openSimRowIndex, WatchedRowIndex } from "./row-index.ts";

const openWith = (kind: IndexFate["kind"]) => async () => {
  const kernel = new Kernel({ startMs: 0, trace: new Trace({ story: false }) });
  const life = new Life(kernel, "a-1");
  const weather = { fate: (): IndexFate => ({ kind, afterMs: 1 }), timeoutMs: 1_000 };
  const rows = new WatchedRowIndex();
  const index = openSimRowIndex({ kernel, life, region: "eu-west1", rows, weather });
  return {
    index: {
      apply: (changes) => until(kernel, index.apply(changes)),
      search: (query) => until(kernel, index.search(query)),
      isFindable: (collection, recordId) => until(kernel, index.isFindable(collection, recordId)),
      purge: (collections) => until(kernel, index.purge(collections)),
      count: (collection) => until(kernel, index.count(collection)),
    } satisfies typeof index,
    close: async () => {},
  };
};

rowIndexConformance("the simulator's index", openWith("answered"));
brokenRowIndexConformance("the simulator's index", {
  away: openWith("away"),
  "its answer is lost": openWith("unheard"),
});
