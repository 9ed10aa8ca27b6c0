// Starts, under the guard, an engine that ignores requests to end, prints its id and folder, and then waits to be killed.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngineProcess, startGuard } from "./engine-process.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-guarded-"));
const guard = startGuard();
guard.removeLater(folder);
const program = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); console.log("deaf");`;
const engine = startEngineProcess(
  {
    command: process.execPath,
    args: ["-e", program],
    env: process.env,
    cwd: folder,
    logFile: join(folder, "log"),
  },
  guard,
);
console.log(JSON.stringify({ pid: engine.pid, folder }));
