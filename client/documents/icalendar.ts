// iCalendar (RFC 5545) as its components with their content lines, and what the values mean that events need. Faults know their line.

import { FeedError } from "../feeds/feed-item.ts";

/** One property of a component. */
export interface ContentLine {
  /** Line of the file on which it begins, counted from 1. */
  readonly line: number;
  /** In upper case. */
  readonly name: string;
  /** By their names in upper case, as the text after the `=` without quotes. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly value: string;
}

export interface Component {
  readonly name: string;
  readonly line: number;
  readonly properties: readonly ContentLine[];
  readonly components: readonly Component[];
}

/** Whether a text begins as a calendar does. */
export function isCalendar(text: string): boolean {
  return /^\s*BEGIN:VCALENDAR\s*$/im.test(text.split(/\r\n|\n|\r/, 3).join("\n")) && /^\s*BEGIN:/i.test(text);
}

/** The calendars of a file (section 3.4). Throws {@link FeedError}. */
export function parseCalendars(text: string): readonly Component[] {
  const calendars: Component[] = [];
  const open: { name: string; line: number; properties: ContentLine[]; components: Component[] }[] = [];
  for (const each of contentLines(text)) {
    const { line, name, value } = each;
    const inner = open.at(-1);
    if (name === "BEGIN") open.push({ name: value.toUpperCase(), line, properties: [], components: [] });
    else if (inner === undefined) throw new FeedError(line, `${name} stands outside of a component.`);
    else if (name !== "END") inner.properties.push(each);
    else {
      if (inner.name !== value.toUpperCase())
        throw new FeedError(line, `END:${value} ends nothing: ${inner.name} of line ${inner.line} is open.`);
      open.pop();
      (open.at(-1)?.components ?? calendars).push(inner);
    }
  }
  const unended = open.at(-1);
  if (unended !== undefined)
    throw new FeedError(unended.line, `${unended.name} has no END: the file is not whole.`);
  const other = calendars.find(({ name }) => name !== "VCALENDAR");
  if (other !== undefined) throw new FeedError(other.line, `${other.name} stands outside of a calendar.`);
  return calendars;
}

/** The content lines, unfolded (section 3.1). */
function contentLines(text: string): readonly ContentLine[] {
  const unfolded: { line: number; text: string }[] = [];
  for (const [at, each] of text.split(/\r\n|\n/).entries()) {
    const last = unfolded.at(-1);
    if (/^[ \t]/.test(each) && last !== undefined) last.text += each.slice(1);
    else if (each !== "") unfolded.push({ line: at + 1, text: each });
  }
  return unfolded.map((each) => contentLine(each.line, each.text));
}

const nameForm = /^[A-Za-z0-9-]+/;
const parameterForm = /^;([A-Za-z0-9-]+)=((?:"[^"]*"|[^";:,]*)(?:,(?:"[^"]*"|[^";:,]*))*)/;

function contentLine(line: number, text: string): ContentLine {
  const name = nameForm.exec(text)?.[0];
  if (name === undefined)
    throw new FeedError(line, `A calendar has no such line: ${JSON.stringify(text.slice(0, 60))}.`);
  const parameters = new Map<string, string>();
  let rest = text.slice(name.length);
  for (let found = parameterForm.exec(rest); found !== null; found = parameterForm.exec(rest)) {
    const [all, key = "", value = ""] = found;
    parameters.set(key.toUpperCase(), parameterText(value));
    rest = rest.slice(all.length);
  }
  if (!rest.startsWith(":"))
    throw new FeedError(line, `${name.toUpperCase()} has no value, or a parameter that cannot be read.`);
  return { line, name: name.toUpperCase(), parameters, value: rest.slice(1) };
}

/** RFC 6868: a caret escapes what a parameter cannot have. */
function parameterText(value: string): string {
  return value
    .replaceAll('"', "")
    .replaceAll(/\^[n^']/g, (escaped) => ({ "^n": "\n", "^^": "^" })[escaped] ?? '"');
}

/** A value of type TEXT (section 3.3.11). */
export function textOf(value: string): string {
  return value.replaceAll(/\\([\\;,Nn])/g, (_, escaped: string) => (/n/i.test(escaped) ? "\n" : escaped));
}

/** Several values of type TEXT, which commas separate. */
export function textsOf(value: string): readonly string[] {
  return (value.match(/(?:\\.|[^\\,])+/g) ?? []).map(textOf);
}

/** A value of type DATE-TIME or DATE (sections 3.3.4 and 3.3.5); null for another form. `time` is null for a day. */
export function dateTimeOf(
  value: string,
): { readonly day: string; readonly time: string | null; readonly isUtc: boolean } | null {
  const [, year, month, date, hour, minute, second, utc] =
    /^([0-9]{4})([0-9]{2})([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(Z)?)?$/.exec(value) ?? [];
  if (year === undefined) return null;
  const time = hour === undefined ? null : `${hour}:${minute}:${second}`;
  return { day: `${year}-${month}-${date}`, time, isUtc: utc !== undefined };
}

/** A value of type DURATION (section 3.3.6) as days of the calendar and milliseconds; null for another form, or one below nothing. */
export function durationOf(value: string): { readonly days: number; readonly ms: number } | null {
  const [all, weeks, days, hours, minutes, seconds] =
    /^\+?P(?:([0-9]{1,4})W|(?:([0-9]{1,4})D)?(?:T(?=[0-9])(?:([0-9]{1,4})H)?(?:([0-9]{1,6})M)?(?:([0-9]{1,6})S)?)?)$/.exec(
      value,
    ) ?? [];
  if (all === undefined || /P$/.test(all)) return null;
  const number = (text: string | undefined): number => Number(text ?? 0);
  return {
    days: number(weeks) * 7 + number(days),
    ms: ((number(hours) * 60 + number(minutes)) * 60 + number(seconds)) * 1_000,
  };
}
