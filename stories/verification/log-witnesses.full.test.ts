// A node whose log has three witnesses, of which two have to cosign: one is true, one is silent, lies and is true at last, and one
// has cosigned another tree. The log grows all the while, and nothing of it is served as verified before its time.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { logRef } from "../../actors/messages/refs.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { LogSequencerContext } from "../../machines/log-sequencer.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { startWitness, type WitnessProcess } from "../../node/witness/witness-server.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { parseAddCheckpoint, parseCheckpoint, parseNote } from "../../protocol/log/note.ts";
import { cosign, noteKey, SignedLog } from "../../protocol/log/signed-log.fixture.ts";
import { logKeys } from "../../verifier/log.ts";
import { createVerifier } from "../../verifier/verifier.ts";

const home = mkdtempSync(join(tmpdir(), "svc-log-witnesses-"));
const origin = "sandbox.svc/log";
const other = new SignedLog({ origin });

let node: RunningNode;
let [trueOne, moody, forked]: WitnessProcess[] = [];
let mood: "silent" | "lies" | "true" = "silent";
let doorway: Server;
let asked = 0;
let unanswered = 0;

function startOne(name: string): Promise<WitnessProcess> {
  return startWitness({
    home: join(home, name),
    name: `witness.test/${name}`,
    listen: { host: "127.0.0.1", port: 0 },
    clock: { now: Date.now },
    report: () => {},
    logs: () => [
      { origin, keys: [other.key, ...(node === undefined ? [] : logKeys(node.services.trust()))] },
    ],
  });
}

/** Where the second witness seems to be. */
function openDoorway(): Server {
  return createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString("utf8");
    asked += 1;
    if (mood === "silent") {
      unanswered += 1;
      response.once("close", () => (unanswered -= 1));
      return;
    }
    if (mood === "lies") {
      const read = parseAddCheckpoint(body);
      const text = read.ok ? read.value.read.text : "";
      const line = cosign(noteKey("witness.test/moody", "cosignature", 9), text, 1_000);
      response.end(`— ${line.name} ${Buffer.concat([line.keyHash, line.bytes]).toString("base64")}\n`);
      return;
    }
    const answer = await fetch(`${moody?.url}/add-checkpoint`, { method: "POST", body });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(await answer.text());
  });
}

async function start(changes: Readonly<Record<string, string>> = {}): Promise<RunningNode> {
  const at = `http://127.0.0.1:${(doorway.address() as AddressInfo).port}`;
  const settings = {
    SVC_LOG_INTERVAL_SECONDS: "0",
    SVC_SAMPLES: "no",
    SVC_LOG_WITNESS_PRIVATE: "yes",
    SVC_LOG_WITNESS_QUORUM: "2",
    SVC_LOG_WITNESSES: [
      `${trueOne?.verifierKey} ${trueOne?.url}`,
      `${moody?.verifierKey} ${at}`,
      `${forked?.verifierKey} ${forked?.url}`,
    ].join(","),
    ...changes,
  };
  Object.assign(process.env, settings);
  try {
    return await startNode({ home: join(home, "node"), portBase: 0, logLevel: "error" });
  } finally {
    for (const name of Object.keys(settings)) delete process.env[name];
  }
}

const checkpoint = () => fetch(`${node.urls.verify_url}/v1/log/checkpoint`);

async function sequencer(): Promise<LogSequencerContext> {
  const report = await node.services.actors.inspect(logRef());
  return (report?.context ?? { head: { size: 0 }, unwitnessed: null }) as LogSequencerContext;
}

async function append(text: string): Promise<void> {
  const leaf = hashOf(utf8(text), nativeCrypto.sha256);
  const entries = [{ leaf, leaf_type: "seal", subject: "b" } as const];
  await node.services.actors.ask(logRef(), { type: "log.append", entries });
}

const until = <T>(found: () => Promise<T>) => vi.waitUntil(found, { timeout: 30_000, interval: 50 });

beforeAll(async () => {
  [trueOne, moody, forked] = await Promise.all(["true", "moody", "forked"].map(startOne));
  await fetch(`${forked?.url}/add-checkpoint`, { method: "POST", body: other.request(0, 40) });
  doorway = openDoorway();
  await new Promise<void>((resolve) => doorway.listen(0, "127.0.0.1", resolve));
  node = await start();
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  doorway.closeAllConnections();
  doorway.close();
  for (const each of [trueOne, moody, forked]) await each?.[Symbol.asyncDispose]();
  rmSync(home, { recursive: true });
});

