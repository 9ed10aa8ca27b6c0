// Runs a case about a seal: the certificates and keys are verified first, and the first refusal is the verdict.

import type { JsonObject, JsonValue } from "../../protocol/canonical-json.ts";
import { ok, type Verdict } from "../../protocol/result.ts";
import type { SealEvidence } from "../../verifier/seal.ts";
import type { Verifier } from "../../verifier/verifier.ts";
import type { Expected } from "./case.ts";
import { bytesOf, expectedOf } from "./judge.ts";

/** What a case about a seal gives besides the bytes, the seal, the certificates and the keys. */
interface SealInput {
  readonly uuid: string;
  readonly document?: NonNullable<SealEvidence["document"]>;
  readonly seal: JsonValue;
  readonly certificates: readonly JsonValue[];
  readonly business_keys: JsonValue;
  readonly mandates?: NonNullable<SealEvidence["mandates"]>;
  readonly sidecar?: JsonValue;
  readonly expected_hash?: string;
  readonly policies?: {
    readonly versions: readonly { readonly version: number; readonly live_from: string }[];
    readonly complete: boolean;
    readonly uncertain_ms: number;
  };
  readonly received?: { readonly at: string | null };
  readonly key_event?: { readonly found: boolean; readonly required: boolean };
}

/** What the verifier takes, from the members of a case. */
export function sealEvidenceOf(verifier: Verifier, input: JsonObject): Verdict<SealEvidence> {
  const given = input as unknown as SealInput;
  const certificates = verifier.certificates(given.uuid, given.certificates);
  if (!certificates.ok) return certificates;
  const keys = verifier.businessKeys(given.uuid, given.business_keys);
  if (!keys.ok) return keys;
  const { document, mandates, sidecar, received, policies, key_event: event } = given;
  return ok({
    ...{ bytes: bytesOf(input, "bytes_base64"), seal: given.seal },
    ...{ certificates: certificates.value, keys: keys.value },
    ...(document === undefined ? {} : { document }),
    ...(given.expected_hash === undefined ? {} : { expectedHash: given.expected_hash }),
    ...(mandates === undefined ? {} : { mandates }),
    ...(sidecar === undefined ? {} : { sidecar }),
    ...(received === undefined ? {} : { received }),
    ...(event === undefined ? {} : { keyEvent: { found: event.found, isRequired: event.required } }),
    ...(policies === undefined
      ? {}
      : {
          policies: {
            versions: policies.versions,
            isComplete: policies.complete,
            uncertainMs: policies.uncertain_ms,
          },
        }),
  });
}

export function judgeSeal(verifier: Verifier, input: JsonObject): Expected {
  const evidence = sealEvidenceOf(verifier, input);
  if (!evidence.ok) return expectedOf(evidence);
  const verdict = verifier.seal(evidence.value);
  const found = expectedOf(verdict);
  if (!verdict.ok || verdict.value.sidecar === null) return found;
  const { sidecar } = verdict.value;
  return { ...found, sidecar: sidecar.ok ? "ok" : sidecar.code };
}
