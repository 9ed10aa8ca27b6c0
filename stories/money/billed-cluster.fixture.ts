// A production cluster that charges an AI company for what it is served. Its nodes speak to each other over mutual TLS, and to the
// engines in the clear, which the test's machine is allowed to. For tests.

import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openCluster, type TestCluster } from "../../node/composition/cluster.fixture.ts";
import type { RunningNode } from "../../node/composition/start.ts";
import { type IssuanceProcess, startIssuance } from "../../node/keys/issuance-server.ts";
import { makeProductionKeys } from "../../node/keys/production-keys.fixture.ts";
import { writeSecret } from "../../node/keys/secret-file.ts";
import { type Anchors, parseAnchors } from "../../protocol/keys/anchors.ts";
import type { EnginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { freePorts } from "../../tools/free-ports.ts";
import { makeCertificate } from "../../transport/ws/certificate.fixture.ts";
import {
  type ProductionParties,
  registerParties,
  startProductionNode,
} from "../operators/production-node.fixture.ts";
import { prices } from "./billed-node.fixture.ts";

export interface BilledCluster extends AsyncDisposable {
  readonly cluster: TestCluster;
  readonly anchors: Anchors;
  readonly parties: ProductionParties;
}

type Settings = Readonly<Record<string, string>>;

export async function openBilledCluster(
  engines: EnginesUnderTest,
  nodes: Readonly<Record<string, number>>,
): Promise<BilledCluster> {
  const folder = await mkdtemp(join(tmpdir(), "svc-billed-cluster-"));
  const { settings, issuance, anchors } = await prepare(folder, Object.keys(nodes));
  const close = async (): Promise<void> => {
    await issuance[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    // Nodes that know each other by certificate have no secret.
    const env = { ...settings, SVC_CLUSTER_SECRET: undefined };
    const cluster = await openCluster({ engines, nodes, env });
    const parties = await register(cluster, join(folder, "guest"), settings);
    return {
      cluster,
      anchors,
      parties,
      [Symbol.asyncDispose]: async () => {
        await cluster[Symbol.asyncDispose]();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Keys, an issuance process, certificates and prices, and the settings that name them. */
async function prepare(
  folder: string,
  [region = "", ...otherRegions]: readonly string[],
): Promise<{ readonly settings: Settings; readonly issuance: IssuanceProcess; readonly anchors: Anchors }> {
  const file = (name: string): string => join(folder, name);
  const made = await makeProductionKeys(file("ceremony"), {
    region,
    otherRegions,
    nowMs: Date.now(),
    hasLog: true,
  });
  for (const name of ["anchors.json", "key-set.json"])
    for (const to of [made.node, made.path("issuance")]) await copyFile(made.path(name), join(to, name));
  await writeSecret(file("clients.secret"));
  await writeFile(file("prices.json"), JSON.stringify(prices));
  const anchors = parseAnchors(JSON.parse(await readFile(made.path("anchors.json"), "utf8")));
  if (!anchors.ok) throw new Error(anchors.detail);
  const issuance = await startIssuance({
    keys: made.path("issuance"),
    clients: folder,
    audit: file("audit.log"),
    environment: "production",
    listen: { socket: file("issuance.sock") },
    clock: { now: Date.now },
  });
  const settings = {
    SVC_ENVIRONMENT: "production",
    SVC_KEYS: made.node,
    SVC_PRICES: file("prices.json"),
    SVC_ISSUANCE: `unix:${file("issuance.sock")}`,
    SVC_ISSUANCE_SECRET_FILE: file("clients.secret"),
    ...(await traffic(folder)),
  };
  return { settings, issuance, anchors: anchors.value };
}

/** Mutual TLS between the nodes, with a certificate in a folder; the engines in the clear, and nobody asked on the Internet. */
export async function traffic(folder: string): Promise<Settings> {
  const file = (name: string): string => join(folder, `${name}.pem`);
  for (const [name, text] of Object.entries(makeCertificate("nodes of the test", ["127.0.0.1"])))
    await writeFile(file(name), String(text), { mode: 0o600 });
  return {
    SVC_NODE_TLS_KEY_FILE: file("key"),
    SVC_NODE_TLS_CERT_FILE: file("cert"),
    SVC_NODE_TLS_CA_FILE: file("ca"),
    SVC_DOMAIN_CHECKS: "no",
    SVC_CASSANDRA_INSECURE: "yes",
    SVC_ELASTICSEARCH_INSECURE: "yes",
  };
}

/** A node in this process joins the cluster, registers the parties as a portal would, and leaves. */
async function register(cluster: TestCluster, home: string, settings: Settings): Promise<ProductionParties> {
  await using guest = await joinAsGuest(cluster, home, settings);
  return await registerParties(guest);
}

/** A node in this process that joins the first region of a cluster. */
export async function joinAsGuest(
  { engines, name, keyspace, nodes }: TestCluster,
  home: string,
  settings: Settings,
): Promise<RunningNode> {
  const regions = [...new Set(nodes.map(({ region }) => region))];
  const [region = ""] = regions;
  const at = engines.regions.indexOf(region);
  const listen = `127.0.0.1:${await freePorts(1)}`;
  return startProductionNode(home, region, {
    ...settings,
    SVC_STORE: "cassandra",
    SVC_CLUSTER_NAME: name,
    SVC_REGIONS: regions.join(","),
    SVC_CASSANDRA: `${engines.cassandra[at]}:9042`,
    SVC_CASSANDRA_KEYSPACE: keyspace,
    SVC_CASSANDRA_REPLICATION: regions.map((each) => `${each}:${engines.replication}`).join(","),
    SVC_ELASTICSEARCH: engines.elastic[at] ?? "",
    SVC_NODE_LISTEN: listen,
    SVC_NODE_ADDRESS: listen,
  });
}
