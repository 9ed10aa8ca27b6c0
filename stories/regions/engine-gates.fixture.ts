// What production engines ask of a node, in front of engines that ask nothing: TLS with a certificate of the operators' own
// authority, and a password. For tests.
//   G1. Nothing reaches the engine over a connection that has not shown the password.
//   G2. A gate to Elasticsearch that is held passes every request on except those that write rows, which wait for `release`.

import { Buffer } from "node:buffer";
import { type IncomingMessage, request, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createServer as createTlsServer, type Server } from "node:tls";

export interface GateIdentity {
  readonly key: string;
  readonly cert: string;
}

export interface GateLogin {
  readonly username: string;
  readonly password: string;
}

interface GateOptions extends GateIdentity {
  /** `host:port` of the engine. */
  readonly target: string;
  readonly login: GateLogin;
}

interface Gate extends AsyncDisposable {
  /** `127.0.0.1:port`. */
  readonly address: string;
}

export interface ElasticGate extends Gate {
  /** See G2. */
  hold(): void;
  release(): void;
  /** How many requests wait. */
  readonly waiting: number;
}

const opcode = { error: 0x00, startup: 0x01, ready: 0x02, authenticate: 0x03, options: 0x05 } as const;
const answered = { authResponse: 0x0f, authSuccess: 0x10 } as const;
const badCredentials = 0x0100;
const headBytes = 9;

/** In front of a Cassandra node: CQL binary protocol, version 4 and earlier (native_protocol_v4.spec, §2 and §4). */
export async function openCassandraGate({ target, login, key, cert }: GateOptions): Promise<Gate> {
  const sockets = new Set<Socket>();
  const [host = "", port = ""] = target.split(":");
  const server = createTlsServer({ key, cert }, (near) => {
    const far = connect(Number(port), host);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.setNoDelay();
    }
    near.once("close", () => far.destroy());
    far.once("close", () => near.destroy());
    admit(near, far, login);
  });
  server.on("tlsClientError", () => {});
  return gateOf(await listening(server), () => {
    for (const socket of sockets) socket.destroy();
  });
}

/** Asks for the password where the engine says that it is ready, and passes everything on once it was right (G1). */
function admit(near: Socket, far: Socket, login: GateLogin): void {
  let isIn = false;
  onFrames(far, (frame) => {
    if (isIn || frame[4] !== opcode.ready) return near.write(frame);
    const name = "org.apache.cassandra.auth.PasswordAuthenticator";
    return near.write(frameLike(frame, opcode.authenticate, text(name)));
  });
  onFrames(near, (frame) => {
    if (isIn || frame[4] === opcode.startup || frame[4] === opcode.options) return far.write(frame);
    const reply = Buffer.from(frame);
    reply[0] = (frame[0] ?? 0) | 0x80;
    const token = Buffer.from(`\0${login.username}\0${login.password}`);
    isIn = frame[4] === answered.authResponse && frame.subarray(headBytes + 4).equals(token);
    if (isIn)
      return near.write(frameLike(reply, answered.authSuccess, Buffer.from([0xff, 0xff, 0xff, 0xff])));
    const code = Buffer.alloc(4);
    code.writeInt32BE(badCredentials);
    return near.end(frameLike(reply, opcode.error, Buffer.concat([code, text("Wrong user or password")])));
  });
}

function onFrames(from: Socket, take: (frame: Buffer) => unknown): void {
  let rest = Buffer.alloc(0);
  from.on("data", (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= headBytes && rest.length >= headBytes + rest.readInt32BE(5)) {
      const end = headBytes + rest.readInt32BE(5);
      take(rest.subarray(0, end));
      rest = rest.subarray(end);
    }
  });
}

/** A frame with the version and stream of another one. */
function frameLike(other: Buffer, code: number, body: Buffer): Buffer {
  const head = Buffer.from(other.subarray(0, headBytes));
  head[1] = 0;
  head[4] = code;
  head.writeInt32BE(body.length, 5);
  return Buffer.concat([head, body]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** In front of an Elasticsearch: HTTPS with Basic authentication (RFC 7617). */
export async function openElasticGate({ target, login, key, cert }: GateOptions): Promise<ElasticGate> {
  const expected = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString("base64")}`;
  let isHeld = false;
  const waiting: (() => void)[] = [];
  const server = createHttpsServer({ key, cert }, (asked, answer) => {
    if (asked.headers.authorization !== expected) return refuse(answer);
    if (asked.url === "/_security/_authenticate") return tell(answer, login.username);
    const pass = (): void => forward(asked, answer, target);
    if (isHeld && asked.url?.includes("_bulk") === true) waiting.push(pass);
    else pass();
  });
  server.on("tlsClientError", () => {});
  const gate = gateOf(await listening(server), () => server.closeAllConnections());
  return {
    ...gate,
    hold: () => {
      isHeld = true;
    },
    release: () => {
      isHeld = false;
      for (const pass of waiting.splice(0)) pass();
    },
    get waiting() {
      return waiting.length;
    },
  };
}

function refuse(answer: ServerResponse): void {
  answer.writeHead(401, { "www-authenticate": 'Basic realm="security"', "content-type": "application/json" });
  answer.end(JSON.stringify({ status: 401, error: { type: "security_exception" } }));
}

/** An Elasticsearch without security does not know who asks. */
function tell(answer: ServerResponse, username: string): void {
  answer.writeHead(200, { "content-type": "application/json", "x-elastic-product": "Elasticsearch" });
  answer.end(JSON.stringify({ username, roles: [username] }));
}

function forward(asked: IncomingMessage, answer: ServerResponse, target: string): void {
  const { authorization: _, ...headers } = asked.headers;
  const { method, url: path } = asked;
  const sent = request(`http://${target}`, { method, path, headers }, (received) => {
    answer.writeHead(received.statusCode ?? 502, received.headers);
    received.pipe(answer);
  });
  sent.on("error", () => answer.destroy());
  asked.pipe(sent);
}

async function listening<S extends Server>(server: S): Promise<S> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  return server;
}

function gateOf(server: Server, endAll: () => void): Gate {
  const { port } = server.address() as AddressInfo;
  return {
    address: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      server.close(() => resolve());
      endAll();
      await promise;
    },
  };
}
