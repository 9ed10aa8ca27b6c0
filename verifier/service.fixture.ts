// Test support: an offline service with its whole chain of keys, and the documents that it signs.

import { hashOf } from "../protocol/bytes.ts";
import { type Envelope, openEnvelope, type PayloadKind, payloadTypes } from "../protocol/dsse.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../protocol/json/canonical-json.ts";
import type { Anchors } from "../protocol/keys/anchors.ts";
import {
  type Certificate,
  certIdOf,
  certificatePayload,
  certificateStatement,
  openCertificate,
} from "../protocol/keys/certificate.ts";
import { openKeyCustody } from "../protocol/keys/key-directory.ts";
import {
  type KeyCertificate,
  type KeyEntry,
  type KeySet,
  type KeyUse,
  keyCertificatePayload,
  keySetPayload,
} from "../protocol/keys/key-set.ts";
import { makeKey, seal, type TestKey, testOrigin, testRpId } from "./signing.fixture.ts";

export const day0 = "2026-01-01T00:00:00.000Z";
export const region = "eu-west1";
export const otherRegion = "us-east1";

/** Both halves of a long-lived key, or one key that signs alone. */
export interface ServiceKey {
  readonly use: KeyUse;
  readonly region: string | null;
  readonly halves: readonly TestKey[];
}

export interface TestService {
  readonly environment: Anchors["environment"];
  readonly anchors: Anchors;
  readonly root: ServiceKey;
  readonly issuance: ServiceKey;
  readonly projection: ServiceKey;
  readonly receipt: ServiceKey;
  readonly otherReceipt: ServiceKey;
  readonly sidecar: ServiceKey;
  readonly statement: ServiceKey;
  readonly log: ServiceKey;
  /** The key certificates, in parts that a test may change before signing. */
  readonly links: readonly Link[];
}

export interface Link {
  readonly certified: ServiceKey;
  readonly issuer: ServiceKey;
  readonly facts?: Partial<KeyCertificate>;
  /** The signing keys, if they are not the issuer's. */
  readonly signers?: readonly TestKey[];
}

export function makeService(environment: Anchors["environment"] = "production"): TestService {
  const root = makeServiceKey("root");
  const issuance = makeServiceKey("issuance");
  const working = {
    projection: makeServiceKey("projection"),
    receipt: makeServiceKey("receipt", region),
    otherReceipt: makeServiceKey("receipt", otherRegion),
    sidecar: makeServiceKey("sidecar"),
    statement: makeServiceKey("statement"),
    log: makeServiceKey("log"),
  };
  const links: Link[] = [
    { certified: root, issuer: root },
    { certified: issuance, issuer: root },
    ...Object.values(working).map((certified) => ({ certified, issuer: issuance })),
  ];
  return { environment, anchors: anchorsOf(environment, root), root, issuance, ...working, links };
}

export function makeServiceKey(use: KeyUse, place: string | null = null): ServiceKey {
  const isPair = use === "root" || use === "issuance";
  return {
    use,
    region: place,
    halves: isPair ? [makeKey("ES256"), makeKey("ML-DSA-65")] : [makeKey("Ed25519")],
  };
}

/** The single key of a working key. */
export function soleKey({ halves: [key] }: ServiceKey): TestKey {
  if (key === undefined) throw new Error("A service key has a key");
  return key;
}

export function anchorsOf(environment: Anchors["environment"], root: ServiceKey): Anchors {
  return {
    v: 1,
    environment,
    roots: root.halves.map((half) => ({
      key_id: half.keyId,
      alg: half.alg,
      public_key: half.jwk,
      pair: otherHalf(root, half) ?? "",
    })),
    passkeys: { rp_ids: [testRpId], origins: [testOrigin] },
    log: { origin: "log.test/svc", key_name: "svc-log" },
  };
}

function otherHalf({ halves }: ServiceKey, half: TestKey): string | null {
  return halves.find((other) => other !== half)?.keyId ?? null;
}

export interface KeySetParts {
  readonly links?: readonly Link[];
  /** Changes to the entries of a key, looked up by any of its key ids. */
  readonly entries?: (key: ServiceKey) => Partial<KeyEntry>;
  readonly facts?: Partial<KeySet>;
  readonly signers?: readonly TestKey[];
}

