// The kinds of sealed bytes: a record of a collection, an ad, its campaign or a sponsored product, an AI policy record, or a withdrawal document.

import { adProductSchema, campaignSchema } from "../protocol/ad-campaign.ts";
import { parseAiPolicy } from "../protocol/ai-policy.ts";
import { parseObject } from "../protocol/dsse.ts";
import { isShownType, recordType } from "../protocol/identifiers.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { recordSchema } from "../protocol/records/parse-record.ts";
import { ok, refuse } from "../protocol/result.ts";
import { parseWithdrawal } from "../protocol/withdrawal.ts";

export type SealedDocument = "record" | "ad" | "campaign" | "ad_product" | "ai_policy" | "withdrawal";

/** The `record_type` in the seal of an ad, of a campaign and of a sponsored product. */
export const adRecordType = "ads";

/** The `record_type` in the seal of an AI policy record. */
export const aiPolicyRecordType = "ai_policy";

/**
 * Reads sealed bytes and checks them against the seal's `record_type`. Refuses with `payload_malformed`,
 * `record_type_mismatch` and, for an unknown schema version, `version_unknown`. The record's own members are validated
 * when it is published, not here.
 */
export function sealedDocument(
  document: SealedDocument,
  bytes: Uint8Array,
  sealedType: string,
): Verdict<JsonObject> {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return parsed;
  const fault = faultOf(document, bytes, parsed.value, sealedType);
  return fault.ok ? parsed : fault;
}

function faultOf(
  document: SealedDocument,
  bytes: Uint8Array,
  content: JsonObject,
  sealedType: string,
): Verdict<unknown> {
  if (document === "withdrawal") {
    const withdrawal = parseWithdrawal(bytes);
    if (!withdrawal.ok) return withdrawal;
    return recordType(withdrawal.value.record_id) === sealedType
      ? withdrawal
      : mismatch("The record id", sealedType);
  }
  if (document === "ai_policy") {
    return sealedType === aiPolicyRecordType
      ? parseAiPolicy(bytes)
      : mismatch("An AI policy record", sealedType);
  }
  if (document === "campaign" || document === "ad_product") {
    const [what, schema] =
      document === "campaign" ? ["A campaign", campaignSchema] : ["A sponsored product", adProductSchema];
    return sealedType === adRecordType && content["schema"] === schema
      ? ok(undefined)
      : mismatch(what, sealedType);
  }
  const isOfKind = (document === "ad") === (sealedType === adRecordType);
  return isOfKind
    ? judgeSchema(content["schema"], sealedType)
    : mismatch(document === "ad" ? "An ad" : "A record", sealedType);
}

function judgeSchema(schema: unknown, sealedType: string): Verdict<void> {
  const match = typeof schema === "string" ? /^svc\/([a-z_]{1,32})\/([0-9]{1,9})$/.exec(schema) : null;
  if (match === null)
    return refuse("record_type_mismatch", "The record does not name its schema.", "/schema");
  const [, type = ""] = match;
  if (type !== sealedType || !isShownType(type)) return mismatch("The record's schema", sealedType);
  return schema === recordSchema(type)
    ? ok(undefined)
    : refuse("version_unknown", `Record schema ${schema} is not known.`, "/schema");
}

function mismatch(what: string, sealedType: string): Verdict<never> {
  return refuse("record_type_mismatch", `${what} is not of the sealed type ${sealedType}.`);
}
