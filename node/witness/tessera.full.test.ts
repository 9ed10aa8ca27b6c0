// Judged by a log that is not ours: Tessera's own example program, as it is released, keeps a log whose checkpoints have to be
// cosigned by this witness, and verifies the cosignature itself. It needs Go; without Go, or in an environment that cannot fetch
// the module, it is skipped, and in CI it fails.

import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { judgeCosignatures } from "../../protocol/log/cosignatures.ts";
import {
  keyHashOf,
  type Note,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  verifierKeyOf,
} from "../../protocol/log/note.ts";
import { noteKey } from "../../protocol/log/signed-log.fixture.ts";
import { buildGoPrograms } from "../../tools/go-programs.ts";
import { startWitness } from "./witness-server.ts";

const built = await buildGoPrograms({
  "posix-oneshot": "github.com/transparency-dev/tessera/cmd/examples/posix-oneshot",
});
const folder = built?.folder ?? "";
const binary = built?.paths["posix-oneshot"] ?? "";

const origin = "tessera.test/log";
const seed = 5;
const logKey = noteKey(origin, "log", seed);

/** The key as Go's note package writes it: `PRIVATE+KEY+name+hash+(type, seed)`. */
function privateKey(): string {
  const hash = Buffer.from(keyHashOf(logKey, nativeCrypto.sha256)).toString("hex");
  const secret = Buffer.concat([Buffer.of(1), new Uint8Array(32).fill(seed)]).toString("base64");
  return `PRIVATE+KEY+${origin}+${hash}+${secret}`;
}

const files = {
  key: join(folder, "key"),
  policy: join(folder, "policy"),
  log: join(folder, "log"),
};

/** Adds an entry, and waits for the checkpoint that contains it. */
function add(text: string) {
  const entry = join(folder, `entry-${text}`);
  writeFileSync(entry, text);
  const options = { storage_dir: files.log, entries: entry, private_key: files.key, witness_timeout: "2s" };
  const args = Object.entries({ ...options, witness_policy_file: files.policy }).map(
    ([k, v]) => `-${k}=${v}`,
  );
  const child = spawn(binary, args, { stdio: ["ignore", "ignore", "pipe"], timeout: 15_000 });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += String(chunk);
  });
  return new Promise<{ readonly code: number | null; readonly said: string }>((resolve) => {
    child.once("close", (code) => resolve({ code, said }));
  });
}

const readNote = (): Note => {
  const parsed = parseNote(readFileSync(join(files.log, "checkpoint"), "utf8"));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.value;
};

const sizeOf = (note: Note): number => {
  const read = parseCheckpoint(note.text);
  return read.ok ? read.value.size : -1;
};

describe("a log of Tessera", () => {
  it.skipIf(built === null)("is cosigned as it grows, and held up when it begins again", async () => {
    const witness = await startWitness({
      home: join(folder, "witness"),
      name: "witness.test/w1",
      listen: { host: "127.0.0.1", port: 0 },
      clock: { now: Date.now },
      report: () => {},
      logs: () => [{ origin, keys: [logKey] }],
    });
    onTestFinished(async () => {
      await witness[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    });
    writeFileSync(files.key, privateKey());
    const line = `witness w1 ${witness.verifierKey} ${witness.url}`;
    writeFileSync(files.policy, `log ${verifierKeyOf(logKey, nativeCrypto.sha256)}\n${line}\nquorum w1\n`);
    const key = parseVerifierKey(witness.verifierKey, nativeCrypto.sha256);
    if (key === null) throw new Error("A witness prints its key.");
    for (const [at, text] of ["one", "two", "three"].entries()) {
      expect(await add(text)).toMatchObject({ code: 0 });
      expect(sizeOf(readNote())).toBe(at + 1);
      const judged = judgeCosignatures(nativeCrypto, readNote(), { witnesses: [key], quorum: 1 });
      expect(judged).toMatchObject({ ok: true });
    }
    // The log begins again: its first checkpoint is not the continuation of the third.
    rmSync(files.log, { recursive: true });
    const { code, said } = await add("other");
    expect(code).not.toBe(0);
    expect(said).toContain("replied with x.tlog.size 3, larger than log size 0");
  });
});
