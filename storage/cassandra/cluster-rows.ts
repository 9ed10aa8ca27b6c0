// Reads the cluster's rows. Other releases write them as well: anything that does not parse as the port's types is
// reported as damage, and never leads to a wrong answer (C8).

import type { Beat, Member, PartyHome, RegionStatus } from "../cluster-store.ts";
import { StoreError } from "../cluster-store.ts";
import type { CqlRow } from "./session.ts";

type Fields = Readonly<Record<string, unknown>>;

export function toMembers(column: unknown): readonly Member[] {
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

export function toBeat(row: CqlRow): Beat {
  return {
    incarnation: text(row, "incarnation"),
    count: count(row, "count"),
    wall_ms: count(row, "wall_ms"),
    homes_seen: count(row, "homes_seen"),
  };
}

export function toHome(row: Fields): PartyHome {
  return {
    party: text(row, "party"),
    region: text(row, "region"),
    moving_to: textOrNull(row, "moving_to"),
    version: count(row, "version"),
  };
}

export function toNote(row: CqlRow): PartyHome {
  return toHome(fieldsOf(parse(row["home"], "a note of a move"), "a note of a move"));
}

export function toStanding(row: CqlRow): RegionStatus {
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
