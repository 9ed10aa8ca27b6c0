// The names of actors and where each belongs. The place follows from the name alone, so any node can route without asking.
//   P1. All actors of a party (the party itself, its keys, its pushes, its uploads, its webhooks, its ledger) live together in the party's home region.
//       A person is a party of its own, which has nothing else than recoveries.
//   P2. The log's sequencer is a party of its own, so that the log has one home region.
//   P3. Nonce actors, those of a key's limits, the region actor, and the pools and conversations of ads live in the region that
//       their name contains.

/**
 * Names one actor: `kind/id`. A caller that knows the kind may ask the actor (`ActorSystem.ask`); from a plain name only
 * the place is known.
 */
export interface ActorRef<Kind extends string = string> {
  readonly kind: Kind;
  readonly id: string;
}

export type Placement =
  /** The actor lives in the party's home region. */
  { readonly party: string } | { readonly region: string };

/** The actor of a business, or of an AI company. */
export function businessRef(partyUuid: string): ActorRef<"business"> {
  return { kind: "business", id: partyUuid };
}

/** The key's actor at home: its last `seq`, its caps and its idempotency keys. */
export function keyRef(partyUuid: string, keyId: string): ActorRef<"integration-key"> {
  return { kind: "integration-key", id: `${partyUuid}.${keyId}` };
}

/** The key's actor in a region: the nonces claimed with the key there. */
export function nonceRef(keyId: string, region: string): ActorRef<"integration-key"> {
  return { kind: "integration-key", id: `${keyId}@${region}` };
}

/** The key's limits in a region, which its nodes lease slices of. */
export function keyLimitsRef(keyId: string, region: string): ActorRef<"key-limits"> {
  return { kind: "key-limits", id: `${keyId}@${region}` };
}

/** The actor of a push; a push id is unique within its business. */
export function pushRef(businessUuid: string, pushId: string): ActorRef<"push"> {
  return { kind: "push", id: `${businessUuid}.${pushId}` };
}

/** The upload of a bulk file; `uploadId` is unique within its business. */
export function bulkUploadRef(businessUuid: string, uploadId: string): ActorRef<"bulk-upload"> {
  return { kind: "bulk-upload", id: `${businessUuid}.${uploadId}` };
}

/** A business's campaign of ads, by the business's own id of it. */
export function campaignRef(businessUuid: string, campaignId: string): ActorRef<"ad-campaign"> {
  return { kind: "ad-campaign", id: `${businessUuid}.${campaignId}` };
}

/** A pool of ads that was served in a region. */
export function poolRef(retrievalId: string, region: string): ActorRef<"ad-pool"> {
  return { kind: "ad-pool", id: `${retrievalId}@${region}` };
}

/** A conversation that is shown ads in a region, known by its mark alone. */
export function adSessionRef(mark: string, region: string): ActorRef<"ad-session"> {
  return { kind: "ad-session", id: `${mark}@${region}` };
}

/** The prepaid account of an AI company. */
export function ledgerRef(companyUuid: string): ActorRef<"ledger"> {
  return { kind: "ledger", id: companyUuid };
}

/** The application for a business, under the uuid that the business gets if it is let in. */
export function applicationRef(uuid: string): ActorRef<"application"> {
  return { kind: "application", id: uuid };
}

/** The recovery of an owner's place in a business by a person, who need not know whether there is such a business: it lives with them. */
export function recoveryRef(personId: string, uuid: string): ActorRef<"recovery"> {
  return { kind: "recovery", id: `${personId}.${uuid}` };
}

/** A person of the portal, by their UUID. */
export function personRef(personId: string): ActorRef<"person"> {
  return { kind: "person", id: personId };
}

/** An address that a party has told of notices; `endpointId` is unique within its party. */
export function webhookRef(partyUuid: string, endpointId: string): ActorRef<"webhook"> {
  return { kind: "webhook", id: `${partyUuid}.${endpointId}` };
}

/** The party whose home region is the log's. */
export const logParty = "svc-log";

/** The sequencer of the transparency log: one for the whole deployment. */
export function logRef(): ActorRef<"log-sequencer"> {
  return { kind: "log-sequencer", id: logParty };
}

/** The region's own actor, which writes its index and closes its receipts. */
export function regionRef(region: string): ActorRef<"region"> {
  return { kind: "region", id: region };
}

/** Whether actors of this kind end within an hour or so and are forgotten: nobody lists them from the store. */
export function isSoonForgotten(kind: string): boolean {
  return kind === "ad-pool" || kind === "ad-session";
}

/** Where an actor belongs. Throws for a name that no function here makes, which is a bug of the service. */
export function placementOf(ref: ActorRef): Placement {
  const { kind, id } = ref;
  if (["application", "business", "ledger", "log-sequencer", "person"].includes(kind)) return { party: id };
  if (kind === "region") return { region: id };
  if (["integration-key", "key-limits", "ad-pool", "ad-session"].includes(kind)) {
    const at = id.indexOf("@");
    if (at >= 0) return { region: id.slice(at + 1) };
  }
  const { party } = partsOf(id);
  if (party === "") throw new Error(`The home of ${kind}/${id} cannot be determined.`);
  return { party };
}

/** The id of a key's, push's or upload's actor as its two parts; an id without a point has an empty party. */
export function partsOf(id: string): { readonly party: string; readonly own: string } {
  const dot = id.indexOf(".");
  return { party: id.slice(0, Math.max(0, dot)), own: id.slice(dot + 1) };
}
