// What attacks cost a whole node in its own process: it holds a bounded number of bytes, answers other callers meanwhile, and keeps its
// lease. The node runs as delivered, with default limits. The figures are printed as one table; the times among them are told and not
// judged, since they are the machine's as well (contract/work-between-looks.property.test.ts counts the work).

import { readFileSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rawHead } from "../../api/raw-request.fixture.ts";
import { freshNonce, productSearch, send, signed, type TestCaller } from "../../api/surfaces.fixture.ts";
import { Child } from "../../bench/child.ts";
import { publishBody, sealBatch } from "../../client/batch.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import type { SealContext } from "../../protocol/wire/push.ts";
import type { SandboxGrant } from "../../service/register/sandbox-grant.ts";
import type { NodeUrls } from "./budget-node.fixture.ts";

const mebibyte = 1_048_576;
const bodyBytes = 32 * mebibyte;
const program = "../stories/money/budget-node.fixture.ts";

let home: string;
let child: Child;
let urls: NodeUrls;
let nodePid = 0;
let company: TestCaller;
let business: TestCaller;
let sealContext: SealContext;

async function caller(role: SandboxGrant["role"], uuid: string): Promise<TestCaller> {
  const key = await parseSigningKey(generatePrivateJwk("Ed25519"));
  if (!key.ok) throw new Error(key.detail);
  const { publicJwk } = key.value;
  return { key: key.value, grant: await child.call(program, "grant", { role, uuid, publicJwk }) };
}

const search = () =>
  send(urls.base_url, company, { path: "/v1/products/search", body: JSON.stringify(productSearch) });

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-budget-"));
  const nodeOptions = ["--expose-gc"];
  // The limits are off for other tests.
  for (const name of Object.keys(process.env))
    if (/^SVC_(?:KEY|ADDRESS)_/.test(name)) delete process.env[name];
  child = new Child({ nodeOptions });
  urls = await child.call(program, "open", { home });
  nodePid = await child.call(program, "pid");
  company = await caller("retrieval", "10000000-0000-4000-8000-00000000000a");
  business = await caller("integration", "20000000-0000-4000-8000-00000000000b");
  expect((await search()).status).toBe(200);
  const first = { path: "/v1/seal-context", tag: "svc-business-read" } as const;
  const known = await send(urls.business_url, business, first);
  expect(known.status).toBe(200);
  sealContext = known.json as SealContext;
});

