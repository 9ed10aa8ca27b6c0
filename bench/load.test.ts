import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { AnswerReader, type LoadTarget, sendAll, sendOne, sendPaced } from "./load.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serve(answer: RequestListener): Promise<LoadTarget> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
}

const get = (path: string): Uint8Array => Buffer.from(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);

describe("an answer", () => {
  const answer = Buffer.from("HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 7\r\n\r\nbödy.!");

  it("is found wherever its bytes are cut", () => {
    for (let cut = 1; cut < answer.length; cut += 1) {
      const reader = new AnswerReader();
      expect(reader.take(answer.subarray(0, cut))).toBeNull();
      const whole = reader.take(answer.subarray(cut));
      expect(whole).toMatchObject({ status: 200 });
      expect(whole?.body()).toBe("bödy.!");
    }
  });

  it("is read after another on the same connection", () => {
    const reader = new AnswerReader();
    reader.take(Buffer.from("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"));
    expect(reader.take(answer)?.body()).toBe("bödy.!");
  });

  it("is refused when it is longer than it says, or does not say", () => {
    expect(() => new AnswerReader().take(Buffer.concat([answer, Buffer.from("!")]))).toThrow(/more arrived/);
    const chunked = Buffer.from("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    expect(() => new AnswerReader().take(chunked)).toThrow(/without a length/);
  });
});

describe("load", () => {
  it("sends every request once and counts what came back", async () => {
    const paths: string[] = [];
    const target = await serve((request, response) => {
      paths.push(request.url ?? "");
      response.setHeader("content-length", 5).end("12345");
    });
    const asked = Array.from({ length: 50 }, (_, index) => `/${index}`);
    const { latenciesMs } = await sendAll(target, asked.map(get), 4);
    expect(paths.toSorted()).toEqual(asked.toSorted());
    expect(latenciesMs).toHaveLength(50);
    expect(latenciesMs.every((ms) => ms > 0)).toBe(true);
  });

  it("fails at an answer other than 200", async () => {
    const target = await serve((_request, response) => {
      response.writeHead(503, { "content-length": 4 }).end("away");
    });
    await expect(sendAll(target, [get("/")], 1)).rejects.toThrow("GET / HTTP/1.1: 503 away");
    expect(await sendOne(target, get("/"))).toMatchObject({ status: 503, body: "away" });
  });

  it("sends at a steady rate, and those that follow one another one at a time", async () => {
    let [underWay, most] = [0, 0];
    const target = await serve((_request, response) => {
      underWay += 1;
      most = Math.max(most, underWay);
      setImmediate(() => {
        underWay -= 1;
        response.setHeader("content-length", 0).end();
      });
    });
    const after = {};
    const requests = Array.from({ length: 20 }, () => ({ target, bytes: get("/"), after }));
    expect(await sendPaced(requests, 10_000)).toHaveLength(20);
    expect(most).toBe(1);
    expect(await sendPaced(requests, 10_000, AbortSignal.abort())).toEqual([]);
  });

  it("fails when the connection ends before the answer", async () => {
    const target = await serve((_request, response) => {
      response.writeHead(200, { "content-length": 100 }).write("begun");
      response.destroy();
    });
    await expect(sendAll(target, [get("/")], 1)).rejects.toThrow(/closed before/);
  });
});
