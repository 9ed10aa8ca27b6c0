// `npm test`: all checks and all test suites. The last line is exactly `N passed, N failed`, with `, N skipped` if any.

import { runAll, runOne, sourceChecks, testSuites } from "./house.ts";
import { addCounts, type Counts, formatCounts } from "./steps.ts";

const counted: Counts[] = [await runAll(sourceChecks)];
for (const suite of testSuites) counted.push(await runOne(suite));
const counts = addCounts(counted);
console.log(`\n${formatCounts(counts)}`);
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
