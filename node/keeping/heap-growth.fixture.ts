// Child process, with --expose-gc: fills its heap quickly, and prints how many times its highest size is what is in use. With the
// argument `bounded` it bounds its growth first.

import { boundHeapGrowth } from "./heap-growth.ts";

if (process.argv[2] === "bounded") boundHeapGrowth();

/** Objects in use at a time; each of them lives long enough to be garbage of the old generation afterwards. */
const inUse = 200_000;
const ring: unknown[] = new Array(inUse).fill(null);
let highest = 0;
for (let made = 0; made < inUse * 8; made += 1) {
  // Before the first collection V8 goes by how fast it is, which follows what else the machine does.
  if (made === inUse) globalThis.gc?.();
  ring[made % inUse] = { made, text: `object ${made}`, list: [made, made + 1] };
  // Without marking in steps V8 looks at its limit only where something is made in the old generation itself, as a member's name is.
  if (made % 1_000 === 0) ring[made % inUse] = { [`${made}`.padStart(20_000, "name ")]: made };
  if (made % 10_000 === 0) highest = Math.max(highest, process.memoryUsage().heapTotal);
}
globalThis.gc?.();
process.stdout.write(String(highest / process.memoryUsage().heapUsed));
// Still in use until here.
ring.length = 0;
