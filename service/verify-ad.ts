// The item of an ad in a verification: judged with nothing but what is in it, as anyone can judge it, and its seal once more by what
// the register knows now, because an item is as old as its keys. What else the register knows that the item does not say
// becomes a warning.

import { parseBase64, parseUtf8, utf8 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { exactMember } from "../protocol/exact-member.ts";
import type { ReasonCode, Refusal } from "../protocol/result.ts";
import type { AdSection } from "../protocol/wire/verify.ts";
import { isObject } from "../std/is-object.ts";
import { verifyAdItem } from "../verifier/ad-item.ts";
import type { Check, Report } from "../verifier/report.ts";
import { verifySeal } from "../verifier/seal.ts";
import type { Trust } from "../verifier/trust.ts";
import type { Register } from "./register.ts";
import { certificateWarnings, registerReasons, type Standings } from "./standing.ts";

interface AdDeps {
  readonly register: Pick<Register, "refresh">;
  readonly trust: Trust;
  readonly standings: Standings;
}

interface AdInput {
  readonly item: JsonObject & { readonly record_base64: string };
  /** The exact text of the request, if it is at hand. */
  readonly body: Uint8Array | undefined;
  readonly at: string;
}

export async function judgeAdItem(
  deps: AdDeps,
  input: AdInput,
): Promise<{ readonly section: AdSection; readonly warnings: readonly string[] }> {
  const text = input.body === undefined ? null : parseUtf8(input.body);
  const exact = text === null ? null : exactMember(text, "ad_item");
  const report = verifyAdItem(deps.trust, exact === null ? input.item : utf8(exact));
  const section = sectionOf(report, input.item);
  if (!section.valid) return { section, warnings: [] };
  const first = await judgeNow(deps, input);
  if (first.refusal === null || !registerReasons.includes(first.refusal.code))
    return { section: fallen(section, first.refusal), warnings: first.warnings };
  await deps.register.refresh();
  const { refusal, warnings } = await judgeNow(deps, input);
  return { section: fallen(section, refusal), warnings };
}

function fallen(section: AdSection, refusal: Refusal<ReasonCode> | null): AdSection {
  if (refusal === null) return section;
  const { code: reason } = refusal;
  const detail = `By what is registered now, the seal in the item is refused: ${refusal.detail}`;
  const checks = section.checks.map((check) =>
    check.name === "seal" ? { ...check, state: "failed" as const, reason, detail } : check,
  );
  return { valid: false, reason, detail, checks };
}

function sectionOf(report: Report, item: JsonObject): AdSection {
  // The service states what it judged; what no signature covers is the same of every item, and published.
  const checks = report.checks.flatMap(({ name, state, reason, detail }) =>
    state === "unsigned"
      ? []
      : {
          ...{ name: name as AdSection["checks"][number]["name"], state },
          ...(reason === undefined ? {} : { reason }),
          ...(detail === undefined ? {} : { detail }),
        },
  );
  const failed = report.checks.find(isFailed);
  if (failed !== undefined) {
    const { reason, detail = "" } = failed;
    return { valid: false, reason, detail, checks };
  }
  const { record_id: adId, business_uuid: uuid } = item["row"] as JsonObject;
  return { valid: true, ad_id: adId as string, business_uuid: uuid as string, checks };
}

function isFailed(check: Check): check is Check & { readonly reason: NonNullable<Check["reason"]> } {
  return check.state === "failed" && check.reason !== undefined;
}

interface JudgedNow {
  readonly refusal: Refusal<ReasonCode> | null;
  readonly warnings: readonly string[];
}

async function judgeNow({ trust, standings }: AdDeps, { item, at }: AdInput): Promise<JudgedNow> {
  const { row, sidecar } = item;
  const uuid = isObject(row) ? row["business_uuid"] : undefined;
  const standing = typeof uuid === "string" ? await standings.read(uuid, at) : null;
  const bytes = parseBase64(item.record_base64);
  if (standing === null || bytes === null || !isObject(row))
    return { refusal: null, warnings: [unknownBusiness] };
  const { certificates, keys, policies } = standing;
  const seal = verifySeal(trust, {
    ...{ document: "ad", bytes, certificates, keys, policies, judgedAt: at },
    seal: row["adl_origin_seal"] as JsonValue,
    sidecar: sidecar as JsonValue,
  });
  return { refusal: seal.ok ? null : seal, warnings: certificateWarnings(standing) };
}

const unknownBusiness = "The business of the ad is not known here.";
