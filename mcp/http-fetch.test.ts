import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { neverSent, SvcConnectionError } from "../client/errors.ts";
import { createSender } from "../client/sender.ts";
import { generatePrivateJwk, parseSigningKey } from "../client/signing-key.ts";
import { bodyBytesMax, httpFetch } from "./program.ts";

let server: Server | null = null;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function serve(listener: RequestListener): Promise<string> {
  const own = createServer(listener);
  server = own;
  await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(own.address() as AddressInfo).port}`;
}

const get = { method: "GET", headers: {}, redirect: "error" } as const;
const signal = (): AbortSignal => AbortSignal.timeout(30_000);

describe("an answer", () => {
  it("has its status, its headers and the exact bytes of its body", async () => {
    const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => at % 251);
    const url = await serve((_, response) => response.writeHead(429, { "retry-after": "7" }).end(bytes));
    const answer = await httpFetch(url, { ...get, signal: signal() });
    expect([answer.status, answer.headers.get("retry-after"), answer.headers.get("x")]).toEqual([
      429,
      "7",
      null,
    ]);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  });

  it("to a body with its length is that of one request, and the connection is used again", async () => {
    const ports = new Set<number | undefined>();
    const url = await serve(async (request, response) => {
      ports.add(request.socket.remotePort);
      let text = "";
      for await (const part of request) text += String(part);
      response.end(`${request.method} ${request.headers["content-length"]} ${text}`);
    });
    for (let count = 0; count < 3; count += 1) {
      const body = new TextEncoder().encode("{}");
      const answer = await httpFetch(url, { ...get, method: "POST", body, signal: signal() });
      expect(Buffer.from(await answer.arrayBuffer()).toString()).toBe("POST 2 {}");
    }
    expect(ports.size).toBe(1);
  });

  it("that is a redirect is not followed (G1)", async () => {
    const url = await serve((_, response) => response.writeHead(302, { location: "/other" }).end());
    expect((await httpFetch(url, { ...get, signal: signal() })).status).toBe(302);
  });

  it("without an end is not read to one (G2)", async () => {
    const chunk = Buffer.alloc(1_048_576);
    const url = await serve((_, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
        response.once("drain", more);
      };
      more();
    });
    await expect(httpFetch(url, { ...get, signal: signal() })).rejects.toThrow(String(bodyBytesMax));
  });
});

describe("a failure", () => {
  const effectOf = async (url: string, timeoutMs = 30_000): Promise<string> => {
    const key = await parseSigningKey(await generatePrivateJwk("Ed25519"));
    if (!key.ok) throw new Error(key.detail);
    const retry = { maxAttempts: 1, maxDelayMs: 0 };
    const send = createSender({ fetch: httpFetch, key: key.value, timeoutMs, retry });
    const error = await send({ method: "GET", url, tag: "svc-retrieval" }).catch(
      (failure: unknown) => failure,
    );
    return error instanceof SvcConnectionError ? error.effect : String(error);
  };

  it("to connect is known to have sent nothing", async () => {
    const url = await serve(() => {});
    await new Promise((resolve) => server?.close(resolve));
    expect(await effectOf(url)).toBe("not_applied");
    const failure: unknown = await httpFetch(url, { ...get, signal: signal() }).catch(
      (error: unknown) => error,
    );
    expect(neverSent(failure)).toBe(true);
  });

  it("to connect in time is known to have sent nothing (G3)", async () => {
    // It accepts, and never answers the handshake.
    const mute = createTcpServer(() => {});
    await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
    const { port } = mute.address() as AddressInfo;
    expect(await effectOf(`https://127.0.0.1:${port}`, 200)).toBe("not_applied");
    mute.close();
  });

  it.each<[string, RequestListener]>([
    ["of a connection that ends without an answer", (request) => request.socket.destroy()],
    [
      "of one that ends within the answer",
      (_, response) => {
        response.writeHead(200, { "content-length": "9" }).write("abc", () => response.destroy());
      },
    ],
  ])("%s leaves open what was served", async (_name, listener) => {
    expect(await effectOf(await serve(listener))).toBe("unknown");
  });

  it("over a connection that was used before leaves open what was served", async () => {
    let count = 0;
    const url = await serve((request, response) => {
      count += 1;
      if (count === 1) response.end();
      else request.socket.destroy();
    });
    await httpFetch(url, { ...get, signal: signal() });
    expect(await effectOf(url)).toBe("unknown");
    expect(count).toBe(2);
  });

  it("to answer in time leaves open what was served", async () => {
    expect(await effectOf(await serve(() => {}), 100)).toBe("unknown");
  });
});
