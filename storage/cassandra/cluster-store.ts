// What nodes know about each other, in Cassandra. It meets the port's obligations C1–C8.
//   D1. Views and beats are agreed on in their own region's data centre only (C3).
//   D2. Homes and standings are agreed on by a majority of all replicas (C4) and then written to a quorum of the
//       requesting region, which therefore reads its own writes (C6, C7); the majority makes them durable (C2).
//   D3. A note of a move is one value with an explicit write timestamp, so that a later version always wins (C5).

import { setTimeout as delay } from "node:timers/promises";
import {
  type Beat,
  type ClusterStore,
  type Member,
  type PartyHome,
  type RegionStatus,
  StoreError,
} from "../cluster-store.ts";
import {
  type CassandraSession,
  type Consistency,
  type CqlParam,
  type CqlRow,
  executeAll,
} from "./session.ts";

/** The single partition of moves, and of standings. */
const part = "all";
const dayMs = 86_400_000;
const daySeconds = dayMs / 1_000;
/** How long to wait for all regions before falling back to the own region's answer (C7). */
const everywhereMs = 1_000;

const cql = {
  view: "SELECT version, members FROM region_view WHERE region = ?",
  firstView: "INSERT INTO region_view (region, version, members) VALUES (?, 1, ?) IF NOT EXISTS",
  nextView: "UPDATE region_view SET version = ?, members = ? WHERE region = ? IF version = ?",
  beat: "INSERT INTO region_beat (region, incarnation, count, wall_ms, homes_seen) VALUES (?, ?, ?, ?, ?)",
  beats: "SELECT incarnation, count, wall_ms, homes_seen FROM region_beat WHERE region = ?",
  home: "SELECT party, region, moving_to, version FROM party_home WHERE party = ?",
  firstHome: "INSERT INTO party_home (party, region, moving_to, version) VALUES (?, ?, ?, 1) IF NOT EXISTS",
  nextHome: "UPDATE party_home SET region = ?, moving_to = ?, version = ? WHERE party = ? IF version = ?",
  note: `INSERT INTO party_move (part, party, home) VALUES ('${part}', ?, ?) USING TTL ${daySeconds} AND TIMESTAMP ?`,
  moves: `SELECT home FROM party_move WHERE part = '${part}'`,
  standings: `SELECT region, status, successor, version FROM region_standing WHERE part = '${part}'`,
  firstStanding: `INSERT INTO region_standing (part, region, status, successor, version)
    VALUES ('${part}', ?, ?, ?, 1) IF NOT EXISTS`,
  nextStanding: `UPDATE region_standing SET status = ?, successor = ?, version = ? WHERE part = '${part}' AND region = ?
    IF version = ?`,
  time: "SELECT toUnixTimestamp(now()) AS time FROM system.local",
} as const;

