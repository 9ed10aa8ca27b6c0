#!/usr/bin/env node
// The program `svc`: starts cli/main.ts under the Node version that the project is pinned to.

process.argv.splice(2, 0, "cli/main.ts");
await import("../tools/run.mjs");
