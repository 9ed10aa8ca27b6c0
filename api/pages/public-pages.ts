// The reads that answer machines with signed JSON and people with a page.

import { type ComponentChild, h } from "preact";
import { certificateStatement } from "../../protocol/keys/certificate.ts";
import { type Answer, isRefused, type Outcome, type Refused } from "../../service/answer.ts";
import type { Issuance, Issuances, Verification } from "../../service/verification/verification.ts";
import type {
  Findings,
  SealedWords,
  VerifyPage,
  VerifyPageRequest,
} from "../../service/verification/verify-page.ts";
import { selfContainedHeaders, selfContainedPage } from "../../web/document.ts";
import { code, type Fact, facts, heading, link, paragraph, time, verdict } from "../../web/parts.ts";
import { english, type Texts } from "../../web/texts/catalogue.ts";

export type PageFormat = "json" | "html";

/** How an answer is shown. */
interface PageChoice {
  readonly format: PageFormat;
  readonly isSandbox: boolean;
}

function textsOf(isSandbox: boolean): PageTexts {
  return { ...english, mark: isSandbox ? verdict(...english.sandbox) : null };
}

/** `GET /v1/certificates/{uuid}`, as JSON or as a page; refusals are pages as well. */
export async function readCertificate(
  verification: Verification,
  uuid: string,
  { format, isSandbox }: PageChoice,
): Promise<Outcome> {
  if (format === "json") return verification.certificate(uuid);
  const found = await verification.issuances(uuid);
  const texts = textsOf(isSandbox);
  return isRefused(found)
    ? notShown(found, texts, noCertificatePage(texts))
    : shown(certificatePage(found, texts));
}

/** `GET /v1/verify/{record_id}`, as JSON or as a page (specification, «verify page»). */
export async function readRecord(
  verifyPage: VerifyPage,
  request: VerifyPageRequest,
  { format, isSandbox }: PageChoice,
): Promise<Outcome> {
  if (format === "json") return verifyPage.answer(request);
  const found = await verifyPage.find(request);
  const texts = textsOf(isSandbox);
  if (isRefused(found)) return notShown(found, texts, noRecordPage(texts));
  return shown(recordPage(found, await verifyPage.words(found), texts));
}

function shown(body: string): Answer {
  const headers = { ...selfContainedHeaders, "cache-control": "public, max-age=30", vary: "accept" };
  return { kind: "answer", status: 200, headers, body };
}

/** What is not there, or not whole, is said on a page; any other refusal is a problem document, as it is for machines. */
function notShown({ problem, ...refusal }: Refused, texts: PageTexts, missing: string): Outcome {
  const { code, status, detail } = problem;
  const isWrong = code === "request_invalid";
  if (!isWrong && code !== "not_found") return { ...refusal, problem };
  const body = isWrong ? wrongAddressPage(detail, texts) : missing;
  return { kind: "answer", status, headers: { ...selfContainedHeaders, vary: "accept" }, body };
}

// The verify page for people: the answer at a glance, and below it everything that the signed answer says.

function recordPage(
  findings: Findings,
  words: SealedWords,
  { language, record: texts, mark }: PageTexts,
): string {
  const { business, endpoints, checks } = findings;
  const content = [
    verdict(...headline(findings, texts)),
    ...recordSection(findings, texts),
    ...wordsSection(texts.words.record, words.record),
    ...wordsSection(texts.words.removal, words.removal),
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

function noRecordPage({ language, record: { notFound }, mark }: PageTexts): string {
  return selfContainedPage({ title: notFound.title, language, content: paragraph(notFound.sentence), mark });
}

/** Of an address that was cut off or changed; `detail` says what it lacks. */
function wrongAddressPage(detail: string, { language, record: { wrongAddress }, mark }: PageTexts): string {
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

/** What was sealed, letter for letter as it was shown before it was sealed. */
function wordsSection(name: string, words: readonly string[] | null): readonly ComponentChild[] {
  return words === null ? [] : [heading(name), h("pre", { tabIndex: 0 }, words.join("\n"))];
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

// The page of a certificate for people: what the service states about a party, now and earlier.

/** The texts, and what stands before all of them. */
interface PageTexts extends Texts {
  readonly mark: ComponentChild;
}

function certificatePage(
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

function noCertificatePage({ language, certificate: { notFound }, mark }: PageTexts): string {
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

// The endpoints of a business file on a page for people: whether they may be used, and what is known of their domains.

type Endpoints = NonNullable<Findings["endpoints"]>;
type Domain = NonNullable<Endpoints["domains"]>[number];
type EndpointTexts = Texts["record"]["endpoints"];

/**
 * The endpoints of a business file, each with whether its host is a confirmed domain; nothing for a file without any.
 */
export function endpointsSection(
  { status, items, domains = [], domains_confirmed_at }: Endpoints,
  texts: EndpointTexts,
): readonly ComponentChild[] {
  // The record was judged before it was published.
  const addresses = items as readonly {
    readonly kind: string;
    readonly url: string;
    readonly description?: string;
  }[];
  if (addresses.length === 0) return [];
  return [
    heading(texts.heading),
    status === "authorised" ? paragraph(texts.authorised) : verdict(...texts[status]),
    // Not links: what they lead to is the business's.
    facts(
      addresses.map(({ kind, url, description }) => [
        description === undefined ? kind : `${kind}: ${description}`,
        code(url),
      ]),
    ),
    heading(texts.domains),
    facts([
      ...domains.map((each) => [each.domain, domainWords(each, texts)] as const),
      [texts.all, time(domains_confirmed_at, texts.notAll)],
    ]),
  ];
}

function domainWords({ status, since, confirmed_at }: Domain, texts: EndpointTexts): ComponentChild {
  const from = since === null ? [] : [texts.since, time(since)];
  const last = confirmed_at === null ? [texts.never] : [texts.last, time(confirmed_at), "."];
  return [h("strong", null, status), from, ".", last];
}
