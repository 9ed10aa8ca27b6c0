// Proof of one shown price (format `svc-evidence/3`, docs/signed-documents.md): one row of a search, the whole receipt that lists it, the
// source line, and the certificates of the two keys that signed them, without the other keys of the service.
//   W1. Nothing is believed under the anchors alone: the keys come with their chain, or from a key set that chains to them.
//   W2. Only a key set says which keys were compromised, so under the chain alone the check `key_set` is left open.
//   W3. The certificate has no signature here: the row, which the service signed, names its hash.
//   W4. The words are those of a file in which every check was good that could be made.

import { actionNames, blockedNames, namesOf, parsePolicyBits, useNames } from "../protocol/ai-policy.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import { envelopeShape, parseObject, readPayload } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import { type Certificate, certIdOf, parseCertificate } from "../protocol/keys/certificate.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import type { Receipt } from "../protocol/receipt.ts";
import { refuse } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import {
  anyObject,
  anyText,
  list,
  literal,
  matching,
  type Of,
  object,
  oneOf,
  optional,
} from "../protocol/shape.ts";
import { formatSourceLine, parseSourceLine, type SourceLine } from "../protocol/source-line.ts";
import { checkOf, type Report, reportOf, unchecked, unsignedChecks } from "./members.ts";
import { judgeReceipt, verifyReceipt } from "./receipt.ts";
import { quoted } from "./sealed-words.ts";
import { verifyServedRow } from "./search-answer.ts";
import { sandboxFault, type Trust } from "./trust.ts";

export const shownPriceFormat = "svc-evidence/3";

/** More certificates than a chain of several roots has. */
const chainMax = 32;

const shape = object({
  format: literal(shownPriceFormat),
  environment: oneOf(["production", "sandbox"]),
  row: anyObject,
  receipt: envelopeShape,
  source_line: anyText,
  /** The payload of the certificate that the row names. */
  certificate_base64: optional(matching((value) => parseBase64(value) !== null, "base64")),
  /** Of the keys that signed the row and the receipt, and of their issuers, up to the pinned roots. */
  key_certificates: optional(list(envelopeShape, { min: 1, max: chainMax })),
});

/** The members of the proof of a shown price. */
export type ShownPrice = Of<typeof shape>;

/** Reads the proof of a shown price, null for a file of another format; any other file of the same is `payload_malformed`. */
export function parseShownPrice(bytes: Uint8Array): Verdict<ShownPrice> | null {
  const parsed = parseObject(bytes);
  return parsed.ok && parsed.value["format"] === shownPriceFormat ? readPayload(shape, parsed.value) : null;
}

/** The checks `receipt`, `row`, `source_line` and `certificate`, and the words if none of them failed. */
export function shownPriceReport(trust: Trust, file: ShownPrice): Report {
  const { row: value, receipt: envelope, source_line: line } = file;
  const subject = { kind: "search", collection: "products" } as const;
  const stated = verifyReceipt(trust, envelope, subject);
  const servedAt = stated.ok ? stated.value.served_at : undefined;
  const row = verifyServedRow(trust, value, { servedAt, collection: subject.collection });
  const receipt = callerNamed(
    row.ok && stated.ok ? judgeReceipt(stated.value, { ...subject, rows: [row.value] }) : stated,
  );
  const certificate = row.ok ? certificateOf(trust, file, { row: row.value, servedAt }) : null;
  const isLed = row.ok && servedAt !== undefined;
  const report = reportOf([
    checkOf("receipt", receipt, ({ rows }) => `Lists ${rows.length} rows.`),
    checkOf("row", row, ({ record_id }) => record_id),
    isLed
      ? checkOf("source_line", sourceLineOf(line, row.value, servedAt))
      : unchecked("source_line", "Needs the row and its receipt."),
    certificate === null
      ? unchecked("certificate", "Without it, or without the row, only the UUID says who the business is.")
      : checkOf("certificate", certificate, ({ issued_at }) => `Issued at ${issued_at}.`),
    ...unsignedChecks("shown_price", ["/row/ai_policy_bits", "/row/sponsored", "/source_line"]),
  ]);
  return report.valid && row.ok && receipt.ok
    ? { ...report, words: wordsOf(row.value, receipt.value, certificate?.ok ? certificate.value : null) }
    : report;
}

