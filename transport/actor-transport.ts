// Port: another node, as far as actors are concerned. Nothing implements it while a node runs alone.
//   M1. Between two actors messages arrive in the order of their `seq`, each at least once.
//   M2. Every promise settles: a call whose answer is lost rejects, it never waits for ever.
//   M3. Nothing is believed because it arrived: a peer proves that it is of this cluster before its first message counts.

/** Names one actor: `kind/id`. */
export interface ActorAddress {
  readonly kind: string;
  readonly id: string;
}

/** One message of an outbox on its way. */
export interface Delivery {
  /** Position in the sender's outbox; grows with every message. */
  readonly seq: number;
  /** Plain JSON, named by `type`. */
  readonly message: { readonly type: string };
}

export interface RemoteTarget {
  /** Asks an actor there; rejects when there is no answer within `timeoutMs`. */
  ask(to: ActorAddress, command: { readonly type: string }, timeoutMs: number): Promise<unknown>;
  /** Delivers in order and answers the highest `seq` that is committed at the receiver, 0 for none. */
  deliver(to: ActorAddress, from: string, messages: readonly Delivery[]): Promise<number>;
}
