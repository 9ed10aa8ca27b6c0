// A cluster that answers as a test specifies: for failures for which a real one would have to be broken.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface StubAnswer {
  readonly status?: number;
  /** JSON, or text that is not JSON. */
  readonly body: unknown;
}

export interface StubRequest {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** `hang`: no answer ever; `reset`: the connection is closed. */
export type StubReply = StubAnswer | "hang" | "reset";

export async function openStubCluster(reply: (request: StubRequest) => StubReply) {
  const requests: StubRequest[] = [];
  const server = createServer(async (incoming, outgoing) => {
    const request = {
      method: incoming.method ?? "",
      path: incoming.url ?? "",
      body: await readAll(incoming),
    };
    requests.push(request);
    const answer = reply(request);
    if (answer === "hang") return;
    if (answer === "reset") return void incoming.socket.destroy();
    outgoing.writeHead(answer.status ?? 200, {
      "content-type": "application/json",
      "x-elastic-product": "Elasticsearch",
    });
    outgoing.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readAll(incoming: IncomingMessage): Promise<string> {
  let text = "";
  incoming.setEncoding("utf8");
  for await (const part of incoming) text += part;
  return text;
}
