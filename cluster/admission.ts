// Which nodes may join. A node refused here would harm others, so this is checked before the first write and again with it.
//   A1. `schema_newer`: the store has a schema that this version of the node does not know.
//   A2. `protocol_unknown`: it shares no protocol version with a member that is alive: a member without a heartbeat
//       while it is watched for the eviction time keeps nobody out.
//   A3. `clock_off`: its wall clock is too far from the store's: times in records and receipts would be wrong.
//   A4. `region_dead`: its region was declared dead; its store may lack writes of its successor.
//   A5. `stranger`: a live node of its region does not know its secret or its cluster's name, and so could
//       not reach the actors placed here. A node that cannot be asked keeps nobody out.

import type { Clock } from "../crypto/port.ts";
import type { ClusterStore, Member } from "../storage/cluster-store.ts";
import { clockOffsetMs, type Monotonic } from "./poller.ts";

export type JoinRefusal = "schema_newer" | "protocol_unknown" | "clock_off" | "region_dead" | "stranger";

/** The node cannot be part of the cluster as it is; waiting does not help. */
export class JoinRefused extends Error {
  readonly code: JoinRefusal;
  constructor(code: JoinRefusal, detail: string) {
    super(detail);
    this.name = "JoinRefused";
    this.code = code;
  }
}

export interface AdmissionOptions {
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly monotonic: Monotonic;
  readonly region: string;
  readonly regions: readonly string[];
  readonly protocol: ProtocolRange;
  /** The newest schema that this node knows, and the one that the store has. */
  readonly schema: { readonly known: number; readonly read: () => Promise<number> };
  readonly clockOffMaxMs: number;
  /** Resolves after the time within which a live member sends a heartbeat. */
  readonly untilEvicted: () => Promise<void>;
}

export interface ProtocolRange {
  readonly min: number;
  readonly max: number;
}

/**
 * Returns the incarnations that A2 need not check again. Throws {@link JoinRefused} (A1 to A4) or the store's error.
 * Regions that cannot be reached are not checked.
 */
export async function assertAdmitted(options: AdmissionOptions): Promise<ReadonlySet<string>> {
  const { store, region, regions, schema } = options;
  const stored = await schema.read();
  if (stored > schema.known) {
    const detail = `The store has schema ${stored}, this version knows up to ${schema.known}: start a newer version.`;
    throw new JoinRefused("schema_newer", detail);
  }
  await assertClock(options);
  assertRegionAlive(region, await store.readStandings());
  const silent = new Set<string>();
  for (const each of regions) {
    const strangers = await silentStrangers(each, options).catch((error: unknown) => {
      if (each === region || error instanceof JoinRefused) throw error;
      return [];
    });
    for (const incarnation of strangers) silent.add(incarnation);
  }
  return silent;
}

/** A2: the members of a region that share no protocol version and are not alive either. */
async function silentStrangers(region: string, options: AdmissionOptions): Promise<readonly string[]> {
  const { store, protocol, untilEvicted } = options;
  const { members } = await store.readView(region);
  const strangers = members.filter((member) => !speaksWith(protocol, member));
  const [living] = await livingOf(strangers, { store, region, untilEvicted });
  if (living !== undefined) refuseStranger(protocol, living);
  return strangers.map((member) => member.incarnation);
}

/** Those of `members` that send a heartbeat while they are watched. */
async function livingOf(
  members: readonly Member[],
  { store, region, untilEvicted }: Pick<AdmissionOptions, "store" | "region" | "untilEvicted">,
): Promise<readonly Member[]> {
  if (members.length === 0) return [];
  const countsOf = async (): Promise<Map<string, number>> =>
    new Map((await store.readBeats(region)).map((beat) => [beat.incarnation, beat.count]));
  const before = await countsOf();
  await untilEvicted();
  const after = await countsOf();
  return members.filter(({ incarnation }) => before.get(incarnation) !== after.get(incarnation));
}

/** Whether another node takes this one for a node of its own cluster; `unknown` if it cannot be asked. */
export type Greeting = "known" | "stranger" | "unknown";

/** Checks A5. Throws {@link JoinRefused} or the store's error. */
export async function assertKnown(
  own: string,
  greet: (member: Member) => Promise<Greeting>,
  options: Pick<AdmissionOptions, "store" | "region" | "untilEvicted">,
): Promise<void> {
  const { members } = await options.store.readView(options.region);
  const others = members.filter((member) => member.address !== own);
  const greetings = await Promise.all(others.map(greet));
  const [living] = await livingOf(
    others.filter((_, index) => greetings[index] === "stranger"),
    options,
  );
  if (living === undefined) return;
  const detail = `The node at ${living.address} has another cluster secret, certificate authority or cluster name: use the same on every node.`;
  throw new JoinRefused("stranger", detail);
}

/** Checks A2 again where the entry is written. */
export function assertProtocol(
  own: ProtocolRange,
  members: readonly Member[],
  silent: ReadonlySet<string>,
): void {
  for (const member of members) {
    if (!silent.has(member.incarnation) && !speaksWith(own, member)) refuseStranger(own, member);
  }
}

function speaksWith(own: ProtocolRange, member: Member): boolean {
  return member.protocol_min <= own.max && own.min <= member.protocol_max;
}

function refuseStranger(own: ProtocolRange, member: Member): never {
  const [mine, theirs] = [`${own.min} to ${own.max}`, `${member.protocol_min} to ${member.protocol_max}`];
  const detail = `This version speaks the protocol ${mine}, the node at ${member.address} ${theirs}: upgrade one step at a time.`;
  throw new JoinRefused("protocol_unknown", detail);
}

/** Checks A4. */
export function assertRegionAlive(
  region: string,
  standings: readonly { readonly region: string; readonly status: "active" | "dead" }[],
): void {
  if (standings.some((each) => each.region === region && each.status === "dead"))
    throw new JoinRefused("region_dead", `Region ${region} was declared dead: rejoin it first.`);
}

/** Checks A3. */
async function assertClock({ store, clock, monotonic, clockOffMaxMs }: AdmissionOptions): Promise<void> {
  const offMs = await clockOffsetMs({ store, clock, monotonic });
  if (offMs > clockOffMaxMs) {
    const detail = `The clock of this machine is ${Math.round(offMs)} ms from the store's (at most ${clockOffMaxMs}): set it.`;
    throw new JoinRefused("clock_off", detail);
  }
}
