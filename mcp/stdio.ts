// The tool server over stdin and stdout, for both eras of the protocol. Nothing but messages is written to stdout.

import type { Readable, Writable } from "node:stream";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { boundedLines, lineBytesMax } from "./bounded-lines.ts";
import type { ToolServer } from "./server.ts";

const unreadBytesMax = 1_048_576;

export interface StdioOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** One line for the person who started the process. */
  readonly log: (line: string) => void;
}

export interface ServedStdio {
  /** Resolves when the peer has closed its end, or `close` was called. */
  readonly ended: Promise<void>;
  close(): Promise<void>;
}

export function serveOverStdio(server: ToolServer, { stdin, stdout, log }: StdioOptions): ServedStdio {
  const lines = boundedLines(
    ({ code, message, id }) => {
      log(message);
      // A peer that reads nothing is not answered without bound.
      if (stdout.writableLength > unreadBytesMax) return;
      stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`);
    },
    () => roomIn(stdout),
  );
  stdin.pipe(lines);
  // Each answer that waits for the peer listens; B4 of bounded-lines.ts bounds them.
  stdout.setMaxListeners(0);
  const transport = new StdioServerTransport(lines, stdout, { maxBufferSize: 4 * lineBytesMax });
  const handle = serveStdio(() => server.connect(), { transport, onerror: (error) => log(error.message) });
  let settle = (): void => {};
  const ended = new Promise<void>((resolve) => {
    settle = resolve;
  });
  lines.once("close", settle);
  stdout.once("error", settle);
  return {
    ended,
    close: async () => {
      await handle.close();
      stdin.unpipe(lines);
      lines.destroy();
      settle();
    },
  };
}

/** Resolves once the peer has read all but `unreadBytesMax` of what it was answered, or is gone. */
async function roomIn(stdout: Writable): Promise<void> {
  if (stdout.writableLength <= unreadBytesMax) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const event of ["drain", "close", "error"]) stdout.on(event, resolve);
  await promise;
  for (const event of ["drain", "close", "error"]) stdout.off(event, resolve);
}
