import { describe, expect, it } from "vitest";
import { read } from "./documents.fixture.ts";

const said = {
  countries: "GB",
  language: "en",
  event_type: "workshop",
  attendance_mode: "in_person",
  ticketed: "no",
};

/** A calendar with one event, whose times and further lines are given. */
const calendar = (times: readonly string[], ...lines: readonly string[]): string =>
  [
    "BEGIN:VCALENDAR",
    "VERSION:2.0",
    "BEGIN:VEVENT",
    "UID:day-1",
    "DTSTAMP:20261101T000000Z",
    "SUMMARY:Sourdough day",
    "DESCRIPTION:Bring a jar.",
    ...times,
    ...lines,
    "END:VEVENT",
    "END:VCALENDAR",
    "",
  ].join("\r\n");

const leeds = ["DTSTART;TZID=Europe/London:20261205T100000", "DTEND;TZID=Europe/London:20261205T120000"];

describe("an event of a calendar (RFC 5545)", () => {
  it("is a record: folded lines, escapes, parameters, a place, and what an event does not have", async () => {
    const lines = [
      "LOCATION:The Barn\\, Leeds",
      "GEO:53.8;-1.55",
      "URL:https://bakery.example/da",
      " y",
      'ORGANIZER;CN="A; B":mailto:a@bakery.example',
      "X-COLOR:red",
      "CATEGORIES:Bread,Workshop",
    ];
    const [item, more] = await read(calendar(leeds, ...lines), { said: { ...said, event_type: "class" } });
    expect(more).toBeUndefined();
    expect(item?.notes).toEqual(["ORGANIZER attribute_not_in_schema"]);
    expect(item?.faults).toEqual([]);
    expect(item?.record).toMatchObject({
      schema: "svc/events/1",
      business_product_id: "day-1",
      title: "Sourdough day",
      description: "Bring a jar.",
      start_at: "2026-12-05T10:00:00.000Z",
      end_at: "2026-12-05T12:00:00.000Z",
      timezone: "Europe/London",
      venue: "The Barn, Leeds",
      geo: { lat: 53.8, lng: -1.55 },
      event_url: "https://bakery.example/day",
      event_type: "workshop",
      countries: ["GB"],
      ticketed: false,
    });
  });

  it.each([
    [
      "in UTC, with the calendar's zone",
      ["DTSTART:20260705T100000Z", "DURATION:PT1H30M"],
      "X-WR-TIMEZONE:Europe/Paris",
      "2026-07-05T10:00:00.000Z",
      "2026-07-05T11:30:00.000Z",
    ],
    [
      "in the calendar's zone",
      ["DTSTART:20260705T100000"],
      "X-WR-TIMEZONE:Europe/Paris",
      "2026-07-05T08:00:00.000Z",
      "2026-07-05T08:00:00.000Z",
    ],
    [
      "of a day, to its end",
      ["DTSTART;VALUE=DATE:20261025"],
      "X-WR-TIMEZONE:Europe/Paris",
      "2026-10-24T22:00:00.000Z",
      "2026-10-25T23:00:00.000Z",
    ],
    [
      "over weeks",
      ["DTSTART;VALUE=DATE:20261001", "DURATION:P1W"],
      "X-WR-TIMEZONE:Asia/Kolkata",
      "2026-09-30T18:30:00.000Z",
      "2026-10-07T18:30:00.000Z",
    ],
    [
      "that occurs twice: the first",
      ["DTSTART;TZID=Europe/Paris:20261025T023000"],
      "X-N:",
      "2026-10-25T00:30:00.000Z",
      "2026-10-25T00:30:00.000Z",
    ],
    [
      "that the clocks skip: by the offset before",
      ["DTSTART;TZID=Europe/Paris:20260329T023000"],
      "X-N:",
      "2026-03-29T01:30:00.000Z",
      "2026-03-29T01:30:00.000Z",
    ],
  ])("has a time %s", async (_name, times, ofCalendar, start_at, end_at) => {
    const text = calendar(times).replace("VERSION:2.0", ofCalendar);
    const [item] = await read(text, { said });
    expect(item?.left).toEqual([]);
    expect(item?.record).toMatchObject({ start_at, end_at });
  });

  it.each([
    [
      "a zone that cannot be resolved",
      ["DTSTART;TZID=W. Europe Standard Time:20261205T100000"],
      /time zone "W. Europe Standard Time" cannot be resolved: write .*Europe\/Paris/,
    ],
    ["no zone", ["DTSTART:20261205T100000"], /--timezone Europe\/Paris/],
    ["no day of the calendar", ["DTSTART:20260230T100000Z"], /20261205T180000Z/],
    ["another form", ["DTSTART:2026-12-05"], /20261205T180000Z/],
    ["a duration below nothing", ["DTSTART:20261205T100000Z", "DURATION:-PT1H"], /PT2H30M/],
  ])("is left out with %s", async (_name, times, detail) => {
    const [item] = await read(calendar(times), { said });
    expect(item?.record).toBeNull();
    expect(item?.left).toEqual([expect.stringMatching(detail)]);
  });

  it.each([
    "CLASS:PRIVATE",
    "STATUS:CANCELLED",
    "STATUS:TENTATIVE",
    "RRULE:FREQ=WEEKLY",
    "RDATE:20261206T100000Z",
    "RECURRENCE-ID:20261205T100000Z",
  ])("is left out with %s (C1)", async (line) => {
    const [item] = await read(calendar(leeds, line), { said });
    expect(item?.record).toBeNull();
    expect(item?.left).toHaveLength(1);
  });

  it("lacks what the file does not say, and nothing makes it up", async () => {
    const [item] = await read(calendar(leeds));
    expect(item?.faults).toEqual([
      "member_missing /language",
      "member_missing /countries",
      "member_missing /event_type",
      "member_missing /attendance_mode",
      "member_missing /ticketed",
    ]);
  });

  it("leaves a task out, and reads no alarm", async () => {
    const text = calendar(leeds, "BEGIN:VALARM", "TRIGGER:-PT15M", "END:VALARM").replace(
      "END:VCALENDAR",
      "BEGIN:VTODO\r\nUID:t\r\nEND:VTODO\r\nEND:VCALENDAR",
    );
    const items = await read(text, { said });
    expect(items.map(({ left }) => left)).toEqual([[], ["VTODO: Is no event: take it out of the file."]]);
  });

  it.each([
    [
      "a component without an end",
      calendar(leeds).replace("END:VEVENT\r\n", ""),
      "END:VCALENDAR ends nothing: VEVENT of line 3 is open.",
    ],
    [
      "a file that is not whole",
      calendar(leeds).replace("END:VCALENDAR\r\n", ""),
      "VCALENDAR has no END: the file is not whole.",
    ],
    ["a line without a value", calendar(leeds, "LOCATION"), "LOCATION has no value"],
    ["a line of anything", calendar(leeds, "!"), "A calendar has no such line"],
  ])("is refused with its file for %s", async (_name, text, detail) => {
    await expect(read(text, { said })).rejects.toThrow(detail);
  });
});
