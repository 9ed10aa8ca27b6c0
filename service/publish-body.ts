// The body of POST /v1/publish/{type}: `{batch_seal, records[]}` (specification, «B. Business machine API»).

import { parseBase64 } from "../protocol/bytes.ts";
import { type Envelope, parseEnvelope } from "../protocol/dsse.ts";
import { nearestName } from "../protocol/nearest.ts";
import { type Problem, problem } from "../protocol/problem.ts";
import { type Result, refuse } from "../protocol/result.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";

/** Specification, «Limits». */
export const recordsMax = 10_000;
export const recordCharactersMax = 204_800;

export interface PublishBody {
  readonly batchSeal: Envelope;
  /** Exact bytes of the records; record i is leaf i. */
  readonly records: readonly Uint8Array[];
}

const members = ["batch_seal", "records"];
const faultsMax = 20;

export type BodyOutcome =
  | { readonly ok: true; readonly value: PublishBody }
  | { readonly ok: false; readonly problem: Problem };

/** Refuses with `request_invalid`, `record_too_large` or `seal_invalid`, naming the place by a JSON pointer. */
export function parsePublishBody(body: Uint8Array): BodyOutcome {
  const json = parseStrictJson(body);
  if (!json.ok) return invalid(`The body is not strict JSON: ${json.detail}`, json.pointer ?? "");
  const { value } = json;
  if (value === null || typeof value !== "object" || Array.isArray(value))
    return invalid("The body is a JSON object.", "");
  const unknown = Object.keys(value).find((name) => !members.includes(name));
  if (unknown !== undefined) {
    const suggestion = nearestName(unknown, members);
    return failed(
      problem("request_invalid", `The body has no member ${JSON.stringify(unknown)}.`, {
        pointer: `/${unknown.replaceAll("~", "~0").replaceAll("/", "~1")}`,
        ...(suggestion === null ? {} : { suggestion }),
      }),
    );
  }
  const { batch_seal, records } = value as { batch_seal?: unknown; records?: unknown };
  if (batch_seal === undefined) return invalid("batch_seal is required.", "/batch_seal");
  const envelope = parseEnvelope(batch_seal);
  if (!envelope.ok) {
    return failed(
      problem("seal_invalid", envelope.detail, { reason: envelope.code, pointer: "/batch_seal" }),
    );
  }
  const parsed = parseRecords(records);
  return parsed.ok ? { ok: true, value: { batchSeal: envelope.value, records: parsed.value } } : parsed;
}

type RecordsOutcome =
  | { readonly ok: true; readonly value: readonly Uint8Array[] }
  | { readonly ok: false; readonly problem: Problem };

function parseRecords(records: unknown): RecordsOutcome {
  if (!Array.isArray(records)) return invalid("records is an array of base64 strings.", "/records");
  if (records.length === 0) return invalid("records has at least one item.", "/records");
  if (records.length > recordsMax) {
    return invalid(`records has at most ${recordsMax} items; publish more by a bulk file.`, "/records");
  }
  const parsed: Uint8Array[] = [];
  const faults: { pointer: string; detail: string }[] = [];
  for (const [index, record] of records.entries()) {
    const outcome = parseRecordText(record);
    if (outcome.ok) parsed.push(outcome.value);
    else if (outcome.code === "record_too_large") {
      return failed(problem("record_too_large", outcome.detail, { pointer: `/records/${index}` }));
    } else if (faults.length < faultsMax)
      faults.push({ pointer: `/records/${index}`, detail: outcome.detail });
  }
  const [first] = faults;
  if (!first) return { ok: true, value: parsed };
  return failed(
    problem("request_invalid", first.detail, {
      pointer: first.pointer,
      errors: faults.map((fault) => ({ code: "request_invalid", ...fault })),
    }),
  );
}

function parseRecordText(record: unknown): Result<Uint8Array, "record_too_large" | "request_invalid"> {
  if (typeof record !== "string") return refuse("request_invalid", "A record is a base64 string.");
  if (record.length > recordCharactersMax) {
    return refuse("record_too_large", `A record has at most ${recordCharactersMax} base64 characters.`);
  }
  const bytes = parseBase64(record);
  if (bytes === null || bytes.length === 0) {
    return refuse("request_invalid", "A record is the base64 (RFC 4648 §4, padded) of its exact bytes.");
  }
  return { ok: true, value: bytes };
}

function invalid(detail: string, pointer: string): { readonly ok: false; readonly problem: Problem } {
  return failed(problem("request_invalid", detail, { pointer }));
}

function failed(value: Problem): { readonly ok: false; readonly problem: Problem } {
  return { ok: false, problem: value };
}
