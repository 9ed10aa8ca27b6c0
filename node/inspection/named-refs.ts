// What a text that is no part of an actor's id leads to: the actor of the party, record, mandate, own id or ad that it names.
//   NR1. Parties and ads are looked for in what the node has of the register in memory, everything else by its whole id: nothing
//        is walked that grows with the records.

import { businessRef, campaignRef } from "../../actors/messages/refs.ts";
import { collectionNames, isRecordId, isUuidV4 } from "../../protocol/identifiers.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { NodeServices } from "../services.ts";

type Named = Pick<NodeServices, "register" | "records" | "recordIdOf">;

export async function refsNamed(services: Named, text: string, limit: number): Promise<readonly ActorRef[]> {
  const { register, records } = services;
  if (isRecordId(text)) {
    const head = await records.readHead(text);
    return head === null ? [] : [businessRef(head.business_uuid)];
  }
  const [, uuid = "", own = ""] = /^([^\s/]+)[\s/]+(.+)$/.exec(text) ?? [];
  if (isUuidV4(uuid)) return (await isOfBusiness(services, uuid, own)) ? [businessRef(uuid)] : [];
  const ads = [...register.ads.live()].filter(({ ad_id }) => ad_id === text);
  return [
    ...ads.map(({ business_uuid, campaign_id }) => campaignRef(business_uuid, campaign_id)),
    ...register.certifiedNames.named(text, limit).map(businessRef),
  ];
}

/** Whether the business has a mandate, or ever published a record, with this id. */
async function isOfBusiness(
  { register, records, recordIdOf }: Named,
  uuid: string,
  id: string,
): Promise<boolean> {
  if ((await register.mandates(uuid)).some(({ mandate_id }) => mandate_id === id)) return true;
  const heads = collectionNames.map((collection) => records.readHead(recordIdOf(uuid, collection, id)));
  return (await Promise.all(heads)).some((head) => head !== null);
}
