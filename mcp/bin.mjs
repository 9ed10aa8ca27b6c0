#!/usr/bin/env node
// The program `svc-mcp`: starts mcp/main.mjs under the Node version that the project is pinned to.

process.argv.splice(2, 0, "mcp/main.mjs");
await import("../tools/run.mjs");
