// Judges a log with programs that are not ours: log-judge/ (the code of Go's checksum database client, and of torchwood for policy
// files) and Tessera's fsck, which is built from its released module as it is.

import { execFile, spawn } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { sha256 } from "../protocol/bytes.ts";
import { parseAnchors } from "../protocol/keys/anchors.ts";
import { noteKeyOf, verifierKeyOf } from "../protocol/log/note.ts";
import { createVerifier } from "../verifier/verifier.ts";
import { buildGoPrograms } from "./go-programs.ts";

/** Where a log is read, and what says whose it is. */
export interface JudgedLog {
  /** Address of the verification surface. */
  readonly verifyUrl: string;
  readonly anchors: unknown;
}

export interface LogVerdict {
  readonly leaves: number;
  /** Served proofs that were right. */
  readonly inclusion: number;
  /** Stored checkpoints of which the log is a continuation. */
  readonly consistency: number;
}

const run = promisify(execFile);

/** Null, said loudly, where the programs cannot be built; in CI that is a failure. */
export async function buildLogJudge(): Promise<LogJudge | null> {
  const built = await buildGoPrograms({
    judge: ".",
    policy: "./policy",
    fsck: "github.com/transparency-dev/tessera/cmd/fsck",
  });
  return built && new LogJudge(built.folder, built.paths);
}

type Programs = Readonly<Record<"judge" | "policy" | "fsck", string>>;

export class LogJudge {
  readonly #folder: string;
  readonly #programs: Programs;
  readonly #stored: string[] = [];

  constructor(folder: string, programs: Programs) {
    this.#folder = folder;
    this.#programs = programs;
  }

  /** How many leaves the published checkpoint has; 0 while there is none. */
  async sizeOf({ verifyUrl }: JudgedLog): Promise<number> {
    const answer = await fetch(`${verifyUrl}/checkpoint`);
    return answer.status === 200 ? Number((await answer.text()).split("\n")[1]) : 0;
  }

  /** Keeps the checkpoint that is published now, if there is one; {@link judge} holds the log to it later. */
  async keepCheckpoint({ verifyUrl }: JudgedLog): Promise<void> {
    const answer = await fetch(`${verifyUrl}/checkpoint`);
    if (answer.status !== 200) return;
    const path = join(this.#folder, `checkpoint-${this.#stored.length}`);
    await mkdir(this.#folder, { recursive: true });
    await writeFile(path, await answer.text());
    this.#stored.push(path);
  }

  /** Rejects, with what the program said, if one of them does not accept the log as it is read at `readFrom`. */
  async judge(log: JudgedLog, readFrom: string = log.verifyUrl): Promise<LogVerdict> {
    const { origin, key } = await keyOf(log);
    const { stdout } = await run(this.#programs.judge, [readFrom, origin, key, ...this.#stored]);
    return JSON.parse(stdout) as LogVerdict;
  }

  /** As {@link judge}, by Tessera's fsck. */
  async fsck(log: JudgedLog, readFrom: string = log.verifyUrl): Promise<string> {
    const { origin, key } = await keyOf(log);
    const keyFile = join(this.#folder, "key");
    await writeFile(keyFile, key);
    const options = [
      "--storage_url",
      `${readFrom}/`,
      "--origin",
      origin,
      "--public_key",
      keyFile,
      "--ui=false",
      "-v=1",
      "--logtostderr",
    ];
    const said = await saidBy(this.#programs.fsck, options, isFaulty);
    if (isFaulty(said) || !said.includes("Completed ranges")) throw new Error(said);
    return said;
  }

  /** The origin of the checkpoint that is read at `readFrom`; rejects if the log's policy file does not accept it. */
  async policy({ verifyUrl }: JudgedLog, readFrom: string = verifyUrl): Promise<string> {
    const files = [join(this.#folder, "policy-file"), join(this.#folder, "policy-checkpoint")] as const;
    await writeFile(files[0], await (await fetch(`${verifyUrl}/v1/log/policy`)).text());
    await writeFile(files[1], await (await fetch(`${readFrom}/checkpoint`)).text());
    return (await run(this.#programs.policy, files)).stdout.trim();
  }

  async close(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** Whatever fsck finds, it ends with status 0, or not at all. */
const isFaulty = (said: string): boolean => /fsck failed|:Invalid/.test(said);

/** What a program says on standard error until it ends, or until that is enough. */
function saidBy(
  program: string,
  options: readonly string[],
  isEnough: (said: string) => boolean,
): Promise<string> {
  const child = spawn(program, options, { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (piece) => {
    said += String(piece);
    if (isEnough(said)) child.kill();
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(said));
  });
}

async function keyOf({ verifyUrl, anchors }: JudgedLog): Promise<{ origin: string; key: string }> {
  const parsed = parseAnchors(JSON.parse(JSON.stringify(anchors)));
  if (!parsed.ok) throw new Error(parsed.detail);
  const keySet = new Uint8Array(await (await fetch(`${verifyUrl}/.well-known/keys`)).arrayBuffer());
  const verifier = createVerifier({ anchors: parsed.value, keySet });
  if (!verifier.ok) throw new Error(verifier.detail);
  const entry = [...verifier.value.trust.keys.values()].find(({ use }) => use === "log");
  const { origin, key_name } = parsed.value.log;
  const key = entry && noteKeyOf(key_name, entry.public_key);
  if (!key) throw new Error("The key set has no key of the log.");
  return { origin, key: verifierKeyOf(key, sha256) };
}
