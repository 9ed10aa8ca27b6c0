// `npm run fuzz`: mutates untrusted inputs until something does not hold.
//   npm run fuzz -- --seconds 3600             every target in turn, for this long in total
//   npm run fuzz -- --target receipts --seed 7
//   npm run fuzz -- --target receipts --input BASE64     one input, as a failure prints it
//   npm run fuzz -- --fault textOfAnyLength     its target, with a fault planted for it (fuzz/planted-faults.ts)

import { parseArgs } from "node:util";
import { plantedFaults, plantFault } from "./fuzz/planted-faults.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    target: { type: "string" },
    input: { type: "string" },
    inputs: { type: "string", default: "Infinity" },
    fault: { type: "string" },
  },
});
const fault = plantedFaults.find(({ name }) => name === values.fault);
if (values.fault !== undefined && fault === undefined) {
  console.error(`--fault is one of ${plantedFaults.map(({ name }) => name).join(", ")}.`);
  process.exit(2);
}
const assertPlanted = fault === undefined ? null : plantFault(fault);
// Loaded only now, so that a fault is in what is loaded.
const { fuzz } = await import("./fuzz/run.ts");
const { fuzzTargets, regressionsOf } = await import("./fuzz/targets.ts");
assertPlanted?.();
const wanted = values.target ?? fault?.target;
const chosen = fuzzTargets.filter(({ name }) => wanted === undefined || wanted === name);
const seconds = Number(values.seconds);
if (chosen.length === 0 || !(seconds > 0)) {
  console.error(
    `--target is one of ${fuzzTargets.map(({ name }) => name).join(", ")}, --seconds a number above 0.`,
  );
  process.exit(2);
}
const [only] = chosen;
if (values.input !== undefined && only !== undefined) {
  console.log(await only.check(Uint8Array.fromBase64(values.input)));
  process.exit(0);
}
const firstSeed = values.seed === undefined ? Date.now() % 2 ** 32 : Number(values.seed);
let inputs = 0;
for (const target of chosen) {
  const report = await fuzz(target, {
    seed: firstSeed,
    inputsMax: Number(values.inputs),
    msMax: (seconds * 1_000) / chosen.length,
    regressions: regressionsOf(target.name),
  });
  inputs += report.inputs;
  console.log(
    `${report.failure === null ? "ok  " : "FAIL"} ${report.target}: ${report.inputs} inputs, ${report.outcomes} outcomes`,
  );
  if (report.failure === null) continue;
  console.log(report.failure.error);
  console.log(`npm run fuzz -- --target ${report.target} --input ${report.failure.input.toBase64()}`);
  process.exitCode = 1;
}
console.log(`${inputs} inputs, seed ${firstSeed}`);
