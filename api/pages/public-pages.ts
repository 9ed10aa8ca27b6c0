// The reads that answer machines with signed JSON and people with a page.

import { type Answer, isRefused, type Outcome, type Refused } from "../../service/answer.ts";
import type { Verification } from "../../service/verification.ts";
import type { VerifyPage, VerifyPageRequest } from "../../service/verify-page.ts";
import { selfContainedHeaders } from "../../web/document.ts";
import { verdict } from "../../web/parts.ts";
import { english } from "../../web/texts/catalogue.ts";
import { certificatePage, noCertificatePage, type PageTexts } from "./certificate-page.ts";
import { noRecordPage, recordPage, wrongAddressPage } from "./record-page.ts";

export type PageFormat = "json" | "html";

/** How an answer is shown. */
interface PageChoice {
  readonly format: PageFormat;
  readonly isSandbox: boolean;
}

function textsOf(isSandbox: boolean): PageTexts {
  return { ...english, mark: isSandbox ? verdict(...english.sandbox) : null };
}

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

export async function readRecord(
  verifyPage: VerifyPage,
  request: VerifyPageRequest,
  { format, isSandbox }: PageChoice,
): Promise<Outcome> {
  if (format === "json") return verifyPage.answer(request);
  const found = await verifyPage.find(request);
  const texts = textsOf(isSandbox);
  return isRefused(found) ? notShown(found, texts, noRecordPage(texts)) : shown(recordPage(found, texts));
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
