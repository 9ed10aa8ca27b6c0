// The memory of a node that uploads take up, over HTTP on a real node: who takes it, and what those get who find none.

import { connect, type Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { bulkUploadRef } from "../../actors/messages/refs.ts";
import { rawHead } from "../../api/raw-request.fixture.ts";
import { freshNonce, signed } from "../../api/surfaces.fixture.ts";
import { publishBytesMax } from "../../protocol/limits.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
  successorOf,
} from "../retrieval/attack.fixture.ts";
import { boundary, fileOf, formOf, newUpload, partsOf, sendFile } from "./bulk.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
let business: TestBusiness;
const sockets: Socket[] = [];

beforeAll(async () => {
  node = await openAttackNode();
  business = await newBusiness(node);
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});
afterAll(() => node.close());

/** Begins a request for an upload from an address, and sends no more of it than this. */
async function begin(uploadUrl: string, sent: Uint8Array | string, localAddress: string): Promise<Socket> {
  const { host, pathname, port } = new URL(uploadUrl);
  const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress });
  sockets.push(socket);
  socket.on("error", () => {});
  const head = `POST ${pathname} HTTP/1.1\r\nhost: ${host}\r\ncontent-type: multipart/form-data; boundary=${boundary}\r\ncontent-length: 100000000\r\n\r\n`;
  await new Promise<void>((resolve) => {
    socket.write(head);
    socket.write(sent, () => resolve());
  });
  return socket;
}

/** Begins a batch of the longest that is allowed, of which nothing arrives; what is answered goes to `answers`. */
async function beginBatch(
  { signingKey }: TestBusiness,
  answers: string[],
  localAddress: string,
): Promise<void> {
  const url = node.running.urls.business_url;
  const { host, port } = new URL(url);
  const path = "/v1/publish/products";
  const { headers } = await signed(url, { key: signingKey, grant: "" }, { path, tag: "svc-push", body: "x" });
  const length = { "content-length": String(publishBytesMax) };
  const socket = connect({ host: "127.0.0.1", port: Number(port), localAddress });
  sockets.push(socket);
  socket.on("error", () => {}).on("data", (bytes: Buffer) => void answers.push(bytes.toString("latin1")));
  socket.write(rawHead(`POST ${path}`, { host, ...headers, "idempotency-key": freshNonce(), ...length }));
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const good = fileOf([product("a"), product("b")]);

describe("the room for bodies", () => {
  it("is left to others by those who have no token, from however many addresses", async () => {
    const { business_url } = node.running.urls;
    const url = `${business_url}/v1/bulk-uploads/bup_${"0".repeat(24)}/file`;
    for (let index = 0; index < 48; index += 1) await begin(url, "--", `127.0.0.${2 + (index % 4)}`);
    await pause(300);
    const upload = await newUpload(node.running.urls, business);
    expect(await sendFile(upload, good)).toMatchObject({ status: 201 });
    const records = Array.from({ length: 60 }, (_, index) => product(`${index}`, { name: "x".repeat(300) }));
    const answer = await publishOver(node, business, (await batchBody(business, records)).body);
    expect(answer.status).toBe(202);
  });

  it("is no file's: nine from one address, of which one is refused and taken later, leave batches alone", async () => {
    const uploads = await Promise.all(
      Array.from({ length: 9 }, () => newUpload(node.running.urls, business)),
    );
    const last = uploads.pop();
    if (last === undefined) throw new Error("There are nine uploads.");
    for (const upload of uploads)
      await begin(upload.upload_url, formOf(partsOf(upload, good)).subarray(0, -100), "127.0.0.1");
    await pause(500);
    const refused = await sendFile(last, good);
    expect(refused).toMatchObject({ status: 503, json: { code: "unavailable", reason: "files_in_flight" } });
    expect(refused.headers.get("retry-after")).toBe("2");
    const question = { type: "upload.begin", attempt: "another" } as const;
    const ref = bulkUploadRef(business.party.uuid, last.upload_id);
    expect(await node.running.services.actors.ask(ref, question)).toMatchObject({ status: "begun" });
    await node.running.services.actors.ask(ref, {
      type: "upload.abort",
      attempt: "another",
      is_refused: false,
    });
    for (const socket of sockets.splice(0)) socket.destroy();
    await expect.poll(async () => (await sendFile(last, good)).status, { timeout: 5_000 }).toBe(201);
  });

  it("is one address's share whatever parties it makes, and who holds most of it gives way to others", async () => {
    const answers: string[] = [];
    const told = () => answers.filter((each) => /^HTTP\/1\.1 503 .*"bodies_in_flight"/s.test(each)).length;
    const one = await newBusiness(node);
    for (const each of [one, await successorOf(node, one), await newBusiness(node)])
      for (let body = 0; body < 3; body += 1) await beginBatch(each, answers, "127.0.0.2");
    // Three bodies are 96 MiB.
    await expect.poll(told).toBe(6);
    for (const address of ["127.0.0.3", "127.0.0.4"])
      for (let body = 0; body < 3; body += 1) await beginBatch(one, answers, address);
    // All 256 MiB are taken, and nobody has more than the last one would have with its third body.
    await expect.poll(told).toBe(7);
    const honest = await newBusiness(node);
    const records = Array.from({ length: 60 }, (_, at) =>
      product(`b${at}`, { description: "x".repeat(3_000) }),
    );
    const { body } = await batchBody(honest, records);
    expect(body.length).toBeGreaterThan(200_000);
    expect((await publishOver(node, honest, body)).status).toBe(202);
    await expect.poll(told).toBe(8);
    expect(answers).toHaveLength(8);
  });

  it("and the places of files are nobody's for long: who holds most of them gives way to others", async () => {
    const answers: string[] = [];
    for (const localAddress of ["127.0.0.2", "127.0.0.3", "127.0.0.4"]) {
      const one = await newBusiness(node);
      for (let file = 0; file < 8; file += 1) {
        const upload = await newUpload(node.running.urls, one);
        const form = formOf(partsOf(upload, good)).subarray(0, -100);
        const socket = await begin(upload.upload_url, form, localAddress);
        socket.on("data", (bytes: Buffer) => void answers.push(bytes.toString("latin1")));
      }
    }
    await pause(500);
    // The third address got places of the first two, until each had five or six.
    const told = answers.filter((each) => /^HTTP\/1\.1 503 .*"files_in_flight"/s.test(each)).length;
    expect(told).toBe(8);
    const records = Array.from({ length: 60 }, (_, index) => product(`r${index}`));
    const other = await newBusiness(node);
    expect((await publishOver(node, other, (await batchBody(other, records)).body)).status).toBe(202);
    expect(await sendFile(await newUpload(node.running.urls, other), good)).toMatchObject({ status: 201 });
  });
});
