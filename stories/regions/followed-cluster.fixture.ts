// Follows pages that make a cluster: their commands in order, in one folder, as the operators of several machines would type
// them. Only addresses, ports, names and the number of copies are others than on the page. For tests.
//   O1. Blocks are taken strictly in the order of the page, and by their kind: a block that nobody expects fails the test.
//   O2. Each node has a loopback address of its own, so that certificates and settings name hosts as they do in production.
//   O3. Everything that was started ends with the test's process, however that ends (tools/engines/guard.ts).

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { type Block, playedBlocks, shellPrelude } from "../../node/keys/runbook.fixture.ts";
import { createCqlClient } from "../../tools/engines/cassandra.ts";
import {
  type EngineProcess,
  type Guard,
  startEngineProcess,
  startGuard,
} from "../../tools/engines/engine-process.ts";
import { readHost } from "../../tools/engines/host.ts";
import { nodetoolCommand } from "../../tools/engines/profiles.ts";
import { dropTraces } from "../../tools/engines/traces.ts";
import type { EnginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { freePorts } from "../../tools/free-ports.ts";
import { root } from "../../tools/process.ts";
import {
  type ElasticGate,
  type GateIdentity,
  type GateLogin,
  openCassandraGate,
  openElasticGate,
} from "./engine-gates.fixture.ts";

/** How long one block of commands may take, waiting for a node to be ready included. */
const blockMaxMs = 180_000;
const stopMaxMs = 30_000;
const opsOnPage = "127.0.0.1:7304";
const inherited = {
  PATH: process.env["PATH"],
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
};

export type Settings = Readonly<Record<string, string>>;

/** The commands of a page, one after another (O1). */
export class FollowedPage {
  readonly #page: string;
  readonly #sections: ReadonlyMap<string, readonly Block[]>;
  readonly #taken = new Map<string, number>();

  private constructor(page: string, sections: ReadonlyMap<string, readonly Block[]>) {
    this.#page = page;
    this.#sections = sections;
  }

  static async open(page: string): Promise<FollowedPage> {
    return new FollowedPage(page, await playedBlocks(page));
  }

  /** The next commands under a title, which are of this kind. */
  next(title: string, kind = ""): string {
    const at = this.#taken.get(title) ?? 0;
    const block = this.#sections.get(title)?.[at];
    if (block?.kind !== kind) {
      const found = block === undefined ? "there are no more" : `they are of the kind «${block.kind}»`;
      throw new Error(`docs/${this.#page}, «${title}»: expected commands «${kind}», but ${found}`);
    }
    this.#taken.set(title, at + 1);
    return block.script;
  }

  /** The kinds of the commands under a title that were not taken. */
  left(title: string): readonly string[] {
    return (this.#sections.get(title) ?? []).slice(this.#taken.get(title) ?? 0).map(({ kind }) => kind);
  }
}

interface EnginePair<Each> {
  readonly cassandra: Each;
  readonly elastic: Each;
}

interface FollowedOptions {
  readonly engines: EnginesUnderTest;
  /** The hosts of the nodes on the page. */
  readonly hosts: readonly string[];
}

export class FollowedCluster implements AsyncDisposable {
  /** The name of cluster and keyspace. */
  readonly name = `f${process.pid.toString(36)}${Date.now().toString(36)}`;
  readonly folder: string;
  readonly #engines: EnginesUnderTest;
  readonly #guard: Guard;
  readonly #instead: (readonly [onPage: string, here: string])[];
  readonly #ops = new Map<string, string>();
  readonly #nodes = new Map<string, EngineProcess>();
  readonly #opened: AsyncDisposable[] = [];
  #settings: Settings = {};

  private constructor(folder: string, { engines, hosts }: FollowedOptions) {
    this.folder = folder;
    this.#engines = engines;
    this.#guard = startGuard();
    this.#guard.removeLater(folder);
    const net = `127.${1 + (process.pid % 250)}.${1 + (Date.now() % 250)}`;
    this.#instead = hosts.map((host, index) => [host, `${net}.${index + 1}`] as const);
  }

  static async open(options: FollowedOptions): Promise<FollowedCluster> {
    return new FollowedCluster(await mkdtemp(join(tmpdir(), "svc-followed-")), options);
  }

  /** The settings that the page's exports have led to. */
  get settings(): Settings {
    return this.#settings;
  }

  /** What stands for a host of the page. */
  hostOf(onPage: string): string {
    return this.#instead.find(([host]) => host === onPage)?.[1] ?? "";
  }

  /** Runs commands as on the machine of the node whose settings are in force, and returns what they print. */
  async run(script: string, given = this.#settings): Promise<string> {
    const home = given["SVC_HOME"];
    const ops = home === undefined ? opsOnPage : await this.#opsOf(basename(home));
    const text = this.#here(script).replaceAll(opsOnPage, ops);
    const env = { ...inherited, HOME: this.folder, NO_COLOR: "1", ...given };
    return await this.#shell(`umask 022\n${shellPrelude}${text}`, env);
  }

  /** Runs commands on the Cassandra machine of a region. */
  async runOnCassandra(region: string, script: string): Promise<string> {
    const host = readHost();
    const address = this.#engines.cassandra[this.#engines.regions.indexOf(region)] ?? "";
    const client = createCqlClient({ address, dataCenter: region });
    const named = "SELECT value FROM system_views.settings WHERE name = 'data_file_directories'";
    const { rows } = await client.execute(named).finally(() => client.shutdown());
    const folder = dirname(String(rows[0]?.["value"]).replaceAll(/[[\]"]/g, ""));
    const nodetool = (await nodetoolCommand({ address, folder }, host)).map((part) => `'${part}'`).join(" ");
    const cqlsh = `"${process.execPath}" "${join(root, "tools/engines/cqlsh.ts")}" ${address} ${region}`;
    const text = script
      .replaceAll(/(?<![\w-])svc(?![\w-])/g, this.name)
      .replaceAll(/': 3/g, `': ${this.#engines.replication}`);
    const prelude = `set -euo pipefail\nnodetool() { ${nodetool} "$@"; }\ncqlsh() { ${cqlsh} "$@"; }\n`;
    return await this.#shell(prelude + text, host.inherited);
  }

  /** Puts gates with TLS and passwords in front of a region's engines, in the place of their addresses on the page. */
  async openGates(
    region: string,
    {
      onPage,
      identity,
      logins,
    }: {
      readonly onPage: EnginePair<string>;
      readonly identity: GateIdentity;
      readonly logins: EnginePair<GateLogin>;
    },
  ): Promise<ElasticGate> {
    const at = this.#engines.regions.indexOf(region);
    const targets = {
      cassandra: `${this.#engines.cassandra[at]}:9042`,
      elastic: new URL(this.#engines.elastic[at] ?? "").host,
    };
    const options = (engine: keyof typeof targets) => ({
      ...identity,
      target: targets[engine],
      login: logins[engine],
    });
    const cassandra = await openCassandraGate(options("cassandra"));
    const elastic = await openElasticGate(options("elastic"));
    this.#opened.push(cassandra, elastic);
    this.#instead.push([onPage.cassandra, cassandra.address], [onPage.elastic, elastic.address]);
    return elastic;
  }

  /** Exports settings, as the next node's process manager passes them to it. */
  async set(script: string): Promise<void> {
    const names = `export SVC_CLUSTER_NAME=${this.name} SVC_CASSANDRA_KEYSPACE=${this.name}`;
    const said = await this.run(`${script}\n${names}\nenv`);
    const lines = said.split("\n").filter((line) => line.startsWith("SVC_"));
    const settings = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2))) as Settings;
    const ops = await this.#opsOf(basename(settings["SVC_HOME"] ?? ""));
    this.#settings = { ...settings, SVC_OPS_LISTEN: ops };
  }

  /** Goes to the machine of another node. */
  use(settings: Settings): void {
    this.#settings = settings;
  }

  /** Starts the program of a block as a service of the name: a node, or the issuance process. */
  serve(script: string, name = basename(this.#settings["SVC_HOME"] ?? "")): EngineProcess {
    const command = this.#here(script)
      .trim()
      .replace(/^svc /, `exec "${process.execPath}" "${join(root, "cli", "main.ts")}" `);
    const started = startEngineProcess(
      {
        command: "bash",
        args: ["-c", command],
        env: { ...inherited, HOME: this.folder, NO_COLOR: "1", ...this.#settings },
        cwd: this.folder,
        logFile: join(this.folder, `${name}.log`),
      },
      this.#guard,
    );
    this.#nodes.set(name, started);
    return started;
  }

  /** Ends a service as its process manager does, and waits for its end. */
  async stop(name: string): Promise<void> {
    const running = this.#nodes.get(name);
    if (running === undefined || running.hasEnded()) throw new Error(`${name} does not run`);
    await running.stop(stopMaxMs);
  }

  logOf(name: string): string {
    return this.#nodes.get(name)?.logTail() ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((node) => node.stop(0)));
    for (const each of this.#opened) await each[Symbol.asyncDispose]();
    await dropTraces(this.#engines, this.name);
    await this.#guard.close();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }

  async #shell(script: string, env: Readonly<Record<string, string | undefined>>): Promise<string> {
    const { stdout } = await promisify(execFile)("bash", ["-c", script], {
      cwd: this.folder,
      env,
      timeout: blockMaxMs,
      maxBuffer: 1 << 22,
    }).catch((error: Error & { readonly stdout?: string }) => {
      const logs = [...this.#nodes].map(([name, node]) => `${name}:\n${node.logTail()}`).join("\n");
      throw new Error(`${error.message}\n${error.stdout ?? ""}\n${logs}`);
    });
    return stdout;
  }

  #here(script: string): string {
    let text = script;
    for (const [onPage, here] of this.#instead) text = text.replaceAll(onPage, here);
    return text;
  }

  /** Where the operations surface of a node listens, which is loopback on its own machine. */
  async #opsOf(node: string): Promise<string> {
    const known = this.#ops.get(node);
    if (known !== undefined) return known;
    const ops = `127.0.0.1:${await freePorts(1)}`;
    this.#ops.set(node, ops);
    return ops;
  }
}
