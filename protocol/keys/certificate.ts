// Certificate: the service's statement that it verified a business or an AI company, together with the subject's status
// since then (specification, «Certificate»). It never says how the subject was verified. Format v1 is closed.
// Also how the owner of a domain shows control of it.

import { hashOf, type Sha256, sha256, toBase64Url, utf8 } from "../bytes.ts";
import {
  type Envelope,
  malformed,
  openEnvelope,
  type PayloadOf,
  parsePayload,
  payloadTypes,
  soleFormat,
} from "../dsse.ts";
import { canonicalBytes } from "../json/canonical-json.ts";
import type { Verdict } from "../reason-codes.ts";
import { parseHttpsUrl } from "../records/fields.ts";
import { ok, refuse } from "../result.ts";
import {
  country,
  hash,
  literal,
  matching,
  nullable,
  object,
  oneOf,
  optional,
  text,
  timestamp,
  uuid,
} from "../shape.ts";

export const certificateStatuses = ["active", "revoked", "closed", "withdrawn"] as const;
export type CertificateStatus = (typeof certificateStatuses)[number];

export const certificateFormat = soleFormat(
  object({
    v: literal(1),
    subject: object({ kind: oneOf(["business", "ai_company"]), uuid }),
    legal_name: text(256),
    country,
    verified_since: timestamp,
    status: oneOf(certificateStatuses),
    /** For a status other than active this may precede `issued_at`: seals made after it are not valid. */
    status_effective_from: timestamp,
    /** Never present on an active certificate; always present on a withdrawn one, for example `approval_reversed`. */
    status_reason: optional(matching(/^[a-z][a-z0-9_]{0,63}$/, "a lower-case reason code")),
    issued_at: timestamp,
    /** cert_id of the preceding issuance; null on the first. */
    previous: nullable(hash),
    /** Only on a sandbox certificate. */
    sandbox: optional(literal(true)),
  }),
);
export type Certificate = PayloadOf<typeof certificateFormat>;

type Standing = Pick<Certificate, "status" | "status_effective_from">;

/** How much each status says; what follows on an end says no less. */
const weight: Readonly<Record<CertificateStatus, number>> = {
  active: 0,
  closed: 1,
  withdrawn: 2,
  revoked: 3,
};

/**
 * Why an issuance must not follow another one; null if it may. A certificate that has ended can end for a graver reason, closed, withdrawn
 * and revoked in this order, and from an earlier moment, never for a lesser one or from a later moment: nothing that was said of the business
 * is unsaid. Only a new verification starts over.
 */
export function transitionFault(before: Standing, next: Standing): string | null {
  if (next.status === "active" || before.status === "active") return null;
  if (weight[next.status] < weight[before.status])
    return `The certificate is already ${before.status}, which says more than that it is ${next.status}.`;
  // Timestamps have a fixed width, so comparing them as text orders them in time.
  return next.status_effective_from > before.status_effective_from
    ? `The certificate has ended from ${before.status_effective_from} on: name that moment or an earlier one, or none.`
    : null;
}

/** A certificate and the name of this issuance. */
export interface IssuedCertificate {
  readonly certId: string;
  readonly certificate: Certificate;
}

/** Reads the payload of a certificate. */
export function parseCertificate(payload: Uint8Array): Verdict<Certificate> {
  const parsed = parsePayload(payload, certificateFormat);
  if (!parsed.ok) return parsed;
  const { status, status_reason: reason } = parsed.value;
  if (status === "active" && reason !== undefined)
    return malformed("An active certificate must have no reason.", "/status_reason");
  if (status === "withdrawn" && reason === undefined)
    return malformed("A withdrawn certificate must state its reason.", "/status_reason");
  return parsed;
}

/** Payload types of certificates in any format. */
const certificateType = /^application\/vnd\.svc\.certificate\.v[1-9][0-9]*\+json$/;

/**
 * Opens a certificate envelope. It only reads: the signatures are not verified. An unknown format is `version_unknown`,
 * whether it is named by the payload type or by `v` (specification, «Certificate»).
 */
