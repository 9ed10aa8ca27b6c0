// The whole life of a catalogue on a cluster of two regions with real engines: another node imports than the one that took the file,
// nodes are killed meanwhile, and the bytes of what was deleted are in no file of any engine and node in the end.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect } from "vitest";
import {
  openCluster,
  type TestCluster,
  type TestNode,
  testSeed,
} from "../../node/composition/cluster.fixture.ts";
import type { Sandbox } from "../../node/sandbox/sandbox-file.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import {
  type Addresses,
  type Disturbed,
  type StoryPlace,
  tellPushLife,
} from "../publishing/push-life.fixture.ts";
import { until } from "./cluster-load.fixture.ts";
import {
  type EngineFolder,
  engineFilesWith,
  engineFolders,
  flushEngines,
  writePlainTables,
} from "./engine-files.fixture.ts";

const home = "eu-west1";
const away = "us-east1";
const { random } = testSeed("life of a catalogue", 20_261_122);
const engines = enginesUnderTest();

const addressesOf = ({ urls }: TestNode): Addresses => ({
  base_url: urls.retrieval,
  business_url: urls.business,
  verify_url: urls.verification,
  ops_url: urls.ops,
});

let cluster: TestCluster;

describe("on a cluster of two regions, a catalogue's life", () => {
  let place: StoryPlace;
  beforeAll(async () => {
    const env = { SVC_PURGE_AFTER_HOURS: "0" };
    cluster = await openCluster({ engines, nodes: { [home]: 2, [away]: 1 }, env, samples: true });
    await writePlainTables(engines, cluster.keyspace);
    const [first, second, other] = cluster.nodes as readonly [TestNode, TestNode, TestNode];
    const sandbox = await sandboxOf(first);
    const folders: readonly EngineFolder[] = [
      ...(await engineFolders(engines)),
      ...cluster.nodes.map(({ name, home: path }) => ({ name: `node ${name}`, path })),
    ];
    place = {
      sandbox,
      at: {
        upload: addressesOf(first),
        import: addressesOf(second),
        decide: addressesOf(other),
        remove: addressesOf(second),
      },
      regions: [addressesOf(second), addressesOf(other)],
      disturb: async (moment, subject) => {
        // The file outlives the node that took it.
        if (moment === "uploaded") await first.kill();
        else if (moment === "imported") expect(await killHome(subject)).toBe(true);
        else await killHome(subject);
      },
      settleFiles: () => flushEngines(engines),
      tidyFiles: () => tidyEngines(),
      filesWith: (words) => engineFilesWith(folders, words),
      expectedFiles: [home, away].flatMap((region) => [
        new RegExp(`^cassandra ${region} data/.*/record-[^/]*/.*-Data.db`),
        // A segment of the commit log may have gone with the flush.
        new RegExp(`^elastic ${region}/`),
      ]),
    };
  }, 600_000);
  afterAll(() => cluster?.[Symbol.asyncDispose](), 120_000);

  tellPushLife(() => place);
});

/** What the first node writes once its samples are in. */
async function sandboxOf({ home: folder }: TestNode): Promise<Sandbox> {
  const read = () => readFile(join(folder, "sandbox.json"), "utf8").catch(() => "");
  await until(async () => (await read()) !== "");
  return JSON.parse(await read()) as Sandbox;
}

/** Kills every node of the home region while the push is processed, and starts them again. Returns whether it still was. */
async function killHome({ isOver }: Disturbed): Promise<boolean> {
  // A file that is held is judged within half a second on a machine that does nothing else.
  await wait(random() * 20);
  const isInterrupted = !(await isOver());
  if (isInterrupted) await Promise.all(cluster.nodesOf(home).map((node) => node.isRunning() && node.kill()));
  console.log(`${isInterrupted ? "killed" : "did not kill"} ${home}`);
  await everybodyBack();
  return isInterrupted;
}

async function everybodyBack(): Promise<void> {
  await Promise.all(cluster.nodes.map((node) => (node.isRunning() ? null : node.start())));
  await until(async () => (await Promise.all(cluster.nodes.map((node) => node.hasJoined()))).every(Boolean));
}

/** As the documents say: tables are compacted, and restarts begin new commit logs. */
async function tidyEngines(): Promise<void> {
  await flushEngines(engines);
  const restart = async (index: number): Promise<void> => {
    await engines.faults().killCassandra(index);
    await engines.faults().startCassandra(index);
  };
  await Promise.all(engines.cassandra.map((_, index) => restart(index)));
  await everybodyBack();
  await flushEngines(engines);
}
