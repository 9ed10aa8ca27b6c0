// Follows docs/production.md, «Backups» and «Restoring»: a cluster is backed up while it is used, and restored into empty
// engines. Everything that had been acknowledged is there and verifies, and what was under way goes on.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { evidenceOf, verifyEvidenceFile } from "../../client/evidence.ts";
import { createSvcClient, type SvcClient } from "../../client/service-client.ts";
import { openCluster, type PartyCaller, type TestCluster } from "../../node/composition/cluster.fixture.ts";
import { parsePasskeys } from "../../node/configuration/key-config.ts";
import { type Block, playedBlocks } from "../../node/keys/runbook.fixture.ts";
import { ensureSandboxKeys } from "../../node/keys/sandbox-keys.ts";
import { keySetFile } from "../../node/keys/trusted-files.ts";
import { utf8 } from "../../protocol/bytes.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import { createCqlClient, tokensOf } from "../../tools/engines/cassandra.ts";
import { readHost } from "../../tools/engines/host.ts";
import { type EngineProfile, nodetoolCommand, startProfile } from "../../tools/engines/profiles.ts";
import { type EnginesUnderTest, enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import { root } from "../../tools/process.ts";
import { createClient, type Exchange } from "../regions/cluster-client.fixture.ts";
import {
  openBusiness,
  productSearch,
  products,
  type TestBusiness,
  until,
} from "../regions/cluster-load.fixture.ts";
import { publicationFaults, receiptFaults } from "../regions/cluster-truth.fixture.ts";

const region = "eu-west1";
const records = products("kept", 120);
const later = products("under-way", 400);
const pages = await playedBlocks("production.md");
const played: Block[] = [];

let folder: string;
let cluster: TestCluster;
let business: TestBusiness;
let company: PartyCaller;
/** Searches and fetches before the backup, with their receipts, and what a company keeps of a record. */
let exchanges: readonly Exchange[];
let evidence: string;
const pushIds: string[] = [];
let engines: EngineProfile;
let restored: TestCluster | null = null;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-restore-"));
});
afterAll(async () => {
  await restored?.[Symbol.asyncDispose]();
  await cluster?.[Symbol.asyncDispose]();
  await engines?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** What a shell of the Cassandra machine has: its folder, the keyspace, `nodetool`, and `cqlsh` for one statement or file. */
interface Machine {
  readonly address: string;
  /** With `conf`, `data` and the commit log. */
  readonly folder: string;
}

/** Runs the commands of that kind under a title. */
async function play(title: string, kind: string, machine: Machine): Promise<void> {
  const block = pages.get(title)?.find((each) => each.kind === kind);
  if (block === undefined) throw new Error(`docs/production.md has no commands ${kind} under ${title}`);
  played.push(block);
  const host = readHost();
  const nodetool = (await nodetoolCommand(machine, host)).map((part) => `'${part}'`).join(" ");
  const cqlsh = `"${process.execPath}" "${join(root, "tools/engines/cqlsh.ts")}" ${machine.address} ${region}`;
  const [tag = ""] = await readdir(join(folder, "backup")).catch(() => []);
  const prelude = `set -euo pipefail\nnodetool() { ${nodetool} "$@"; }\ncqlsh() { ${cqlsh} "$@"; }\n`;
  await promisify(execFile)("bash", ["-c", prelude + block.script], {
    cwd: folder,
    env: {
      ...host.inherited,
      BACKUP: join(folder, "backup"),
      TAG: tag,
      KEYSPACE: cluster.keyspace,
      CASSANDRA_DATA: join(machine.folder, "data"),
      SVC_KEYS: keysFor(title),
    },
  });
}

function keysFor(title: string): string {
  return title === "Restoring" ? join(folder, "keys") : cluster.node(`${region}-a`).keys;
}

/** The machine of the engines under test, whose folder only it knows. */
async function sourceMachine(): Promise<Machine> {
  const [address = ""] = enginesUnderTest().cassandra;
  const client = createCqlClient({ address, dataCenter: region });
  const named = "SELECT value FROM system_views.settings WHERE name = 'data_file_directories'";
  const { rows } = await client.execute(named);
  await client.shutdown();
  const data = String(rows[0]?.["value"]).replaceAll(/[[\]"]/g, "");
  return { address, folder: dirname(data) };
}

function restoredMachine(): Machine {
  return { address: engines.cassandra[0]?.address ?? "", folder: join(folder, "engines", "cassandra-0") };
}

function clientAt(of: TestCluster): SvcClient {
  const { urls } = of.node(`${region}-a`);
  return createSvcClient({
    fetch: contractFetch,
    key: company.key,
    grant: company.grant,
    baseUrl: urls.retrieval,
    businessUrl: null,
    verifyUrl: urls.verification,
  });
}

async function evidenceFrom(of: TestCluster, recordId: string): Promise<string> {
  const client = clientAt(of);
  const caller = { environment: "sandbox", keyId: company.key.keyId } as const;
  return evidenceOf(client, await client.fetchRecord(recordId), caller);
}

function verdict(text: string, anchors: Anchors) {
  const judged = verifyEvidenceFile(utf8(text), { anchorsText: JSON.stringify(anchors), allowSandbox: true });
  if (!judged.ok) throw new Error(judged.detail);
  return { valid: judged.value.valid, complete: judged.value.complete };
}

function recordIdOf(text: string): string {
  return (JSON.parse(text) as { readonly fetched: { readonly record_id: string } }).fetched.record_id;
}

describe("a backup by docs/production.md", { timeout: 400_000 }, () => {
  it("is made while pushes are under way", async () => {
    cluster = await openCluster({ engines: enginesUnderTest(), nodes: { [region]: 1 } });
    business = await openBusiness(cluster, region);
    const push = await business.push(1, records);
    await push.send();
    await push.untilComplete();
    company = await cluster.newCompany();
    const asking = createClient(company, cluster.nodes);
    const found = await asking.expectAnswer(200, "retrieval", productSearch);
    const [row] = found.json["rows"] as readonly { readonly record_id: string }[];
    evidence = await evidenceFrom(cluster, row?.record_id ?? "");
    exchanges = asking.exchanges;
    const underWay = await business.push(2, later);
    await underWay.send();
    await underWay.untilSettled(1);
    pushIds.push(push.pushId, underWay.pushId);
    await mkdir(join(folder, "backup"));
    await play("Backups", "machine", await sourceMachine());
    await play("Backups", "recipient", await sourceMachine());
    await play("Backups", "keys", await sourceMachine());
    const cms = await readFile(join(folder, "keys.cms"));
    expect(cms.includes('"d":')).toBe(false);
    // The cluster is lost, with its keys.
    await cluster[Symbol.asyncDispose]();
  });

  it("is refused by its sums where a byte of it changed", async () => {
    const [tag = ""] = await readdir(join(folder, "backup"));
    const schema = join(folder, "backup", tag, "schema.cql");
    const text = await readFile(schema, "utf8");
    expect(text).toMatch(/CREATE TABLE \S+\.actor/);
    await writeFile(schema, `${text} `);
    engines = await startProfile("one", { folder: join(folder, "engines") });
    await expect(play("Restoring", "check", restoredMachine())).rejects.toThrow(/did NOT match/);
    await writeFile(schema, text);
    await play("Restoring", "check", restoredMachine());
    const tokens = (await readFile(join(folder, "backup", tag, "tokens"), "utf8")).trim().split(",");
    const address = restoredMachine().address;
    expect(tokens.sort()).toEqual([...tokensOf({ address, ring: [address] })].sort());
  });

  it("is restored into empty engines", async () => {
    await play("Restoring", "tables", restoredMachine());
    await play("Restoring", "drain", restoredMachine());
    expect(scriptOf("stop")).toEqual(["systemctl stop cassandra"]);
    await engines.killCassandra(0);
    await play("Restoring", "files", restoredMachine());
    expect(scriptOf("start")).toEqual(["systemctl start cassandra"]);
    await engines.startCassandra(0);
    await play("Restoring", "repair", restoredMachine());
    await play("Restoring", "keys", restoredMachine());
    const keys = keysFor("Restoring");
    for (const name of (await readdir(keys)).filter((each) => each.endsWith(".jwk")))
      expect((await stat(join(keys, name))).mode & 0o777).toBe(0o600);
    const there: EnginesUnderTest = {
      cassandra: engines.cassandra.map(({ address }) => address),
      elastic: engines.elastic.map(({ url }) => url),
      regions: [region],
      replication: 1,
      faults: () => engines,
    };
    restored = await openCluster({
      engines: there,
      nodes: { [region]: 1 },
      restored: { name: cluster.name, keys },
    });
  });

  it("has everything that was acknowledged, and goes on with what was under way", async () => {
    const now = restored as TestCluster;
    const again = createClient(business.caller, now.nodes);
    for (const pushId of pushIds) {
      const path = `/v1/pushes/${pushId}`;
      await until(async () => {
        const status = await again.expectAnswer(200, "business", { path, tag: "svc-business-read" });
        return status.json["state"] === "complete";
      });
    }
    const published = [...records, ...later].map((bytes) => [bytes]);
    const publication = { business: business.caller.uuid, published, regions: [region] };
    // A search is answered once the index has been built from the records, which happens by itself.
    await createClient(company, now.nodes).expectAnswer(200, "retrieval", productSearch);
    expect(await publicationFaults(now, publication)).toEqual([]);
    expect(await receiptFaults(now, { region, exchanges })).toEqual([]);
  });

  it("verifies, and so does what is answered from now on", async () => {
    const now = restored as TestCluster;
    const { keys } = now.node(`${region}-a`);
    const passkeys = parsePasskeys({}, "sandbox");
    if (passkeys === null) throw new Error("a sandbox has a portal");
    const { anchors } = await ensureSandboxKeys({
      store: now.keyStore,
      path: join(keys, keySetFile),
      regions: [region],
      nowMs: Date.now(),
      passkeys,
    });
    const fresh = await evidenceFrom(now, recordIdOf(evidence));
    for (const text of [evidence, fresh])
      expect(verdict(text, anchors)).toEqual({ valid: true, complete: true });
    const stored = (text: string) => {
      const { fetched } = JSON.parse(text) as { readonly fetched: Readonly<Record<string, unknown>> };
      return [fetched["record"], fetched["seal"]];
    };
    expect(stored(fresh)).toEqual(stored(evidence));
  });

  it("is played to the end", () => {
    const all = ["Backups", "Restoring"].flatMap((title) => pages.get(title) ?? []);
    const byHand = ["stop", "start"];
    expect(all.filter((block) => !played.includes(block) && !byHand.includes(block.kind))).toEqual([]);
  });
});

function scriptOf(kind: string): readonly string[] {
  const script = pages.get("Restoring")?.find((each) => each.kind === kind)?.script ?? "";
  return script.trim().split("\n");
}
