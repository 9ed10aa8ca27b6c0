// The program: reads its configuration, checks it or prints its schema, and serves until the peer or a signal ends it.

import type { Readable, Writable } from "node:stream";
import { checkSetup } from "./check.ts";
import { configSchema, type Env } from "./config.ts";
import { httpFetch } from "./http-fetch.ts";
import { createToolServer, serverName } from "./server.ts";
import { loadSetup, SetupError } from "./setup.ts";
import { serveOverStdio } from "./stdio.ts";

export interface ProgramOptions {
  readonly configFile: string | null;
  readonly sandboxHome: string | null;
  readonly check: boolean;
  readonly printConfigSchema: boolean;
}

export interface ProgramContext {
  readonly env: Env;
  readonly cwd: string;
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** Writes a line to stderr. */
  readonly log: (line: string) => void;
  readonly version: string;
  /** Calls `stop` once, when the process is asked to end. */
  readonly onStop: (stop: () => Promise<void>) => void;
}

/** 0: done; 1: the check found something; 2: cannot run as configured. */
export type ProgramCode = 0 | 1 | 2;

export async function runToolServer(options: ProgramOptions, context: ProgramContext): Promise<ProgramCode> {
  const { stdout, log } = context;
  // A host may close its end of stderr: what is then not read is no reason to stop serving.
  process.stderr.on("error", () => {});
  if (options.printConfigSchema) {
    stdout.write(`${JSON.stringify(configSchema(), null, 2)}\n`);
    return 0;
  }
  try {
    const { configFile, sandboxHome } = options;
    const setup = await loadSetup({ configFile, sandboxHome, env: context.env, cwd: context.cwd });
    if (options.check) return (await checkSetup(setup, (line) => stdout.write(`${line}\n`))) ? 0 : 1;
    const { version } = context;
    const server = createToolServer({
      ...setup,
      version,
      fetch: httpFetch,
      now: Date.now,
    });
    const { transport } = setup.config;
    if (transport.type === "http") {
      // Loaded only here: over stdio nothing needs it, and somebody waits for the first answer.
      const { serveOverHttp } = await import("./http.ts");
      const served = await serveOverHttp(server, { transport, bearerToken: setup.bearerToken, log });
      log(`${serverName} ${version} serves ${served.url} (${setup.config.environment}).`);
      context.onStop(() => served.close());
      await served.ended;
      return 0;
    }
    const served = serveOverStdio(server, { stdin: context.stdin, stdout, log });
    context.onStop(() => served.close());
    await served.ended;
    return 0;
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    for (const line of error.message.split("\n")) log(line);
    return 2;
  }
}
