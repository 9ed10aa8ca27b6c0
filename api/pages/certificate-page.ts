// The page of a certificate for people: what the service states about a party, now and earlier.

import { type ComponentChild, h } from "preact";
import { certificateStatement } from "../../protocol/certificate.ts";
import type { Issuance, Issuances } from "../../service/certificate-read.ts";
import { selfContainedPage } from "../../web/document.ts";
import { code, type Fact, facts, heading, paragraph, time, verdict } from "../../web/parts.ts";
import type { Texts } from "../../web/texts/catalogue.ts";

/** The texts, and what stands before all of them. */
export interface PageTexts extends Texts {
  readonly mark: ComponentChild;
}

export function certificatePage(
  [newest, ...earlier]: Issuances,
  { language, certificate: texts, mark }: PageTexts,
): string {
  const { certificate } = newest;
  const { about } = texts;
  const [tone, standing] = texts.standing[certificate.status];
  const content = [
    verdict(tone, standing, certificateStatement(certificate)),
    heading(about.heading),
    facts([
      [about.name, certificate.legal_name],
      [about.country, certificate.country],
      [about.kind, about.kinds[certificate.subject.kind]],
      [about.id, code(certificate.subject.uuid)],
      [about.since, time(certificate.verified_since)],
    ]),
    heading(texts.issuance.heading),
    issuanceFacts(newest, texts.issuance),
    heading(texts.history.heading),
    ...historyOf(earlier, texts),
    paragraph(texts.verify),
  ];
  return selfContainedPage({ title: certificate.legal_name, language, content, mark });
}

export function noCertificatePage({ language, certificate: { notFound }, mark }: PageTexts): string {
  return selfContainedPage({ title: notFound.title, language, content: paragraph(notFound.sentence), mark });
}

function historyOf(earlier: readonly Issuance[], texts: Texts["certificate"]): readonly ComponentChild[] {
  if (earlier.length === 0) return [paragraph(texts.history.none)];
  const list = earlier.map((each) => h("li", null, issuanceFacts(each, texts.issuance)));
  return [paragraph(texts.history.earlier), h("ol", null, list)];
}

function issuanceFacts(
  { certificate, facts: { cert_id } }: Issuance,
  texts: Texts["certificate"]["issuance"],
) {
  const { status_reason: reason } = certificate;
  const reasons: readonly Fact[] =
    reason === undefined || reason === null ? [] : [[texts.reason, reason.replaceAll("_", " ")]];
  return facts([
    [texts.status, certificate.status],
    [texts.from, time(certificate.status_effective_from)],
    ...reasons,
    [texts.id, code(cert_id)],
    [texts.issued, time(certificate.issued_at)],
  ]);
}
