// Fills the stores and every region's index with records as a push would: the chunks of a batch are processed by the
// service's own code. What a request and its actors decide is skipped; the business is never informed of these records.

import { setTimeout as delay } from "node:timers/promises";
import type {
  AssignReply,
  BusinessProtocol,
  LeafAssignment,
  LeafClaim,
} from "../../actors/messages/business.ts";
import type { ActorProtocols, KindOf } from "../../actors/messages/kinds.ts";
import type { CommandOf, CommandType, Message, ReplyOf } from "../../actors/messages/protocol.ts";
import type { PushFacts } from "../../actors/messages/push.ts";
import { type ActorRef, pushRef } from "../../actors/messages/refs.ts";
import { createChunkFailures } from "../../actors/push/chunk-failures.ts";
import { createChunkPipelines } from "../../actors/push/chunk-pipeline.ts";
import type { PushPorts } from "../../actors/push/ports.ts";
import { chunksAhead, type PublishedChunk, processChunk } from "../../actors/push/process-chunk.ts";
import type { ActivityContext, AskOptions } from "../../actors/system/definition.ts";
import type { SealedBatch } from "../../client/batch.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { chunkCount } from "../../machines/push.ts";
import type { NodeServices } from "../../node/services.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { buildTree, leafHash } from "../../protocol/merkle.ts";

export interface FillBatch {
  readonly businessUuid: string;
  readonly certId: string;
  readonly keyId: string;
  readonly records: readonly Uint8Array[];
  readonly batch: SealedBatch;
}

/** A region that has just started, or is slow, is retried. */
const attemptsMax = 20;
const retryMs = 500;

export async function fillWith(services: NodeServices, batch: FillBatch): Promise<void> {
  const { records: store, cluster, actors } = services;
  if (cluster === null) throw new Error("the node is alone");
  const facts = factsOf(batch, services.clock.now());
  const { push_id: id, batch_seal: seal } = batch.batch;
  await store.putSeal({ seal_id: id, envelope: JSON.stringify(seal), tree_size: facts.records });
  const { sha256 } = nativeCrypto;
  const tree = buildTree(
    batch.records.map((leaf) => leafHash(leaf, sha256)),
    sha256,
  );
  const ports: PushPorts = {
    records: store,
    crypto: nativeCrypto,
    projection: services.keys.projection,
    sidecar: services.keys.sidecar,
    parsed: { take: () => undefined, drop: () => {} },
    leaves: {
      load: async (_, first, count) => batch.records.slice(first, first + count),
      tree: async () => tree,
      drop: () => {},
    },
    paces: { inline: () => null, queued: () => null },
    planOf: async () => [],
    recordIdOf: services.recordIdOf,
    lists: services.lists,
    region: cluster.region,
    regions: cluster.regions,
  };
  const failures = createChunkFailures();
  const pipelines = createChunkPipelines<PublishedChunk>(chunksAhead);
  for (let chunk = 0; chunk < chunkCount(facts.records); chunk += 1) {
    for (
      let attempt = 1;
      !(await isEverywhere({ ports, pipelines, failures }, { facts, chunk, actors }));
      attempt += 1
    ) {
      if (attempt === attemptsMax) throw new Error(`chunk ${chunk} is not in every index`);
      await delay(retryMs);
    }
  }
}

/** Whether every region's index has the chunk. Repeating it changes nothing. */
async function isEverywhere(
  through: Parameters<typeof processChunk>[0],
  of: { readonly facts: PushFacts; readonly chunk: number; readonly actors: NodeServices["actors"] },
): Promise<boolean> {
  const { facts, chunk, actors } = of;
  const settled = await processChunk(through, { facts, chunk }, contextOf(actors, facts, chunk));
  return settled.type === "chunk.settle" && settled.unindexed.length === 0;
}

function contextOf(actors: NodeServices["actors"], facts: PushFacts, chunk: number): ActivityContext<"push"> {
  /** The business actor is never asked: its answer is made here. */
  const ask = <K extends KindOf<ActorProtocols>, T extends CommandType<ActorProtocols[K]>>(
    to: ActorRef<K>,
    command: CommandOf<ActorProtocols[K], T>,
    options?: AskOptions,
  ): Promise<ReplyOf<ActorProtocols[K], T>> => {
    const reply = answerOf(command, Date.parse(facts.received_at));
    return reply === null
      ? actors.ask(to, command, options)
      : (reply as Promise<ReplyOf<ActorProtocols[K], T>>);
  };
  const actor = pushRef(facts.business_uuid, facts.push_id);
  return { actor, workId: `fill.${chunk}`, nowMs: Date.now, ask, signal: { aborted: false } };
}

function answerOf(command: Message, assigned_at_ms: number): Promise<AssignReply> | null {
  if (!isAssign(command)) return null;
  return Promise.resolve({ assigned_at_ms, assignments: command.leaves.map(assigned) });
}

function isAssign(command: Message): command is CommandOf<BusinessProtocol, "chunk.assign"> {
  return command.type === "chunk.assign";
}

/** Assigns a leaf as a new record. */
function assigned({ leaf_index, record_id }: LeafClaim): LeafAssignment {
  return { leaf_index, record_id, outcome: "accepted", generation: 1, change: 1 };
}

function factsOf({ businessUuid, certId, keyId, records, batch }: FillBatch, nowMs: number): PushFacts {
  return {
    push_id: batch.push_id,
    business_uuid: businessUuid,
    path: "A",
    key_id: keyId,
    sealer: "system",
    collection: "products",
    seq: batch.seq,
    source: "api",
    mode: "queued",
    records: records.length,
    cert_id: certId,
    ai_policy_version: 0,
    sealed_at: batch.sealed_at,
    received_at: formatTimestamp(nowMs),
    mandates: null,
    own_names: [],
    number: 1,
  };
}
