// A witness over HTTP: the conformance of the port, and answers, addresses and connections that are no witness's.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { parseVerifierKey } from "../../protocol/log/note.ts";
import { noteKey, SignedLog } from "../../protocol/log/signed-log.fixture.ts";
import { witnessPortConformance } from "../../transport/witness-port.conformance.ts";
import { witnessAnswerMax } from "../../transport/witness-port.ts";
import { reachWitness } from "./witness-client.ts";
import { startWitness } from "./witness-server.ts";

const log = new SignedLog();
const key = noteKey("witness.test/w1", "cosignature", 3);
const asked = { oldSize: 0, proof: [], note: log.note(9) };

/** A server that answers as it is told to. */
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const reach = (url: string, mayBePrivate = true) => reachWitness({ key, url, mayBePrivate });

witnessPortConformance("HTTP", async () => {
  const home = mkdtempSync(join(tmpdir(), "svc-witness-client-"));
  const started = await startWitness({
    home,
    name: key.name,
    listen: { host: "127.0.0.1", port: 0 },
    clock: { now: Date.now },
    logs: () => [{ origin: log.origin, keys: [log.key] }],
    report: () => {},
  });
  onTestFinished(async () => {
    await started[Symbol.asyncDispose]();
    rmSync(home, { recursive: true });
  });
  const own = parseVerifierKey(started.verifierKey, nativeCrypto.sha256);
  if (own === null) throw new Error("A witness prints its key.");
  return {
    reached: reachWitness({ key: own, url: started.url, mayBePrivate: true }),
    silent: reach(await serve(() => {})),
    dead: reach("http://127.0.0.1:1"),
  };
});

describe("a witness's client", () => {
  it.each<[string, number, Record<string, string>, string]>([
    ["a refusal", 403, {}, "no"],
    ["a size of another media type", 409, { "content-type": "text/plain" }, "5\n"],
    ["a size that is none", 409, { "content-type": "text/x.tlog.size" }, "five\n"],
    ["a redirect, which it does not follow", 307, { location: "http://127.0.0.1:1/" }, ""],
  ])("takes for a refusal: %s", async (_what, status, headers, body) => {
    const url = await serve((_request, response) => void response.writeHead(status, headers).end(body));
    expect(await reach(url).addCheckpoint(asked).reply).toEqual({ kind: "refused", status });
  });

  it.each(["text/x.tlog.size; charset=utf-8", "Text/X.tlog.size", " text/x.tlog.size ;a=b"])(
    "reads a size of the media type %s",
    async (type) => {
      const head = { "content-type": type };
      const url = await serve((_request, response) => void response.writeHead(409, head).end("5\n"));
      expect(await reach(url).addCheckpoint(asked).reply).toEqual({ kind: "at", size: 5 });
    },
  );

  it("P2: reads no more than an answer can have", async () => {
    const url = await serve((_request, response) => void response.end("x".repeat(witnessAnswerMax + 1)));
    await expect(reach(url).addCheckpoint(asked).reply).rejects.toThrow("too long");
  });

  it("P2: is not held by an answer that goes on for ever", async () => {
    const url = await serve((_request, response) => void response.write("x"));
    const call = reach(url).addCheckpoint(asked);
    setTimeout(call.cancel, 100);
    await expect(call.reply).rejects.toThrow();
  });

  it("sends where the path of its address leads", async () => {
    const paths: (string | undefined)[] = [];
    const url = await serve((request, response) => {
      paths.push(request.url);
      response.end();
    });
    await reach(`${url}/witness/a`).addCheckpoint(asked).reply;
    expect(paths).toEqual(["/witness/a/add-checkpoint"]);
  });

  it("C1: reaches no private address and no plain one, unless a setting allows it", async () => {
    let count = 0;
    const url = await serve((_request, response) => {
      count += 1;
      response.end();
    });
    const { port } = new URL(url);
    for (const address of [
      url,
      `https://127.0.0.1:${port}`,
      `https://localhost:${port}`,
      `https://[::1]:${port}`,
      `https://[::ffff:127.0.0.1]:${port}`,
      `https://2130706433:${port}`,
      "https://10.1.2.3",
      "http://192.0.2.1",
    ])
      await expect(reach(address, false).addCheckpoint(asked).reply).rejects.toThrow(/private/);
    expect(count).toBe(0);
    expect((await reach(url).addCheckpoint(asked).reply).kind).toBe("cosigned");
  });
});