/** The signed key set answer, as parsed JSON. */
export function keySetAnswer(service: TestService, parts: KeySetParts = {}): JsonValue {
  const links = parts.links ?? service.links;
  const certified = [...new Set(links.map((link) => link.certified))];
  const keys = certified.flatMap((key) =>
    key.halves.map((half) => ({ ...entryOf(key, half), ...(parts.entries?.(key) ?? {}) })),
  );
  const certificates = links.map((link) => keyCertificate(service, link));
  const keySet: KeySet = { v: 1, issued_at: "2026-06-01T00:00:00.000Z", keys, certificates, ...parts.facts };
  const signed = seal(
    payloadTypes["key-set.v1"],
    keySetPayload(keySet),
    ...(parts.signers ?? service.issuance.halves),
  );
  return asJson({ keys, signed });
}

function entryOf(key: ServiceKey, half: TestKey): KeyEntry {
  const { use, region: place } = key;
  const window = { valid_from: day0, valid_until: null, compromised_from: null };
  return {
    key_id: half.keyId,
    use,
    region: place,
    alg: half.alg,
    public_key: half.jwk,
    pair: otherHalf(key, half),
    ...window,
  };
}

export function keyCertificate(service: TestService, link: Link): Envelope {
  const { certified, issuer } = link;
  const certificate: KeyCertificate = {
    v: 1,
    use: certified.use,
    region: certified.region,
    keys: certified.halves.map((half) => ({ key_id: half.keyId, alg: half.alg, public_key: half.jwk })),
    valid_from: day0,
    valid_until: null,
    issuer: issuer.halves.map((half) => half.keyId),
    issued_at: day0,
    compromised_from: null,
    ...(service.environment === "sandbox" ? { sandbox: true } : {}),
    ...link.facts,
  };
  return seal(
    payloadTypes["key-certificate.v1"],
    keyCertificatePayload(certificate),
    ...(link.signers ?? issuer.halves),
  );
}

/** A signed document of any kind, built from its members and signed with the keys of one service key. */
export function document(kind: PayloadKind, payload: object, ...signers: readonly TestKey[]): JsonValue {
  return asJson(seal(payloadTypes[kind], canonicalBytes(asJson(payload)), ...signers));
}

export interface IssuedTestCertificate {
  readonly certId: string;
  readonly envelope: JsonValue;
}

export function issueCertificate(
  service: TestService,
  certificate: Certificate,
  ...signers: readonly TestKey[]
): IssuedTestCertificate {
  const payload = certificatePayload(certificate);
  const keys = signers.length === 0 ? service.issuance.halves : signers;
  return {
    certId: certIdOf(payload),
    envelope: asJson(seal(payloadTypes["certificate.v1"], payload, ...keys)),
  };
}

/** The value as it would arrive: parsed from JSON text. */
/** `GET /v1/certificates/{uuid}`, with the newest issuance first. */
export function certificateAnswer(newest: JsonValue, ...earlier: readonly JsonValue[]): JsonObject {
  const issuanceOf = (value: JsonValue) => {
    const envelope = value as unknown as Envelope;
    const issued = openCertificate(envelope);
    if (!issued.ok) throw new Error(issued.detail);
    const { certId, certificate } = issued.value;
    const { status, status_effective_from, status_reason, issued_at } = certificate;
    const reason = status_reason === undefined ? {} : { status_reason };
    return {
      summary: {
        status,
        status_effective_from,
        ...reason,
        cert_id: certId,
        issued_at,
        certificate: envelope,
      },
      certificate,
    };
  };
  const { summary, certificate } = issuanceOf(newest);
  const { subject, legal_name, country } = certificate;
  return asJson({
    subject: { ...subject, legal_name, country },
    ...summary,
    statement: certificateStatement(certificate),
    history: earlier.map((each) => issuanceOf(each).summary),
  });
}

/** `GET /v1/certificates/{uuid}/key-custody`. */
export function custodyAnswer(uuid: string, statements: readonly JsonValue[]): JsonObject {
  return asJson({
    uuid,
    statements: statements.map((statement) => {
      const envelope = statement as unknown as Envelope;
      const custody = openKeyCustody(envelope);
      const payload = openEnvelope(envelope, payloadTypes["key-custody.v1"]);
      if (!custody.ok || !payload.ok) throw new Error("Not a custody statement.");
      const { key_id, custody: state, effective_from, issued_at } = custody.value;
      return {
        key_id,
        custody: state,
        effective_from,
        issued_at,
        statement_id: hashOf(payload.value),
        statement,
      };
    }),
  });
}

export function asJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}
