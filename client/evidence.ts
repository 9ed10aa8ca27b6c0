// Evidence files: a fetched record with everything that verifying it offline needs (format `svc-evidence/1`), and
// their verification with anchors that the verifying side chose.

import { parseAnchors } from "../protocol/anchors.ts";
import { parseBase64, utf8 } from "../protocol/bytes.ts";
import { canonicalize, type JsonObject, type JsonValue } from "../protocol/canonical-json.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { evidenceText } from "../verifier/evidence.ts";
import { type Check, checkOf, type Report, reportOf } from "../verifier/report.ts";
import { verifyEvidence } from "../verifier/verifier.ts";
import type { RecordAnswer, SvcClient } from "./service-client.ts";

export type { Check, Report } from "../verifier/report.ts";

/** Reads what the verification surface publishes about a fetched record, and puts all of it into one text. */
export async function collectEvidence(
  client: Pick<SvcClient, "verificationRead">,
  fetched: RecordAnswer,
  caller: { readonly environment: "production" | "sandbox"; readonly keyId: string },
): Promise<string> {
  const about = `/v1/certificates/${encodeURIComponent(fetched.body.business_uuid)}`;
  const paths = ["/.well-known/keys", about, `${about}/keys`, `${about}/key-custody`];
  const reads = await Promise.all(paths.map((path) => client.verificationRead(path)));
  const [keySet = "", certificate = "", businessKeys = "", keyCustody = ""] = reads.map(({ text }) => text);
  return evidenceText({
    environment: caller.environment,
    answer: { kind: "fetched", text: fetched.text },
    keySet,
    certificate,
    businessKeys,
    keyCustody,
    callerKeyId: caller.keyId,
    ...(fetched.requestHash === null ? {} : { requestHash: fetched.requestHash }),
  });
}

/**
 * Verifies an evidence file with nothing but anchors (their JSON text). Sandbox anchors are an explicit choice:
 * `anchors_unusable` without it, and for a text that holds no anchors.
 */
export function verifyEvidenceFile(
  file: Uint8Array,
  options: { readonly anchorsText: string; readonly allowSandbox: boolean },
): Result<Report, "anchors_unusable"> {
  const parsed = parseStrictJson(utf8(options.anchorsText));
  if (!parsed.ok) return refuse("anchors_unusable", `The anchors are not JSON: ${parsed.detail}`);
  const anchors = parseAnchors(parsed.value);
  if (!anchors.ok)
    return refuse("anchors_unusable", `These are no anchors: ${anchors.detail} (${anchors.pointer ?? ""})`);
  if (anchors.value.environment === "sandbox" && !options.allowSandbox) {
    return refuse(
      "anchors_unusable",
      "These are sandbox anchors: they vouch for nothing real. Say --sandbox to use them.",
    );
  }
  const shown = shownCheck(file);
  const report = verifyEvidence({ anchors: anchors.value }, file);
  return ok(shown === null ? report : reportOf([...report.checks, shown]));
}

/**
 * Exact bytes are carried in base64 beside the answer, so that a file that was printed anew still verifies. Whoever
 * reads the file reads the answer: what it shows must be what those bytes say.
 */
function shownCheck(file: Uint8Array): Check | null {
  const parsed = parseStrictJson(file);
  const evidence = parsed.ok ? memberOf(parsed.value, "fetched") : undefined;
  if (!parsed.ok || evidence === undefined) return null;
  const pairs = [
    [memberOf(evidence, "record"), memberOf(parsed.value, "record_base64")],
    [memberOf(memberOf(evidence, "ai_policy"), "record"), memberOf(parsed.value, "ai_policy_record_base64")],
  ];
  const isShown = pairs.every(([shown, exact]) => exact === undefined || isSameJson(shown, exact));
  const detail = "The record that the file shows is not the one whose bytes it carries.";
  return checkOf("shown_record", isShown ? ok(undefined) : refuse("hash_mismatch", detail));
}

function isSameJson(shown: JsonValue | undefined, exactBase64: JsonValue): boolean {
  const bytes = typeof exactBase64 === "string" ? parseBase64(exactBase64) : null;
  const exact = bytes === null ? null : parseStrictJson(bytes);
  return shown !== undefined && exact?.ok === true && canonicalize(shown) === canonicalize(exact.value);
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  const isObject =
    value !== undefined && value !== null && typeof value === "object" && !Array.isArray(value);
  return isObject ? (value as JsonObject)[name] : undefined;
}
