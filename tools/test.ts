// `npm test`: all checks and all test suites. The last line is exactly `N passed, N failed`, with `, N skipped` if any.

import { engineTests, mutants, ordinaryTests, runAll, runOne, sourceChecks } from "./house.ts";
import { addCounts, type Counts, formatCounts } from "./steps.ts";

const counted: Counts[] = [await runAll(sourceChecks), await runOne(ordinaryTests)];
const beside = runOne(mutants);
for (const suite of engineTests) counted.push(await runOne(suite));
counted.push(await beside);
const counts = addCounts(counted);
console.log(`\n${formatCounts(counts)}`);
process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1;
