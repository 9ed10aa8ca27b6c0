// Follows docs/production.md, «The first region» and «The second region», after what they refer to: two regions of production
// nodes with TLS everywhere. What the first region published before the second one existed is found in both.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { publishBody, sealBatch } from "../../client/batch.ts";
import { SvcProblemError } from "../../client/errors.ts";
import { evidenceOf, verifyEvidenceFile } from "../../client/evidence.ts";
import { createSvcClient, type SvcClient } from "../../client/service-client.ts";
import type { SigningKey } from "../../client/signing-key.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { readReplication } from "../../storage/cassandra/keyspaces.ts";
import { openCassandraSession } from "../../storage/cassandra/session.ts";
import { enginesUnderTest } from "../../tools/engines/under-test.fixture.ts";
import {
  type ProductionParties,
  registerParties,
  startProductionNode,
} from "../operators/production-node.fixture.ts";
import { product } from "../publishing/publishing.fixture.ts";
import { balancedFetch, publicUrls } from "./balancer.fixture.ts";
import type { ElasticGate } from "./engine-gates.fixture.ts";
import { FollowedCluster, FollowedPage, type Settings } from "./followed-cluster.fixture.ts";

const [home, other] = ["eu-west1", "us-east1"] as const;
const [first, second, third, desk] = ["10.0.1.7", "10.0.1.8", "10.1.1.7", "10.0.1.9"] as const;
const [one, step, two] = ["The first region", "A node, step by step", "The second region"] as const;
const engines = enginesUnderTest();
const keys = await FollowedPage.open("keys.md");
const page = await FollowedPage.open("production.md");
const testMaxMs = 300_000;
/** A caller that does as it is told, also where a node on a slow machine loses its lease for a moment. */
const patiently = { maxAttempts: 15, maxDelayMs: 5_000 };
const patience = { timeout: 60_000, interval: 250 };

let isBroken = false;
let cluster: FollowedCluster;
let parties: ProductionParties;
/** The settings of each node, by the name of its home folder. */
const nodes = new Map<string, Settings>();
/** Identifiers of what was published: before there was a second region, and before it had a node. */
const published: { readonly pushId: string; readonly recordId: string }[] = [];

beforeAll(async () => {
  cluster = await FollowedCluster.open({ engines, hosts: [first, second, third, desk] });
});
afterAll(() => cluster?.[Symbol.asyncDispose]());
// What follows a step that failed would only wait for what never comes.
beforeEach(({ onTestFailed, skip }) => {
  if (isBroken) skip("an earlier step failed");
  onTestFailed(() => {
    isBroken = true;
  });
});

async function replication(): Promise<object> {
  const connection = { contactPoints: [engines.cassandra[0] ?? ""], localDc: home };
  const session = await openCassandraSession({ ...connection, keyspace: "" });
  return await readReplication(session, cluster.name).finally(() => session.close());
}

/** Gates in front of a region's engines, with the page's passwords and a certificate of the page's authority. */
async function openGates(
  region: string,
  onPage: { cassandra: string; elastic: string },
): Promise<ElasticGate> {
  await cluster.run(`
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=engines of ${region}" -keyout ${region}.key -out ${region}.csr
    printf 'subjectAltName=IP:127.0.0.1\\n' > ${region}.ext
    openssl x509 -req -in ${region}.csr -CA engines-ca.pem -CAkey offline/engines-ca.key -CAcreateserial -days 30 -extfile ${region}.ext -out ${region}.pem`);
  const read = async (name: string) => (await readFile(join(cluster.folder, name), "utf8")).trim();
  const login = async (engine: string) => ({
    username: "svc_node",
    password: await read(`${engine}.secret`),
  });
  return await cluster.openGates(region, {
    onPage,
    identity: { key: await read(`${region}.key`), cert: await read(`${region}.pem`) },
    logins: { cassandra: await login("cassandra"), elastic: await login("elasticsearch") },
  });
}

/** Witnesses are others' to run, so the steps name none; everything else is as it should be. */
function expectSafe(said: string): void {
  expect(said.split("\n")).toEqual([
    expect.stringMatching(/^warning log_unwitnessed {2}SVC_LOG_WITNESSES /),
    expect.stringMatching(/^ {2}Name witnesses that others run/),
    "Nothing unsafe was found.",
    "",
  ]);
}

/**
 * What a node answers at /readyz once nothing is missing, and what the doctor says after it. On a slow machine a node may lose
 * its lease for a moment, and an operator would look again.
 */
async function followWhole(): Promise<void> {
  const script = page.next(one, "whole");
  const [ready = "", ...doctor] = (await settled(script)).split("\n");
  expect(JSON.parse(ready)).toMatchObject({ ready: true, degraded: [], plain_text: [] });
  expectSafe(doctor.join("\n"));
}

/** What commands print that only look, once they succeed. */
async function settled(script: string): Promise<string> {
  let said = "";
  const run = async (): Promise<boolean> => {
    said = await cluster.run(script);
    return true;
  };
  await expect.poll(run, patience).toBe(true);
  return said;
}

