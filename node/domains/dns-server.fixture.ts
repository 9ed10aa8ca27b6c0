// A DNS server for tests, on loopback (RFC 1035 §4.1): it answers questions for TXT and A records from a table.

import { createSocket, type Socket } from "node:dgram";
import type { AddressInfo } from "node:net";

export interface DnsServer extends AsyncDisposable {
  /** Where it is, as a resolver's setting names it. */
  readonly address: string;
  /** The TXT records by name. A record is one text. */
  readonly txt: Map<string, readonly string[]>;
  /** The IPv4 addresses by name. */
  readonly a: Map<string, readonly string[]>;
  /** Names about which no question for a TXT record, or for an address, is answered. */
  readonly silent: { readonly txt: Set<string>; readonly a: Set<string> };
  /** Names whose questions the server answers as failed (SERVFAIL). */
  readonly failing: Set<string>;
  readonly asked: string[];
}

const [typeA, typeTxt] = [1, 16];

export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket("udp4");
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  const server = {
    address: `127.0.0.1:${(socket.address() as AddressInfo).port}`,
    txt: new Map(),
    a: new Map(),
    failing: new Set<string>(),
    asked: [] as string[],
    silent: { txt: new Set<string>(), a: new Set<string>() },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  } satisfies DnsServer;
  answerOn(socket, server);
  return server;
}

function answerOn(socket: Socket, server: DnsServer): void {
  socket.on("message", (question, { port, address }) => {
    const { name, type, end } = readQuestion(question);
    server.asked.push(name);
    const isSilent = type === typeTxt ? server.silent.txt.has(name) : server.silent.a.has(name);
    if (isSilent) return;
    const isKnown = server.txt.has(name) || server.a.has(name);
    const values = type === typeTxt ? server.txt.get(name) : type === typeA ? server.a.get(name) : [];
    const records = (values ?? []).map((value) => recordOf(type, value));
    const head = Buffer.alloc(12);
    question.copy(head, 0, 0, 2);
    head.writeUInt16BE(0x8180 | (server.failing.has(name) ? 2 : isKnown ? 0 : 3), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(records.length, 6);
    socket.send(Buffer.concat([head, question.subarray(12, end), ...records]), port, address);
  });
}

function readQuestion(question: Buffer) {
  const labels: string[] = [];
  let at = 12;
  for (let length = question[at] ?? 0; length > 0; length = question[at] ?? 0) {
    labels.push(question.toString("latin1", at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join(".").toLowerCase(), type: question.readUInt16BE(at + 1), end: at + 5 };
}

/** A record of the name in the question, with no time to live. */
function recordOf(type: number, value: string): Buffer {
  const data =
    type === typeA ? Buffer.from(value.split(".").map(Number)) : Buffer.concat(chunksOf(Buffer.from(value)));
  const head = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, data.length >> 8, data.length & 0xff]);
  return Buffer.concat([head, data]);
}

/** A text is written in pieces, each with its length in front; readers join them. */
function chunksOf(text: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < text.length; at += 40) {
    const chunk = text.subarray(at, at + 40);
    chunks.push(Buffer.of(chunk.length), chunk);
  }
  return chunks;
}
