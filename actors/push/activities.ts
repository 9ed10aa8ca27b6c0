// What a push actor has done outside.

import type { BusinessCommand } from "../messages/business.ts";
import type { PushCommand, PushFacts, RowReference } from "../messages/push.ts";
import { businessRef } from "../messages/refs.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";
import { createChunkPipelines } from "./chunk-pipeline.ts";
import type { PushPorts } from "./ports.ts";
import { chunksAhead, indexRows, type PublishedChunk, processChunk } from "./process-chunk.ts";

export function pushActivities(ports: PushPorts): Record<string, Activity> {
  const pipelines = createChunkPipelines<PublishedChunk>(chunksAhead);
  return {
    processChunk: (params: { facts: PushFacts; chunk: number }, context: ActivityContext) =>
      processChunk({ ports, pipelines }, params, context),
    indexChunk: (params: IndexChunk, context: ActivityContext) => indexChunk(ports, params, context),
    finishPush: (
      params: { push_id: string; business_uuid: string; chunks: number },
      context: ActivityContext,
    ) => finishPush(ports, params, context),
  };
}

interface IndexChunk {
  readonly collection: string;
  readonly chunk: number;
  readonly region: string;
}

/**
 * Tells a region's index again, from what is stored; a throw is tried again later. A region that was declared dead
 * meanwhile is not waited for: should it come back, its indexes are built anew.
 */
async function indexChunk(
  ports: Pick<PushPorts, "regions">,
  params: IndexChunk,
  context: ActivityContext,
): Promise<PushCommand> {
  const indexed: PushCommand = { type: "chunk.indexed", chunk: params.chunk, region: params.region };
  if (!ports.regions().includes(params.region)) return indexed;
  const question: PushCommand = { type: "push.references", chunk: params.chunk };
  const { references } = await context.ask<{ references: readonly RowReference[] }>(context.actor, question);
  const { collection, chunk } = params;
  if (!(await indexRows(params.region, { collection, chunk, references }, context)))
    throw new Error(`The index of region ${params.region} is unavailable.`);
  return indexed;
}

/** The business forgets what only a repetition would ask for, then the staged bytes go. */
async function finishPush(
  ports: PushPorts,
  params: { push_id: string; business_uuid: string; chunks: number },
  context: ActivityContext,
): Promise<null> {
  const command: BusinessCommand = { type: "push.finished", push_id: params.push_id, chunks: params.chunks };
  await context.ask(businessRef(params.business_uuid), command);
  await ports.records.dropStaged(context.actor.id);
  ports.trees.drop(context.actor.id);
  ports.parsed.drop(context.actor.id);
  return null;
}
