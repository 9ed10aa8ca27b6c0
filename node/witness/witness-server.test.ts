// A witness over HTTP: what it cosigns, every refusal of C2SP tlog-witness, forks, and what a kill leaves.

import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import {
  addCheckpointBytesMax,
  type Note,
  parseNote,
  parseVerifierKey,
  verifierKeyOf,
  verifyNote,
} from "../../protocol/log/note.ts";
import { noteKey, SignedLog } from "../../protocol/log/signed-log.fixture.ts";
import { startWitness, type WitnessOptions, type WitnessProcess } from "./witness-server.ts";
import { parseWitnessedLogs } from "./witnessed-logs.ts";

const { sha256 } = nativeCrypto;
const log = new SignedLog();
const nowMs = Date.UTC(2026, 0, 1);
const known = parseWitnessedLogs("--log", [`${log.origin} ${verifierKeyOf(log.key, sha256)}`]);
const logs = () => known;

let home: string;
let running: WitnessProcess;
let reports: string[];

async function start(changes: Partial<WitnessOptions> = {}): Promise<WitnessProcess> {
  const started = await startWitness({
    home,
    name: "witness.test/w1",
    logs,
    listen: { host: "127.0.0.1", port: 0 },
    clock: { now: () => nowMs },
    report: (event, detail) => reports.push(`${event} ${detail}`),
    ...changes,
  });
  onTestFinished(() => Promise.resolve(started[Symbol.asyncDispose]()).catch(() => {}));
  return started;
}