afterAll(async () => {
  if (rows.length > 0) console.log(tableOf(rows));
  await child?.[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

interface Row {
  readonly attack: string;
  readonly sentMiB: number;
  readonly rssMiB: number;
  readonly buffersMiB: number;
  readonly stallMs: number;
  readonly healthMs: number;
  readonly searchMs: number;
  readonly leaseLosses: number;
}
const rows: Row[] = [];

function tableOf(all: readonly Row[]): string {
  const head = [
    "attack",
    "sent MiB",
    "more RSS MiB",
    "more buffers MiB",
    "longest stall ms CPU",
    "/healthz ms",
    "search ms",
    "leases lost",
  ];
  const lines = all.map((row) => Object.values(row).map((value) => String(value)));
  const widths = head.map((name, index) =>
    Math.max(name.length, ...lines.map((line) => line[index]?.length ?? 0)),
  );
  const text = (line: readonly string[]): string =>
    `| ${line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join(" | ")} |`;
  return [text(head), text(widths.map((width) => "-".repeat(width))), ...lines.map(text)].join("\n");
}

/**
 * How long each thread of the node, and this one, has been waiting for a processor: that is caused by other programs, not
 * by the attack. It is zero if the platform does not report it.
 */
async function queuedMs(): Promise<ReadonlyMap<string, number>> {
  const tasks = `/proc/${nodePid}/task`;
  const threads = await readdir(tasks).catch(() => []);
  const files = [ownQueue, ...threads.map((thread) => `${tasks}/${thread}/schedstat`)];
  const read = files.map(async (file) => {
    // Nanoseconds on a processor, nanoseconds waiting for one, time slices.
    const text = await readFile(file, "utf8").catch(() => "0 0 0");
    return [file, Number(text.split(" ")[1]) / 1_000_000] as const;
  });
  return new Map(await Promise.all(read));
}
const ownQueue = "/proc/thread-self/schedstat";

/** The elapsed time, without the time that this thread, and the node's thread that waited longest, spent queuing. */
async function timed(run: () => Promise<{ readonly status: number }>): Promise<number> {
  const [before, fromMs] = [await queuedMs(), performance.now()];
  expect((await run()).status).toBe(200);
  const tookMs = performance.now() - fromMs;
  const waits = [...(await queuedMs())].map(([file, ms]) => [file, ms - (before.get(file) ?? ms)] as const);
  const own = waits.find(([file]) => file === ownQueue)?.[1] ?? 0;
  const nodes = waits.filter(([file]) => file !== ownQueue).map(([, ms]) => ms);
  return Math.max(0, Math.round(tookMs - own - Math.max(0, ...nodes)));
}

/** Attacks, asks legitimate questions meanwhile, and records the cost. `attack` returns how many bytes it sent. */
async function measure(name: string, attack: () => Promise<number>): Promise<Row> {
  const before = await child.call(program, "reset");
  const attacking = attack();
  const honest: { healthMs: number; searchMs: number } = { healthMs: 0, searchMs: 0 };
  let isOver = false;
  // anyone who asks meanwhile is answered (`timed`), and each row has asked at least once.
  const asking = (async () => {
    do {
      honest.healthMs = Math.max(honest.healthMs, await timed(() => fetch(`${urls.ops_url}/healthz`)));
      honest.searchMs = Math.max(honest.searchMs, await timed(search));
      await delay(100);
    } while (!isOver);
  })();
  const sent = await attacking;
  isOver = true;
  await asking;
  const after = await child.call(program, "measured");
  const mebibytes = (bytes: number): number => Math.round((10 * bytes) / mebibyte) / 10;
  const row = {
    attack: name,
    sentMiB: mebibytes(sent),
    rssMiB: mebibytes(after.rssBytes - before.rssBytes),
    buffersMiB: mebibytes(after.bufferBytes - before.bufferBytes),
    stallMs: Math.round(after.stallMs),
    ...honest,
    leaseLosses: after.leaseLosses,
  };
  rows.push(row);
  return row;
}

interface Line {
  readonly socket: Socket;
  text: string;
}

async function dial(base: string, localAddress = "127.0.0.1"): Promise<Line> {
  const socket = connect({ port: Number(new URL(base).port), host: "127.0.0.1", localAddress });
  const line: Line = { socket, text: "" };
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once("connect", resolve));
  return line;
}

/** Writes as fast as the other side reads, for as long as it does, but only for some seconds. */
async function flood(line: Line, bytes: Buffer): Promise<number> {
  line.socket.on("data", (part: Buffer) => {
    line.text += part.toString("latin1");
  });
  const untilMs = performance.now() + 3_000;
  let at = 0;
  while (at < bytes.length && !line.socket.destroyed && performance.now() < untilMs) {
    if (line.socket.writableNeedDrain) await delay(5);
    else {
      line.socket.write(bytes.subarray(at, at + 65_536));
      at += 65_536;
    }
  }
  await delay(300);
  return line.socket.bytesWritten - line.socket.writableLength;
}

/** A generous limit: the process's own needs, and the noise of other tests, stay far below it. */
const heldMiBMax = 192;

function expectBounded(row: Row, buffersMiBMax: number): void {
  expect(row.rssMiB).toBeLessThan(heldMiBMax);
  expect(row.buffersMiB).toBeLessThan(buffersMiBMax);
  expect(row.leaseLosses).toBe(0);
}

describe("a node under attack holds little, and answers everybody else", () => {
  it("by requests that are sent together, whose answers nobody reads", async () => {
    const host = new URL(urls.base_url).host;
    const together = Buffer.from(rawHead("GET /openapi.json", { host }).repeat(1_666));
    const row = await measure("8 × 1,666 requests at once, unread", async () => {
      const lines = await Promise.all(Array.from({ length: 8 }, () => dial(urls.base_url)));
      for (const line of lines) {
        line.socket.pause();
        line.socket.write(together);
      }
      await delay(2_000);
      for (const line of lines) line.socket.destroy();
      return lines.length * together.length;
    });
    expectBounded(row, 32);
  });

  /** The heads of publish requests whose bodies are declared as 32 MiB. */
  const publishHead = async (signature: "forged" | "genuine"): Promise<string> => {
    const path = "/v1/publish/products";
    const { headers } = await signed(urls.business_url, business, { path, tag: "svc-push", body: "x" });
    const forged = `sig1=:${Buffer.alloc(64).toString("base64")}:`;
    return rawHead(`POST ${path}`, {
      host: new URL(urls.business_url).host,
      ...headers,
      ...(signature === "forged" ? { signature: forged } : {}),
      "idempotency-key": freshNonce(),
      "content-length": String(bodyBytes),
    });
  };

  /** Everything except the last bytes, so that nothing is ever judged. */
  const unfinished = Buffer.alloc(bodyBytes - mebibyte, " ");

  const upload = async (signature: "forged" | "genuine", lines: readonly Line[]): Promise<number> => {
    const sent = lines.map(async (line) => {
      line.socket.write(await publishHead(signature));
      return flood(line, unfinished);
    });
    const total = (await Promise.all(sent)).reduce((sum, each) => sum + each, 0);
    for (const line of lines) line.socket.destroy();
    return total;
  };

  it("by long bodies with a public key_id and no key", async () => {
    const lines = await Promise.all(Array.from({ length: 8 }, () => dial(urls.business_url)));
    const row = await measure("8 × 31 MiB of forged bodies", () => upload("forged", lines));
    for (const line of lines) expect(line.text).toMatch(/^HTTP\/1\.1 401 .*"code":"signature_invalid"/s);
    expectBounded(row, 32);
  });

  it("by long bodies of one customer that never end", async () => {
    const lines = await Promise.all(Array.from({ length: 8 }, () => dial(urls.business_url)));
    const row = await measure("8 × 31 MiB of unfinished bodies of one key", () => upload("genuine", lines));
    const told = lines.filter(({ text }) =>
      /^HTTP\/1\.1 503 .*retry-after: \d+.*"bodies_in_flight"/is.test(text),
    );
    expect(told).toHaveLength(5);
    expectBounded(row, 192);
  });

  it.each([
    ["{}", "11 million objects"],
    ["[]", "11 million arrays"],
    ['{"a":0}', "4 million members"],
  ])("by one body of %s after %s", async (item, words) => {
    const front = '{"batch_seal":{},"records":[';
    const count = Math.floor((bodyBytes - front.length - 2) / (item.length + 1));
    const body = Buffer.from(`${front}${`${item},`.repeat(count - 1)}${item}]}`);
    const row = await measure(`a body of ${words}`, async () => {
      const headers = { "idempotency-key": freshNonce() };
      const request = { path: "/v1/publish/products", tag: "svc-push", body, headers } as const;
      expect(await send(urls.business_url, business, request)).toMatchObject({ status: 400 });
      return body.length;
    });
    expectBounded(row, 96);
  });

  it.each([
    ["50 records of 150 KB of unknown members, validated", "?validate_only=true"],
    ["50 records of 150 KB of unknown members, published", ""],
  ])("by one signed request: %s", async (name, query) => {
    // Names of eight letters are the dearest to look for others that were meant.
    const members = Array.from({ length: 10_500 }, (_, at) => `"${at.toString(36).padStart(4, "0")}abcd":1`);
    const record = Buffer.from(`{${members.join(",")}}`);
    const records = Array.from({ length: 50 }, () => record);
    const { cert_id: certId, ai_policy_version: aiPolicyVersion, business_uuid: businessUuid } = sealContext;
    const facts = { certId, aiPolicyVersion, businessUuid, recordType: "products" };
    const sealedAtMs = Date.now();
    const batch = await sealBatch(records, { ...facts, seq: sealedAtMs, sealedAtMs }, business.key);
    const body = publishBody(batch.batch_seal, records);
    const headers = { "idempotency-key": batch.push_id };
    const path = `/v1/publish/products${query}`;
    const row = await measure(name, async () => {
      const { status, json } = await send(urls.business_url, business, {
        path,
        tag: "svc-push",
        body,
        headers,
      });
      expect([status, json["code"]]).toEqual([200, undefined]);
      return body.length;
    });
    expectBounded(row, 96);
  });

  it("by checks without a pause, and by checks that never end", async () => {
    const host = new URL(urls.verify_url).host;
    const checkOf = (body: string): Buffer =>
      Buffer.from(
        rawHead("POST /v1/verify", { host, "content-length": String(Buffer.byteLength(body)) }) + body,
      );
    // Longer than most records.
    const record_base64 = Buffer.alloc(24_576, " ").toString("base64");
    const whole = checkOf(JSON.stringify({ record_base64, seal: {} }));
    const unending = checkOf("x".repeat(280_000)).subarray(0, -1);
    const dialed = (): Promise<readonly Line[]> =>
      Promise.all(Array.from({ length: 200 }, () => dial(urls.verify_url)));

    const busy = await dialed();
    const checks = await measure("200 connections that send checks without a pause", async () => {
      for (const line of busy) {
        line.socket.on("data", (part: Buffer) => {
          line.text += part.toString("latin1");
          if (part.includes("HTTP/1.1 200")) line.socket.write(whole);
        });
        line.socket.write(whole);
      }
      await delay(5_000);
      for (const { socket } of busy) socket.destroy();
      return busy.reduce((sum, { socket }) => sum + socket.bytesWritten, 0);
    });
    const statuses = busy.flatMap((line) => line.text.match(/HTTP\/1\.1 \d+/g) ?? []);
    expect(new Set(statuses)).toEqual(new Set(["HTTP/1.1 200"]));
    console.log(`${statuses.length} checks of one address in five seconds, none refused`);
    expectBounded(checks, 160);

    const slow = await dialed();
    const bodies = await measure("200 × 0.3 MiB of unfinished checks", async () => {
      for (const { socket } of slow) socket.write(unending);
      const beganMs = performance.now();
      const honest = await dial(urls.verify_url, "127.0.0.2");
      honest.socket.on("data", (part: Buffer) => {
        honest.text += part.toString("latin1");
      });
      honest.socket.write(whole);
      await expect.poll(() => honest.text, { timeout: 5_000 }).toMatch(/^HTTP\/1\.1 200 /);
      console.log(`a check of another address meanwhile: ${Math.round(performance.now() - beganMs)} ms`);
      await delay(4_000);
      for (const { socket } of [...slow, honest]) socket.destroy();
      return slow.length * unending.length;
    });
    expectBounded(bodies, 160);
  });

  it("of which docs/hardening.md says how much a node holds at most", () => {
    const page = readFileSync(join(import.meta.dirname, "../..", "docs", "hardening.md"), "utf8");
    expect(page).toContain(`if a node holds ${heldMiBMax} MiB more`);
  });
});
