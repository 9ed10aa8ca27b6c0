// Claiming an actor: the only way to become its writer.
//   A1. A claim raises the epoch by a conditional write in the actor's home region. Any previous claimant is refused from
//       then on; what it committed before is read after the claim, serially, so nothing acknowledged is missing.
//   A2. A claim whose outcome is unknown is recognised by its id.
//   A3. Conditional writes of two regions do not exclude each other. An actor is claimed in its home region only, with two
//       exceptions: its home handed it over to this region, or an operator declared its home dead.
//   A4. After either exception, the last writer was another data centre, with different clocks. Nothing is written before
//       this region has everything that the other one wrote, and unless this region's clock is past the time of the other
//       one's last write: a write with an older timestamp would be accepted and then not be visible.
//   A5. The names of an actor are written before its first claim, so that no actor can be overlooked later.
//   A6. A region that takes over from a dead one may lack its last commits, and cannot know. So it starts a new era: epoch
//       and head leap ahead of everything that the lost commits may have numbered, including messages to other actors. An
//       actor that it does not know at all may be lost entirely: while a region is dead, a first claim starts an era too.

import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Activation, ActorHead, ActorRef } from "../actor-store.ts";
import { nextEra, StoreError } from "../actor-store.ts";
import {
  neverWakes,
  noOperation,
  readStatics,
  readSystemRows,
  readThrough,
  type Statics,
} from "./actor-rows.ts";
import type { CassandraSession, Consistency, Statement } from "./session.ts";

export interface ClaimRules {
  readonly region: string;
  /** The epoch of an actor that is not there, above all earlier ones where it is more than 1 (S8 of storage/actor-store.ts). */
  readonly firstEpoch: number;
  /** Consistency level of a claim's commit. */
  readonly consistency: Consistency;
  /** Whether the actor may live in this region now; called before anything makes this region its home. */
  readonly homeAllowed: (ref: ActorRef, region: string) => boolean;
  /** Dead regions whose actors this region takes over. */
  readonly deadRegions: () => ReadonlySet<string>;
  /** Consistency level at which the partition is read before a dead region's actor is taken over. */
  readonly takeoverConsistency: Consistency;
  /** Called before the first claim of an actor (A5). */
  readonly announce: (ref: ActorRef) => Promise<void>;
}

export interface Claimed {
  readonly activation: Activation;
  readonly statics: Statics;
  /** Whether the last writer was another region (A4). */
  readonly arrived: boolean;
}

/** Maximum attempts of one claim; each lost attempt means that somebody else claimed meanwhile. */
const attemptsMax = 12;
/** How far this region's clock may be behind what it has to overwrite; if it is further behind, a clock is wrong. */
const clockBehindMs = 5_000;

const cql = {
  first: `UPDATE actor SET epoch = ?, owner = ?, claim = ?, head = ?, op = ${noOperation}, snap_seq = 0, schema_v = 0,
    wake_at = ${neverWakes}, outbox_low = 0, home = ? WHERE kind = ? AND id = ? IF epoch = NULL`,
  anchor: "INSERT INTO actor (kind, id, rt, k, k2, body) VALUES (?, ?, 0, 0, '', 0x00)",
  again:
    "UPDATE actor SET epoch = ?, owner = ?, claim = ? WHERE kind = ? AND id = ? IF epoch = ? AND home = ?",
  arrive: `UPDATE actor SET epoch = ?, owner = ?, claim = ?, home = ?, moved_from = NULL WHERE kind = ? AND id = ?
    IF epoch = ? AND home = ?`,
  inherit: `UPDATE actor SET epoch = ?, owner = ?, claim = ?, home = ?, head = ?, moved_from = NULL
    WHERE kind = ? AND id = ? IF epoch = ? AND home = ?`,
  time: "SELECT toUnixTimestamp(now()) AS time FROM system.local",
} as const;

/** Throws {@link StoreError}: `not_applied` when this region may not claim the actor. */
export async function claimActor(
  session: CassandraSession,
  rules: ClaimRules,
  ref: ActorRef,
  owner: string,
): Promise<Claimed> {
  const claim = randomUUID();
  let failure: unknown = null;
  let arrived = false;
  const first = firstHead(rules);
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const seen = await readStatics(session, ref, "LOCAL_SERIAL");
    if (seen?.claim === claim) return load(session, ref, seen, arrived);
    const from = await originOf(session, rules, ref, seen);
    if (from === "here" && seen === null) await rules.announce(ref);
    if (from !== "here" && seen !== null) await catchUp(session, rules, ref, seen);
    arrived = from !== "here";
    try {
      const batch = claimBatch({ rules, ref, owner, claim, first, seen, from });
      const options = { consistency: rules.consistency, idempotent: false };
      if (!(await session.batch(batch, options)).applied) continue;
    } catch (error) {
      // Not sent, not agreed on, or unknown: the next read tells (A2).
      if (!(error instanceof StoreError) || error.effect === "not_applied") throw error;
      failure = error;
      continue;
    }
    if (seen === null) return firstActivation(rules.region, { ...first, owner }, claim);
    const after = await readStatics(session, ref, "LOCAL_SERIAL");
    // Applied but not visible: it was written over something with a later timestamp (A4).
    if (after === null || after.epoch <= seen.epoch) continue;
    const statics = after.claim === claim ? after : { ...after, epoch: nextEpoch(seen, from), owner, claim };
    return load(session, ref, statics, arrived);
  }
  const message = `${ref.kind}/${ref.id} was not claimed in ${attemptsMax} attempts: others claim it as well`;
  throw failure ?? new StoreError("not_applied", message);
}

