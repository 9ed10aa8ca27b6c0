// The certificates of a party: each issuance is verified, they are ordered into one history, and a seal is judged
// against it.

import { malformed, parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { parseTimestamp } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import type { BusinessKeys } from "../protocol/keys/business-keys.ts";
import {
  type Certificate,
  certificateStatement,
  type IssuedCertificate,
  openCertificate,
} from "../protocol/keys/certificate.ts";
import { sealedAtSkewMs } from "../protocol/limits.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { ok, type Refusal, refuse } from "../protocol/result.ts";
import { isObject } from "../std/json-pointer.ts";
import { besideFault } from "./members.ts";
import { sandboxFault, type Trust, verifyIssued } from "./trust.ts";

/** All known issuances of one party's certificate, newest first; each names the next in this list as its previous one. */
export interface CertificateHistory {
  readonly uuid: string;
  readonly issuances: readonly IssuedCertificate[];
}

/**
 * Verifies one certificate envelope: both signature halves, that the issuance key was valid at `issued_at`, and the
 * sandbox mark.
 */
export function verifyCertificate(trust: Trust, value: JsonValue): Verdict<IssuedCertificate> {
  const envelope = parseEnvelope(value);
  if (!envelope.ok) return envelope;
  const issued = openCertificate(envelope.value, trust.sha256);
  if (!issued.ok) return issued;
  const { sandbox, issued_at: at } = issued.value.certificate;
  const fault = sandboxFault(trust.anchors, sandbox);
  if (fault !== null) return fault;
  const verdict = verifyIssued(trust, envelope.value, { payloadType: payloadTypes["certificate.v1"], at });
  return verdict.ok ? issued : verdict;
}

/**
 * Verifies all known certificate envelopes of one party, in any order. If the issuances do not form a single chain
 * through `previous`, or name another party, they are refused with `certificate_unknown`: the missing one could be the
 * revocation.
 */
export function verifyCertificates(
  trust: Trust,
  uuid: string,
  values: readonly JsonValue[],
): Verdict<CertificateHistory> {
  const issuances: IssuedCertificate[] = [];
  for (const value of values) {
    const issued = verifyCertificate(trust, value);
    if (!issued.ok) return issued;
    issuances.push(issued.value);
  }
  return orderHistory(uuid, issuances);
}

/**
 * Orders issuances that have already been verified; refuses like {@link verifyCertificates}. Each issuance names at most
 * one predecessor, by hash, so if exactly one is named by no other, walking back from it visits them all.
 */
export function orderHistory(
  uuid: string,
  issuances: readonly IssuedCertificate[],
): Verdict<CertificateHistory> {
  const byId = new Map(issuances.map((issued) => [issued.certId, issued]));
  const named = new Set(issuances.map((issued) => issued.certificate.previous));
  const newest = [...byId.values()].filter((issued) => !named.has(issued.certId));
  if (newest.length !== 1) return refuse("certificate_unknown", "The certificates do not form one history.");
  const ordered: IssuedCertificate[] = [];
  for (let next = newest[0]; next !== undefined; next = byId.get(next.certificate.previous ?? "")) {
    if (next.certificate.subject.uuid !== uuid)
      return refuse("certificate_unknown", "A certificate names another party.");
    ordered.push(next);
  }
  return ok({ uuid, issuances: ordered });
}

/**
 * The envelopes in the parsed answer of `GET /v1/certificates/{uuid}`: the newest issuance and its history. Anything
 * else is refused with `payload_malformed`.
 */
export function certificateEnvelopes(answer: JsonValue): Verdict<readonly JsonValue[]> {
  if (!isObject(answer)) return refuse("payload_malformed", "The certificate answer is not an object.");
  const { certificate, history = [] } = answer;
  if (certificate === undefined || !Array.isArray(history)) {
    return refuse("payload_malformed", "The certificate answer carries a certificate and its history.");
  }
  const earlier = history.map((entry: JsonValue) =>
    isObject(entry) ? (entry["certificate"] ?? null) : null,
  );
  return ok([certificate, ...earlier]);
}

/**
 * Verifies the parsed answer of `GET /v1/certificates/{uuid}`, like {@link verifyCertificates}. `payload_malformed`: anything
 * beside an envelope says something else than the envelope, or another issuance than the newest stands first.
 */
export function verifyCertificateAnswer(
  trust: Trust,
  uuid: string,
  answer: JsonValue,
): Verdict<CertificateHistory> {
  const envelopes = certificateEnvelopes(answer);
  const history = envelopes.ok ? verifyCertificates(trust, uuid, envelopes.value) : envelopes;
  if (!envelopes.ok || !history.ok || !isObject(answer)) return history;
  const byPayload = new Map<JsonValue | undefined, IssuedCertificate>();
  for (const value of envelopes.value) {
    const envelope = parseEnvelope(value);
    const issued = envelope.ok ? openCertificate(envelope.value, trust.sha256) : envelope;
    if (envelope.ok && issued.ok) byPayload.set(envelope.value.payload, issued.value);
  }
  const stated = (entry: JsonObject) =>
    byPayload.get((entry["certificate"] as JsonObject)["payload"]) as IssuedCertificate;
  const [newest] = history.value.issuances;
  if (Object.hasOwn(answer, "cert_id") && stated(answer).certId !== newest?.certId)
    return malformed("Another issuance is newer than the one that the answer states.", "/cert_id");
  const { history: earlier = [] } = answer;
  const fault =
    besideFault(answer, wholeSummary(stated(answer))) ??
    (earlier as readonly JsonObject[])
      .map((entry, index) => besideFault(entry, summaryOf(stated(entry)), `/history/${index}`))
      .find((each) => each !== null);
  return fault ?? history;
}

/** What an answer says of an issuance beside its envelope. */
function summaryOf({ certId, certificate }: IssuedCertificate) {
  const { status, status_effective_from, status_reason, issued_at } = certificate;
  return { status, status_effective_from, status_reason, issued_at, cert_id: certId };
}

function wholeSummary(issued: IssuedCertificate) {
  const { certificate } = issued;
  const { subject, legal_name, country } = certificate;
  return {
    ...summaryOf(issued),
    subject: { ...subject, legal_name, country },
    statement: certificateStatement(certificate),
  };
}

/** The members of an issuance that are needed to judge a seal by it. */
export type CertificateStanding = Pick<
  Certificate,
  "status" | "status_effective_from" | "status_reason" | "issued_at"
>;

/** The issuances of one party, newest first, with no gap down to the oldest one listed. */
export interface Issuances<C extends CertificateStanding = CertificateStanding> {
  readonly issuances: readonly { readonly certId: string; readonly certificate: C }[];
}

/**
 * The certificate that a seal names, provided it covered that seal: it must be the issuance in force at `sealed_at`, and
 * no later issuance may have ended it by then, regardless of when that was decided. Where the seal is known to have been
 * made before its stated time, `by` is that earlier instant and ends are judged by it. Otherwise refuses with
 * `certificate_unknown`, `certificate_not_in_force` or `certificate_withdrawn`. A withdrawal or deletion only takes back what
 * was published, so it `mayBeEnded`: a business whose certificate has ended still seals it, under that certificate.
 */
export function certificateAt<C extends CertificateStanding>(
  history: Issuances<C>,
  seal: { readonly cert_id: string; readonly sealed_at: string },
  by = seal.sealed_at,
  { mayBeEnded = false }: { readonly mayBeEnded?: boolean } = {},
): Verdict<C> {
  const index = history.issuances.findIndex((issued) => issued.certId === seal.cert_id);
  const named = history.issuances[index]?.certificate;
  if (named === undefined)
    return refuse("certificate_unknown", "The seal names a certificate that the business does not have.");
  if (named.status !== "active" && !mayBeEnded) return ended(named);
  // The clock that set sealed_at may lag behind the clock that set issued_at, by the skew that publishing allows.
  if (instantOf(seal.sealed_at) < instantOf(named.issued_at) - sealedAtSkewMs) {
    return refuse("certificate_not_in_force", "The seal is older than the certificate that it names.");
  }
  for (const { certificate: later } of history.issuances.slice(0, index)) {
    if (later.status === "active" && later.issued_at <= by) {
      return refuse("certificate_not_in_force", "A later certificate was in force when this was sealed.");
    }
    if (later.status !== "active" && later.status_effective_from <= by && !mayBeEnded) return ended(later);
  }
  return ok(named);
}

/**
 * Null when the issuances include the one that the business's published keys name. The service signed those keys with a
 * date, so if that issuance is missing, whatever it says has been withheld. Issuances newer than the keys do no harm.
 */
export function withheldFault(
  { issuances }: Issuances,
  keys: Pick<BusinessKeys, "cert_id" | "issued_at">,
): Refusal<"certificate_unknown"> | null {
  if (issuances.some(({ certId }) => certId === keys.cert_id)) return null;
  return refuse(
    "certificate_unknown",
    `The published keys name ${keys.cert_id} as the certificate at ${keys.issued_at}, and it is not among those given: a later issuance is left out.`,
  );
}

function ended({
  status,
  status_effective_from: from,
  status_reason: reason,
}: CertificateStanding): Verdict<never> {
  const why = reason === undefined ? "" : ` (${reason})`;
  if (status === "withdrawn")
    return refuse("certificate_withdrawn", `The certificate was withdrawn from ${from} on${why}.`);
  return refuse("certificate_not_in_force", `The certificate is ${status} from ${from} on${why}.`);
}

/** The Unix milliseconds of a timestamp whose format has already been checked. */
export function instantOf(timestamp: string): number {
  const instant = parseTimestamp(timestamp);
  if (instant === null) throw new RangeError(`Not a timestamp: ${timestamp}`);
  return instant;
}
