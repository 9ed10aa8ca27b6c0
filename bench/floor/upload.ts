// Floor of an upload: a bare `node:http` server that writes the body of a request to a file as it arrives, hashes it, and answers
// once the file is on the disk. It reads no form and bounds nothing.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { open } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { syncFile } from "./synced-file.ts";

/** Starts the server, which answers one request, and returns its port. */
export async function receiveUpload(path: string): Promise<number> {
  const server = createServer(async (request, response) => {
    const file = await open(path, "w");
    const hash = createHash("sha256");
    for await (const piece of request) {
      hash.update(piece);
      await file.write(piece);
    }
    await syncFile(file);
    await file.close();
    const digest = hash.digest("hex");
    response.writeHead(201, { connection: "close", "content-length": digest.length });
    response.end(digest);
    server.close();
  });
  server.requestTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
