// The hosted tool server of a node, and a bare HTTP server in the same process that does the same verification and nothing
// else: it trusts everybody, checks no request, and bounds nothing.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pino } from "pino";
import { createToolSessions, toolSessionLimits } from "../api/tool-server/tool-sessions.ts";
import { publicReadsOf } from "../node/public-reads.ts";
import type { RunningNode } from "../node/start.ts";
import { buildSurfaces } from "../node/surfaces.ts";
import type { VerifyRequest } from "../protocol/wire/verify.ts";
import { bodyText } from "../service/answer.ts";
import { heldBytes } from "./heap.ts";

export interface ToolSurfaces extends AsyncDisposable {
  readonly ports: { readonly tools: number; readonly bare: number };
  /** How many sessions are open, and the bytes in use once what nobody needs has been collected. */
  held(): { readonly sessions: number; readonly bytes: number };
}

const loopback = "127.0.0.1";

export async function openToolSurfaces({ services, urls }: RunningNode): Promise<ToolSurfaces> {
  // One address opens them all.
  const limits = { ...toolSessionLimits, perAddressMax: Number.POSITIVE_INFINITY };
  const sessions = createToolSessions(services.elapsedMs, limits);
  const built = buildSurfaces(
    services,
    {
      ...{ urls, ports: [], logger: pino({ level: "silent" }), audit: { record: () => {} } },
      access: { hosts: [], token: "", isLoopback: true },
    },
    {
      ...{ hosts: null, addressRates: { reads: null, verifications: null } },
      ...{ toolSessions: sessions, toolOpenings: null },
    },
  );
  const { verify } = publicReadsOf(services, urls.verify_url);
  const bare = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const outcome = await verify(JSON.parse(body.toString("utf8")) as VerifyRequest, body);
    const text = Buffer.from(outcome.kind === "answer" ? bodyText(outcome.body) : "");
    const status = outcome.kind === "answer" ? outcome.status : outcome.problem.status;
    response.writeHead(status, { "content-type": "application/json", "content-length": text.length });
    response.end(text);
  });
  await new Promise<void>((resolve) => bare.listen(0, loopback, resolve));
  await built.tools.listen({ host: loopback, port: 0 });
  const portOf = (address: AddressInfo | string | null): number => (address as AddressInfo).port;
  return {
    ports: { tools: portOf(built.tools.server.address()), bare: portOf(bare.address()) },
    held: () => ({ sessions: sessions.count, bytes: heldBytes() }),
    [Symbol.asyncDispose]: async () => {
      bare.close();
      bare.closeAllConnections();
      await Promise.all(Object.values(built).map((each) => each.close()));
    },
  };
}
