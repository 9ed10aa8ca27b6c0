// In the process of a node: which functions the engine entered between two calls, by V8's precise coverage.

import { Session } from "node:inspector/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "../process.ts";

/** Named functions that were entered, by the file that has them, as a path from the root. */
export type Entered = Readonly<Record<string, number>>;

const session = new Session();
/** What asks and counts is no part of the node. */
const outside = /^(\.\.|bench|tools|node_modules)\//;

export async function begin(): Promise<void> {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
}

/** What was entered since the last call, or since the beginning. */
export async function take(): Promise<Entered> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const entered: Record<string, number> = {};
  for (const { url, functions } of result) {
    if (!url.startsWith("file:")) continue;
    const path = relative(root, fileURLToPath(url));
    const called = functions.filter((each) => each.functionName !== "" && (each.ranges[0]?.count ?? 0) > 0);
    if (called.length > 0 && !outside.test(path)) entered[path] = called.length;
  }
  return entered;
}

export function close(): void {
  session.disconnect();
}
