// Port: what the nodes of a cluster know about each other and about where parties live.
// Every implementation passes storage/cluster-store.conformance.ts.
//
// Obligations of an implementation:
//   C1. `casView`, `casHome` and `casStanding` apply iff the stored version is `next.version - 1` (0: never written). They
//       are all or nothing, and each version is applied at most once. Version 1 is an insert-if-absent.
//   C2. `true` means applied, and as durable as a majority of the row's domain. `false` means that another version is
//       current and nothing changed. If neither is known, they throw {@link StoreError} `unknown`; the caller reads again
//       and compares, and never guesses.
//   C3. A region's view and beats belong to that region's own domain: reading and writing them there needs no other
//       region. There, `readView` and `readBeats` show everything that was applied before the call began. Another region
//       may return an earlier view or earlier beats, but never one that was not applied; it never writes.
//   C4. Homes and standings belong to all regions together: `readHome`, `casHome` and `casStanding` are linearizable
//       across regions, and throw while too few regions are reachable to know the answer. (A region that is lost for good
//       is taken out of the store's replication before an operator declares it dead; the remaining regions then suffice.)
//   C5. Once a `casHome` of version > 1, or a `noteMove`, has returned, `readMoves` shows that home, or a later one of its
//       party, in every region that was reachable, for one day. `casHome` returns `true` only once the note has been
//       written as well, and throws `unknown` if only the note failed.
//   C6. `readHomeNearby` and `readMoves` need only their own region. They may return earlier homes, but never one that was
//       not applied, and never one older than a home for which a `casHome` called in that region has returned `true`.
//   C7. `readStandings` returns the newest standings within reach: it asks every region, and falls back to its own region,
//       which never returns a standing older than one for which a `casStanding` called there has returned `true`.
//   C8. Anything stored that cannot be read as these types is a StoreError `not_applied`, never a wrong answer.

/** One incarnation of a node. A node that rejoins does so as a new incarnation. */
export interface Member {
  /** Unique among all incarnations that ever joined. */
  readonly incarnation: string;
  /** `host:port` of the node's transport. */
  readonly address: string;
  readonly state: "joining" | "active" | "leaving";
  /** The range of inter-node protocol versions that the node speaks, both ends included. */
  readonly protocol_min: number;
  readonly protocol_max: number;
  /** Unix milliseconds by the node's own wall clock. */
  readonly joined_at_ms: number;
}

/** The membership of a region. Version 0, without members, means that it was never written. */
export interface RegionView {
  readonly region: string;
  readonly version: number;
  readonly members: readonly Member[];
}

export interface Beat {
  readonly incarnation: string;
  /** Grows with every beat: a changed count is the failure detector's only sign of life. */
  readonly count: number;
  /** Unix milliseconds by the node's own wall clock, for operators. */
  readonly wall_ms: number;
  /**
   * Version of its region's view that the node had read before it last asked for the moves: it knows the moves up to that
   * point.
   */
  readonly homes_seen: number;
}

export interface PartyHome {
  readonly party: string;
  readonly region: string;
  /** The region that the party is moving to; null when it is not moving. */
  readonly moving_to: string | null;
  readonly version: number;
}

export interface RegionStatus {
  readonly region: string;
  readonly status: "active" | "dead";
  /** The region that takes over the parties of a dead region. */
  readonly successor: string | null;
  readonly version: number;
}

export interface ClusterStore {
  readView(region: string): Promise<RegionView>;
  casView(next: RegionView): Promise<boolean>;
  /** A plain write, to a different table from the view. */
  beat(region: string, beat: Beat): Promise<void>;
  /** The last beat of each incarnation; incarnations that have long been gone may be missing. */
  readBeats(region: string): Promise<readonly Beat[]>;
  /** The party's home; null when it has none. */
  readHome(party: string): Promise<PartyHome | null>;
  /** A hint, corrected by the fence of the actor store, for when {@link readHome} cannot answer (C6). */
  readHomeNearby(party: string): Promise<PartyHome | null>;
  casHome(next: PartyHome): Promise<boolean>;
  /** Writes the note of a home that is current (C5). Idempotent; a note never replaces one of a later version. */
  noteMove(home: PartyHome): Promise<void>;
  /** Homes that changed within the last day. */
  readMoves(): Promise<readonly PartyHome[]>;
  /** Regions whose status an operator has set; a region that is missing is active. */
  readStandings(): Promise<readonly RegionStatus[]>;
  casStanding(next: RegionStatus): Promise<boolean>;
  /** The store's clock, in Unix milliseconds. */
  storeTimeMs(): Promise<number>;
}

export { StoreError } from "./actor-store.ts";
