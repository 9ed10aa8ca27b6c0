// Sidecar: what the service states about one version of a record, signed by its sidecar key: who published it, under what
// authority, when it was received and that its seal was valid (specification, «Sidecar»).

import { type Envelope, openEnvelope, payloadTypes } from "./dsse.ts";
import { type PayloadFormat, parsePayload } from "./payload.ts";
import type { Verdict } from "./result.ts";
import {
  closed,
  distinct,
  hash,
  integer,
  keyId,
  literal,
  matching,
  nullable,
  oneOf,
  text,
  timestamp,
  uuid,
} from "./shape.ts";
import { pushId, recordId } from "./wire/push.ts";

/** Who was authorised to publish, and on what basis. It names a key, never a person. */
export interface SidecarScope {
  /** `mandate`: an integration key under a sealed mandate; `role`: a person's passkey; `standard_publishing`: a hosted key. */
  readonly basis: "mandate" | "role" | "standard_publishing";
  readonly key_id: string;
  readonly kind: "system" | "passkey" | "hosted";
  /** Null unless the basis is `mandate`. */
  readonly mandate_id: string | null;
  /** What the basis allowed, for example `publish:products`. */
  readonly permissions: readonly string[];
}

interface SidecarCommon {
  readonly action: "publish" | "update" | "withdraw" | "delete";
  /** push_id; null for a record sealed alone. */
  readonly batch_id: string | null;
  readonly business_uuid: string;
  readonly cert_id: string;
  /** Orders all changes in the record's history. */
  readonly change: number;
  /** Counts the published versions of the record from 1. */
  readonly generation: number;
  readonly path: "A" | "B";
  /** When the version was published; the sidecar key must be valid then. */
  readonly published_at: string;
  /** When the service received the seal. */
  readonly received_at: string;
  readonly record_id: string;
  readonly record_type: string;
  /** The version of the record's schema: the n of `svc/<type>/<n>`. */
  readonly record_version: number;
  readonly scope: SidecarScope;
  /** Always true: the service publishes nothing whose seal is invalid. */
  readonly seal_ok: true;
  readonly sealed_at: string;
  readonly sealed_by_key_id: string;
  /** Hash of the exact record bytes. */
  readonly sha256: string;
  readonly source: "manual" | "import" | "api";
}

export interface SidecarV2 extends SidecarCommon {
  readonly v: 2;
  readonly ai_policy_version: number;
}

/** Names the terms version where version 2 names the AI policy version. */
export interface SidecarV1 extends SidecarCommon {
  readonly v: 1;
  readonly terms_version: number;
}

export type Sidecar = SidecarV1 | SidecarV2;

const counter = integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const versionNumber = integer({ min: 0, max: 2_147_483_647 });

const common = {
  action: oneOf(["publish", "update", "withdraw", "delete"] as const),
  batch_id: nullable(pushId),
  business_uuid: uuid,
  cert_id: hash,
  change: counter,
  generation: counter,
  path: oneOf(["A", "B"] as const),
  published_at: timestamp,
  received_at: timestamp,
  record_id: recordId,
  record_type: matching(/^[a-z_]{1,32}$/, "a record type"),
  record_version: counter,
  scope: closed<SidecarScope>({
    basis: oneOf(["mandate", "role", "standard_publishing"]),
    key_id: keyId,
    kind: oneOf(["system", "passkey", "hosted"]),
    mandate_id: nullable(text(128)),
    permissions: distinct(matching(/^[a-z_]+(:[a-z_]+)?$/, "a permission"), { min: 1, max: 32 }),
  }),
  seal_ok: literal(true),
  sealed_at: timestamp,
  sealed_by_key_id: keyId,
  sha256: hash,
  source: oneOf(["manual", "import", "api"] as const),
} as const;

const versions = [1, 2];
export const sidecarV1: PayloadFormat<SidecarV1> = {
  version: 1,
  versions,
  shape: closed<SidecarV1>({ ...common, v: literal(1), terms_version: versionNumber }),
};
export const sidecarV2: PayloadFormat<SidecarV2> = {
  version: 2,
  versions,
  shape: closed<SidecarV2>({ ...common, v: literal(2), ai_policy_version: versionNumber }),
};

/** Opens an envelope that must be a sidecar of version 1 or 2. It only reads: the signature is not verified. */
export function openSidecar(envelope: Envelope): Verdict<Sidecar> {
  const first = envelope.payloadType === payloadTypes["sidecar.v1"];
  const payload = openEnvelope(envelope, first ? payloadTypes["sidecar.v1"] : payloadTypes["sidecar.v2"]);
  if (!payload.ok) return payload;
  return first ? parsePayload(payload.value, sidecarV1) : parsePayload(payload.value, sidecarV2);
}

/**
 * The RFC 8785 text of a version 2 sidecar, built without sorting, because a push creates one for every record. Every string
 * except the mandate id has a format that needs no escaping.
 */
export function sidecarPayloadText(sidecar: SidecarV2): string {
  const { scope } = sidecar;
  const batch = sidecar.batch_id === null ? "null" : `"${sidecar.batch_id}"`;
  const mandate = scope.mandate_id === null ? "null" : JSON.stringify(scope.mandate_id);
  return (
    `{"action":"${sidecar.action}","ai_policy_version":${sidecar.ai_policy_version},"batch_id":${batch},` +
    `"business_uuid":"${sidecar.business_uuid}","cert_id":"${sidecar.cert_id}","change":${sidecar.change},` +
    `"generation":${sidecar.generation},"path":"${sidecar.path}","published_at":"${sidecar.published_at}",` +
    `"received_at":"${sidecar.received_at}","record_id":"${sidecar.record_id}","record_type":"${sidecar.record_type}",` +
    `"record_version":${sidecar.record_version},"scope":{"basis":"${scope.basis}","key_id":"${scope.key_id}",` +
    `"kind":"${scope.kind}","mandate_id":${mandate},"permissions":${JSON.stringify(scope.permissions)}},` +
    `"seal_ok":true,"sealed_at":"${sidecar.sealed_at}","sealed_by_key_id":"${sidecar.sealed_by_key_id}",` +
    `"sha256":"${sidecar.sha256}","source":"${sidecar.source}","v":2}`
  );
}
