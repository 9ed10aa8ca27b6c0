// The log of a node under restarts, judged by programs that are not ours, also as it is read through somebody who changes a byte.

import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { buildLogJudge, type JudgedLog } from "../../tools/log-judge.fixture.ts";
import { product } from "../publishing/publishing.fixture.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";

const judge = await buildLogJudge();
let node: AttackNode;

const log = (): JudgedLog => ({
  verifyUrl: node.running.urls.verify_url,
  anchors: node.running.services.anchors,
});

/** So many businesses register, and each of them publishes. */
async function fillLog(businesses: number): Promise<void> {
  const size = (await judge?.sizeOf(log())) ?? 0;
  for (let made = 0; made < businesses; made += 1) {
    const business = await newBusiness(node);
    const { body } = await batchBody(business, [product("judged", { product_name: "A kettle" })], { seq: 1 });
    expect(await publishOver(node, business, body)).toMatchObject({ status: 200 });
  }
  const isIn = async (): Promise<boolean> =>
    judge === null || (await judge.sizeOf(log())) >= size + 3 * businesses;
  await vi.waitUntil(isIn, { timeout: 120_000, interval: 200 });
}

/** Serves the log with one byte of the answers under `path` changed. */
async function changing(path: string) {
  const server = createServer(async (request, response) => {
    const answer = await fetch(`${log().verifyUrl}${request.url}`);
    const body = Buffer.from(await answer.arrayBuffer());
    // The middle of a checkpoint is the signature of a witness, whom these programs were not told of.
    const place = path === "/checkpoint" ? 20 : body.length >> 1;
    if (request.url?.startsWith(path)) body[place] = (body[place] ?? 0) ^ 1;
    response.writeHead(answer.status, { "content-length": body.length });
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

beforeAll(async () => {
  process.env["SVC_LOG_INTERVAL_SECONDS"] = "0";
  node = await openAttackNode();
  await fillLog(20);
  await judge?.keepCheckpoint(log());
  await node.restart();
  // More than a tile.
  await fillLog(80);
}, 300_000);
afterAll(async () => {
  delete process.env["SVC_LOG_INTERVAL_SECONDS"];
  await node.close();
  await judge?.close();
});

describe.skipIf(judge === null)("the log of a node that was restarted", () => {
  it("is accepted by the code of Go's checksum database client, with its proofs and an earlier checkpoint", async () => {
    const verdict = await judge?.judge(log());
    expect(verdict).toMatchObject({ consistency: 1 });
    expect(verdict?.leaves).toBeGreaterThan(300);
    expect(verdict?.inclusion).toBeGreaterThan(50);
  });

  it("is accepted by Tessera's fsck", async () => {
    expect(await judge?.fsck(log())).toContain("Completed ranges");
  });

  it("is accepted by torchwood under the policy file that the node publishes, and not with a changed byte", async () => {
    expect(await judge?.policy(log())).toBe("sandbox.svc/log");
    const changed = await changing("/checkpoint");
    await expect(judge?.policy(log(), changed.url)).rejects.toThrow(/policy:/);
    changed.close();
  });

  it.each(["/checkpoint", "/tile/0/000", "/tile/entries/000", "/tile/1/"])(
    "is refused by both with one changed byte of %s",
    async (path) => {
      const changed = await changing(path);
      try {
        await expect(judge?.judge(log(), changed.url)).rejects.toThrow(/log-judge:/);
        await expect(judge?.fsck(log(), changed.url)).rejects.toThrow(/fsck failed|:Invalid/);
      } finally {
        changed.close();
      }
    },
  );

  it("is refused by the first with one changed byte of a proof that it serves", async () => {
    for (const path of ["/v1/log/inclusion", "/v1/log/consistency"]) {
      const changed = await changing(path);
      await expect(judge?.judge(log(), changed.url)).rejects.toThrow(/log-judge:/);
      changed.close();
    }
  });
});
