// What ended a version of a record, or had its bytes purged, as the business's own actor has it.

import { businessRef } from "../actors/messages/refs.ts";
import { deletionOf, type Removal } from "../actors/messages/removal.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { VerifyPageAnswer } from "../protocol/wire/verification.ts";
import { failureAnswer } from "./failure.ts";

/** The maximum time that a page waits for the business's actor, which may live in another region. */
const askMs = 2_000;

/**
 * The deletion that covers the version, or else the document that keeps the record out of serving. Null if there is neither, and if the
 * actor cannot be reached in time.
 */
export async function readRemoval(
  actors: Pick<ActorSystem, "ask">,
  businessUuid: string,
  { record_id, generation }: { readonly record_id: string; readonly generation: number },
): Promise<Removal | null> {
  const business = businessRef(businessUuid);
  const patience = { timeoutMs: askMs };
  try {
    const { head } = await actors.ask(business, { type: "record.read", record_id }, patience);
    const [, deletion] = (head && deletionOf(head, generation)) ?? [];
    const document_hash = deletion ?? head?.removed_by;
    if (document_hash === undefined) return null;
    return (await actors.ask(business, { type: "removal.read", document_hash }, patience)).removal;
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
