// Names of actors, and where each belongs: read from the name alone, so that any node can route without asking.
//   P1. All actors of a party (itself, its keys, its pushes) live together in the party's home region.
//   P2. Nonce actors and the region actor live in the region that they name.

/** Names one actor: `kind/id`. Whoever knows the kind may ask it (`ActorSystem.ask`); of a plain name only its place is known. */
export interface ActorRef<Kind extends string = string> {
  readonly kind: Kind;
  readonly id: string;
}

export type Placement =
  /** In the home region of the party. */
  { readonly party: string } | { readonly region: string };

export function businessRef(partyUuid: string): ActorRef<"business"> {
  return { kind: "business", id: partyUuid };
}

/** At home: the key's last `seq`, its caps and its idempotency keys. */
export function keyRef(partyUuid: string, keyId: string): ActorRef<"integration-key"> {
  return { kind: "integration-key", id: `${partyUuid}.${keyId}` };
}

/** In each region: the nonces claimed with the key there. */
export function nonceRef(keyId: string, region: string): ActorRef<"integration-key"> {
  return { kind: "integration-key", id: `${keyId}@${region}` };
}

export function pushRef(businessUuid: string, pushId: string): ActorRef<"push"> {
  return { kind: "push", id: `${businessUuid}.${pushId}` };
}

export function regionRef(region: string): ActorRef<"region"> {
  return { kind: "region", id: region };
}

/** Where an actor belongs. Throws for a name that no function here makes: our own bug. */
export function placementOf(ref: ActorRef): Placement {
  const { kind, id } = ref;
  if (kind === "business") return { party: id };
  if (kind === "region") return { region: id };
  if (kind === "integration-key") {
    const at = id.indexOf("@");
    if (at >= 0) return { region: id.slice(at + 1) };
  }
  const dot = id.indexOf(".");
  if (dot <= 0) throw new Error(`The home of ${kind}/${id} cannot be determined.`);
  return { party: id.slice(0, dot) };
}
