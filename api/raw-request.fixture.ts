// Test support: requests written byte by byte, for what no well-behaved client sends.

import { connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Whether the server closed the connection. */
  readonly ended: boolean;
}

export interface RawOptions {
  /** Called repeatedly for more to send after the first bytes; null when there is no more. */
  readonly next?: () => string | Uint8Array | null;
  /** Whether the answer has no body, whatever its length says. */
  readonly isHead?: boolean;
  /** The address to connect from. */
  readonly localAddress?: string;
}

/** Sends bytes and returns what came back once the server closed the connection, or a whole answer has arrived. */
export function sendRaw(
  base: string,
  first: string | Uint8Array,
  options: RawOptions = {},
): Promise<RawAnswer> {
  const url = new URL(base);
  return new Promise((resolve, reject) => {
    const { localAddress, isHead = false } = options;
    const socket = connect({
      port: Number(url.port),
      host: url.hostname,
      ...(localAddress === undefined ? {} : { localAddress }),
    });
    let text = "";
    let ended = false;
    const finish = (): void => {
      const answer = parseAnswer(text, { ended, isHead });
      if (answer !== null) resolve(answer);
      else if (ended) reject(new Error(`no answer: ${JSON.stringify(text)}`));
      if (answer !== null || ended) socket.destroy();
    };
    const pump = (): void => {
      for (;;) {
        const more = options.next?.() ?? null;
        if (more === null || socket.destroyed) return;
        if (!socket.write(more)) return void socket.once("drain", pump);
      }
    };
    socket.on("connect", () => {
      socket.write(first);
      pump();
    });
    socket.on("data", (chunk: Buffer) => {
      text += chunk.toString("latin1");
      if (parseAnswer(text, { ended: false, isHead }) !== null) finish();
    });
    socket.on("end", () => {
      ended = true;
      finish();
    });
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (parseAnswer(text, { ended: true, isHead }) === null) reject(error);
      else finish();
    });
  });
}

function parseAnswer(
  text: string,
  { ended, isHead }: { readonly ended: boolean; readonly isHead: boolean },
): RawAnswer | null {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd < 0) return null;
  const [statusLine = "", ...lines] = text.slice(0, headEnd).split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  const body = text.slice(headEnd + 4);
  if (!isHead && body.length < Number(headers["content-length"] ?? 0)) return null;
  return { status: Number(statusLine.split(" ")[1]), headers, body, ended };
}

/** The head of a request, including the blank line. */
export function rawHead(line: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** One chunk of a chunked body (RFC 9112 §7.1). */
export function chunk(content: string): string {
  return `${Buffer.byteLength(content).toString(16)}\r\n${content}\r\n`;
}
