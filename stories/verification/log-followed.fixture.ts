// The transparency log of a test cluster, as its readers follow it: it grows, and each tree continues the one before. For tests.

import { expect } from "vitest";
import { contractFetch } from "../../api/contract.fixture.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { LogSequencerContext } from "../../machines/log-sequencer.ts";
import type { TestCluster, TestNode } from "../../node/composition/cluster.fixture.ts";
import { parseHash } from "../../protocol/bytes.ts";
import { parseCheckpoint, parseNote } from "../../protocol/log/note.ts";
import { verifyConsistency } from "../../protocol/merkle.ts";
import { openBusiness, products } from "../regions/cluster-load.fixture.ts";

const patience = { timeout: 60_000, interval: 200 };

export interface SeenTree {
  readonly size: number;
  readonly root: Uint8Array;
}

export interface FollowedLog {
  /** What the region's readers see: the note as it is served, and the tree that it signs. */
  readonly note: (region: string) => Promise<string>;
  readonly tree: (region: string) => Promise<SeenTree>;
  /** Publishes something in a region, until the region's readers see a tree that is larger than it was. */
  readonly grow: (region: string, prefix: string) => Promise<SeenTree>;
  /** Whether the tree that a region serves now continues an earlier one. */
  readonly continues: (region: string, first: SeenTree) => Promise<boolean>;
  /** The sequencer's context; null where the region does not have it. */
  readonly sequencer: (region: string) => Promise<LogSequencerContext | null>;
}

/** The cluster's nodes add to the log at once (`SVC_LOG_INTERVAL_SECONDS=0`). */
export function followLog(cluster: TestCluster): FollowedLog {
  const urls = (region: string): TestNode["urls"] => cluster.node(`${region}-a`).urls;
  const note: FollowedLog["note"] = async (region) =>
    (await contractFetch(`${urls(region).verification}/v1/log/checkpoint`)).text();
  const tree: FollowedLog["tree"] = async (region) => {
    const parsed = parseNote(await note(region));
    const read = parsed.ok ? parseCheckpoint(parsed.value.text) : null;
    return read?.ok ? read.value : { size: 0, root: new Uint8Array() };
  };
  const sequencer: FollowedLog["sequencer"] = async (region) => {
    const answer = await contractFetch(`${urls(region).ops}/ops/actors/log-sequencer/svc-log`);
    return answer.status === 200 ? ((await answer.json()) as { context: LogSequencerContext }).context : null;
  };
  return {
    note,
    tree,
    sequencer,
    grow: async (region, prefix) => {
      const { size } = await tree(region);
      const business = await openBusiness(cluster, region);
      const push = await business.push(1, products(prefix, 3));
      await push.send({ patienceMs: 60_000 });
      await expect.poll(async () => (await tree(region)).size, patience).toBeGreaterThan(size);
      await expect.poll(async () => (await sequencer(region))?.pending, patience).toBe(0);
      return await tree(region);
    },
    continues: async (region, first) => {
      const second = await tree(region);
      const query = `first=${first.size}&second=${second.size}`;
      const answer = await contractFetch(`${urls(region).verification}/v1/log/consistency?${query}`);
      const { proof } = (await answer.json()) as { readonly proof: readonly string[] };
      const path = proof.map((each) => parseHash(each) ?? new Uint8Array());
      const roots = { firstRoot: first.root, secondRoot: second.root };
      return verifyConsistency(
        { firstSize: first.size, secondSize: second.size, path, ...roots },
        nativeCrypto.sha256,
      );
    },
  };
}
