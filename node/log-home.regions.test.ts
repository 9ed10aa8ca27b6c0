// The transparency log and its home region: operators move it, and its home is lost. Those who follow the log see one tree.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contractFetch } from "../api/contract.fixture.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { LogSequencerContext } from "../machines/log-sequencer.ts";
import { parseHash } from "../protocol/hash.ts";
import { parseCheckpoint, parseNote } from "../protocol/log/note.ts";
import { verifyConsistency } from "../protocol/merkle.ts";
import { enginesUnderTest } from "../tools/engines/under-test.fixture.ts";
import { openCluster, type TestCluster, type TestNode } from "./cluster.fixture.ts";
import { openBusiness, products } from "./cluster-load.fixture.ts";
import { ordered } from "./cluster-ops.fixture.ts";

const lost = "eu-west1";
const left = "us-east1";
const testMaxMs = 300_000;
const patience = { timeout: 60_000, interval: 200 };
const engines = enginesUnderTest();
let cluster: TestCluster;
let isLost = false;

beforeAll(async () => {
  const env = { SVC_LOG_INTERVAL_SECONDS: "0" };
  cluster = await openCluster({ engines, nodes: { [lost]: 1, [left]: 1 }, env });
});
afterAll(async () => {
  // The tests that follow use the same engines.
  const at = engines.regions.indexOf(lost);
  if (isLost) await Promise.all([engines.faults().startCassandra(at), engines.faults().startElastic(at)]);
  await cluster?.[Symbol.asyncDispose]();
});

function nodeOf(region: string): TestNode {
  const [node] = cluster.nodesOf(region);
  if (node === undefined) throw new Error(`${region} has no node.`);
  return node;
}

async function checkpoint(region: string) {
  const answer = await contractFetch(`${nodeOf(region).urls.verification}/v1/log/checkpoint`);
  const note = parseNote(await answer.text());
  const read = answer.status === 200 && note.ok ? parseCheckpoint(note.value.text) : null;
  return read?.ok ? read.value : { size: 0, root: new Uint8Array() };
}

/** Publishes something in a region, until the region's readers see a checkpoint that is larger than it was. */
async function grow(region: string, prefix: string) {
  const { size } = await checkpoint(region);
  const business = await openBusiness(cluster, region);
  const push = await business.push(1, products(prefix, 3));
  await push.send({ patienceMs: 60_000 });
  await expect.poll(async () => (await checkpoint(region)).size, patience).toBeGreaterThan(size);
  await expect.poll(async () => (await sequencer(region))?.pending, patience).toBe(0);
  return await checkpoint(region);
}

async function sequencer(region: string): Promise<LogSequencerContext | null> {
  const answer = await contractFetch(`${nodeOf(region).urls.ops}/ops/actors/log-sequencer/svc-log`);
  return answer.status === 200 ? ((await answer.json()) as { context: LogSequencerContext }).context : null;
}

/** Whether the tree that a region serves now continues an earlier one. */
async function continues(region: string, first: { readonly size: number; readonly root: Uint8Array }) {
  const second = await checkpoint(region);
  const query = `first=${first.size}&second=${second.size}`;
  const answer = await contractFetch(`${nodeOf(region).urls.verification}/v1/log/consistency?${query}`);
  const { proof } = (await answer.json()) as { readonly proof: readonly string[] };
  const path = proof.map((each) => parseHash(each) ?? new Uint8Array());
  const roots = { firstRoot: first.root, secondRoot: second.root };
  return verifyConsistency(
    { firstSize: first.size, secondSize: second.size, path, ...roots },
    nativeCrypto.sha256,
  );
}

describe("the home of the transparency log", () => {
  it("is moved by operators, and the log goes on", { timeout: testMaxMs }, async () => {
    const before = await grow(lost, "before");
    expect(await ordered(nodeOf(lost), "moves", { party: "svc-log", to: left })).toBe("moved");
    await grow(left, "moved");
    expect(await continues(left, before)).toBe(true);
    expect(await ordered(nodeOf(left), "moves", { party: "svc-log", to: lost })).toBe("moved");
    await grow(lost, "back");
    expect(await continues(lost, before)).toBe(true);
    const note =
      (await (await contractFetch(`${nodeOf(left).urls.verification}/v1/log/checkpoint`)).text()) ?? "";
    expect(await ordered(nodeOf(left), "log-checkpoint", { checkpoint: note })).toBe("log_not_held");
    const other = note.replace("\n", "x\n");
    expect(await ordered(nodeOf(left), "log-checkpoint", { checkpoint: other })).toBe("checkpoint_invalid");
  });

  it("is lost, and its successor continues what was published", { timeout: testMaxMs }, async () => {
    const before = await grow(lost, "last");
    await expect.poll(async () => (await checkpoint(left)).size, patience).toBe(before.size);
    isLost = true;
    const at = engines.regions.indexOf(lost);
    await Promise.all([
      nodeOf(lost).kill(),
      engines.faults().killCassandra(at),
      engines.faults().killElastic(at),
    ]);
    expect(await ordered(nodeOf(left), "declare-dead", { region: lost, successor: left })).toBe("declared");
    const after = await grow(left, "after");
    expect(after.size).toBeGreaterThan(before.size);
    expect(await continues(left, before)).toBe(true);
    expect(await sequencer(left)).toMatchObject({ era: 1, held: null, unwitnessed: null });
  });
});
