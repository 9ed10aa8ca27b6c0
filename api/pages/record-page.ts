// The verify page for people: the answer at a glance, and below it everything that the signed answer says.

import type { ComponentChild } from "preact";
import type { Findings } from "../../service/verify-page.ts";
import { selfContainedPage } from "../../web/document.ts";
import { code, type Fact, facts, heading, link, paragraph, time, verdict } from "../../web/parts.ts";
import type { Texts } from "../../web/texts/catalogue.ts";
import type { PageTexts } from "./certificate-page.ts";
import { endpointsSection } from "./endpoints-section.ts";

export function recordPage(findings: Findings, { language, record: texts, mark }: PageTexts): string {
  const { business, endpoints, checks } = findings;
  const content = [
    verdict(...headline(findings, texts)),
    ...recordSection(findings, texts),
    ...businessSection(business, texts.business),
    heading(texts.cited.heading),
    facts([
      [texts.cited.certificate, texts.cited.cert[checks.cert]],
      [texts.cited.time, texts.cited.servedAt[checks.served_at]],
    ]),
    ...(endpoints === null ? [] : endpointsSection(endpoints, texts.endpoints)),
    heading(texts.check.heading),
    paragraph(texts.check.words),
    facts([
      [texts.check.sourceLine, code(findings.source_line)],
      [texts.check.full, code(`POST ${findings.full_check}`)],
      [texts.check.at, time(findings.checked_at)],
    ]),
  ];
  return selfContainedPage({ title: texts.title(business.name), language, content, mark });
}

/** The seal comes first: what does not stand is not genuine, however it is cited. */
function headline(
  { valid, status, reason, detail = "" }: Findings,
  { verdicts, fallen, miscited }: Texts["record"],
): Readonly<Parameters<typeof verdict>> {
  if (reason === "key_compromised") return fallen.compromised(detail);
  if (reason?.startsWith("certificate_")) return fallen.certificate(detail);
  if (reason !== undefined) return fallen.authority(detail);
  const [, , sentence] = verdicts[status];
  return valid ? verdicts[status] : miscited(sentence);
}

export function noRecordPage({ language, record: { notFound }, mark }: PageTexts): string {
  return selfContainedPage({ title: notFound.title, language, content: paragraph(notFound.sentence), mark });
}

/** Of an address that was cut off or changed; `detail` says what it lacks. */
export function wrongAddressPage(
  detail: string,
  { language, record: { wrongAddress }, mark }: PageTexts,
): string {
  const content = [paragraph(wrongAddress.sentence), paragraph(detail)];
  return selfContainedPage({ title: wrongAddress.title, language, content, mark });
}

function recordSection(
  findings: Findings,
  { about, removal: removed, purgeOrder }: Texts["record"],
): readonly ComponentChild[] {
  const { version, status, removal, purge_order: order } = findings;
  return [
    heading(about.heading),
    facts([
      [about.record, code(findings.record_id)],
      [about.type, findings.record_type],
      [about.hash, code(findings.adl_origin)],
      [about.version, about.versionOf(version.generation, status)],
      [about.sealed, time(version.sealed_at)],
      [about.published, time(version.published_at)],
      [about.servedUntil, time(version.ended_at, status === "current" ? about.servedNow : about.notKnown)],
      [about.certificate, code(version.sealed_under_cert_id)],
      ...(removal === null ? [] : removalFacts(removal, removed)),
      ...(order === null ? [] : orderFacts(order, purgeOrder)),
    ]),
  ];
}

function removalFacts(
  { action, at, received_at, applied_at = received_at, seal, reason }: NonNullable<Findings["removal"]>,
  removed: Texts["record"]["removal"],
): readonly Fact[] {
  const words = removed[action];
  return [
    [words.asOf, time(at)],
    [words.at, time(applied_at)],
    [words.by, code(seal.signatures[0]?.keyid ?? "")],
    ...(reason === undefined ? [] : [[removed.fallen, reason] as const]),
  ];
}

function orderFacts(
  { ground, ordered_at, purged_at }: NonNullable<Findings["purge_order"]>,
  words: Texts["record"]["purgeOrder"],
): readonly Fact[] {
  return [
    [words.ground, ground],
    [words.at, time(ordered_at)],
    [words.purgedAt, time(purged_at, words.notYet)],
  ];
}

function businessSection(
  { certificate, ...business }: Findings["business"],
  texts: Texts["record"]["business"],
): readonly ComponentChild[] {
  return [
    heading(texts.heading),
    paragraph(certificate.statement),
    facts([
      [texts.name, business.name],
      [texts.id, code(business.business_uuid)],
      [texts.certificate, certificate.status],
      [texts.from, time(certificate.status_effective_from)],
      [texts.certificateId, code(certificate.cert_id)],
      [texts.read, link(`${business.certificate_url}?format=html`, texts.history)],
    ]),
  ];
}
