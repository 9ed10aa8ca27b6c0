// A node in this process on which an incident is staged, and a shell with the commands of docs/incidents.md. For tests.

import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { ConfigError } from "../../node/configuration/config-error.ts";
import { type Block, playedBlocks } from "../../node/keys/runbook.fixture.ts";

const pages = await playedBlocks("incidents.md");

/** Every command of the page that a test ran, as `title: kind`. */
export const played = new Set<string>();

/** Every command of the page, as `title: kind`. */
export function commandsOf(titles: readonly string[]): readonly string[] {
  return titles.flatMap((title) => blocksOf(title).map(({ kind }) => `${title}: ${kind}`));
}

function blocksOf(title: string): readonly Block[] {
  const blocks = pages.get(title) ?? [];
  if (blocks.length === 0) throw new Error(`docs/incidents.md has no commands under ${title}`);
  return blocks;
}

/** Runs the commands of that kind under a title at a node, and returns what they print. */
export async function follow(
  title: string,
  kind: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const block = blocksOf(title).find((each) => each.kind === kind);
  if (block === undefined) throw new Error(`docs/incidents.md has no commands ${kind} under ${title}`);
  played.add(`${title}: ${kind}`);
  const setup = pages.get("Before you begin");
  const script = `set -euo pipefail\n${setup?.find((each) => each.kind === "setup")?.script ?? "false"}${block.script}`;
  const { stdout } = await promisify(execFile)("bash", ["-c", script], {
    env: { PATH: process.env["PATH"], HOME: tmpdir(), ...env },
  });
  return stdout.trim();
}

export interface IncidentNode extends AsyncDisposable {
  readonly running: RunningNode;
  readonly home: string;
  /** Runs commands of the page at this node. */
  follow(title: string, kind: string, env?: Readonly<Record<string, string>>): Promise<string>;
}

export interface IncidentOptions {
  /** By default a temporary folder, which is removed. */
  readonly home?: string;
  readonly settings?: Readonly<Record<string, string>>;
  readonly platform?: Parameters<typeof startNode>[1];
}

const attemptsMax = 20;

export async function openIncidentNode(options: IncidentOptions = {}): Promise<IncidentNode> {
  const home = options.home ?? (await mkdtemp(join(tmpdir(), "svc-incident-")));
  const node: IncidentNode = {
    running: await start(home, options),
    home,
    follow: (title, kind, env = {}) =>
      follow(title, kind, { OPS: node.running.urls.ops_url, SVC_HOME: home, ...env }),
    [Symbol.asyncDispose]: async () => {
      await node.running[Symbol.asyncDispose]();
      if (options.home === undefined) await rm(home, { recursive: true, force: true });
    },
  };
  return node;
}

async function start(home: string, { settings = {}, platform = {} }: IncidentOptions): Promise<RunningNode> {
  const before = { ...process.env };
  Object.assign(process.env, { SVC_SAMPLES: "no", ...settings });
  try {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const portBase = 20_000 + 5 * randomInt(2_000);
        return await startNode({ home, portBase, logTo: "file", logLevel: "info" }, platform);
      } catch (error) {
        if (!(error instanceof ConfigError) || attempt === attemptsMax) throw error;
      }
    }
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
}
