// What a push actor has done outside.

import { indexDocument } from "../../collections/index-document.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import type { RowChange } from "../../storage/row-index.ts";
import type { BusinessCommand } from "../messages/business.ts";
import type { PushCommand, PushFacts, RowReference } from "../messages/push.ts";
import { businessRef } from "../messages/refs.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";
import { createLookAhead } from "./look-ahead.ts";
import { applyRows, chunksAheadMax, type PushPorts, processChunk } from "./process-chunk.ts";

export function pushActivities(given: Omit<PushPorts, "ahead">): Record<string, Activity> {
  const ports: PushPorts = { ...given, ahead: createLookAhead(chunksAheadMax) };
  return {
    processChunk: (params: { facts: PushFacts; chunk: number }, context: ActivityContext) =>
      processChunk(ports, params, context),
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

/** Tells a region's index again, from what is stored; a throw is tried again later. */
async function indexChunk(
  ports: PushPorts,
  params: IndexChunk,
  context: ActivityContext,
): Promise<PushCommand> {
  const question: PushCommand = { type: "push.references", chunk: params.chunk };
  const { references } = await context.ask<{ references: readonly RowReference[] }>(context.actor, question);
  const rows = await ports.records.readRows(references);
  const byHash = new Map(rows.map((row) => [`${row.record_id} ${row.hash}`, row.row]));
  const changes: RowChange[] = [];
  for (const reference of references) {
    const row = byHash.get(`${reference.record_id} ${reference.hash}`);
    if (row !== undefined) changes.push(putOf(params.collection, reference, row));
  }
  if (!(await applyRows(params.region, changes, context)))
    throw new Error(`The index of region ${params.region} is unavailable.`);
  return { type: "chunk.indexed", chunk: params.chunk, region: params.region };
}

function putOf(collection: string, reference: RowReference, row: string): RowChange {
  const projected = JSON.parse(row) as JsonObject & { readonly business_uuid: string };
  return {
    kind: "put",
    collection,
    record_id: reference.record_id,
    business_uuid: projected.business_uuid,
    change: reference.change,
    row,
    document: indexDocument(collection as CollectionName, projected),
  };
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
  return null;
}
