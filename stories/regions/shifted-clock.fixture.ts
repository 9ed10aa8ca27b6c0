// The program `svc` on a machine whose clock is off by SHIFTED_CLOCK_MS milliseconds. For tests.

const offMs = Number(process.env["SHIFTED_CLOCK_MS"]);
const rightTime = Date.now;
Date.now = () => rightTime() + offMs;
await import("../../cli/main.ts");
