// Events of a calendar (iCalendar, RFC 5545) as records.
//   C1. What is private, cancelled or tentative is not published, and an event that repeats is written out one by one.
//   C2. A time is that of a time zone which can be resolved, or a fault. The zone is the one of the event's times, or else the calendar's.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { FeedItem } from "../feeds/feed-item.ts";
import {
  type Component,
  type ContentLine,
  dateTimeOf,
  durationOf,
  parseCalendars,
  textOf,
  textsOf,
} from "./icalendar.ts";
import { instantOf, isTimeZone, type WallMs, wallOf } from "./local-time.ts";
import { type Beside, RecordDraft } from "./record-draft.ts";

/** The events of a file, each at the line on which it begins. Throws `FeedError`. */
export function calendarEvents(text: string, beside: Beside): readonly FeedItem[] {
  return parseCalendars(text).flatMap(({ properties, components }) => {
    const zone = properties.find(({ name }) => name === "X-WR-TIMEZONE")?.value.trim() ?? beside.zone;
    return components
      .filter(({ name }) => name !== "VTIMEZONE")
      .map((component) => eventOf(component, { ...beside, zone }));
  });
}

/** Facts of a calendar program, which say nothing of the event. */
const unsaid = ["DTSTAMP", "CREATED", "LAST-MODIFIED", "SEQUENCE", "TRANSP", "PRIORITY", "CLASS", "STATUS"];
const times = ["DTSTART", "DTEND", "DURATION"];
const repeating = ["RRULE", "RDATE", "EXDATE", "RECURRENCE-ID"];
const members: Readonly<Record<string, string>> = {
  UID: "business_product_id",
  SUMMARY: "title",
  DESCRIPTION: "description",
  LOCATION: "venue",
  URL: "event_url",
};

function eventOf(component: Component, beside: Beside): FeedItem {
  const draft = new RecordDraft("events", beside);
  const { name, properties, line } = component;
  const propertyOf = (wanted: string) => properties.find((each) => each.name === wanted);
  if (name !== "VEVENT")
    draft.leaveOut("attribute_not_in_schema", name, {
      value: "",
      detail: "Is no event: take it out of the file.",
    });
  else {
    for (const each of properties) takeProperty(draft, each);
    takeTimes(draft, propertyOf);
    forbid(draft, properties);
  }
  return draft.finished(line);
}

function takeProperty(draft: RecordDraft, { name, value, parameters }: ContentLine): void {
  const path = members[name];
  const language = parameters.get("LANGUAGE");
  if (path !== undefined) draft.say(name, path, name === "URL" ? value : textOf(value));
  else if (name === "GEO") takeGeo(draft, value);
  else if (name === "CATEGORIES") takeCategories(draft, textsOf(value));
  else if (![...unsaid, ...times, ...repeating].includes(name) && !name.startsWith("X-"))
    draft.passOver(name, value);
  if (name === "SUMMARY" && language !== undefined)
    draft.say("SUMMARY;LANGUAGE", "language", language.split("-", 1)[0] ?? "");
}

function takeGeo(draft: RecordDraft, value: string): void {
  const [lat = "", lng = "", ...more] = value.split(";");
  if (more.length > 0 || lng === "")
    draft.unusable("GEO", "geo", { value, detail: "Must be latitude;longitude, such as 53.8;-1.55." });
  else {
    draft.say("GEO", "geo.lat", lat);
    draft.say("GEO", "geo.lng", lng);
  }
}

/** Free words, of which one may be a kind of event. */
function takeCategories(draft: RecordDraft, words: readonly string[]): void {
  const codes = words
    .map((word) => word.trim().toLowerCase().replaceAll(/[ -]+/g, "_"))
    .filter((word) => draft.hasCode("event_type", word));
  if (codes.length === 1) draft.say("CATEGORIES", "event_type", codes[0] ?? "");
  else draft.passOver("CATEGORIES", words.join(", "), "category_unknown");
}

/** What is not published however it is written (C1). */
function forbid(draft: RecordDraft, properties: readonly ContentLine[]): void {
  for (const { name, value } of properties) {
    const said = value.trim().toUpperCase();
    if (name === "CLASS" && said !== "PUBLIC")
      draft.leaveOut("value_invalid", name, { value, detail: "Is not public: it is not published." });
    if (name === "STATUS" && said !== "CONFIRMED")
      draft.leaveOut("expired", name, { value, detail: "Only what takes place for certain is published." });
    if (repeating.includes(name)) {
      const detail = "The event repeats: write each of its dates as an event with a UID of its own.";
      draft.leaveOut("value_invalid", name, { value, detail });
    }
  }
}

/** A time on a wall clock in a zone, or of UTC (null). */
interface Time {
  readonly wallMs: WallMs;
  readonly zone: string | null;
  readonly isDay: boolean;
}

function takeTimes(draft: RecordDraft, propertyOf: (name: string) => ContentLine | undefined): void {
  const [begins, ends, lasts] = times.map(propertyOf);
  const start = begins === undefined ? null : timeOf(draft, begins, "start_at");
  if (start === null) return;
  draft.put("start_at", formatTimestamp(msOf(start)));
  const zone = start.zone ?? draft.zone;
  if (zone !== null) draft.say("DTSTART;TZID", "timezone", zone);
  const end = ends === undefined ? endOf(draft, start, lasts) : timeOf(draft, ends, "end_at");
  if (end !== null) draft.put("end_at", formatTimestamp(msOf(end)));
}

/** What lasts, or what RFC 5545 says of an event without an end (section 3.6.1): a day lasts a day, and a time ends at once. */
function endOf(draft: RecordDraft, start: Time, lasts: ContentLine | undefined): Time | null {
  const duration =
    lasts === undefined ? { days: start.isDay ? 1 : 0, ms: 0 } : durationOf(lasts.value.trim());
  if (duration === null) {
    draft.unusable("DURATION", "end_at", {
      value: lasts?.value ?? "",
      detail: "Must be a duration such as PT2H30M.",
    });
    return null;
  }
  const at = { ...start, wallMs: start.wallMs + duration.days * 86_400_000 };
  // Hours are those of a clock that runs on, days those of the calendar.
  return { wallMs: msOf(at) + duration.ms, zone: null, isDay: start.isDay };
}

function msOf({ wallMs, zone }: Time): number {
  return zone === null ? wallMs : instantOf(wallMs, zone);
}

/** Null where a note says why there is none (C2). */
function timeOf(draft: RecordDraft, { name, value, parameters }: ContentLine, path: string): Time | null {
  const fault = (detail: string): null => {
    draft.unusable(name, path, { value, detail });
    return null;
  };
  const read = dateTimeOf(value.trim());
  const wallMs = read === null ? null : wallOf(read.day, read.time ?? "00:00:00");
  if (read === null || wallMs === null)
    return fault("Must be a date, or a date and time, such as 20261205T180000Z.");
  const isDay = read.time === null;
  if (read.isUtc) return { wallMs, zone: null, isDay };
  const zone = parameters.get("TZID") ?? draft.zone;
  if (zone === null)
    return fault("Is a local time, and the file names no time zone: --timezone Europe/Paris says which.");
  if (!isTimeZone(zone))
    return fault(
      `The time zone ${JSON.stringify(zone)} cannot be resolved: write a name of the IANA database such as Europe/Paris.`,
    );
  return { wallMs, zone, isDay };
}
