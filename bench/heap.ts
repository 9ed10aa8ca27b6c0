// The heap of a process, once what nobody needs has been collected.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes in use. */
export function heldBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
