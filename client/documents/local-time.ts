// Instants as files write them: with their offset from UTC, or as the local time of a time zone.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import { timeZones } from "../../protocol/records/vocabularies/time-zones.ts";
import type { ReadValue } from "../feeds/feed-values.ts";
import { parseInstant } from "../feeds/merchant-price.ts";

/** A time on a wall clock, with the instant at which a clock in UTC would show it; in Unix milliseconds. */
export type WallMs = number;

const written =
  /^(?<day>[0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ](?<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?) ?(?<offset>[Zz]|[+-][0-9]{2}:?[0-9]{2})?)?$/;

/** An instant in ISO 8601 as a timestamp; local time is that of `zone`, and a fault where there is none. */
export function readInstant(text: string, zone: string | null): ReadValue {
  const { day, time, offset } = written.exec(text)?.groups ?? {};
  if (day === undefined) return { fault: "Must be a date and time such as 2026-12-05T18:00:00Z." };
  if (time === undefined) return { fault: `Is a day: write the time as well, such as ${day}T18:00:00Z.` };
  const wallMs = wallOf(day, time);
  if (wallMs === null) return { fault: "Is no date and time of the calendar." };
  if (offset === undefined && zone === null)
    return {
      fault: `Is a local time, and nothing says of which place: write ${day}T${time}+01:00, or name the time zone with --timezone Europe/Paris.`,
    };
  const ms = offset === undefined ? instantOf(wallMs, zone ?? "UTC") : parseInstant(text);
  if (ms === null) return { fault: `${offset} is no offset from UTC.` };
  return { value: formatTimestamp(ms), change: null, fault: null };
}

/** Null for what no calendar has, such as 30 February. */
export function wallOf(day: string, time: string): WallMs | null {
  const [clock = "", fraction = ""] = time.split(".");
  const whole = `${day}T${clock.length === 5 ? `${clock}:00` : clock}`;
  const ms = Date.parse(`${whole}.${fraction.padEnd(3, "0").slice(0, 3)}Z`);
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 19) !== whole ? null : ms;
}

/** Whether times can be read in the zone, and records may name it. */
export function isTimeZone(zone: string): boolean {
  return timeZones.codes.has(zone);
}

const dayMs = 86_400_000;

/**
 * The instant of a local time (RFC 5545, section 3.3.5): of a time that occurs twice the first, and of one that a clock skips the one by
 * the offset before.
 */
export function instantOf(wallMs: WallMs, zone: string): number {
  const before = offsetAt(wallMs - dayMs, zone);
  const after = offsetAt(wallMs + dayMs, zone);
  const found = [before, after]
    .map((offset) => wallMs - offset)
    .filter((ms) => ms + offsetAt(ms, zone) === wallMs);
  return found.length === 0 ? wallMs - before : Math.min(...found);
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** By how much the clocks of a zone are ahead of UTC at an instant. */
function offsetAt(ms: number, zone: string): number {
  const clock = clocks.get(zone) ?? clockOf(zone);
  clocks.set(zone, clock);
  const parts = Object.fromEntries(clock.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
  const { year = 0, month = 1, day, hour, minute, second } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1_000) * 1_000;
}

function clockOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-US", {
    timeZone,
    calendar: "iso8601",
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
}