/** A receipt of the first format names no caller, so it says to nobody that it was shown. */
function callerNamed(receipt: Verdict<Receipt>): Verdict<Receipt> {
  return receipt.ok && receipt.value.v === 1
    ? refuse("receipt_caller_mismatch", "The receipt names no key to which the price was shown.")
    : receipt;
}

function sourceLineOf(text: string, row: IndexRow, servedAt: string): Verdict<SourceLine> {
  const line = parseSourceLine(text);
  if (!line.ok) return line;
  const { record_id, adl_origin: origin, adl_origin_cert: cert_id } = row;
  const { verify_url } = line.value;
  return formatSourceLine({ record_id, origin, cert_id, served_at: servedAt, verify_url }) === text
    ? line
    : refuse("hash_mismatch", "The source line is of something else than was shown.");
}

/** Null where the file has none. */
function certificateOf(
  { anchors, sha256 }: Trust,
  { certificate_base64: text }: ShownPrice,
  { row, servedAt = "" }: { readonly row: IndexRow; readonly servedAt: string | undefined },
): Verdict<Certificate> | null {
  if (text === undefined) return null;
  const payload = parseBase64(text) ?? new Uint8Array();
  if (certIdOf(payload, sha256) !== row.adl_origin_cert)
    return refuse("hash_mismatch", "The row names another certificate.");
  const certificate = parseCertificate(payload);
  if (!certificate.ok) return certificate;
  const { subject, sandbox, status, issued_at } = certificate.value;
  if (status !== "active" || (servedAt !== "" && issued_at > servedAt))
    return refuse("certificate_not_in_force", "The row was served under no such certificate.");
  if (subject.kind !== "business" || subject.uuid !== row.business_uuid)
    return refuse("certificate_unknown", "The certificate is of another party than the row.");
  return sandboxFault(anchors, sandbox) ?? certificate;
}

// What a file says, in words: who claimed which price when, and to whom it was shown under which AI policy (W4).

const priceOf = /^price_([A-Z]{2})$/;

function wordsOf(row: IndexRow, receipt: Receipt, certificate: Certificate | null): readonly string[] {
  const uuid = row.business_uuid;
  const prices = Object.entries(row).flatMap(([name, amount]) => {
    const country = priceOf.exec(name)?.[1];
    const currency = row[`price_currency_${country}`] ?? null;
    return country === undefined ? [] : [`Price in ${country}: ${said(amount)} ${said(currency)}.`];
  });
  const key = receipt.v === 1 ? "a key" : `the key ${receipt.key_id}`;
  const { served_at: at, region, country, ai_company_uuid: company } = receipt;
  return [
    certificate === null
      ? `Business ${uuid}.`
      : `Business ${quoted(certificate.legal_name)} (${certificate.country}), ${uuid}.`,
    `Product ${said(row["product_name"] ?? null)}, ${row.record_id}.`,
    ...(prices.length === 0 ? ["No price."] : prices),
    `Published at ${formatTimestamp(row.published_at * 1000)}.`,
    `Served at ${at} by ${region}, in a search for ${country}, to ${key} of the AI company ${company}.`,
    `Published under AI policy version ${row.ai_policy_version}. ${policyWords(row)}`,
  ];
}

function said(value: JsonValue): string {
  return typeof value === "string" && !/^[A-Z]{3}$/.test(value) ? quoted(value) : String(value);
}

function policyWords(row: IndexRow): string {
  const bits = parsePolicyBits(row["ai_policy_bits"] ?? null);
  if (!bits.ok) return "";
  const { ai_policy_version: version, use, action, blocked } = bits.value;
  const groups = [
    ["use", namesOf(useNames, use)],
    ["action", namesOf(actionNames, action)],
    ["blocked", namesOf(blockedNames, blocked)],
  ] as const;
  const set = groups.map(([name, names]) => `${name} ${names.length === 0 ? "nothing" : names.join(", ")}`);
  return `Served with the bits of version ${version}, which no signature covers: ${set.join("; ")}.`;
}
