// Real documents of a running production node, judged by the offline verifier after each ceremony.

import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import {
  judge,
  type KeptAnswers,
  type ProductionParties,
  publishAndAsk,
  registerParties,
  startProductionNode,
} from "../../stories/operators/production-node.fixture.ts";
import type { RunningNode } from "../composition/start.ts";
import {
  certifyRequests,
  createPair,
  createWorking,
  type IssueRequest,
  writeAnchors,
  writeKeySet,
} from "./ceremonies.ts";
import { type IssuanceProcess, startIssuance } from "./issuance-server.ts";
import {
  dayMs,
  makeProductionKeys,
  type ProductionKeys,
  testPasskeys,
  windowOf,
} from "./production-keys.fixture.ts";
import { writeSecret } from "./secret-file.ts";

const region = "eu-west1";
const environment = "production";
let folder: string;
let made: ProductionKeys;
let node: RunningNode;
let issuance: IssuanceProcess;
let parties: ProductionParties;
const kept: KeptAnswers[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-ceremonies-"));
  made = await makeProductionKeys(join(folder, "ceremony"), { region, nowMs: Date.now() });
  await copyKeys();
  await writeSecret(join(folder, "clients.secret"));
  issuance = await serve("issuance");
  node = await startProductionNode(join(folder, "home"), region, {
    SVC_KEYS: made.node,
    SVC_ISSUANCE: `unix:${join(folder, "issuance.sock")}`,
    SVC_ISSUANCE_SECRET_FILE: join(folder, "clients.secret"),
  });
  parties = await registerParties(node);
  kept.push(await publishAndAsk(node, parties));
});
afterAll(async () => {
  await node?.[Symbol.asyncDispose]();
  await issuance?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function serve(pair: string): Promise<IssuanceProcess> {
  for (const file of ["anchors.json", "key-set.json"])
    await copyFile(made.path(file), join(made.path(pair), file));
  return startIssuance({
    keys: made.path(pair),
    clients: folder,
    audit: join(folder, "audit.log"),
    environment,
    listen: { socket: join(folder, "issuance.sock") },
    clock: { now: Date.now },
  });
}

const out = (name: string) => ({ path: made.path(name), replace: true });

async function copyKeys(): Promise<void> {
  for (const file of ["anchors.json", "key-set.json"]) await copyFile(made.path(file), join(made.node, file));
}

/** Issues the next set as the successor of the previous one, and lets the node adopt it. */
async function nextSet(changes: Partial<IssueRequest>): Promise<void> {
  await writeKeySet({
    issuance: made.path("issuance"),
    anchors: made.path("anchors.json"),
    environment,
    previous: made.path("key-set.json"),
    requests: [],
    certificates: [],
    ends: new Map(),
    compromised: new Map(),
    out: out("key-set.json"),
    nowMs: Date.now(),
    ...changes,
  });
  await copyKeys();
  expect(await node.services.currentKeys.takeOver()).toMatchObject({ status: "taken_over" });
}

async function judgeNow(
  answers: KeptAnswers,
  anchors = "anchors.json",
): Promise<Readonly<Record<string, string>>> {
  return judge(answers, {
    anchorsText: await readFile(made.path(anchors), "utf8"),
    keySetText: await readFile(made.path("key-set.json"), "utf8"),
  });
}

/** Everything kept earlier verifies under the current set. */
async function expectAllHold(anchors?: string): Promise<void> {
  for (const answers of kept) expect(await judgeNow(answers, anchors)).toEqual({});
}

const nowKeys = () => {
  const at = formatTimestamp(Date.now());
  const { projection, receipt, sidecar, statement } = node.services.keys;
  return [projection(at), receipt(at), sidecar(at), statement(at)].map(({ keyId }) => keyId);
};

async function makeWorking(name: string): Promise<void> {
  await createWorking({
    role: "serving",
    region,
    keys: made.node,
    public: out(name),
    nowMs: Date.now(),
    window: windowOf(Date.now(), 365 * dayMs),
  });
}

async function certify(root: string, name: string, until: string | null = null): Promise<string> {
  const file = `${root}-certifies-${name}`;
  await certifyRequests({
    root: made.path(root),
    requests: made.path(`${name}.json`),
    environment,
    until,
    out: out(file),
    nowMs: Date.now(),
  });
  return made.path(file);
}

describe("what a production node signed", () => {
  it("verifies under the anchors, with the certificates that the issuance process signed", async () => {
    await expectAllHold();
    const log = (await readFile(join(folder, "audit.log"), "utf8"))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(log).toHaveLength(4);
    expect(log[0]).toMatchObject({
      asked_by: "clients",
      outcome: "signed",
      kind: "certificate",
      subject: parties.businessUuid,
      says: "active",
      payload_hash: parties.certId,
      key_ids: issuance.keyIds,
    });
  });

  it("stays verifiable when working keys rotate, and the next is signed by the new ones without a restart", async () => {
    const before = nowKeys();
    await makeWorking("working-2.json");
    const ends = new Map(before.map((keyId) => [keyId, formatTimestamp(Date.now())]));
    await nextSet({ requests: [made.path("working-2.json")], ends });
    for (const keyId of nowKeys()) expect(before).not.toContain(keyId);
    kept.push(await publishAndAsk(node, parties));
    await expectAllHold();
    const served = await (await contractFetch(`${node.urls.verify_url}/.well-known/keys`)).text();
    expect(served).toBe(await readFile(made.path("key-set.json"), "utf8"));
  });

  it("stays verifiable up to the compromise of its keys, and not from then on", async () => {
    const stolen = nowKeys();
    const from = Date.now();
    const after = await publishAndAsk(node, parties);
    expect(await judgeNow(after)).toEqual({});
    await makeWorking("working-3.json");
    await nextSet({
      requests: [made.path("working-3.json")],
      compromised: new Map(stolen.map((keyId) => [keyId, formatTimestamp(from)])),
    });
    for (const keyId of nowKeys()) expect(stolen).not.toContain(keyId);
    await expectAllHold();
    expect(await judgeNow(after)).toMatchObject({ receipt: "key_compromised" });
    kept.push(await publishAndAsk(node, parties));
    await expectAllHold();
  });

  it("stays verifiable when the issuance pair rotates, ends and is compromised", async () => {
    await createPair({
      use: "issuance",
      keys: made.path("issuance-2"),
      public: out("issuance-2.json"),
      window: windowOf(Date.now(), 1_000 * dayMs),
    });
    await nextSet({ certificates: [await certify("root", "issuance-2")] });
    await issuance[Symbol.asyncDispose]();
    issuance = await serve("issuance-2");
    const second = await registerParties(node);
    expect((await readFile(join(folder, "audit.log"), "utf8")).trim().split("\n").at(-1)).toContain(
      issuance.keyIds[0],
    );
    kept.push(await publishAndAsk(node, second));
    const ended = await certify("root", "issuance", formatTimestamp(Date.now()));
    await nextSet({ issuance: made.path("issuance-2"), certificates: [ended] });
    await expectAllHold();
    await expect(nextSet({})).rejects.toThrow(/would not verify under the anchors \(key_not_valid\)/);
    const { key_id: lost } = JSON.parse(await readFile(made.path("issuance.json"), "utf8")).keys[0].keys[0];
    const compromised = new Map([[lost, formatTimestamp(Date.now())]]);
    await nextSet({ issuance: made.path("issuance-2"), compromised });
    await expectAllHold();
  });

  it("stays verifiable under the old and the new anchors after a succession of roots", async () => {
    await createPair({
      use: "root",
      keys: made.path("root-2"),
      public: out("root-2.json"),
      window: windowOf(Date.now(), 7_000 * dayMs),
    });
    const certificates = [
      await certify("root", "root-2"),
      await certify("root-2", "root"),
      await certify("root-2", "root-2"),
    ];
    await nextSet({ issuance: made.path("issuance-2"), certificates });
    const pin = (roots: readonly string[], file: string) =>
      writeAnchors({
        roots: roots.map(made.path),
        environment,
        passkeys: testPasskeys,
        logOrigin: "svc.test/log",
        out: out(file),
      });
    await pin(["root-2.json"], "anchors-2.json");
    await pin(["root.json", "root-2.json"], "anchors-both.json");
    kept.push(await publishAndAsk(node, parties));
    for (const anchors of ["anchors.json", "anchors-2.json", "anchors-both.json"])
      await expectAllHold(anchors);
    // The first root is lost; what it certified before remains valid, and the second vouches from here on.
    const { key_id: lost } = JSON.parse(await readFile(made.path("root.json"), "utf8")).keys[0].keys[0];
    await nextSet({
      issuance: made.path("issuance-2"),
      anchors: made.path("anchors-2.json"),
      compromised: new Map([[lost, formatTimestamp(Date.now())]]),
    });
    for (const anchors of ["anchors.json", "anchors-2.json", "anchors-both.json"])
      await expectAllHold(anchors);
  });

  it("is taken over from a file of its node alone when it is newer and verifies", async () => {
    const [inForce, file] = [node.services.keys.keySet(), join(made.node, "key-set.json")];
    const older = await makeProductionKeys(join(folder, "older"), { region, nowMs: Date.now() });
    await copyFile(older.path("key-set.json"), file);
    expect(await node.services.currentKeys.takeOver()).toMatchObject({
      status: "refused",
      detail: expect.stringMatching(/does not verify under the anchors/),
    });
    expect(node.services.keys.keySet()).toBe(inForce);
    expect(await node.services.currentKeys.takeOver()).toEqual({ status: "same" });
  });
});
