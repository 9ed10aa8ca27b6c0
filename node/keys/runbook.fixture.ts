// The commands in the pages under docs/, for the tests that run them.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../../tools/process.ts";

/** A block of commands; its kind follows `sh`, and is empty for those that are simply run. */
export interface Block {
  readonly kind: string;
  readonly script: string;
}

/** Makes `svc` refer to this checkout's program. */
export const shellPrelude = `set -euo pipefail
svc() { "${process.execPath}" "${join(root, "cli", "main.ts")}" "$@"; }
`;

/** The command blocks of a page, by the title above them, in order. */
export async function playedBlocks(page: string): Promise<ReadonlyMap<string, readonly Block[]>> {
  const found = new Map<string, Block[]>();
  const text = await readFile(join(root, "docs", page), "utf8");
  let blocks: Block[] = [];
  for (const part of text.matchAll(/^## (.+)$|^```sh ?(\w*)\n([\s\S]*?)^```$/gm)) {
    const [, title, kind = "", script = ""] = part;
    if (title === undefined) blocks.push({ kind, script });
    else {
      blocks = [];
      found.set(title, blocks);
    }
  }
  return found;
}

/** What brings up the keys and the issuance process of a region, by the titles of docs/keys.md. */
export const ceremonies = [
  "The root",
  "The issuance pair",
  "Working keys and the first key set",
  "The issuance process",
] as const;

/** A page whose commands are run in a folder of their own. What a `service` block starts runs until the next one, or the end. */
export class Runbook implements AsyncDisposable {
  readonly folder: string;
  readonly sections: ReadonlyMap<string, readonly Block[]>;
  readonly played = new Set<string>();
  readonly #page: string;
  #service: ChildProcess | null = null;

  constructor(page: string, folder: string, sections: Runbook["sections"]) {
    this.#page = page;
    this.folder = folder;
    this.sections = sections;
  }

  static async open(page: string): Promise<Runbook> {
    return new Runbook(page, await mkdtemp(join(tmpdir(), "svc-runbook-")), await playedBlocks(page));
  }

  async play(script: string): Promise<string> {
    const options = { cwd: this.folder, env: quiet() };
    return (await promisify(execFile)("bash", ["-c", shellPrelude + script], options)).stdout;
  }

  /** Runs the commands under a title; returns their output. */
  async playSection(title: string): Promise<string> {
    const blocks = this.sections.get(title);
    if (blocks === undefined || blocks.length === 0)
      throw new Error(`docs/${this.#page} has no commands under ${title}`);
    this.played.add(title);
    // The script's times are in whole seconds; what was signed earlier is from the previous second.
    await nextSecond();
    let said = "";
    for (const { kind, script } of blocks) {
      if (kind === "service") await this.#serve(script);
      else if (kind === "") said += await this.play(script);
    }
    return said;
  }

  /** The environment variables that the `settings` block under a title sets. */
  async settings(title: string): Promise<Readonly<Record<string, string>>> {
    const block = this.sections.get(title)?.find(({ kind }) => kind === "settings");
    const lines = (await this.play(`${block?.script}env`)).split("\n");
    const set = lines.filter((line) => line.startsWith("SVC_"));
    return Object.fromEntries(set.map((line) => line.split(/=(.*)/s).slice(0, 2)));
  }

  async #serve(script: string): Promise<void> {
    await this.#stop();
    const command = script
      .trim()
      .replace(/^svc /, `exec "${process.execPath}" "${join(root, "cli", "main.ts")}" `);
    const child = spawn("bash", ["-c", command], {
      cwd: this.folder,
      env: quiet(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#service = child;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    child.stdout.on("data", (chunk: Buffer) =>
      /^Issuing with/.test(chunk.toString()) ? resolve() : undefined,
    );
    child.once("exit", (code) => reject(new Error(`the issuance process ended with ${code}`)));
    await promise;
  }

  async #stop(): Promise<void> {
    const child = this.#service;
    this.#service = null;
    if (child === null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function quiet(): NodeJS.ProcessEnv {
  const env = Object.entries(process.env).filter(([name]) => !/^(SVC_|VITEST|NODE_)/.test(name));
  return { ...Object.fromEntries(env), NO_COLOR: "1" };
}

export async function nextSecond(): Promise<void> {
  const second = Math.floor(Date.now() / 1_000);
  while (Math.floor(Date.now() / 1_000) === second) await new Promise((resolve) => setTimeout(resolve, 20));
}
