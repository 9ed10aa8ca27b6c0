// Evidence files: a fetched record with everything needed to verify it offline (format `svc-evidence/1`), and their
// verification against anchors chosen by the verifying side.

import { parseAnchors } from "../protocol/anchors.ts";
import { utf8 } from "../protocol/bytes.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { evidenceText } from "../verifier/evidence.ts";
import type { Report } from "../verifier/report.ts";
import { verifyEvidence } from "../verifier/verifier.ts";
import type { RecordAnswer, SvcClient } from "./service-client.ts";

export type { Check, Report } from "../verifier/report.ts";

/** Reads what the verification surface publishes about a fetched record and combines all of it into one text. */
export async function collectEvidence(
  client: Pick<SvcClient, "verificationRead">,
  fetched: RecordAnswer,
  caller: { readonly environment: "production" | "sandbox"; readonly keyId: string },
): Promise<string> {
  const about = `/v1/certificates/${encodeURIComponent(fetched.body.business_uuid)}`;
  const read = async (path: string): Promise<string> => (await client.verificationRead(path)).text;
  // The keys name the newest certificate, so everything they name is already published once they have been read.
  const businessKeys = await read(`${about}/keys`);
  const paths = ["/.well-known/keys", about, `${about}/key-custody`];
  const [keySet = "", certificate = "", keyCustody = ""] = await Promise.all(paths.map(read));
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
 * Verifies an evidence file using only anchors (given as JSON text). Sandbox anchors must be allowed explicitly; without
 * that, or for a text that contains no anchors, the result is `anchors_unusable`.
 */
export function verifyEvidenceFile(
  file: Uint8Array,
  options: { readonly anchorsText: string; readonly allowSandbox: boolean },
): Result<Report, "anchors_unusable"> {
  const parsed = parseStrictJson(utf8(options.anchorsText));
  if (!parsed.ok) return refuse("anchors_unusable", `The anchors are not JSON: ${parsed.detail}`);
  const anchors = parseAnchors(parsed.value);
  if (!anchors.ok)
    return refuse(
      "anchors_unusable",
      `These are not valid anchors: ${anchors.detail} (${anchors.pointer ?? ""})`,
    );
  if (anchors.value.environment === "sandbox" && !options.allowSandbox) {
    return refuse(
      "anchors_unusable",
      "These are sandbox anchors, which vouch for nothing real. Use --sandbox to accept them.",
    );
  }
  return ok(verifyEvidence({ anchors: anchors.value }, file));
}