async function expectMembers(script: string, regions: ReturnType<typeof membersOf>): Promise<void> {
  await expect.poll(async () => membersOf(await cluster.run(script)), patience).toEqual(regions);
}

/** The members as the page's commands show them: `address state`, by region. */
function membersOf(said: string): Readonly<Record<string, readonly string[]>> {
  const state = JSON.parse(said.trim().split("\n").at(-1) ?? "") as {
    readonly regions: readonly {
      readonly region: string;
      readonly members: readonly { readonly address: string; readonly state: string }[];
    }[];
  };
  return Object.fromEntries(
    state.regions.map(({ region, members }) => [
      region,
      members.map(({ address, state: at }) => `${address} ${at}`).toSorted(),
    ]),
  );
}

const active = (...hosts: readonly string[]) =>
  hosts.map((host) => `${cluster.hostOf(host)}:7390 active`).toSorted();

function clientAt(node: string, key: SigningKey, retry = patiently): SvcClient {
  const settings = nodes.get(node) ?? {};
  return createSvcClient({ fetch: balancedFetch(settings), key, ...publicUrls(settings), retry });
}

async function publish(node: string, seq: number): Promise<void> {
  const records = [product(`stone-${seq}`, { brand: `Brand ${seq}` })];
  const facts = { businessUuid: parties.businessUuid, certId: parties.certId, aiPolicyVersion: 0 };
  const about = { ...facts, recordType: "products", seq, sealedAtMs: Date.now() } as const;
  const batch = await sealBatch(records, about, parties.integration);
  const { body } = await clientAt(node, parties.integration).publishProducts({
    body: publishBody(batch.batch_seal, records),
    idempotencyKey: `key-${seq}`,
  });
  const recordId = body.results[0]?.record_id;
  if (recordId === null || recordId === undefined) throw new Error(JSON.stringify(body));
  published.push({ pushId: body.batch_id, recordId });
}

function search(
  node: string,
  seq: number,
  retry?: { readonly maxAttempts: number; readonly maxDelayMs: number },
) {
  return clientAt(node, parties.company, retry).search({
    collection: "products",
    sort_by: "published_at:desc",
    filter: { all: [{ country: "US" }, { brand: `Brand ${seq}` }] },
  });
}

/** What a refusal says; anything else that fails fails the test. */
function problemOf(error: unknown): object {
  if (!(error instanceof SvcProblemError)) throw error;
  const { status, code, problem } = error;
  return { status, code, problem };
}

async function found(node: string, seq: number): Promise<readonly string[]> {
  return (await search(node, seq)).body.rows.map((row) => row.record_id);
}

async function stateOf(push: { readonly pushId: string } | undefined): Promise<string> {
  const { body } = await clientAt("node-1", parties.integration).pushStatus(push?.pushId ?? "");
  return body.state;
}

/** Registers a business and a company at a node in this process, as a further one of the first region. */
async function register(certificate: string): Promise<void> {
  await cluster.run(certificate.replaceAll("node-2", "desk").replaceAll(second, desk));
  const host = cluster.hostOf(desk);
  const { SVC_OPS_LISTEN: _, ...settings } = nodes.get("node-1") ?? {};
  await using node = await startProductionNode(join(cluster.folder, "desk"), home, {
    ...settings,
    SVC_HOST: host,
    SVC_NODE_LISTEN: `${host}:7390`,
    SVC_NODE_ADDRESS: `${host}:7390`,
    SVC_NODE_TLS_KEY_FILE: join(cluster.folder, "desk", "tls.key"),
    SVC_NODE_TLS_CERT_FILE: join(cluster.folder, "desk", "tls.pem"),
  });
  // A node that is told «later» is asked again; what a failed attempt registered is never used.
  const registered = async (): Promise<boolean> => {
    parties = await registerParties(node);
    return true;
  };
  await expect.poll(registered, patience).toBe(true);
}

