// Child process: fills its heap quickly, and prints the highest size of it in bytes. With the argument `bounded` it bounds
// its growth first.

import { boundHeapGrowth } from "./heap-growth.ts";

if (process.argv[2] === "bounded") boundHeapGrowth();

/** Objects in use at a time; each of them lives long enough to be garbage of the old generation afterwards. */
const inUse = 400_000;
const ring: unknown[] = new Array(inUse).fill(null);
let highest = 0;
for (let made = 0; made < inUse * 20; made += 1) {
  ring[made % inUse] = { made, text: `object ${made}`, list: [made, made + 1] };
  if (made % 10_000 === 0) highest = Math.max(highest, process.memoryUsage().heapTotal);
}
process.stdout.write(String(highest));
