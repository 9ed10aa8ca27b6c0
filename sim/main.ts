import { runSeed } from "./run-seed.ts";

const from = Number(process.argv[2] ?? 1),
  n = Number(process.argv[3] ?? 10);
const t = performance.now();
let ev = 0,
  vms = 0;
const fired = new Map<string, number>(),
  marks = new Map<string, number>();
let bad = 0;
for (let s = from; s < from + n; s++) {
  const r = await runSeed(s, { story: process.argv[4] === "story" });
  ev += r.events;
  vms += r.virtualMs;
  for (const [k, v] of r.fired) fired.set(k, (fired.get(k) ?? 0) + v);
  for (const [k, v] of r.marks) marks.set(k, (marks.get(k) ?? 0) + v);
  if (r.story.length) console.log(r.story.join("\n"));
  if (r.violations.length) {
    bad++;
    console.log(s, r.traceHash, r.events, r.violations.slice(0, 3));
  }
}
const ms = performance.now() - t;
console.log(
  {
    n,
    bad,
    msPerSeed: ms / n,
    eventsPerSeed: ev / n,
    usPerEvent: (1000 * ms) / ev,
    virtualS: vms / n / 1000,
  },
  Object.fromEntries([...fired].sort()),
  Object.fromEntries([...marks].sort()),
);