/** The session's data centre is the node's region. */
export function openCassandraClusterStore(session: CassandraSession): ClusterStore {
  const assertOwn = (region: string): void => {
    if (region !== session.localDc) throw new Error(`${session.localDc} may not write data of ${region}`);
  };
  const one = async (text: string, params: readonly CqlParam[], consistency: Consistency) =>
    (await session.execute(text, params, { consistency, idempotent: true })).rows[0];
  const all = (text: string, params: readonly CqlParam[], consistency: Consistency = "LOCAL_QUORUM") =>
    executeAll(session, text, params, { consistency, idempotent: true });
  /** See D1 and D2. */
  const conditionally = async (
    serial: "LOCAL_SERIAL" | "SERIAL",
    text: string,
    params: readonly CqlParam[],
  ): Promise<boolean> => {
    const options = { consistency: "LOCAL_QUORUM", serial, idempotent: false } as const;
    return (await session.execute(text, params, options)).applied;
  };
  const homeOf = async (party: string, consistency: Consistency): Promise<PartyHome | null> => {
    const row = await one(cql.home, [party], consistency);
    return row === undefined ? null : toHome(row);
  };
  const storeTimeMs = async (): Promise<number> => Number((await one(cql.time, [], "LOCAL_ONE"))?.["time"]);
  const noteMove = async ({ party, region, moving_to, version }: PartyHome): Promise<void> => {
    const note = JSON.stringify({ party, region, moving_to, version });
    const params = [party, note, noteTime(version, await storeTimeMs())];
    try {
      await session.execute(cql.note, params, { consistency: "EACH_QUORUM", idempotent: true });
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      // A region is unreachable: a majority of all replicas is a quorum of each reachable region.
      await session.execute(cql.note, params, { consistency: "QUORUM", idempotent: true });
    }
  };
  return {
    readView: async (region) => {
      const isOwn = region === session.localDc;
      const row = await one(cql.view, [region], isOwn ? "LOCAL_SERIAL" : "LOCAL_QUORUM");
      if (row === undefined) return { region, version: 0, members: [] };
      return { region, version: Number(row["version"]), members: toMembers(row["members"]) };
    },
    casView: ({ region, version, members }) => {
      assertOwn(region);
      const text = JSON.stringify(members satisfies readonly Member[]);
      return version === 1
        ? conditionally("LOCAL_SERIAL", cql.firstView, [region, text])
        : conditionally("LOCAL_SERIAL", cql.nextView, [version, text, region, version - 1]);
    },
    beat: async (region, beat) => {
      assertOwn(region);
      const params = [region, beat.incarnation, beat.count, beat.wall_ms, beat.homes_seen];
      await session.execute(cql.beat, params, { idempotent: true });
    },
    readBeats: async (region) => (await all(cql.beats, [region])).map(toBeat),
    readHome: (party) => homeOf(party, "SERIAL"),
    readHomeNearby: (party) => homeOf(party, "LOCAL_QUORUM"),
    casHome: async (next) => {
      const { party, region, moving_to, version } = next;
      if (version === 1) return conditionally("SERIAL", cql.firstHome, [party, region, moving_to]);
      const params = [region, moving_to, version, party, version - 1];
      if (!(await conditionally("SERIAL", cql.nextHome, params))) return false;
      try {
        await noteMove(next);
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        const detail = `the home is changed, but not noted: ${error.message}`;
        throw new StoreError("unknown", detail, { cause: error });
      }
      return true;
    },
    noteMove,
    readMoves: async () => (await all(cql.moves, [])).map(toNote),
    readStandings: async () => {
      const read = (consistency: Consistency) => all(cql.standings, [], consistency);
      const everywhere = read("EACH_QUORUM").catch(() => null);
      const patience = new AbortController();
      const late = delay(everywhereMs, null, { signal: patience.signal }).catch(() => null);
      const rows = (await Promise.race([everywhere, late])) ?? (await read("LOCAL_QUORUM"));
      patience.abort();
      return rows.map(toStanding);
    },
    casStanding: ({ region, status, successor, version }) =>
      version === 1
        ? conditionally("SERIAL", cql.firstStanding, [region, status, successor])
        : conditionally("SERIAL", cql.nextStanding, [status, successor, version, region, version - 1]),
    storeTimeMs,
  };
}

/**
 * D3: the version decides. Of two notes of one version the one of the later day wins; otherwise a note that was forgotten
 * after its day would block the same note on another day.
 */
function noteTime(version: number, nowMs: number): number {
  return version * 100_000 + Math.floor(nowMs / dayMs);
}

// Reads the cluster's rows. Other releases write them as well: anything that does not parse as the port's types is
// reported as damage, and never leads to a wrong answer (C8).

type Fields = Readonly<Record<string, unknown>>;

function toMembers(column: unknown): readonly Member[] {
  const members = parse(column, "members of a view");
  if (!Array.isArray(members)) throw damaged("members of a view");
  return members.map((each) => {
    const fields = fieldsOf(each, "a member");
    return {
      incarnation: text(fields, "incarnation"),
      address: text(fields, "address"),
      state: oneOf(fields, "state", ["joining", "active", "leaving"] as const),
      protocol_min: count(fields, "protocol_min"),
      protocol_max: count(fields, "protocol_max"),
      joined_at_ms: count(fields, "joined_at_ms"),
    };
  });
}

function toBeat(row: CqlRow): Beat {
  return {
    incarnation: text(row, "incarnation"),
    count: count(row, "count"),
    wall_ms: count(row, "wall_ms"),
    homes_seen: count(row, "homes_seen"),
  };
}

function toHome(row: Fields): PartyHome {
  return {
    party: text(row, "party"),
    region: text(row, "region"),
    moving_to: textOrNull(row, "moving_to"),
    version: count(row, "version"),
  };
}

function toNote(row: CqlRow): PartyHome {
  return toHome(fieldsOf(parse(row["home"], "a note of a move"), "a note of a move"));
}

function toStanding(row: CqlRow): RegionStatus {
  return {
    region: text(row, "region"),
    status: oneOf(row, "status", ["active", "dead"] as const),
    successor: textOrNull(row, "successor"),
    version: count(row, "version"),
  };
}

function parse(column: unknown, what: string): unknown {
  try {
    return JSON.parse(String(column));
  } catch (error) {
    throw damaged(what, error);
  }
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null) throw damaged(what);
  return value as Fields;
}

function text(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw damaged(name);
  return value;
}

function textOrNull(fields: Fields, name: string): string | null {
  return fields[name] === null ? null : text(fields, name);
}

function count(fields: Fields, name: string): number {
  const value = fields[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw damaged(name);
  return value;
}

function oneOf<T extends string>(fields: Fields, name: string, values: readonly T[]): T {
  const found = values.find((value) => value === fields[name]);
  if (found === undefined) throw damaged(name);
  return found;
}

function damaged(what: string, cause?: unknown): StoreError {
  return new StoreError("not_applied", `the cluster's tables contain an invalid ${what}`, { cause });
}
