// The verify page for people: the answer at a glance, and below it everything that the signed answer says.

import type { VerifyPageAnswer } from "../protocol/wire/verification.ts";
import { endpointBlocks } from "./endpoints-section.ts";
import { code, escapeHtml, link, page, table, time, verdict } from "./page.ts";

/** The findings that the statement covers. */
export type Findings = Omit<VerifyPageAnswer, "statement">;

const published = "The business published a record with this id and exactly these bytes";

const statusVerdicts: Readonly<Record<Findings["status"], readonly ["good" | "warn", string, string]>> = {
  current: ["good", "Genuine and current", `${published}, and it is the version served now.`],
  superseded: ["good", "Genuine, and superseded", `${published}. A later version has replaced it.`],
  withdrawn: ["warn", "Genuine, and withdrawn", `${published}. It is no longer served.`],
  deleted: [
    "warn",
    "Genuine, and deleted",
    `${published}. It has deleted the record since: its bytes are no longer served, and will be erased.`,
  ],
  purged: [
    "warn",
    "Genuine, deleted and purged",
    `${published}. It has deleted them since: only their hash is kept.`,
  ],
};

const certWords: Readonly<Record<Findings["checks"]["cert"], string>> = {
  matches: "matches the one that the seal names",
  differs: "differs from the one that the seal names",
  not_given: "not given",
};

const servedWords: Readonly<Record<Findings["checks"]["served_at"], string>> = {
  within: "within the time in which this version was served",
  outside: "outside the time in which this version was served",
  unknown: "unknown: the version had just ended or was about to",
  not_given: "not given",
};

export function verifyHtml(findings: Findings): string {
  const { business, version, removal, endpoints, checks, status, valid } = findings;
  const [tone, heading, sentence] = statusVerdicts[status];
  return page(`A record of ${business.name}`, [
    valid
      ? verdict(tone, heading, sentence)
      : verdict(
          "bad",
          "Genuine, but the citation is not valid",
          `${sentence} What was cited with it does not fit it.`,
        ),
    "<h2>The record</h2>",
    table([
      ["Record", code(findings.record_id)],
      ["Type", findings.record_type],
      ["Hash of its bytes", code(findings.adl_origin)],
      ["Version", `Generation ${version.generation}, ${status}`],
      ["Sealed by the business", time(version.sealed_at)],
      ["Published", time(version.published_at)],
      ["Served until", time(version.ended_at, status === "current" ? "It is served now." : "Not known.")],
      ["Sealed under certificate", code(version.sealed_under_cert_id)],
      ...(removal === null ? [] : removalRows(removal)),
    ]),
    "<h2>The business</h2>",
    `<p>${escapeHtml(business.certificate.statement)}</p>`,
    table([
      ["Name", business.name],
      ["Identifier", code(business.business_uuid)],
      ["Certificate today", `${business.certificate.status}`],
      ["In effect from", time(business.certificate.status_effective_from)],
      ["Its id", code(business.certificate.cert_id)],
      ["Read it", link(`${business.certificate_url}?format=html`, "Certificate and its history")],
    ]),
    "<h2>What was cited</h2>",
    table([
      ["Certificate", certWords[checks.cert]],
      ["Time of serving", servedWords[checks.served_at]],
    ]),
    ...(endpoints === null ? [] : endpointBlocks(endpoints)),
    "<h2>Check it yourself</h2>",
    "<p>A seal proves who published these bytes and when, not that they are true. This page is for people to read; its signed form is the JSON answer of this address.</p>",
    table([
      ["Source line", code(findings.source_line)],
      ["Full check", { html: `<code>POST ${escapeHtml(findings.full_check)}</code>` }],
      ["Checked", time(findings.checked_at)],
    ]),
  ]);
}

function removalRows({ action, at, received_at, seal }: NonNullable<Findings["removal"]>) {
  const what = action === "delete" ? "Deleted" : "Withdrawn";
  return [
    [`${what} as of`, time(at)],
    [`${what} at`, time(received_at)],
    [`${what} by a document sealed with`, code(seal.signatures[0]?.keyid ?? "")],
  ] as const;
}
