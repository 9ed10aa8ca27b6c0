// Port: what the nodes of a cluster know of each other and of where parties live.
// Every implementation passes storage/cluster-store.conformance.ts.
//
// Obligations of an implementation:
//   C1. `casView`, `casHome` and `casStanding` apply iff the stored version is `next.version - 1` (0: never written),
//       all or nothing, and each version is applied at most once. Version 1 is an insert if absent.
//   C2. `true`: applied, and durable as a majority of the row's domain. `false`: another version is in force, nothing
//       changed. Neither is known: {@link StoreError} `unknown`; the caller reads again and compares, never guesses.
//   C3. A region's view and beats belong to that region's own domain: reading and writing them there needs no other
//       region. There `readView` and `readBeats` show everything that was applied before the call began.
//       Another region may answer an earlier view or earlier beats, never one that was not applied; it never writes.
//   C4. Homes and standings are of all regions together: `readHome`, `casHome` and `casStanding` are linearizable
//       across regions, and throw while too few regions are in reach to know. (A region that is lost for good is
//       taken out of the store's replication before an operator declares it dead: then the others are enough.)
//   C5. Once a `casHome` of version > 1, or a `noteMove`, has answered, `readMoves` shows that home, or a later one
//       of its party, in every region that was in reach; and so for a day. `casHome` answers `true` only once the
//       note is written as well, and `unknown` when only the note failed.
//   C6. `readHomeNearby` and `readMoves` need their own region only. They may answer earlier homes, never one that was
//       not applied, and never an earlier one than a `casHome` called in that region has answered `true` for.
//   C7. `readStandings` answers the newest in reach: it asks every region, and makes do with its own, which never
//       answers an earlier one than a `casStanding` called there has answered `true` for.
//   C8. Whatever is stored and cannot be read as these types is a StoreError `not_applied`, never a wrong answer.

/** One incarnation of a node. A node that joins again does so as another one. */
export interface Member {
  /** Unique among all that ever joined. */
  readonly incarnation: string;
  /** `host:port` of its transport. */
  readonly address: string;
  readonly state: "joining" | "active" | "leaving";
  /** The versions of the protocol between nodes that it speaks, both included. */
  readonly protocol_min: number;
  readonly protocol_max: number;
  /** Unix milliseconds of its own wall clock. */
  readonly joined_at_ms: number;
}

/** Who is in a region. Version 0 without members: never written. */
export interface RegionView {
  readonly region: string;
  readonly version: number;
  readonly members: readonly Member[];
}

export interface Beat {
  readonly incarnation: string;
  /** Grows with every beat: a changed count is the only sign of life. */
  readonly count: number;
  /** Unix milliseconds of its own wall clock, for operators. */
  readonly wall_ms: number;
  /** Version of its region's view that it had read before it last asked for the moves: it knows the moves of then. */
  readonly homes_seen: number;
}

export interface PartyHome {
  readonly party: string;
  readonly region: string;
  /** Where it is on its way to; null at rest. */
  readonly moving_to: string | null;
  readonly version: number;
}

export interface RegionStatus {
  readonly region: string;
  readonly status: "active" | "dead";
  /** Who takes over the parties of a dead region. */
  readonly successor: string | null;
  readonly version: number;
}

export interface ClusterStore {
  readView(region: string): Promise<RegionView>;
  casView(next: RegionView): Promise<boolean>;
  /** A plain write, in another table than the view. */
  beat(region: string, beat: Beat): Promise<void>;
  /** The last beat of each incarnation; those of incarnations long gone may be missing. */
  readBeats(region: string): Promise<readonly Beat[]>;
  /** Null when the party has none. */
  readHome(party: string): Promise<PartyHome | null>;
  /** A hint that the fence of the actor store corrects; for when {@link readHome} cannot answer (C6). */
  readHomeNearby(party: string): Promise<PartyHome | null>;
  casHome(next: PartyHome): Promise<boolean>;
  /** Writes the note of a home that is in force (C5). Repeatable; a note never replaces that of a later version. */
  noteMove(home: PartyHome): Promise<void>;
  /** Homes changed in the last day. */
  readMoves(): Promise<readonly PartyHome[]>;
  /** Regions that an operator spoke of; one that is missing is active. */
  readStandings(): Promise<readonly RegionStatus[]>;
  casStanding(next: RegionStatus): Promise<boolean>;
  /** The store's clock, in Unix milliseconds. */
  storeTimeMs(): Promise<number>;
}

export { StoreError } from "./actor-store.ts";
