// What a fetch answer says beside the documents that are signed in it, and the record: each member is compared with them, or named.

import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { sealLeafOf } from "../protocol/log/leaves.ts";
import { malformed, parseObject } from "../protocol/payload.ts";
import { projectionByName } from "../protocol/projection/specifications.ts";
import { representUsNames } from "../protocol/records/business-files.ts";
import { type ReasonCode, type Refusal, refuse, type Verdict } from "../protocol/result.ts";
import { parseRecordSeal } from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/sidecar.ts";
import { isObject } from "../std/is-object.ts";
import type { AnswerEvidence } from "./answer-evidence.ts";
import type { FetchedRecord } from "./fetched-record.ts";
import { isSame, unknownChecks, unsignedChecks } from "./members.ts";
import type { Check } from "./report.ts";
import type { Trust } from "./trust.ts";

/** The first member of the answer that is not what follows from its signed documents. */
export function answerFault(
  { sha256 }: Trust,
  { answer, bytes, seal, type, businessUuid }: FetchedRecord,
  { sidecar, evidence }: { readonly sidecar: Verdict<Sidecar>; readonly evidence: AnswerEvidence },
): Refusal<ReasonCode> | null {
  if (answer === null) return null;
  const { published_at: publishedAt, provenance, represent_us, endpoints } = answer.members;
  const { certificate_url: url, projection_version: version, log_leaf: leaf } = provenance as JsonObject;
  const other = (what: string, pointer: string) =>
    refuse("hash_mismatch", `The answer has another ${what} than follows from what was signed.`, pointer);
  if (sidecar.ok && publishedAt !== sidecar.value.published_at)
    return other("time of publication", "/published_at");
  const parsed = parseRecordSeal(seal);
  if (parsed.ok && leaf !== sealLeafOf(parsed.value.envelope, sha256))
    return other("leaf of the transparency log", "/provenance/log_leaf");
  const path = `/v1/certificates/${businessUuid}`;
  if (!leadsTo(url, path, evidence.verifyUrl))
    return other("certificate's address", "/provenance/certificate_url");
  return projectionFault(version, type) ?? businessFileFault({ represent_us, endpoints }, type, bytes);
}

/** Whether an address leads to the path, at the address of the verification surface if that is given. */
function leadsTo(url: JsonValue | undefined, path: string, base: string | undefined): boolean {
  if (typeof url !== "string") return false;
  return base === undefined ? /^https?:\/\/[!-~]+$/.test(url) && url.endsWith(path) : url === base + path;
}

/** As long as a type has one projection that is known, its name follows from the type. */
function projectionFault(version: JsonValue | undefined, type: string): Refusal<ReasonCode> | null {
  const pointer = "/provenance/projection_version";
  const known = typeof version === "string" ? projectionByName(version) : null;
  if (known === null)
    return refuse("projection_unknown", "The answer names a projection that is not known.", pointer);
  return known.record_type === type
    ? null
    : refuse("record_type_mismatch", "The answer names the projection of another type.", pointer);
}

const endpointStatuses: readonly (JsonValue | undefined)[] = ["authorised", "unconfirmed", "suspended"];

/** What is shown of a business file beside its record stands in the record; nothing of the kind is shown of any other type. */
function businessFileFault(
  { represent_us: texts, endpoints }: Readonly<Record<"represent_us" | "endpoints", JsonValue | undefined>>,
  type: string,
  bytes: Uint8Array,
): Refusal<ReasonCode> | null {
  if (type !== "business_files") {
    if (texts === undefined && endpoints === undefined) return null;
    return malformed("Only a business file has this.", texts === undefined ? "/endpoints" : "/represent_us");
  }
  const record = parseObject(bytes);
  if (!record.ok) return record;
  const { represent_us: sealed, endpoints: items = [] } = record.value;
  const isShown = (name: string) =>
    isObject(texts) && isSame(texts[name], isObject(sealed) ? (sealed[name] ?? null) : null);
  const name = representUsNames.find((each) => !isShown(each));
  if (name !== undefined)
    return refuse("hash_mismatch", "The text is not the sealed one.", `/represent_us/${name}`);
  if (!isObject(endpoints) || !isSame(endpoints["items"], items))
    return refuse("hash_mismatch", "The addresses are not the sealed ones.", "/endpoints/items");
  return endpointStatuses.includes(endpoints["status"])
    ? null
    : malformed("Must be authorised, unconfirmed or suspended.", "/endpoints/status");
}

/** What was not checked of the answer, by name. */
export function openChecks({ answer, type }: FetchedRecord, { verifyUrl }: AnswerEvidence): readonly Check[] {
  if (answer === null) return [];
  return [
    ...unsignedChecks("fetch", type === "business_files" ? ["/endpoints/status"] : []),
    ...unsignedChecks(
      "fetch",
      verifyUrl === undefined ? ["/provenance/certificate_url", "/provenance/source_line"] : [],
    ),
    ...unknownChecks(answer.unknown),
  ];
}
