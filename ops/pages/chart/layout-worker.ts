// Lays charts out beside the main thread: it takes a tenth of a second and more.

import { parentPort } from "node:worker_threads";
import ELK from "elkjs/lib/elk.bundled.js";
import { layOut } from "./layout.ts";
import type { LayoutAnswer, LayoutOrder } from "./layouts.ts";

const elk = new ELK.default();

parentPort?.on("message", async ({ id, chart }: LayoutOrder) => {
  const answer = await layOut(chart, (graph) => elk.layout(graph)).then(
    (layout): LayoutAnswer => ({ id, layout, fault: null }),
    (fault: unknown): LayoutAnswer => ({ id, layout: null, fault: String(fault) }),
  );
  parentPort?.postMessage(answer);
});
