// What ended a version of a record, keeps it out of serving or had its bytes purged, as the business's own actor has it.

import type { RecordHeadFacts } from "../actors/messages/record-head.ts";
import { businessRef } from "../actors/messages/refs.ts";
import { deletionOf, type Removal } from "../actors/messages/removal.ts";
import type { TakedownFacts } from "../actors/messages/serving.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { VerifyPageAnswer } from "../protocol/wire/verification.ts";
import { failureAnswer } from "./failure.ts";

/** The maximum time that a page waits for the business's actor, which may live in another region. */
const askMs = 2_000;

/** A record as its business's actor has it now, which may be ahead of the register and the store of every region. */
export interface RecordNow {
  readonly head: RecordHeadFacts | null;
  /** The takedown in force of the record, or else of its whole business. */
  readonly takedown: TakedownFacts | null;
  /** The deletion that covers the version asked for, or else the document that keeps the record out of serving. */
  readonly removal: Removal | null;
}

/** Null if the actor cannot be reached in time. */
export async function readRecordNow(
  actors: Pick<ActorSystem, "ask">,
  businessUuid: string,
  { record_id, generation }: { readonly record_id: string; readonly generation: number },
): Promise<RecordNow | null> {
  const business = businessRef(businessUuid);
  const patience = { timeoutMs: askMs };
  const keys = [businessUuid, record_id].map((subject) => `takedown/${subject}`);
  try {
    const [{ head }, { entries }] = await Promise.all([
      actors.ask(business, { type: "record.read", record_id }, patience),
      actors.ask(business, { type: "register.read", keys }, patience),
    ]);
    const takedowns = entries.map(({ body }) => JSON.parse(body) as TakedownFacts);
    const takedown = takedowns.find(({ lifted_at }) => lifted_at === null) ?? null;
    const [, deletion] = (head && deletionOf(head, generation)) ?? [];
    const document_hash = deletion ?? head?.removed_by;
    if (document_hash === undefined) return { head, takedown, removal: null };
    const { removal } = await actors.ask(business, { type: "removal.read", document_hash }, patience);
    return { head, takedown, removal };
  } catch (error) {
    if (failureAnswer(error) === null) throw error;
    return null;
  }
}

/** The order of the law that concerns a version, with its proof; null without one, and if the actor cannot be reached in time. */
export async function readPurgeOrder(
  actors: Pick<ActorSystem, "ask">,
  businessUuid: string,
  { recordId, generation }: { readonly recordId: string; readonly generation: number },
): Promise<VerifyPageAnswer["purge_order"]> {
  const business = businessRef(businessUuid);
  const patience = { timeoutMs: askMs };
  try {
    const { orders } = await actors.ask(business, { type: "purge.orders", record_id: recordId }, patience);
    const order = orders.find((each) => each.generation >= generation);
    if (order === undefined) return null;
    const { document_hash, ground, ordered_at } = order;
    const { purged } = await actors.ask(business, { type: "removal.read", document_hash }, patience);
    const purged_at = purged === null ? null : formatTimestamp(purged.purged_at_ms);
    return { ground, ordered_at, purged_at, versions: purged?.versions ?? [] };
  } catch (error) {
    if (failureAnswer(error) === null) throw error;
    return null;
  }
}