it("grows while a witness is silent, and serves no checkpoint", async () => {
  await append("first");
  await until(async () => (await sequencer()).head.size >= 1 && asked > 0);
  for (let at = 0; at < 5; at += 1) {
    const { size } = (await sequencer()).head;
    const sinceMs = Date.now();
    await append(`while it is silent ${at}`);
    await until(async () => (await sequencer()).head.size > size);
    // It is silent for five seconds each time: nothing waits for that.
    expect(Date.now() - sinceMs).toBeLessThan(2_500);
  }
  expect((await checkpoint()).status).toBe(404);
  expect((await fetch(`${node.urls.verify_url}/tile/0/000.p/1`)).status).toBe(404);
  const { unwitnessed } = await until(async () => {
    const context = await sequencer();
    return context.unwitnessed === null ? null : context;
  });
  expect(unwitnessed?.detail).toBe(
    "1 of 2 cosignatures: witness.test/moody did not answer in time; witness.test/forked cosigned a tree of 40 leaves already",
  );
});

it("serves none for a cosignature that is a lie, nor after a restart", async () => {
  // What a silent witness was asked ends with the node, and does not keep its process for the rest of the five seconds.
  const before = asked;
  await append("the last before the stop");
  await until(async () => asked > before);
  await node[Symbol.asyncDispose]();
  await vi.waitUntil(() => unanswered === 0, { timeout: 1_000, interval: 20 });
  mood = "lies";
  const atStart = asked;
  node = await start();
  await until(
    async () => asked > atStart && (await sequencer()).unwitnessed?.detail.includes("no valid cosignature"),
  );
  await append("after the restart");
  expect((await checkpoint()).status).toBe(404);
});

it("serves the newest one as soon as enough have cosigned it, with their lines", async () => {
  mood = "true";
  const note = await until(async () => {
    const answer = await checkpoint();
    return answer.status === 200 ? await answer.text() : null;
  });
  const parsed = parseNote(note);
  if (!parsed.ok) throw new Error(parsed.detail);
  expect(parsed.value.signatures.map(({ name }) => name)).toEqual([
    "svc-log",
    "sandbox.svc/log",
    "witness.test/true",
    "witness.test/moody",
  ]);
  const read = parseCheckpoint(parsed.value.text);
  expect(read.ok && read.value.size).toBeGreaterThanOrEqual(7);
  const keySet = new Uint8Array(
    await (await fetch(`${node.urls.verify_url}/.well-known/keys`)).arrayBuffer(),
  );
  const judge = (keys: readonly string[]) => {
    const made = createVerifier({
      anchors: node.services.anchors,
      keySet,
      witnesses: { keys, quorum: keys.length },
    });
    return made.ok && made.value.checkpoint(note);
  };
  const [one = "", two = "", three = ""] = [trueOne, moody, forked].map((each) => each?.verifierKey);
  expect(judge([one, two])).toMatchObject({ ok: true });
  expect(judge([one, three])).toMatchObject({ ok: false, code: "checkpoint_invalid" });
});

it("goes on with them, one request to each", async () => {
  const before = asked;
  const { size } = (await sequencer()).head;
  await append("in the end");
  await until(async () => ((await sequencer()).published?.size ?? 0) > size);
  expect(asked - before).toBe(1);
  expect((await sequencer()).unwitnessed).toBeNull();
});

it("publishes the same checkpoint again under a changed policy, as soon as its witnesses cosign it", async () => {
  const before = await (await checkpoint()).text();
  const size = Number(before.split("\n")[1]);
  await node[Symbol.asyncDispose]();
  mood = "silent";
  const address = `http://127.0.0.1:${(doorway.address() as AddressInfo).port}`;
  const atStart = asked;
  node = await start({
    SVC_LOG_WITNESSES: `${moody?.verifierKey} ${address}`,
    SVC_LOG_WITNESS_QUORUM: "1",
  });
  await until(async () => asked > atStart && (await sequencer()).unwitnessed !== null);
  // Until then what was served is served, and what it proves is proven.
  expect(await (await checkpoint()).text()).toBe(before);
  mood = "true";
  const note = await until(async () => {
    const answer = await (await checkpoint()).text();
    return answer === before ? null : answer;
  });
  const parsed = parseNote(note);
  if (!parsed.ok) throw new Error(parsed.detail);
  expect(parsed.value.text).toBe(before.slice(0, before.indexOf("\n\n") + 1));
  expect(parsed.value.signatures.map(({ name }) => name)).toEqual([
    "svc-log",
    "sandbox.svc/log",
    "witness.test/moody",
  ]);
  expect((await sequencer()).published?.size).toBe(size);
});
