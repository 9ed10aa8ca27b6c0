// The activities of a push actor.

import type { CollectionName } from "../../protocol/identifiers.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { Notice, NoticeChannel } from "../messages/notices.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { PushCommand, PushFacts } from "../messages/push.ts";
import { bulkUploadRef, businessRef, partsOf } from "../messages/refs.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";
import { createChunkFailures } from "./chunk-failures.ts";
import { createChunkPipelines } from "./chunk-pipeline.ts";
import { judgeHeld } from "./judge-held.ts";
import type { PushPorts, StalledPush } from "./ports.ts";
import type { ChunkWorkload } from "./prepare-chunk.ts";
import { preparePush } from "./prepare-push.ts";
import { chunksAhead, indexRows, type PublishedChunk, processChunk } from "./process-chunk.ts";

export function pushActivities(ports: PushPorts): Record<string, Activity> {
  const pipelines = createChunkPipelines<PublishedChunk>(chunksAhead);
  const failures = createChunkFailures();
  const deps = { ports, pipelines, failures };
  const publishChunk = async (params: ChunkWorkload, context: ActivityContext<"push">) => {
    const command = await processChunk(deps, params, context);
    ports.stalled?.forget(params.facts.push_id);
    return command;
  };
  // Whether background processing is on or not: who sent the push is answered that it is held.
  const judge = (params: { facts: PushFacts }, context: ActivityContext<"push">) =>
    judgeHeld(deps, params.facts, context);
  return {
    processChunk: async (params: ChunkWorkload, context: ActivityContext<"push">) => {
      if (ports.background?.isOn === false && params.facts.mode === "queued") throw switchedOff();
      return publishChunk(params, context);
    },
    // The same work in a pool of its own: callers wait for it, however many chunks of queued pushes wait.
    processInlineChunk: publishChunk,
    judgeHeld: judge,
    judgeInlineHeld: judge,
    reportStalled: async (push: StalledPush) => {
      ports.stalled?.note(push);
      return null;
    },
    recordNotice: (notice: Notice) => deliver(ports.notices?.record, notice),
    mailNotice: (notice: Notice) => deliver(ports.notices?.mail, notice),
    indexChunk: (params: IndexChunk, context: ActivityContext<"push">) => indexChunk(ports, params, context),
    preparePush: async (params: { facts: PushFacts }, context: ActivityContext<"push">) => {
      if (ports.background?.isOn === false) throw switchedOff();
      return preparePush(deps, params.facts, context);
    },
    finishPush: (params: FinishedPush, context: ActivityContext<"push">) =>
      finishPush(ports, params, context),
  };
}

/** The activity is repeated until a node that processes queued pushes has the actor. */
function switchedOff(): Unavailable {
  const facts = { reason: "background_off", effect: "not_applied", retryAfterSeconds: 60 } as const;
  return new Unavailable("Queued pushes are not processed on this node.", facts);
}

/** What a push tells its business when nothing more of it will be published. */
export interface FinishedPush extends Omit<CommandOf<BusinessProtocol, "push.finished">, "type"> {
  readonly business_uuid: string;
  /** The upload whose file contains the records, if they are in one. */
  readonly upload_id?: string;
}

interface IndexChunk {
  readonly collection: CollectionName;
  readonly chunk: number;
  readonly region: string;
}

/**
 * Notifies a region's index again, from what is stored; if it throws, it is retried. A region that was declared dead
 * in the meantime is not waited for: if it comes back, its indexes are rebuilt.
 */
async function indexChunk(
  ports: Pick<PushPorts, "regions" | "stalled">,
  params: IndexChunk,
  context: ActivityContext<"push">,
): Promise<PushCommand> {
  const indexed: PushCommand = { type: "chunk.indexed", chunk: params.chunk, region: params.region };
  if (!ports.regions().includes(params.region)) return indexed;
  const { collection, chunk } = params;
  const { references } = await context.ask(context.actor, { type: "push.references", chunk });
  if (!(await indexRows(params.region, { collection, chunk, references }, context)))
    throw new Error(`The index of region ${params.region} is unavailable.`);
  ports.stalled?.forget(partsOf(context.actor.id).own);
  return indexed;
}

async function deliver(channel: NoticeChannel | undefined, notice: Notice): Promise<null> {
  await channel?.deliver(notice);
  return null;
}

/** The business forgets what only a repetition would need, then the staged bytes are removed. */
async function finishPush(
  ports: PushPorts,
  params: FinishedPush,
  context: ActivityContext<"push">,
): Promise<null> {
  const { business_uuid, upload_id, ...finished } = params;
  const { push_id } = finished;
  await context.ask(businessRef(business_uuid), { type: "push.finished", ...finished });
  await ports.records.dropStaged(context.actor.id);
  if (upload_id !== undefined)
    await context.ask(bulkUploadRef(business_uuid, upload_id), { type: "import.end", push_id });
  ports.leaves.drop(context.actor.id);
  ports.parsed.drop(context.actor.id);
  ports.stalled?.forget(push_id);
  return null;
}
