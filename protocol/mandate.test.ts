import { describe, expect, it } from "vitest";
import { canonicalBytes, type JsonValue } from "./json/canonical-json.ts";
import { type Mandate, mandatePayload, parseMandate, scopeAllows } from "./mandate.ts";

const mandate: Mandate = {
  v: 1,
  mandate_id: "man_1",
  business_uuid: "3f2b8c1e-5d4a-4f6b-9c7d-0e1f2a3b4c5d",
  key_id: `${"k".repeat(42)}A`,
  scope: {
    record_types: ["products"],
    countries: ["DE"],
    directions: ["publish"],
    caps: { records_per_hour: 1, bytes_per_day: 0 },
    source_ip_allow_list: ["203.0.113.0/24", "2001:db8::/32", "AS64496"],
  },
  valid_from: "2026-01-01T00:00:00.000Z",
  valid_until: "2026-04-03T00:00:00.000Z",
};

function code(changes: object, scope: object = {}): string {
  const value = { ...mandate, ...changes, scope: { ...mandate.scope, ...scope } };
  const verdict = parseMandate(canonicalBytes(JSON.parse(JSON.stringify(value)) as JsonValue));
  return verdict.ok ? "ok" : verdict.code;
}

describe("a mandate", () => {
  it("is read back as it was sealed, up to 92 days long", () => {
    expect(parseMandate(mandatePayload(mandate))).toEqual({ ok: true, value: mandate });
    expect(code({ valid_until: "2026-04-03T00:00:00.001Z" })).toBe("payload_malformed");
    expect(code({ valid_until: mandate.valid_from })).toBe("payload_malformed");
  });

  it("has a scope of known parts, none of them twice", () => {
    const scopes = [
      { record_types: [] },
      { record_types: ["products", "products"] },
      { countries: ["de"] },
      { directions: ["read"] },
      { directions: [] },
      { caps: { records_per_hour: 1 } },
      { caps: { records_per_hour: -1, bytes_per_day: 0 } },
      { source_ip_allow_list: ["203.0.113.7"] },
      { source_ip_allow_list: ["AS0"] },
      { extra: 1 },
    ];
    for (const scope of scopes) expect(code({}, scope), JSON.stringify(scope)).toBe("payload_malformed");
    expect(code({}, { source_ip_allow_list: null })).toBe("ok");
    expect(code({ v: 2 })).toBe("version_unknown");
  });

  it("allows what lies inside it, from its first instant to the one before its last", () => {
    const { business_uuid, key_id } = mandate;
    const what = {
      business_uuid,
      key_id,
      record_type: "products",
      countries: ["DE"],
      at: mandate.valid_from,
    };
    expect(scopeAllows(mandate, what)).toMatchObject({ ok: true });
    expect(scopeAllows(mandate, { ...what, at: "2026-04-02T23:59:59.999Z" })).toMatchObject({ ok: true });
    for (const change of [
      { at: "2025-12-31T23:59:59.999Z" },
      { at: mandate.valid_until },
      { record_type: "jobs" },
      { countries: ["DE", "FR"] },
      { key_id: "other" },
      { business_uuid: "other" },
    ]) {
      expect(scopeAllows(mandate, { ...what, ...change })).toMatchObject({ code: "out_of_scope" });
    }
  });
});