export function openCertificate(envelope: Envelope, sha256?: Sha256): Verdict<IssuedCertificate> {
  const { payloadType: type } = envelope;
  if (type !== payloadTypes["certificate.v1"] && certificateType.test(type))
    return refuse("version_unknown", `Certificates of type ${type} are not known.`);
  const payload = openEnvelope(envelope, payloadTypes["certificate.v1"]);
  if (!payload.ok) return payload;
  const certificate = parseCertificate(payload.value);
  return certificate.ok
    ? ok({ certId: certIdOf(payload.value, sha256), certificate: certificate.value })
    : certificate;
}

/** The cert_id: the hash of the payload bytes, so it identifies one issuance. */
export function certIdOf(payload: Uint8Array, sha256?: Sha256): string {
  return hashOf(payload, sha256);
}

/** The payload bytes to sign. */
export function certificatePayload(certificate: Certificate): Uint8Array {
  return canonicalBytes({ ...certificate, subject: { ...certificate.subject } });
}

/** The plain-language sentence that accompanies a certificate. */
export function certificateStatement(certificate: Certificate): string {
  const {
    legal_name: name,
    country: place,
    verified_since: since,
    status_effective_from: from,
  } = certificate;
  const isSealer = certificate.subject.kind === "business";
  const kind = isSealer ? "business" : "AI company";
  // An AI company seals nothing.
  const before = isSealer ? " What it sealed before stays valid." : "";
  const verified = `${name} (${place}) is the real ${kind}: verified since ${since.slice(0, 10)}.`;
  const day = from.slice(0, 10);
  switch (certificate.status) {
    case "active":
      return `${verified} Its certificate is active.`;
    case "revoked": {
      const revoked = `${name} (${place}) was verified, but its certificate was revoked`;
      return isSealer
        ? `${revoked}: nothing sealed from ${day} on stands.`
        : `${revoked} with effect from ${day}.`;
    }
    case "closed":
      return `${name} (${place}) closed on ${day}.${before}`;
    case "withdrawn":
      return `The verification of ${name} (${place}) was withdrawn with effect from ${day} (${certificate.status_reason}).${before}`;
  }
}

// Control of a domain: the domains that a business file's endpoints are at, and what their owner publishes so that anybody can see
// that it authorises the business.
//   D1. The statement names the business and the domain by a hash. It is no secret: nobody can prove anything by knowing it,
//       as it has to be published where only the domain's owner can publish.
//   D2. A business cannot prove a domain with what another business was told to publish, nor one domain with another's.

/** The label in front of the domain at which its TXT record is. */
const txtLabel = "_svc-challenge";
/** The path of the file. */
const filePath = "/.well-known/svc-domain.txt";

/** What the owner of a domain publishes: a TXT record, or a line of a file. */
export function domainChallenge(businessUuid: string, domain: string): string {
  const digest = sha256(utf8(`svc/domain-control/1\n${businessUuid}\n${domain}`));
  return `svc-domain=${toBase64Url(digest)}`;
}

/** The name of the TXT record. */
export function challengeName(domain: string): string {
  return `${txtLabel}.${domain}`;
}

/** The address of the file. */
export function challengeUrl(domain: string): string {
  return `https://${domain}${filePath}`;
}

/** Whether one of the lines of a file is this text. */
export function hasLine(file: string, text: string): boolean {
  return file.split(/\r\n|[\r\n]/).some((line) => line.trim() === text);
}

/** The domains of the endpoints of a business file, each once and in order: the whole hosts of their addresses. */
export function endpointDomains(record: unknown): readonly string[] {
  const endpoints = (record as { readonly endpoints?: unknown } | null)?.endpoints;
  if (!Array.isArray(endpoints)) return [];
  const domains = (endpoints as readonly { readonly url?: unknown }[]).flatMap((each) => {
    const url = typeof each?.url === "string" ? parseHttpsUrl(each.url) : null;
    return url === null ? [] : [url.host];
  });
  return [...new Set(domains)].sort();
}
