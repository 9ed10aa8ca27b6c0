// The memory that a node takes for bodies and files under way, when as many are as it lets in, each as large as it may be: the resident
// memory of its process, against the bound that docs/hardening.md states.

import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { httpLimitsDefault } from "../../api/http-limits.ts";
import { rawHead } from "../../api/raw-request.fixture.ts";
import { freshNonce, send, signed, type TestCaller } from "../../api/surfaces.fixture.ts";
import { Child } from "../../bench/child.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import {
  bulkFileBytesMax,
  bulkRecordsMax,
  publishBytesMax,
  recordCharactersMax,
} from "../../protocol/limits.ts";
import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import type { NodeUrls } from "../money/budget-node.fixture.ts";
import { boundary, formOf } from "./bulk.fixture.ts";

const program = "../stories/money/budget-node.fixture.ts";

const mebibyte = 1_048_576;
const { filesMax, filesPerOwnerMax, bodyBytesMax, bodyBytesPerCallerMax } = httpLimitsDefault;

let home: string;
let child: Child;
let urls: NodeUrls;
const sockets: Socket[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-held-"));
  for (const name of Object.keys(process.env))
    if (/^SVC_(?:KEY|ADDRESS)_/.test(name)) delete process.env[name];
  child = new Child({ nodeOptions: ["--expose-gc"] });
  urls = await child.call(program, "open", { home });
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await child?.[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

async function newPublisher(place: number): Promise<TestCaller> {
  const key = await parseSigningKey(generatePrivateJwk("Ed25519"));
  if (!key.ok) throw new Error(key.detail);
  const { publicJwk } = key.value;
  const uuid = `20000000-0000-4000-8000-00000000000${place}`;
  const grant = await child.call(program, "grant", { role: "integration", uuid, publicJwk });
  const publisher = { key: key.value, grant };
  // The mandate of a new key is known a moment later.
  const read = { path: "/v1/seal-context", tag: "svc-business-read" } as const;
  const mandates = async (): Promise<unknown> =>
    (await send(urls.business_url, publisher, read)).json["mandates"];
  await expect.poll(mandates, { timeout: 30_000 }).toHaveLength(1);
  return publisher;
}

interface Line {
  readonly socket: Socket;
  /** What was answered so far. */
  said: string;
}

async function dial(localAddress: string): Promise<Line> {
  const socket = connect({ port: Number(new URL(urls.business_url).port), host: "127.0.0.1", localAddress });
  sockets.push(socket);
  const line: Line = { socket, said: "" };
  socket
    .on("error", () => {})
    .on("data", (part: Buffer) => {
      line.said += part.toString("latin1");
    });
  await new Promise((resolve) => socket.once("connect", resolve));
  return line;
}

async function write({ socket }: Line, parts: Iterable<Uint8Array>): Promise<void> {
  for (const part of parts) await new Promise<void>((resolve) => socket.write(part, () => resolve()));
}

/** A batch whose last bytes are missing, so that it is under way. */
async function beginBatch(publisher: TestCaller, localAddress: string): Promise<Line> {
  const path = "/v1/publish/products";
  const { headers } = await signed(urls.business_url, publisher, { path, tag: "svc-push", body: "x" });
  const { host } = new URL(urls.business_url);
  const line = await dial(localAddress);
  line.socket.write(
    rawHead(`POST ${path}`, {
      host,
      ...headers,
      "svc-sandbox-key": publisher.grant,
      "idempotency-key": freshNonce(),
      "content-length": String(publishBytesMax),
    }),
  );
  const part = Buffer.alloc(mebibyte, " ");
  await write(
    line,
    Array.from({ length: publishBytesMax / mebibyte - 1 }, () => part),
  );
  return line;
}

async function beginFile(publisher: TestCaller, localAddress: string): Promise<Line> {
  const asked = await send(urls.business_url, publisher, {
    path: "/v1/bulk-uploads",
    body: JSON.stringify({ record_type: "products" }),
    tag: "svc-push",
    headers: { "idempotency-key": freshNonce() },
  });
  expect(asked.status, asked.text).toBe(201);
  const { fields, upload_url } = asked.json as unknown as BulkUpload;
  const { host, pathname } = new URL(upload_url);
  const line = await dial(localAddress);
  line.socket.write(
    rawHead(`POST ${pathname}`, {
      host,
      "content-type": `multipart/form-data; boundary=${boundary}`,
      "content-length": String(bulkFileBytesMax),
    }),
  );
  const form = formOf([...Object.entries(fields), ["file", ""]]).toString("latin1");
  line.socket.write(form.slice(0, form.lastIndexOf("\r\n--")));
  return line;
}

/** About as many records as a file may have, in as few bytes; and then the longest line, which does not end. */
function* shortestLines(): Generator<Uint8Array> {
  const thousand = Buffer.from("e30=\n".repeat(1_000));
  for (let count = 1_000; count < bulkRecordsMax; count += 1_000) yield thousand;
  yield Buffer.alloc(recordCharactersMax, "A");
}

/** The longest records; few enough that {@link shortestLines} may follow. */
function* longestLines(): Generator<Uint8Array> {
  const line = Buffer.from(`${"A".repeat(recordCharactersMax)}\n`);
  for (let count = 0; count < 40; count += 1) yield line;
}

const peakMiB = async (): Promise<number> => ((await child.memoryBytes("VmHWM")) ?? 0) / mebibyte;

describe("all bodies and files that a node lets in", () => {
  it("take no more memory than docs/hardening.md says", async () => {
    const page = readFileSync(join(import.meta.dirname, "../..", "docs", "hardening.md"), "utf8");
    const [, statedMiB] = /together at most ([0-9]+) MiB of resident memory/.exec(page) ?? [];
    expect(Number(statedMiB)).toBeGreaterThan(0);

    const publishers = await Promise.all(Array.from({ length: 3 }, (_, index) => newPublisher(index)));
    const owners = filesMax / filesPerOwnerMax;
    const files = await Promise.all(
      Array.from({ length: filesMax }, (_, index) =>
        beginFile(publishers[index % owners] as TestCaller, `127.0.0.${1 + (index % owners)}`),
      ),
    );
    const { rssBytes } = await child.call(program, "reset");
    const beforeMiB = rssBytes / mebibyte;

    const bodiesMax = bodyBytesMax / publishBytesMax;
    const perCaller = bodyBytesPerCallerMax / publishBytesMax;
    const bodies = await Promise.all(
      Array.from({ length: bodiesMax }, (_, index) => {
        const at = Math.floor(index / perCaller);
        return beginBatch(publishers[at] as TestCaller, `127.0.0.${1 + at}`);
      }),
    );
    const withBodiesMiB = await peakMiB();
    await Promise.all(files.map((line) => write(line, longestLines())));
    const withLongMiB = await peakMiB();
    await Promise.all(files.map((line) => write(line, shortestLines())));
    await delay(1_000);
    const wholeMiB = await peakMiB();
    const more = [withBodiesMiB, withLongMiB, wholeMiB].map((each) => Math.round(each - beforeMiB));
    console.log(
      `more resident memory: ${more[0]} MiB with ${bodiesMax} bodies, ${more[1]} and ${more[2]} MiB with ${filesMax} files`,
    );
    // All of them are still under way, and one more of each is refused.
    for (const { said } of [...bodies, ...files]) expect(said.slice(0, 300)).toBe("");
    const [first] = publishers as [TestCaller];
    const tooMany = [await beginBatch(first, "127.0.0.1"), await beginFile(first, "127.0.0.1")];
    await expect
      .poll(() => tooMany.map(({ said }) => /HTTP\/1.1 (\d+)/.exec(said)?.[1]), { timeout: 30_000 })
      .toEqual(["503", "503"]);

    expect(more[0]).toBeGreaterThan((bodiesMax * publishBytesMax) / mebibyte / 2);
    expect(Math.max(...more)).toBeLessThan(Number(statedMiB));
  }, 300_000);
});
