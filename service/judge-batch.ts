// The first checks of a sealed batch, for publishing and for validating alike: up to the seal and the records that it
// covers (publish.ts shows them in order). They change nothing.

import { type ActorRef, pushRef } from "../actors/messages/refs.ts";
import type { CryptoPort } from "../crypto/port.ts";
import { problem } from "../protocol/problem.ts";
import type { Pace } from "../std/pace.ts";
import { isRefused, type Refused, refused } from "./answer.ts";
import { type Batch, openBatch, publishedType } from "./publish-batch.ts";
import { type PublishBody, parsePublishBody } from "./publish-body.ts";
import { type Gate, type GateDeps, type GateRequest, passGate } from "./publish-gate.ts";

export interface JudgeDeps extends GateDeps {
  readonly crypto: CryptoPort;
  /** At which a body is read (B1 in publish-body.ts) and its records are hashed and judged. */
  readonly pace: Pace;
}

/** Somebody waits for a small batch; a large one is queued in any case. */
const smallBatchBytes = 100_000;

/** At which a batch is judged that is to be published. A validation costs nothing, and goes behind what does. */
export function paceOfBatch(
  { inline, queued }: { readonly inline: Pace; readonly queued: Pace },
  body: Uint8Array,
): Pace {
  return body.length > smallBatchBytes ? queued : inline;
}

/** A batch whose seal is genuine and covers exactly its records. */
export interface JudgedBatch {
  readonly gate: Gate;
  readonly body: PublishBody;
  readonly batch: Batch;
  readonly push: ActorRef<"push">;
}

export async function judgeBatch(deps: JudgeDeps, request: GateRequest): Promise<JudgedBatch | Refused> {
  if (request.collection !== publishedType) return notPublishable;
  // The key, its mandate and what that covers.
  const gate = await passGate(deps, request);
  if (isRefused(gate)) return gate;
  // The body: batch seal and Merkle root.
  const body = await parsePublishBody(request.body, deps.pace);
  if (isRefused(body)) return body;
  const batch = await openBatch(deps, request, body);
  if (isRefused(batch)) return { ...batch, records: body.records.length };
  return { gate, body, batch, push: pushRef(request.caller.party.uuid, batch.pushId) };
}

export const notPublishable = refused(
  problem("type_not_publishable", "Only products are published through this interface."),
);