beforeEach(async () => {
  reports = [];
  home = mkdtempSync(join(tmpdir(), "svc-witness-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  running = await start();
});

async function post(body: string | Uint8Array, at = running) {
  const answer = await fetch(`${at.url}/add-checkpoint`, {
    method: "POST",
    body: new Uint8Array(Buffer.from(body)),
  });
  const { status, headers } = answer;
  return { status, type: headers.get("content-type"), text: await answer.text() };
}

const behind = (size: number) => ({ status: 409, type: "text/x.tlog.size", text: `${size}\n` });

/** The time of the one cosignature in an answer, judged under the key that the witness printed. */
function secondsOf(note: string, answer: string): number | null {
  const parsed = parseNote(note + answer);
  const key = parseVerifierKey(running.verifierKey, sha256);
  if (!parsed.ok || key === null) throw new Error("That is no cosignature.");
  return verifyNote(nativeCrypto, parsed.value as Note, key)?.seconds ?? null;
}

describe("a witness", () => {
  it("prints a cosignature key, and cosigns a log from its first checkpoint on", async () => {
    expect(running.verifierKey).toMatch(/^witness\.test\/w1\+[0-9a-f]{8}\+B/);
    for (const [from, size] of [
      [0, 3],
      [3, 3],
      [3, 17],
      [17, 40],
    ] as const) {
      const { status, text } = await post(log.request(from, size));
      expect(status).toBe(200);
      expect(text).toMatch(/^— witness\.test\/w1 \S+\n$/);
      expect(secondsOf(log.note(size), text)).toBe(nowMs / 1_000);
      expect(secondsOf(log.note(size - 1), text)).toBeNull();
    }
  });

  it("begins with an empty log as well", async () => {
    expect((await post(log.request(0, 0))).status).toBe(200);
    expect((await post(log.request(0, 5))).status).toBe(200);
  });

  it("answers a wrong old size with the one it knows, as that media type", async () => {
    expect(await post(log.request(5, 9))).toEqual(behind(0));
    expect((await post(log.request(0, 9))).status).toBe(200);
    for (const old of [0, 5, 10]) expect(await post(log.request(old, 12))).toEqual(behind(9));
  });

  it.each([
    ["garbage", "hello", 400],
    ["bytes that are no UTF-8", Uint8Array.of(0xff, 0xfe), 400],
    ["nothing", "", 400],
    ["an old size that is larger", log.request(9, 5), 400],
    ["another origin", new SignedLog({ origin: "log.test/two" }).request(0, 5), 404],
    ["an unknown key", new SignedLog({ seed: 8 }).request(0, 5), 403],
    ["a key of another name", log.request(0, 5, { note: log.note(5, noteKey("other", "log", 7)) }), 403],
    [
      "a signature of another text",
      log.request(0, 5, { note: `${log.text(6)}\n— ${log.note(5).split("— ")[1]}` }),
      403,
    ],
    ["a proof where nothing is known yet", log.request(0, 5, { proof: log.proof(3, 5) }), 422],
  ])("refuses %s, and remembers nothing of it", async (_what, body, status) => {
    expect((await post(body)).status).toBe(status);
    expect(await post(log.request(1, 40))).toEqual(behind(0));
  });

  it("refuses a proof that does not lead to the checkpoint", async () => {
    await post(log.request(0, 9));
    const good = log.proof(9, 40);
    for (const proof of [[], good.slice(1), good.toReversed(), [...good, ...good], log.proof(8, 40)])
      expect((await post(log.request(9, 40, { proof }))).status).toBe(422);
    expect((await post(log.request(9, 9, { proof: good }))).status).toBe(422);
    expect((await post(log.request(9, 40))).status).toBe(200);
  });

  it("refuses a fork, of the same size or larger, and reports the one that proves itself", async () => {
    await post(log.request(0, 9));
    const fork = new SignedLog({ words: "other", same: 4 });
    expect((await post(fork.request(9, 9))).status).toBe(422);
    expect(reports).toEqual([expect.stringContaining(fork.note(9))]);
    expect(reports[0]).toContain(log.note(9));
    for (const from of [4, 9]) {
      const { status } = await post(fork.request(9, 20, { proof: fork.proof(from, 20) }));
      expect(status).toBe(422);
    }
    expect((await post(log.request(9, 20))).status).toBe(200);
  });

  it("refuses to go back", async () => {
    await post(log.request(0, 20));
    expect((await post(log.request(20, 9))).status).toBe(400);
    for (const old of [0, 5, 9]) expect(await post(log.request(old, 9))).toEqual(behind(20));
  });

  it("cosigns one of two trees that arrive at once", async () => {
    const forks = Array.from({ length: 8 }, (_, at) => new SignedLog({ words: `w${at}` }));
    const answers = await Promise.all(forks.map((fork) => post(fork.request(0, 30))));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(7);
  });

  it("refuses a checkpoint with a good line of one known key and a wrong one of another", async () => {
    const next = noteKey("svc-log", "log", 9);
    const both = [{ origin: log.origin, keys: [log.key, next] }];
    const witness = await start({ home: join(home, "both"), logs: () => both });
    const [, wrong = ""] = log.note(6, next).split("\n\n");
    const [, right = ""] = log.note(5, next).split("\n\n");
    const asked = (line: string) => post(log.request(0, 5, { note: log.note(5) + line }), witness);
    expect((await asked(wrong)).status).toBe(403);
    expect((await asked(right)).status).toBe(200);
  });

  it("takes a checkpoint with 16 large signatures", async () => {
    const line = `— witness.test/large ${Buffer.alloc(4_964).toString("base64")}\n`;
    expect((await post(log.request(0, 9, { note: log.note(9) + line.repeat(15) }))).status).toBe(200);
  });

  it("shows the checkpoint that it cosigned last, with the log's line and its own", async () => {
    const path = `/${createHash("sha256").update(log.origin).digest("hex")}/checkpoint`;
    const shown = async (at = running) => {
      const answer = await fetch(at.url + path);
      return { status: answer.status, text: await answer.text() };
    };
    expect((await shown()).status).toBe(404);
    const stranger = "— stranger aGVsbG8=\n";
    const { text } = await post(log.request(0, 9, { note: log.note(9) + stranger }));
    expect(await shown()).toEqual({ status: 200, text: log.note(9) + text });
    const next = await post(log.request(9, 20));
    expect(await shown()).toEqual({ status: 200, text: log.note(20) + next.text });
    await running[Symbol.asyncDispose]();
    const again = await shown(await start({ name: null }));
    expect(secondsOf(log.note(20), again.text.slice(log.note(20).length))).toBe(nowMs / 1_000);
    expect((await fetch(`${(await start()).url}/${"0".repeat(64)}/checkpoint`)).status).toBe(404);
  });

  it("has no other route, and takes no more than a checkpoint", async () => {
    expect((await fetch(`${running.url}/`)).status).toBe(404);
    expect((await fetch(`${running.url}/add-checkpoint`)).status).toBe(405);
    expect((await post("x".repeat(addCheckpointBytesMax + 1))).status).toBe(413);
    expect((await post(log.request(0, 9))).status).toBe(200);
  });
});

describe("a witness that starts again", () => {
  it("has its key and knows what it cosigned", async () => {
    await post(log.request(0, 9));
    await running[Symbol.asyncDispose]();
    const again = await start({ name: null });
    expect(again.verifierKey).toBe(running.verifierKey);
    expect(await post(log.request(0, 9), again)).toEqual(behind(9));
    const fork = new SignedLog({ words: "other" });
    expect((await post(fork.request(9, 30), again)).status).toBe(422);
    expect((await post(log.request(9, 30), again)).status).toBe(200);
  });

  it("is refused a name that no key has, and does not keep it", async () => {
    const fresh = { home: join(home, "new") };
    for (const name of ["", "two words", "plus+sign", "a\nline"])
      await expect(start({ ...fresh, name })).rejects.toThrow(/--name/);
    expect((await start({ ...fresh, name: "witness.test/w9" })).verifierKey).toMatch(/^witness\.test\/w9\+/);
  });

  it("is refused another name, and needs one at first", async () => {
    await expect(start({ name: "witness.test/w2" })).rejects.toThrow(/this key signs as witness\.test\/w1/);
    await expect(start({ name: null, home: join(home, "new") })).rejects.toThrow(/--name: is missing/);
  });

  it("does not cosign a fork with a second process on its folder", async () => {
    const other = await start();
    expect((await post(log.request(0, 9))).status).toBe(200);
    const fork = new SignedLog({ words: "other" });
    expect(await post(fork.request(0, 9), other)).toEqual(behind(9));
    const both = await Promise.all([
      post(log.request(9, 30)),
      post(fork.request(9, 31, { proof: [] }), other),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, expect.toBeOneOf([409, 422])]);
  });
});

it("is told of its logs by origin and key", () => {
  const text = `${log.origin} ${verifierKeyOf(log.key, sha256)}`;
  expect(parseWitnessedLogs("--log", [text, text])[0]?.keys).toHaveLength(2);
  expect(parseWitnessedLogs("--log", [`an origin of words ${text.split(" ")[1]}`])[0]?.origin).toBe(
    "an origin of words",
  );
  for (const wrong of ["", log.origin, `${text}x`, ` ${text.split(" ")[1]}`, `o ${running.verifierKey}`])
    expect(() => parseWitnessedLogs("--log", [wrong])).toThrow(/--log/);
  expect(() => parseWitnessedLogs("--log", [])).toThrow(/missing/);
});
