// More leaves within a day than Cassandra would walk over in one read: those that were sequenced are deleted in front of those that wait.

import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { nodeTimers } from "../../node/keeping/node-timers.ts";
import { formatHash, sha256, utf8 } from "../../protocol/bytes.ts";
import { openCassandraActorStore } from "../../storage/cassandra/actor-store.ts";
import { hasCassandra, mostPassedOver, openTestKeyspace } from "../../storage/cassandra/keyspace.fixture.ts";
import { actorTables } from "../../storage/cassandra/migrations.ts";
import type { LogStore, StoredCheckpoint } from "../../storage/log-store.ts";
import { appendedMax } from "../messages/log-sequencer.ts";
import { logRef } from "../messages/refs.ts";
import { createActorSystem } from "../system/runtime.ts";
import { logSequencerActivities } from "./activities.ts";
import { logSequencerActor } from "./definition.ts";

const leaves = 250_000;
const writers = 8;
const origin = "svc.test/log";

it.skipIf(!hasCassandra)(
  `sequences ${leaves} leaves, and no read passes over more than a thousand that were deleted`,
  async () => {
    await using keyspace = await openTestKeyspace(actorTables);
    const session = await keyspace.connect();
    const log = memoryLog();
    const system = createActorSystem({
      store: openCassandraActorStore(session, { region: session.localDc, now: Date.now }),
      definitions: [logSequencerActor({ origin, intervals: { leafMs: 0, receiptsMs: 0 } })],
      activities: logSequencerActivities({
        log,
        origin,
        sha256: nativeCrypto.sha256,
        sign: async (text) => text,
        cosign: async ({ note }) => ({ note }),
        keyFault: () => null,
        policy: "none",
        report: () => {},
      }),
      clock: { now: Date.now },
      timers: nodeTimers,
      entropy: { newOperationId: randomUUID },
      owner: "test/1",
    });
    let next = 0;
    const writer = async (): Promise<void> => {
      while (next < leaves) {
        const from = next;
        next += appendedMax;
        const entries = Array.from({ length: appendedMax }, (_, at) => {
          const leaf = formatHash(sha256(utf8(`seal ${from + at}`)));
          return { leaf, leaf_type: "seal", subject: "b" } as const;
        });
        await system.ask(logRef(), { type: "log.append", entries });
      }
    };
    await Promise.all(Array.from({ length: writers }, writer));
    await expect.poll(() => log.leaves(), { timeout: 600_000, interval: 500 }).toBeGreaterThanOrEqual(leaves);
    await system.drain(10_000);
    expect(await mostPassedOver(session, "actor")).toBeLessThanOrEqual(1_000);
    await session.close();
  },
  900_000,
);

function memoryLog(): LogStore & { readonly leaves: () => number } {
  const objects = new Map<string, Uint8Array>();
  const places = new Map<string, number>();
  let checkpoint: StoredCheckpoint | null = null;
  return {
    leaves: () => places.size,
    write: async (written, added) => {
      for (const { path, bytes } of written) objects.set(path, bytes);
      for (const { leaf, index } of added) places.set(leaf, index);
    },
    read: async (paths) => paths.map((path) => objects.get(path) ?? null),
    findLeaves: async (asked) => asked.map((leaf) => places.get(leaf) ?? null),
    publish: async (given) => {
      checkpoint = given;
    },
    readCheckpoint: async () => checkpoint,
    readNewestCheckpoint: async () => checkpoint,
  };
}
