// `svc start`: runs one node with everything in it, on the embedded default. In the sandbox it comes with samples.

import { resolve } from "node:path";
import { endUnusedThreads } from "../std/worker-calls.ts";
import { type Command, untilStopped } from "./command.ts";
import { defaultHome } from "./connection.ts";

const portBaseMax = 65_530;
/** By then what the start began is done. */
const restMs = 5_000;
const unusedMs = 60_000;

export const start: Command = {
  name: "start",
  usage: "",
  summary: "run a node with sample businesses, and suggest what to try",
  options: `
    --home DIR     folder in which the node keeps everything (default ${defaultHome})
    --port-base N  first of six ports: retrieval, business, verification, tools, ops, portal`,
  run: async (call) => {
    // Files that this process writes are private to the node.
    process.umask(0o077);
    const { terminal } = call;
    const home = call.text("home");
    const portBase = call.integer("port-base", { min: 0, max: portBaseMax, fallback: -1 });
    // Loaded only here: every other command starts without a node's code.
    const { boundHeapGrowth, collectGarbage } = await import("../node/keeping/heap-growth.ts");
    boundHeapGrowth();
    const [{ startNode }, { tourLines }] = await Promise.all([
      import("../node/composition/start.ts"),
      import("../node/sandbox/tour.ts"),
    ]);
    const node = await startNode({
      ...(home === null ? {} : { home: resolve(call.cwd, home) }),
      ...(portBase < 0 ? {} : { portBase }),
      // A person reads the tour; a process that collects standard error reads the log.
      ...(terminal.isWatched && call.env["SVC_LOG_LEVEL"] === undefined ? { logLevel: "warn" } : {}),
    });
    // In production the first push after a quiet minute waits for no thread to start.
    if (node.config.environment === "sandbox") setInterval(endUnusedThreads, unusedMs).unref();
    const stopped = untilStopped(call, node, () => terminal.note("Stopping …"));
    try {
      const seed = await node.seeded;
      if (seed === null) terminal.print(`A node is running: ${node.urls.base_url}`);
      else {
        for (const line of tourLines(seed, { homeOption: home })) terminal.print(line);
        // A sandbox mostly rests, and a third of what its start took is garbage.
        endUnusedThreads();
        const rest = (): void => {
          endUnusedThreads();
          collectGarbage();
        };
        setTimeout(rest, restMs).unref();
      }
    } catch (error) {
      terminal.note(`The node runs, but its samples could not be published: ${String(error)}`);
    }
    return await stopped;
  },
};
