// What remains of a purged version in the place of its sidecar: where it stands among the versions of its record, and by which key and
// under which certificate and mandate it was sealed and received, when. Verification answers from this and from the hash.

import { isObject } from "../std/is-object.ts";

export interface VersionRemains {
  readonly business_uuid: string;
  readonly record_type: string;
  readonly cert_id: string;
  readonly change: number;
  readonly sealed_at: string;
  readonly sealed_by_key_id: string;
  readonly received_at: string;
  readonly scope: { readonly mandate_id: string | null };
}

export function remainsText({
  business_uuid,
  record_type,
  cert_id,
  change,
  sealed_at,
  sealed_by_key_id,
  received_at,
  scope: { mandate_id },
}: VersionRemains): string {
  const sealed = { sealed_at, sealed_by_key_id, received_at, scope: { mandate_id } };
  return JSON.stringify({ purged: { business_uuid, record_type, cert_id, change, ...sealed } });
}

/** Null for the sidecar of a version that is not purged. */
export function parseRemains(sidecar: string): VersionRemains | null {
  const stored: unknown = JSON.parse(sidecar);
  return isObject(stored) && "purged" in stored ? (stored["purged"] as VersionRemains) : null;
}
