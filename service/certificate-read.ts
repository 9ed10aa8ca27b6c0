// GET /v1/certificates/{uuid}: what the service states about a party, now and earlier, for machines and for people.

import type { CertificateFacts } from "../actors/messages/business.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { type Certificate, certificateStatement, openCertificate } from "../protocol/certificate.ts";
import { type Envelope, parseEnvelope } from "../protocol/dsse.ts";
import { isUuidV4 } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import type { CertificateAnswer } from "../protocol/wire/verification.ts";
import { type Answer, type Outcome, refused } from "./answer.ts";
import { code, page, pageHeaders, table, time, verdict } from "./page.ts";
import type { Register } from "./register.ts";

export type PageFormat = "json" | "html";

const jsonHeaders = Object.freeze({
  "content-type": "application/json",
  "cache-control": "public, max-age=30",
  vary: "accept",
});
const htmlHeaders = Object.freeze({ ...jsonHeaders, ...pageHeaders });

interface Issuance {
  readonly facts: CertificateFacts;
  readonly certificate: Certificate;
  readonly envelope: Envelope;
}

export async function readCertificate(
  register: Register,
  uuid: string,
  format: PageFormat,
): Promise<Outcome> {
  const facts = isUuidV4(uuid) ? await register.certificates(uuid) : [];
  const [newest, ...history] = facts.map(openIssuance);
  if (newest === undefined) return certificateNotFound(format);
  return format === "html" ? certificatePage(newest, history) : certificateJson(newest, history);
}

function openIssuance(facts: CertificateFacts): Issuance {
  const envelope = parseEnvelope(JSON.parse(facts.envelope) as JsonValue);
  const opened = envelope.ok ? openCertificate(envelope.value) : envelope;
  if (!envelope.ok || !opened.ok) throw new Error(`The stored certificate ${facts.cert_id} cannot be read.`);
  return { facts, certificate: opened.value.certificate, envelope: envelope.value };
}

function certificateNotFound(format: PageFormat): Outcome {
  if (format === "json")
    return refused(problem("not_found", "No certificate was issued to this uuid."), { vary: "accept" });
  const body = page("No certificate", ["<p>No certificate was issued to this identifier.</p>"]);
  return { kind: "answer", status: 404, headers: htmlHeaders, body };
}

function certificateJson(newest: Issuance, history: readonly Issuance[]): Answer {
  const { certificate } = newest;
  const body: CertificateAnswer = {
    subject: { ...certificate.subject, legal_name: certificate.legal_name, country: certificate.country },
    ...summary(newest),
    statement: certificateStatement(certificate),
    certificate: newest.envelope,
    history: history.map((each) => ({ ...summary(each), certificate: each.envelope })),
  };
  return { kind: "answer", status: 200, headers: jsonHeaders, body: JSON.stringify(body) };
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

const tones = { active: "good", closed: "warn", withdrawn: "warn", revoked: "bad" } as const;

const headings = {
  active: "Verified: the certificate is active",
  closed: "The company closed",
  withdrawn: "The verification was withdrawn",
  revoked: "The certificate was revoked",
} as const;

function certificatePage(newest: Issuance, history: readonly Issuance[]): Answer {
  const { certificate } = newest;
  const { status } = certificate;
  const sandbox = certificate.sandbox
    ? [verdict("warn", "Sandbox", "This is a sandbox certificate. It proves nothing outside the sandbox.")]
    : [];
  const body = page(certificate.legal_name, [
    ...sandbox,
    verdict(tones[status], headings[status], certificateStatement(certificate)),
    "<h2>Who it is about</h2>",
    table([
      ["Legal name", certificate.legal_name],
      ["Country", certificate.country],
      ["Kind", certificate.subject.kind === "business" ? "business" : "AI company"],
      ["Identifier", code(certificate.subject.uuid)],
      ["Verified since", time(certificate.verified_since)],
    ]),
    "<h2>The certificate</h2>",
    issuanceTable(newest),
    "<h2>Its history</h2>",
    ...(history.length === 0
      ? ["<p>There is no earlier certificate.</p>"]
      : [
          `<p>Earlier certificates, the newest first.</p><ol>`,
          ...history.map((each) => `<li>${issuanceTable(each)}</li>`),
          "</ol>",
        ]),
    "<p>This page is for people to read. To verify the certificate, use its signed form in the JSON answer of this address.</p>",
  ]);
  return { kind: "answer", status: 200, headers: htmlHeaders, body };
}

function issuanceTable({ certificate, facts }: Issuance): string {
  const { status_reason: reason } = certificate;
  return table([
    ["Status", certificate.status],
    ["In effect from", time(certificate.status_effective_from)],
    ...(reason === undefined || reason === null ? [] : [["Reason", reason.replaceAll("_", " ")] as const]),
    ["Certificate", code(facts.cert_id)],
    ["Issued", time(certificate.issued_at)],
  ]);
}