/** Where the last writer was: in this region, in one that handed the actor over, or in one that is lost. */
type Origin = "here" | "elsewhere" | "lost";

/** Throws when this region may not claim the actor (A3). */
async function originOf(
  session: CassandraSession,
  rules: ClaimRules,
  ref: ActorRef,
  seen: Statics | null,
): Promise<Origin> {
  const { region } = rules;
  const isAllowed = rules.homeAllowed(ref, region);
  const refuse = (why: string) => new StoreError("not_applied", `${ref.kind}/${ref.id} ${why}`);
  if (seen === null || seen.home !== region) {
    if (!isAllowed)
      throw refuse(`does not belong to ${region}${seen === null ? "" : `: its home is ${seen.home}`}`);
  }
  if (seen === null) return "here";
  if (seen.home === region) return seen.movedFrom === null ? "here" : "elsewhere";
  if (rules.deadRegions().has(seen.home)) return "lost";
  // The actor may have been handed over without this data centre having heard; a read in every region brings the news
  // here.
  const now = await readStatics(session, ref, "EACH_QUORUM").catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error;
    throw refuse(`is not claimed in ${region}: its home was ${seen.home}, and not all regions are in reach`);
  });
  if (now !== null && now.home === region) return "elsewhere";
  throw refuse(`is not claimed in ${region}: its home is ${now?.home ?? seen.home}`);
}

/** See A4. */
async function catchUp(
  session: CassandraSession,
  rules: ClaimRules,
  ref: ActorRef,
  seen: Statics,
): Promise<void> {
  const lastHome = seen.movedFrom ?? seen.home;
  const isLost = rules.deadRegions().has(lastHome);
  await readThrough(session, ref, isLost ? rules.takeoverConsistency : "EACH_QUORUM");
  const statics = await readStatics(session, ref, "LOCAL_QUORUM");
  await waitForClock(session, ref, statics?.epochAtUs ?? seen.epochAtUs);
}

async function waitForClock(session: CassandraSession, ref: ActorRef, writtenAtUs: number): Promise<void> {
  const { rows } = await session.execute(cql.time, [], { consistency: "LOCAL_ONE", idempotent: true });
  const behindMs = Math.floor(writtenAtUs / 1_000) + 1 - Number(rows[0]?.["time"]);
  if (behindMs < 0) return;
  if (behindMs > clockBehindMs) {
    const message = `the clock of ${session.localDc} is ${behindMs} ms behind what wrote ${ref.kind}/${ref.id} last`;
    throw new StoreError("not_applied", message);
  }
  await delay(behindMs + 1);
}

interface ClaimWrite {
  readonly rules: ClaimRules;
  readonly ref: ActorRef;
  readonly owner: string;
  readonly claim: string;
  /** What a first claim writes. */
  readonly first: Pick<ActorHead, "epoch" | "head">;
  readonly seen: Statics | null;
  readonly from: Origin;
}

function nextEpoch(seen: Statics, from: Origin): number {
  return from === "lost" ? nextEra(seen).epoch : seen.epoch + 1;
}

/** As many eras on as regions are lost: each of them may have known the actor, and the next may have begun it since. */
function firstHead({ firstEpoch, deadRegions }: ClaimRules): Pick<ActorHead, "epoch" | "head"> {
  let first = { epoch: firstEpoch, head: 0 };
  if (firstEpoch === 1) for (const _lost of deadRegions()) first = nextEra(first);
  return first;
}

function claimBatch({ rules, ref, owner, claim, first, seen, from }: ClaimWrite): readonly Statement[] {
  const { region } = rules;
  const key = [ref.kind, ref.id];
  if (seen === null) {
    return [
      { cql: cql.first, params: [first.epoch, owner, claim, first.head, region, ...key] },
      { cql: cql.anchor, params: key },
    ];
  }
  const epoch = nextEpoch(seen, from);
  if (from === "lost") {
    const params = [epoch, owner, claim, region, nextEra(seen).head, ...key, seen.epoch, seen.home];
    return [{ cql: cql.inherit, params }];
  }
  if (from === "here") return [{ cql: cql.again, params: [epoch, owner, claim, ...key, seen.epoch, region] }];
  return [{ cql: cql.arrive, params: [epoch, owner, claim, region, ...key, seen.epoch, seen.home] }];
}

/** Nothing was ever committed before a first claim, so there is nothing to read after it. */
function firstActivation(
  region: string,
  claimed: Pick<ActorHead, "epoch" | "head" | "owner">,
  claim: string,
): Claimed {
  const head = { ...claimed, op: "", snapshotSeq: 0, snapshot: null, schemaVersion: 0 };
  return {
    activation: { head, events: [], outbox: [], timers: [], inbox: [] },
    statics: {
      ...head,
      claim,
      wakeAtMs: null,
      outboxLow: 0,
      home: region,
      movedFrom: null,
      epochAtUs: 0,
    },
    arrived: false,
  };
}

async function load(
  session: CassandraSession,
  ref: ActorRef,
  statics: Statics,
  arrived: boolean,
): Promise<Claimed> {
  const { epoch, owner, head, op, snapshotSeq, snapshot, schemaVersion } = statics;
  const rows = await readSystemRows(session, ref, statics);
  const headOnly = { epoch, owner, head, op, snapshotSeq, snapshot, schemaVersion };
  return { activation: { head: headOnly, ...rows }, statics, arrived };
}
