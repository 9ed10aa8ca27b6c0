// `npm run check`: everything that is quick. Silent about what is in order.

import { allChecks, runAll } from "./house.ts";
import { formatCounts } from "./steps.ts";

const counts = await runAll(allChecks);
console.log(formatCounts(counts));
process.exitCode = counts.failed === 0 ? 0 : 1;
