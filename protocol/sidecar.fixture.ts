// A stored sidecar, for tests that only read it.

import { utf8 } from "./bytes.ts";
import { makeEnvelope, payloadTypes } from "./dsse.ts";
import { sidecarPayloadText } from "./signed-version.ts";

const hashOf = (digit: string): string => `sha256:${digit.repeat(64)}`;

const recordId = `svc_${"a".repeat(26)}`;

/** The envelope of a sidecar that nobody signed, as it is stored. */
export function sidecarText({
  generation = 1,
  change = 1,
}: {
  readonly generation?: number;
  readonly change?: number;
}): string {
  const at = "2026-03-01T00:00:00.000Z";
  const keyId = "A".repeat(43);
  const text = sidecarPayloadText({
    v: 2,
    action: "publish",
    ai_policy_version: 0,
    batch_id: null,
    business_uuid: "00000000-0000-4000-8000-000000000001",
    cert_id: hashOf("c"),
    change,
    generation,
    path: "A",
    published_at: at,
    received_at: at,
    record_id: recordId,
    record_type: "products",
    record_version: 1,
    scope: {
      basis: "mandate",
      key_id: keyId,
      kind: "system",
      mandate_id: "m",
      permissions: ["publish:products"],
    },
    seal_ok: true,
    sealed_at: at,
    sealed_by_key_id: keyId,
    sha256: hashOf("1"),
    source: "api",
  });
  const sig = new Uint8Array(64);
  return JSON.stringify(makeEnvelope(payloadTypes["sidecar.v2"], utf8(text), [{ keyid: keyId, sig }]));
}
