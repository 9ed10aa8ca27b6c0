import { expect, it } from "vitest";
import { type Certificate, certificateStatement } from "./certificate.ts";

const certificate = (kind: "ai_company" | "business", status: Certificate["status"]): Certificate => ({
  v: 1,
  subject: { kind, uuid: "00000000-0000-4000-8000-000000000001" },
  legal_name: "Harrier",
  country: "GB",
  verified_since: "2026-01-01T00:00:00.000Z",
  status,
  status_effective_from: "2026-02-01T00:00:00.000Z",
  status_reason: "approval_reversed",
  previous: null,
  issued_at: "2026-02-01T00:00:00.000Z",
});

it("says of what was sealed only of a business, because an AI company seals nothing", () => {
  for (const status of ["closed", "withdrawn", "revoked"] as const) {
    expect(certificateStatement(certificate("business", status))).toContain("sealed");
    const ofCompany = certificateStatement(certificate("ai_company", status));
    expect(ofCompany).toContain("2026-02-01");
    expect(ofCompany).not.toContain("sealed");
  }
});
