// `npm run check`: every quick check. It prints only what is wrong.

import { allChecks, runAll } from "./house.ts";
import { formatCounts } from "./steps.ts";

const counts = await runAll(allChecks);
console.log(formatCounts(counts));
process.exitCode = counts.failed === 0 ? 0 : 1;
