// GET /v1/certificates/{uuid}: what the service states about a party, now and earlier.

import type { CertificateFacts } from "../actors/messages/business.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { type Certificate, certificateStatement, openCertificate } from "../protocol/certificate.ts";
import { type Envelope, parseEnvelope } from "../protocol/dsse.ts";
import { isUuidV4 } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import type { CertificateAnswer } from "../protocol/wire/verification.ts";
import { type Answer, type Refused, refused } from "./answer.ts";
import type { Register } from "./register.ts";

export interface Issuance {
  readonly facts: CertificateFacts;
  readonly certificate: Certificate;
  readonly envelope: Envelope;
}

/** Everything that was issued to a party, the newest first. */
export type Issuances = readonly [Issuance, ...Issuance[]];

export async function findIssuances(register: Register, uuid: string): Promise<Issuances | Refused> {
  const facts = isUuidV4(uuid) ? await register.certificates(uuid) : [];
  const [newest, ...earlier] = facts.map(openIssuance);
  if (newest === undefined)
    return refused(problem("not_found", "No certificate was issued to this uuid."), { vary: "accept" });
  return [newest, ...earlier];
}

/** The issuances as machines get them. */
export function certificateAnswer([newest, ...history]: Issuances): Answer {
  const { certificate } = newest;
  const body: CertificateAnswer = {
    subject: { ...certificate.subject, legal_name: certificate.legal_name, country: certificate.country },
    ...summary(newest),
    statement: certificateStatement(certificate),
    certificate: newest.envelope,
    history: history.map((each) => ({ ...summary(each), certificate: each.envelope })),
  };
  const headers = {
    "content-type": "application/json",
    "cache-control": "public, max-age=30",
    vary: "accept",
  };
  return { kind: "answer", status: 200, headers, body: JSON.stringify(body) };
}

function openIssuance(facts: CertificateFacts): Issuance {
  const envelope = parseEnvelope(JSON.parse(facts.envelope) as JsonValue);
  const opened = envelope.ok ? openCertificate(envelope.value) : envelope;
  if (!envelope.ok || !opened.ok) throw new Error(`The stored certificate ${facts.cert_id} cannot be read.`);
  return { facts, certificate: opened.value.certificate, envelope: envelope.value };
}

function summary({ facts, certificate }: Issuance) {
  return {
    status: certificate.status,
    status_effective_from: certificate.status_effective_from,
    ...(certificate.status_reason === undefined ? {} : { status_reason: certificate.status_reason }),
    cert_id: facts.cert_id,
    issued_at: certificate.issued_at,
  };
}
