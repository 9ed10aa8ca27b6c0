import { describe, expect, it } from "vitest";
import type { DomainFacts, DomainStatus } from "../../actors/messages/domains.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { allConfirmedAt, domainsIn, domainsShown, endpointsStatus } from "./fetched-record.ts";

const facts = (domain: string, status: DomainStatus, confirmed_at: string | null): DomainFacts => ({
  domain,
  status,
  since: "2026-01-02T00:00:00.000Z",
  confirmed_at,
});
const earlier = "2026-01-03T00:00:00.000Z";
const later = "2026-01-04T00:00:00.000Z";

describe("what is shown of endpoints", () => {
  it("is known of their own domains only, in their order", () => {
    const party = {
      domains: [facts("b.example", "confirmed", later), facts("x.example", "suspended", earlier)],
    };
    const shown = domainsShown(["a.example", "b.example"], party);
    expect(shown).toEqual([
      { domain: "a.example", status: "unconfirmed", since: null, confirmed_at: null },
      facts("b.example", "confirmed", later),
    ]);
    expect(endpointsStatus(shown)).toBe("unconfirmed");
    expect(endpointsStatus(domainsShown(["b.example"], party))).toBe("authorised");
    expect(endpointsStatus(domainsShown(["a.example", "x.example"], party))).toBe("suspended");
    expect(endpointsStatus([])).toBe("authorised");
    expect(endpointsStatus(domainsShown(["b.example", "x.example"], party))).toBe("suspended");
  });

  it("is nothing where nobody was asked", () => {
    for (const party of [null, {}]) {
      expect(domainsShown(["a.example"], party)).toMatchObject([{ status: "unconfirmed" }]);
      expect(domainsShown([], party)).toEqual([]);
    }
  });

  it("is confirmed since the earliest of the last confirmations, if there is one of each", () => {
    const [a, b] = [facts("a.example", "confirmed", later), facts("b.example", "suspended", earlier)];
    expect(allConfirmedAt([a, b])).toBe(earlier);
    expect(allConfirmedAt([a, facts("c.example", "unconfirmed", null)])).toBeNull();
    expect(allConfirmedAt([])).toBeNull();
  });

  it("is read from the stored bytes", () => {
    expect(domainsIn(canonicalBytes(sampleRecords.business_files))).not.toEqual([]);
  });
});