describe("docs/production.md", { timeout: testMaxMs }, () => {
  it("makes a first region, whose nodes know each other by their certificates", async () => {
    await cluster.runOnCassandra(home, page.next(one, "keyspace"));
    for (const title of ["The root", "The root", "The issuance pair", "The issuance process"])
      await cluster.run(keys.next(title));
    for (let block = 0; block < 2; block += 1)
      await cluster.run(keys.next("Working keys and the first key set"));
    cluster.serve(keys.next("The issuance process", "service"), "issuance");
    for (let block = 0; block < 2; block += 1) await cluster.run(page.next(step));
    await openGates(home, { cassandra: "10.0.0.1,10.0.0.2,10.0.0.3", elastic: "10.0.0.4:9200" });
    await cluster.set(page.next(step, "settings"));
    nodes.set("node-1", cluster.settings);
    expectSafe(await cluster.run(page.next(one, "doctor")));
    cluster.serve(page.next(one, "service"));
    await followWhole();

    const certificate = page.next(one);
    await cluster.run(certificate);
    await cluster.set(page.next(one, "settings"));
    nodes.set("node-2", cluster.settings);
    expectSafe(await cluster.run(page.next(one, "doctor")));
    cluster.serve(page.next(one, "service"));
    await followWhole();
    await expectMembers(page.next(one, "cluster"), { [home]: active(first, second) });
    expect(page.left(one)).toEqual([]);
    await register(certificate);
  });

  it("lets it serve alone", async () => {
    await publish("node-2", 1);
    await expect.poll(() => stateOf(published[0]), patience).toBe("complete");
    expect(await found("node-1", 1)).toEqual([published[0]?.recordId]);
    expect(await replication()).toEqual({ [home]: engines.replication });
  });

  it("gives the second region the data, keys and the first one's attention, before it has a node", async () => {
    const ring = await cluster.runOnCassandra(home, page.next(two, "ring"));
    expect(ring.match(/^Datacenter: \S+$|^UN /gm)).toEqual([
      `Datacenter: ${home}`,
      "UN ",
      `Datacenter: ${other}`,
      "UN ",
    ]);
    await cluster.runOnCassandra(home, page.next(two, "extend"));
    expect(await replication()).toEqual({ [home]: engines.replication, [other]: engines.replication });
    await cluster.runOnCassandra(other, page.next(two, "rebuild"));
    expect(await cluster.run(page.next(two))).toMatch(/^receipt us-east1 /m);
    await cluster.run(page.next(two, "taken"));
    const [setting, restart, ready] = ["regions", "restart", "ready"].map((kind) => page.next(two, kind));
    expect(restart?.trim()).toBe("systemctl restart svc-node");
    for (const [name, settings] of nodes) {
      cluster.use(settings);
      await cluster.set(setting ?? "");
      nodes.set(name, cluster.settings);
      await cluster.stop(name);
      cluster.serve("svc start");
      expect(JSON.parse(await cluster.run(ready ?? ""))).toMatchObject({ ready: true });
    }
    await publish("node-1", 2);
    await expect.poll(() => found("node-1", 2), patience).toEqual([published[1]?.recordId]);
    expect(await stateOf(published[1])).toBe("processing");
  });

  it("refuses searches in the second region until its index is whole, and nothing else", async () => {
    await cluster.run(page.next(two));
    const gate = await openGates(other, {
      cassandra: "10.1.0.1,10.1.0.2,10.1.0.3",
      elastic: "10.1.0.4:9200",
    });
    gate.hold();
    await cluster.set(page.next(two, "settings"));
    nodes.set("node-3", cluster.settings);
    expectSafe(await cluster.run(page.next(two, "doctor")));
    cluster.serve(page.next(two, "service"));
    await expect.poll(() => gate.waiting, { ...patience, timeout: 120_000 }).toBeGreaterThan(0);
    const ready = page.next(two, "ready");
    await expect
      .poll(async () => JSON.parse(await cluster.run(ready)), patience)
      .toMatchObject({ ready: true, degraded: ["index"], plain_text: [] });
    const refusal = () => search("node-3", 1, { maxAttempts: 1, maxDelayMs: 0 }).then(() => null, problemOf);
    await expect
      .poll(refusal, patience)
      .toMatchObject({ status: 503, code: "unavailable", problem: { reason: "index" } });
    const { body } = await clientAt("node-3", parties.company).fetchRecord(published[0]?.recordId ?? "");
    expect(body.record_id).toBe(published[0]?.recordId);
    gate.release();
    const regions = { [home]: active(first, second), [other]: active(third) };
    await expectMembers(page.next(two, "whole"), regions);
    expectSafe(await settled(page.next(two, "doctor")));
    expect(page.left(two)).toEqual([]);
  });

  it("finds there what was published before, and from now on each region what the other one takes", async () => {
    for (const seq of [1, 2]) expect(await found("node-3", seq)).toEqual([published[seq - 1]?.recordId]);
    await publish("node-3", 3);
    await publish("node-2", 4);
    for (const push of published) await expect.poll(() => stateOf(push), patience).toBe("complete");
    for (const seq of [3, 4])
      for (const node of nodes.keys()) expect(await found(node, seq)).toEqual([published[seq - 1]?.recordId]);
  });

  it("answers in the second region with proof under the same anchors, by its own keys", async () => {
    const client = clientAt("node-3", parties.company);
    const fetched = await client.fetchRecord(published[0]?.recordId ?? "");
    const caller = { environment: "production", keyId: parties.company.keyId } as const;
    const evidence = await evidenceOf(client, fetched, caller);
    const anchorsText = await readFile(join(cluster.folder, "anchors.json"), "utf8");
    const judged = verifyEvidenceFile(utf8(evidence), { anchorsText, allowSandbox: false });
    expect(judged).toMatchObject({ ok: true, value: { valid: true } });
    const ids = (await cluster.run("svc keys id us-east1-1.json --use receipt")).trim().split("\n");
    expect(ids).toContain(fetched.body.receipt.signatures[0]?.keyid);
  });
});
