// Nodes whose setup bars them from the cluster: each ends on its own, names the fault and the remedy, and changes nothing
// for the existing nodes.

import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { exitCodes } from "../../cli/command.ts";
import { openCluster, type TestCluster, testSeed } from "../../node/composition/cluster.fixture.ts";
import { clusterState } from "../../node/composition/cluster-ops.fixture.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { root } from "../../tools/process.ts";
import { until } from "./cluster-load.fixture.ts";
import { openTruth } from "./cluster-truth.fixture.ts";

const home = "eu-west1";
const startMaxMs = 90_000;
const engines = enginesUnderTest();
const { random } = testSeed("refused start", 20_261_125);
let folder: string;
let cluster: TestCluster;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-refused-"));
  cluster = await openCluster({ engines, nodes: { [home]: 1 } });
});
afterAll(async () => {
  await cluster?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** The members as the running node knows them, which stay the same whenever another node is refused. */
async function members(): Promise<readonly string[]> {
  const { regions } = await clusterState(cluster.node(`${home}-a`));
  return regions.flatMap((region) => region.members.map(({ incarnation }) => incarnation));
}

describe("a node is refused that", () => {
  it.each([
    ["has another cluster's secret", () => ({ SVC_CLUSTER_SECRET: randomBytes(32).toString("hex") })],
    ["is of another cluster", () => ({ SVC_CLUSTER_NAME: "another" })],
  ])("%s, and both say so", async (_what, settings) => {
    const node = cluster.node(`${home}-a`);
    const [before, refusedBefore] = [await members(), await refusals()];
    const ended = await start(settings());
    expect(ended).toEqual({
      code: exitCodes.usage,
      said: expect.stringMatching(
        /another cluster secret, certificate authority or cluster name.*same on every node/,
      ),
    });
    expect(await members()).toEqual(before);
    expect(await refusals()).toBeGreaterThan(refusedBefore);
    await until(() => node.logTail().includes("handshake_refused"));

    async function refusals(): Promise<number> {
      const { stranger = 0, cluster: other = 0 } = (await clusterState(node)).transport?.refused ?? {};
      return stranger + other;
    }
  });

  it("knows less than the schema that is stored", async () => {
    const set = "UPDATE schema_state SET version = ? WHERE part = 'schema' IF version = ?";
    const serially = { serial: "SERIAL", idempotent: false } as const;
    await using truth = await openTruth(cluster, home);
    const { rows } = await truth.session.execute(
      "SELECT version FROM schema_state WHERE part = 'schema'",
      [],
      { idempotent: true },
    );
    const version = Number(rows[0]?.["version"]);
    const before = await members();
    expect((await truth.session.execute(set, [version + 1, version], serially)).applied).toBe(true);
    const ended = await start({});
    expect((await truth.session.execute(set, [version, version + 1], serially)).applied).toBe(true);
    expect(ended).toEqual({
      code: exitCodes.usage,
      said: expect.stringMatching(/SVC_CASSANDRA_KEYSPACE: .*version/),
    });
    expect(await members()).toEqual(before);
  });

  it("has a clock that is far off", async () => {
    const offMs = Math.round((random() < 0.5 ? -1 : 1) * (4_000 + random() * 86_400_000));
    const before = await members();
    const ended = await start(
      { SHIFTED_CLOCK_MS: String(offMs) },
      "stories/regions/shifted-clock.fixture.ts",
    );
    expect(ended).toEqual({
      code: exitCodes.usage,
      said: expect.stringMatching(/clock of this machine is [0-9]+ ms from the store's.*set it/),
    });
    expect(await members()).toEqual(before);
  });
});

describe("a setting is named, and the fix, where", () => {
  it.each([
    ["it is missing", { SVC_CASSANDRA: undefined }, /^SVC_CASSANDRA: is missing; name hosts/],
    ["the secret is missing", { SVC_CLUSTER_SECRET: undefined }, /^SVC_CLUSTER_SECRET: .*openssl rand/],
    ["nobody listens", { SVC_CASSANDRA: "127.0.0.1:1" }, /^SVC_CASSANDRA: .*127\.0\.0\.1:1.*is it running/s],
    [
      "there is no such data centre",
      { SVC_REGION: "no-where1", SVC_REGIONS: `${home},no-where1`, SVC_CASSANDRA_REPLICATION: undefined },
      /^SVC_REGION: .*no-where1.*data centre/s,
    ],
    [
      "copies are to be where no data centre is",
      {
        SVC_CASSANDRA_KEYSPACE: "never_made",
        SVC_REGIONS: `${home},no-where1`,
        SVC_CASSANDRA_REPLICATION: `${home}:1,no-where1:1`,
      },
      /^SVC_CASSANDRA_REPLICATION: .*no-where1.*data centres/s,
    ],
    [
      "its port is taken",
      { SVC_NODE_LISTEN: `${engines.cassandra[0]}:9042` },
      /^SVC_NODE_LISTEN: .*:9042.*name another/,
    ],
    [
      "a file cannot be read",
      {
        SVC_CLUSTER_SECRET: undefined,
        SVC_NODE_TLS_KEY_FILE: "/no",
        SVC_NODE_TLS_CERT_FILE: "/no",
        SVC_NODE_TLS_CA_FILE: "/no",
      },
      /^SVC_NODE_TLS_KEY_FILE: \/no cannot be read.*PEM/,
    ],
  ] as const)("%s", async (_what, settings, said) => {
    const before = await members();
    expect(await start(settings)).toEqual({ code: exitCodes.usage, said: expect.stringMatching(said) });
    expect(await members()).toEqual(before);
  });
});

/** Starts a node that would be a second one of the cluster except for these settings, and waits until it has ended. */
async function start(
  settings: Readonly<Record<string, string | undefined>>,
  program = "cli/main.ts",
): Promise<{ readonly code: number | null; readonly said: string }> {
  const child = spawn(process.execPath, [join(root, program), "start"], {
    cwd: root,
    env: {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      SVC_STORE: "cassandra",
      SVC_ENVIRONMENT: "sandbox",
      SVC_REGION: home,
      SVC_REGIONS: home,
      SVC_CLUSTER_NAME: cluster.name,
      SVC_CLUSTER_SECRET: randomBytes(32).toString("hex"),
      SVC_CASSANDRA: `${engines.cassandra[0]}`,
      SVC_CASSANDRA_KEYSPACE: cluster.keyspace,
      SVC_CASSANDRA_REPLICATION: `${home}:${engines.replication}`,
      SVC_ELASTICSEARCH: engines.elastic[0],
      SVC_NODE_LISTEN: "127.0.0.1:0",
      SVC_NODE_ADDRESS: "127.0.0.1:1",
      SVC_PORT_BASE: "0",
      SVC_HOME: await mkdtemp(join(folder, "node-")),
      SVC_SAMPLES: "no",
      NO_COLOR: "1",
      ...settings,
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = Promise.withResolvers<number | null>();
  child.once("close", ended.resolve);
  // A node that is not refused keeps running, which shows as a missing exit code.
  const timer = setTimeout(() => child.kill("SIGKILL"), startMaxMs);
  const code = await ended.promise;
  clearTimeout(timer);
  return { code, said };
}
