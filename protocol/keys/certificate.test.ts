import { describe, expect, it } from "vitest";
import {
  type Certificate,
  type CertificateStatus,
  certificateStatement,
  certificateStatuses,
  transitionFault,
} from "./certificate.ts";

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

describe("what may follow on an issuance", () => {
  const at = (second: number) => `2026-01-01T00:00:0${second}.000Z`;
  const fault = (
    [status, second]: readonly [CertificateStatus, number],
    [next, later]: readonly [CertificateStatus, number],
  ) =>
    transitionFault(
      { status, status_effective_from: at(second) },
      { status: next, status_effective_from: at(later) },
    );

  it("is anything on an active one, and a new verification on any", () => {
    for (const status of certificateStatuses) {
      expect(fault(["active", 1], [status, 2])).toBeNull();
      expect(fault([status, 1], ["active", 2])).toBeNull();
    }
  });

  it("is nothing lesser, and nothing later, on one that has ended", () => {
    const ended = ["closed", "withdrawn", "revoked"] as const;
    for (const [at, status] of ended.entries())
      for (const [graver, next] of ended.entries()) {
        expect([status, next, fault([status, 5], [next, 5]) === null]).toEqual([status, next, graver >= at]);
        expect([status, next, fault([status, 5], [next, 4]) === null]).toEqual([status, next, graver >= at]);
        expect([status, next, fault([status, 5], [next, 6])]).not.toEqual([status, next, null]);
      }
  });
});
