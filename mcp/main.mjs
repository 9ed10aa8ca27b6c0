// The program `svc-mcp`: the local tool server by itself. An assistant waits for it to start, so what was compiled once is kept
// beside the installed packages, where nobody writes who could not change the program itself; without that it starts as well.
// Plain JavaScript, because what is not kept yet would first have to be stripped of its types.

import { enableCompileCache } from "node:module";
import { fileURLToPath } from "node:url";

enableCompileCache(fileURLToPath(new URL("../node_modules/.cache/compiled", import.meta.url)));
// Loaded after the cache is there.
await import("./command.ts");
