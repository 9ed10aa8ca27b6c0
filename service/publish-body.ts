// The body of POST /v1/publish/{type}: `{batch_seal, records[]}` (specification, «B. Business machine API»).
//   B1. However large the body is and whatever it contains, reading it yields the thread after each short step: the
//       records are taken out one by one, and only what is left, which is small, is parsed as a whole.
//   B2. No more items are counted than a batch may have, and nothing is built from an item before its length is judged.

import { parseBase64, parseUtf8 } from "../protocol/bytes.ts";
import { type Envelope, parseEnvelope } from "../protocol/dsse.ts";
import { type ItemPlace, type SplitOutcome, splitArray } from "../protocol/json-records.ts";
import { batchRecordsMax, recordCharactersMax } from "../protocol/limits.ts";
import { nearestName } from "../protocol/nearest.ts";
import { problem } from "../protocol/problem.ts";
import { type Refusal, type Result, refuse } from "../protocol/result.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { isObject } from "../std/is-object.ts";
import { joinPointer } from "../std/json-pointer.ts";
import type { Pace } from "../std/pace.ts";
import { inSteps } from "../std/steps.ts";
import { isRefused, type Refused, refused } from "./answer.ts";
import { sealRefused } from "./seal-refused.ts";

export interface PublishBody {
  readonly batchSeal: Envelope;
  /** The exact bytes of the records; record i is leaf i. */
  readonly records: readonly Uint8Array[];
}

const members = ["batch_seal", "records"];
const faultsMax = 20;
/** JSON turns one character into six at most (`\u0041`). */
const escapedLengthMax = 6;
/** Maximum size of the body without its records. */
const restBytesMax = 65_536;
/** Number of bytes examined before the thread is yielded. */
const stepBytes = 131_072;

/** Refuses with `request_invalid`, `record_too_large` or `seal_invalid`, locating the fault by a JSON pointer. */
export async function parsePublishBody(body: Uint8Array, pace: Pace): Promise<PublishBody | Refused> {
  const limits = {
    itemsMax: batchRecordsMax,
    stringBytesMax: escapedLengthMax * recordCharactersMax,
    stepBytes,
  };
  const split = await inSteps(splitArray(body, { member: "records", ...limits }), pace);
  if (split.kind === "too_many") return tooMany();
  if (split.kind === "malformed") {
    return invalid(`The body is not strict JSON: byte ${split.at} does not continue the array records.`, "");
  }
  if (split.kind === "too_long") {
    if (split.item === null) return restTooLong();
    const { code, detail } = recordTooLarge();
    return refused(problem(code, detail, { pointer: `/records/${split.item}` }));
  }
  if (split.rest.length > restBytesMax) return restTooLong();
  return parseParts(body, split, pace);
}

async function parseParts(
  body: Uint8Array,
  { items, rest }: Extract<SplitOutcome, { kind: "split" }>,
  pace: Pace,
): Promise<PublishBody | Refused> {
  const json = parseStrictJson(rest);
  if (!json.ok) return invalid(`The body is not strict JSON: ${json.detail}`, json.pointer ?? "");
  const { value } = json;
  if (!isObject(value)) return invalid("The body must be a JSON object.", "");
  const unknown = Object.keys(value).find((name) => !members.includes(name));
  if (unknown !== undefined) {
    const suggestion = nearestName(unknown, members);
    return refused(
      problem("request_invalid", `The body has no member ${JSON.stringify(unknown)}.`, {
        pointer: joinPointer("", unknown),
        ...(suggestion === null ? {} : { suggestion }),
      }),
    );
  }
  const { batch_seal, records } = value as { batch_seal?: unknown; records?: unknown };
  if (batch_seal === undefined) return invalid("batch_seal is required.", "/batch_seal");
  const envelope = parseEnvelope(batch_seal);
  if (!envelope.ok) return sealRefused(envelope.code, envelope.detail, { pointer: "/batch_seal" });
  const places = items ?? placesOf(records);
  if (places === null) return invalid("records must be an array of base64 strings.", "/records");
  const parsed = await inSteps(parseRecords(body, places), pace);
  return isRefused(parsed) ? parsed : { batchSeal: envelope.value, records: parsed };
}

/** The texts of the records that were small enough to be parsed with the rest. */
function placesOf(records: unknown): readonly (string | null)[] | null {
  if (!Array.isArray(records)) return null;
  return records.map((record: unknown) => (typeof record === "string" ? record : null));
}

function* parseRecords(
  body: Uint8Array,
  places: readonly (ItemPlace | string)[],
): Generator<void, readonly Uint8Array[] | Refused> {
  if (places.length === 0) return invalid("records must have at least one item.", "/records");
  if (places.length > batchRecordsMax) return tooMany();
  const parsed: Uint8Array[] = [];
  const faults: { pointer: string; detail: string }[] = [];
  let charactersRead = 0;
  for (const [index, place] of places.entries()) {
    const pointer = `/records/${index}`;
    const outcome = parseRecord(body, place);
    if (outcome.ok) parsed.push(outcome.value);
    else if (outcome.code === "record_too_large")
      return refused(problem("record_too_large", outcome.detail, { pointer }));
    else if (faults.length < faultsMax) faults.push({ pointer, detail: outcome.detail });
    charactersRead += place === null || typeof place === "string" ? 1 : place.end - place.start;
    if (charactersRead < stepBytes) continue;
    charactersRead = 0;
    yield;
  }
  const [first] = faults;
  if (!first) return parsed;
  return refused(
    problem("request_invalid", first.detail, {
      pointer: first.pointer,
      errors: faults.map((fault) => ({ code: "request_invalid", ...fault })),
    }),
  );
}

type RecordOutcome = Result<Uint8Array, "record_too_large" | "request_invalid">;

function parseRecord(body: Uint8Array, place: ItemPlace | string): RecordOutcome {
  if (typeof place === "string") return parseRecordText(place);
  if (place === null) return refuse("request_invalid", "A record must be a base64 string.");
  const written = parseUtf8(body.subarray(place.start, place.end));
  if (written === null) return refuse("request_invalid", "The record's text is not UTF-8.");
  return written.includes("\\") ? parseEscaped(written) : parseRecordText(written);
}

function parseEscaped(written: string): RecordOutcome {
  try {
    return parseRecordText(JSON.parse(`"${written}"`) as string);
  } catch {
    return refuse("request_invalid", "The record's text is not a JSON string.");
  }
}

/** A record as requests and files contain it. */
export function parseRecordText(record: string): RecordOutcome {
  if (record.length > recordCharactersMax) return recordTooLarge();
  const bytes = parseBase64(record);
  if (bytes === null || bytes.length === 0) {
    return refuse("request_invalid", "A record must be the base64 (RFC 4648 §4, padded) of its exact bytes.");
  }
  return { ok: true, value: bytes };
}

function recordTooLarge(): Refusal<"record_too_large"> {
  return refuse("record_too_large", `A record must have at most ${recordCharactersMax} base64 characters.`);
}

function restTooLong(): Refused {
  return invalid(`Besides the items of records, the body must have at most ${restBytesMax} bytes.`, "");
}

function tooMany(): Refused {
  return invalid(`records has at most ${batchRecordsMax} items; publish more by a bulk file.`, "/records");
}

function invalid(detail: string, pointer: string): Refused {
  return refused(problem("request_invalid", detail, { pointer }));
}
