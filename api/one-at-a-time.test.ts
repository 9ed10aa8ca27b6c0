import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { serveOneAtATime } from "./one-at-a-time.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0)) close();
});

async function serve(handler: Handler): Promise<{ server: Server; port: number }> {
  const server = createServer(handler);
  serveOneAtATime(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push(() => server.close().closeAllConnections());
  return { server, port: (server.address() as AddressInfo).port };
}

function dial(port: number): {
  socket: Socket;
  text: () => string;
  until: (done: (text: string) => boolean) => Promise<string>;
} {
  const socket = connect(port, "127.0.0.1");
  open.push(() => socket.destroy());
  let text = "";
  let told = (): void => {};
  socket.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1");
    told();
  });
  socket.on("error", () => {});
  const until = (done: (text: string) => boolean): Promise<string> =>
    new Promise((resolve) => {
      told = () => {
        if (done(text)) resolve(text);
      };
      told();
    });
  return { socket, text: () => text, until };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`;
const answers = (text: string): readonly string[] =>
  [...text.matchAll(/\r\n\r\n<([^>]*)>/g)].map(([, said]) => said ?? "");
const say = (response: ServerResponse, text: string): void => void response.end(`<${text}>`);

/** Reads the body, then answers it back asynchronously. */
const echo: Handler = (request, response) => {
  let body = "";
  request.setEncoding("latin1");
  request.on("data", (part: string) => {
    body += part;
  });
  request.on("end", () => setImmediate(() => say(response, `${request.url} ${body}`)));
};

describe("of requests that are sent together", () => {
  it("one is handed over, and the next when the answer to it has left (O1)", async () => {
    const waiting: (readonly [string, ServerResponse])[] = [];
    const { port } = await serve((request, response) => void waiting.push([request.url ?? "", response]));
    const line = dial(port);
    const urls = Array.from({ length: 20 }, (_, index) => `/${index}`);
    line.socket.write(urls.map(get).join(""));
    for (const [index, expected] of urls.entries()) {
      await expect.poll(() => waiting.length).toBe(index + 1);
      // Long enough for another one to overtake it.
      if (index < 3) await new Promise((resolve) => setTimeout(resolve, 20));
      expect(waiting).toHaveLength(index + 1);
      const [url, response] = waiting[index] ?? [];
      if (response !== undefined) say(response, url ?? "");
      await line.until((text) => answers(text).at(-1) === expected);
    }
    expect(answers(line.text())).toEqual(urls);
  });

  it("each has a turn of its own, between which others are heard (O4)", async () => {
    let turn = 0;
    let timer = setImmediate(function next() {
      turn += 1;
      timer = setImmediate(next);
    });
    open.push(() => clearImmediate(timer));
    const turns: number[] = [];
    const { port } = await serve((request, response) => {
      turns.push(turn);
      say(response, request.url ?? "");
    });
    const line = dial(port);
    const count = 300;
    line.socket.write(Array.from({ length: count }, (_, index) => get(`/${index}`)).join(""));
    await line.until((text) => answers(text).length === count);
    expect(new Set(turns).size).toBe(count);
  });

  it("all are answered, in their order, however the bytes are cut (O3)", async () => {
    const { port } = await serve(echo);
    const chunked =
      "POST /c HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n4\r\n\r\n\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    const sized = "POST /s HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\n\r\n\r\nGET ";
    const empty = "POST /e HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n";
    const bytes = `\r\n${get("/1")}${chunked}${sized}${get("/2")}${empty}${chunked}${get("/3")}`;
    const expected = ["/1 ", "/c \r\n\r\nabc", "/s \r\n\r\nGET ", "/2 ", "/e ", "/c \r\n\r\nabc", "/3 "];
    for (const size of [1, 2, 3, 5, 7, 16, 61, 10_000]) {
      const line = dial(port);
      line.socket.setNoDelay(true);
      for (let at = 0; at < bytes.length; at += size) {
        line.socket.write(bytes.slice(at, at + size), "latin1");
        await new Promise((resolve) => setImmediate(resolve));
      }
      const text = await line.until((seen) => answers(seen).length >= expected.length);
      expect(answers(text), `in pieces of ${size}`).toEqual(expected);
    }
  });

  it.each([1, 2, 3])("one is handed over where its head's end is cut, %i bytes before (O1)", async (cut) => {
    const seen: string[] = [];
    const { server, port } = await serve((request) => void seen.push(request.url ?? ""));
    const peer = new Promise<Socket>((resolve) => server.once("connection", resolve));
    const line = dial(port);
    const bytes = get("/1") + get("/2");
    const at = get("/1").length - cut;
    line.socket.write(bytes.slice(0, at));
    const socket = await peer;
    await expect.poll(() => socket.bytesRead).toBe(at);
    line.socket.write(bytes.slice(at));
    await expect.poll(() => seen).toEqual(["/1"]);
    await expect.poll(() => socket.bytesRead).toBe(bytes.length);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(seen).toEqual(["/1"]);
  });

  it("none is parsed behind the last answer of a connection", async () => {
    const seen: string[] = [];
    const { port } = await serve((request, response) => {
      seen.push(request.url ?? "");
      response.setHeader("connection", "close");
      setImmediate(() => say(response, request.url ?? ""));
    });
    const line = dial(port);
    const closed = new Promise((resolve) => line.socket.once("close", resolve));
    line.socket.write(get("/1") + get("/2"));
    await closed;
    expect([seen, answers(line.text())]).toEqual([["/1"], ["/1"]]);
  });

  it("one that is answered before its body has come keeps the rest of the body to itself", async () => {
    const { port } = await serve((request, response) => say(response, request.url ?? ""));
    const line = dial(port);
    line.socket.write(`POST /early HTTP/1.1\r\nhost: a\r\ncontent-length: ${get("/no").length}\r\n\r\n`);
    await line.until((text) => answers(text).length === 1);
    line.socket.write(get("/no") + get("/next"));
    expect(answers(await line.until((text) => answers(text).length === 2))).toEqual(["/early", "/next"]);
  });
});

it("no more is read of a peer that is owed an answer than a socket buffers (O2)", async () => {
  const { server, port } = await serve(() => {});
  const peer = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const line = dial(port);
  const flood = Buffer.from(get("/").repeat(100_000));
  line.socket.write(flood);
  const socket = await peer;
  await expect.poll(() => socket.bytesRead).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(socket.bytesRead).toBeLessThanOrEqual(262_144);
});

it("what follows a tunnel's head is nobody's", async () => {
  const { server, port } = await serve((request, response) => say(response, request.url ?? ""));
  server.on("connect", (_request, socket: Socket) => void socket.write("<no>"));
  const line = dial(port);
  line.socket.write("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n");
  await line.until((text) => text.includes("<no>"));
  const other = dial(port);
  line.socket.write(get("/tunnelled"));
  other.socket.write(get("/other"));
  expect(answers(await other.until((text) => answers(text).length === 1))).toEqual(["/other"]);
  expect(line.text()).toBe("<no>");
});
