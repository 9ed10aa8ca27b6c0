// The whole answer of GET /v1/catalogue/{record_id}: a business's own record with its seal. It has no receipt, no sidecar and no AI policy,
// so it proves that the business sealed these bytes, and nothing of what is served. A page of the catalogue has nothing that is signed.

import type { JsonValue } from "../protocol/canonical-json.ts";
import { isRecordId } from "../protocol/identifiers.ts";
import { malformed, parseObject } from "../protocol/payload.ts";
import { type ReasonCode, type Refusal, refuse, type Verdict } from "../protocol/result.ts";
import { catalogueRecord } from "../protocol/wire/catalogue.ts";
import { isObject } from "../std/is-object.ts";
import type { AnswerEvidence } from "./answer-evidence.ts";
import { verifyBusinessKeys } from "./business-keys.ts";
import { certificateCheck, certificatesOf, mandateCheck } from "./fetch-answer.ts";
import { memberBytes } from "./fetched-record.ts";
import { compareMembers, unknownChecks, unsignedChecks } from "./members.ts";
import { type Check, checkOf, type Report, reportOf, sealCheckOf, unchecked } from "./report.ts";
import { verifySeal } from "./seal.ts";
import type { SealVerdict } from "./seal-report.ts";
import type { Trust } from "./trust.ts";

export interface CatalogueEvidence extends Pick<AnswerEvidence, "certificate" | "businessKeys" | "mandate"> {
  /** Whose catalogue it is; the answer does not say it. */
  readonly businessUuid: string;
}

/**
 * Checks the body of the answer, exactly as received. The checks are `certificate`, `business_keys`, `seal` and `ai_policy`, and `mandate`
 * where one is given; those whose evidence is missing are `not_checked`, and `ai_policy` always is. `unsigned/…` and `unknown/…` are as
 * in `verifyFetchAnswer`, and so is a failed check `answer`.
 */
export function verifyCatalogueAnswer(trust: Trust, body: Uint8Array, evidence: CatalogueEvidence): Report {
  const parsed = parseAnswer(body);
  if (!parsed.ok) return reportOf([checkOf("answer", parsed)]);
  const { fault, unknown, bytes, seal: sealed } = parsed.value;
  const { businessUuid: uuid, certificate, businessKeys, mandate } = evidence;
  const keys = businessKeys === undefined ? null : verifyBusinessKeys(trust, uuid, businessKeys);
  const known = keys?.ok ? keys.value : null;
  const certificates = certificate === undefined ? null : certificatesOf(trust, uuid, certificate, known);
  const seal: SealVerdict | null =
    certificates?.ok !== true || known === null
      ? null
      : verifySeal(trust, {
          ...{ bytes, seal: sealed, certificates: certificates.value, keys: known },
          ...(mandate === undefined ? {} : { mandates: [{ envelope: mandate, revoked_at: null }] }),
        });
  const isOfType = seal?.ok !== true || seal.value.record_type === parsed.value.type;
  const answerFault = isOfType ? fault : otherType();
  return reportOf([
    ...(answerFault === null ? [] : [checkOf("answer", answerFault)]),
    certificateCheck(certificates, known, null),
    keys === null
      ? unchecked("business_keys", "The published keys of the business are not given.")
      : checkOf("business_keys", keys, (found) => `Issued at ${found.issued_at}.`),
    sealCheck(seal),
    unchecked("ai_policy", "The answer has no AI policy: whether the version was in force is not known."),
    ...mandateCheck(trust, mandate, known),
    ...unsignedChecks("catalogue", ["/record_id", "/live_in", "/last_updated", "/source"]),
    ...unknownChecks(unknown),
  ]);
}

function sealCheck(seal: SealVerdict | null): Check {
  if (seal === null) return unchecked("seal", "Needs the certificate and the keys of the business.");
  return sealCheckOf("seal", seal, ({ sealed_at, key_kind, key_id }) => {
    return `Sealed at ${sealed_at} by the ${key_kind} key ${key_id}.`;
  });
}

interface Parsed {
  readonly type: JsonValue | undefined;
  readonly bytes: Uint8Array;
  readonly seal: JsonValue;
  readonly unknown: readonly string[];
  /** The first member that is not what follows from the others. */
  readonly fault: Refusal<ReasonCode> | null;
}

function parseAnswer(body: Uint8Array): Verdict<Parsed> {
  const parsed = parseObject(body);
  if (!parsed.ok) return parsed;
  const answer = parsed.value;
  const { unknown, missing } = compareMembers(catalogueRecord.schema, answer);
  if (missing !== null) return missing;
  const { record_id: id, type, record, seal = null, business_product_id: ownId } = answer;
  const bytes = memberBytes(new TextDecoder().decode(body), "record");
  if (bytes === null || !isObject(record)) return malformed("Must be an object.", "/record");
  if (typeof id !== "string" || !isRecordId(id)) return malformed("Must be a record id.", "/record_id");
  const fault =
    ownId === record["business_product_id"]
      ? null
      : refuse("hash_mismatch", "The own id is not the sealed one.", "/business_product_id");
  return { ok: true, value: { type, bytes, seal, unknown, fault } };
}

function otherType(): Refusal<ReasonCode> {
  return refuse(
    "record_type_mismatch",
    "The answer calls the record something else than is sealed.",
    "/type",
  );
}
