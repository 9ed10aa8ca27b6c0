import { describe, expect, it } from "vitest";
import type { BrandFacts } from "../../actors/messages/domains.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { type CertificateStatus, certIdOf, certificatePayload } from "../../protocol/keys/certificate.ts";
import { foldedWords } from "../../protocol/records/fold-text.ts";
import type { RegisterEntry } from "../../storage/register-store.ts";
import { createCertifiedNames } from "./register.ts";

const at = "2026-01-01T00:00:00.000Z";
const first = "00000000-0000-4000-8000-000000000001";
const second = "00000000-0000-4000-8000-000000000002";

function issued(
  uuid: string,
  change: number,
  given: { name?: string; status?: CertificateStatus; kind?: "business" | "ai_company" } = {},
): RegisterEntry {
  const { name = "Northwind Traders Ltd", status = "active", kind = "business" } = given;
  const payload = certificatePayload({
    v: 1,
    subject: { kind, uuid },
    legal_name: name,
    country: "GB",
    verified_since: at,
    status,
    status_effective_from: at,
    ...(status === "active" ? {} : { status_reason: "ended" }),
    issued_at: at,
    previous: null,
  });
  const cert_id = certIdOf(payload, nativeCrypto.sha256);
  const envelope = {
    payloadType: payloadTypes["certificate.v1"],
    payload: toBase64(payload),
    signatures: [],
  };
  const facts = { cert_id, uuid, status, envelope: JSON.stringify(envelope) };
  return { table: "certificate", partition: uuid, key: cert_id, change, body: JSON.stringify(facts) };
}

/** The names, among those given, that these entries protect. */
function protectedBy(...entries: readonly RegisterEntry[]): readonly string[] {
  const names = createCertifiedNames();
  for (const each of entries) names.put(each);
  return ["Northwind Traders", "Fellside Mills"].filter((name) =>
    names.index.some(foldedWords(name), () => true),
  );
}

describe("the names of certified companies", () => {
  it("are those of active certificates, of businesses and AI companies", () => {
    expect(protectedBy(issued(first, 3))).toEqual(["Northwind Traders"]);
    expect(
      protectedBy(issued(first, 3), issued(second, 1, { name: "Fellside Mills", kind: "ai_company" })),
    ).toEqual(["Northwind Traders", "Fellside Mills"]);
    for (const status of ["revoked", "closed", "withdrawn"] as const)
      expect(protectedBy(issued(first, 3), issued(first, 4, { status }))).toEqual([]);
    const again = [issued(first, 3), issued(first, 4, { status: "closed" }), issued(first, 5)];
    expect(protectedBy(...again)).toEqual(["Northwind Traders"]);
  });

  it("are the same in whatever order and however often their entries come (F3)", () => {
    const open = issued(first, 3);
    const closed = issued(first, 4, { status: "closed" });
    expect(protectedBy(closed, open)).toEqual([]);
    expect(protectedBy(open, open, closed, open, closed)).toEqual([]);
    expect(protectedBy(open, open)).toEqual(["Northwind Traders"]);
  });

  it("go with the company that has them, not with another of the same name", () => {
    const other = issued(second, 1);
    expect(protectedBy(issued(first, 3), other, issued(first, 4, { status: "revoked" }))).toEqual([
      "Northwind Traders",
    ]);
    const renamed = issued(first, 4, { name: "Fellside Mills GmbH" });
    expect(protectedBy(issued(first, 3), renamed)).toEqual(["Fellside Mills"]);
  });

  it("tell the legal name of a company, while it has one that is certified", () => {
    const names = createCertifiedNames();
    expect(names.legalNameOf(first)).toBeNull();
    names.put(issued(first, 3));
    expect(names.legalNameOf(first)).toBe("Northwind Traders Ltd");
    expect([names.named("wind TRADERS", 9), names.named("wind traders", 0)]).toEqual([[first], []]);
    names.put(issued(first, 4, { status: "closed" }));
    expect([names.legalNameOf(first), names.named("northwind", 9)]).toEqual([null, []]);
  });

  it("lack a certificate of a later format, and go on", () => {
    const entry = issued(first, 3);
    const later = { ...entry, body: entry.body.replace("certificate.v1", "certificate.v2") };
    expect(protectedBy(later, issued(second, 1, { name: "Fellside Mills Ltd" }))).toEqual(["Fellside Mills"]);
  });

  it("include a brand while it is confirmed, a served file names it, and the company is certified (F2)", () => {
    const brands = (change: number, facts: Partial<BrandFacts>): RegisterEntry => {
      const body = { uuid: first, brands: { owned: [], sold: [], confirmed: [], ...facts } };
      return { table: "party", partition: first, key: first, change, body: JSON.stringify(body) };
    };
    const certificate = issued(first, 1, { name: "Lindqvist Ltd" });
    const [owned, confirmed] = [
      ["Fellside Mills", "Organic"],
      ["FELLSIDE MILLS", "Organic"],
    ];
    expect(protectedBy(certificate, brands(2, { owned, confirmed }))).toEqual(["Fellside Mills"]);
    expect(protectedBy(brands(2, { owned, confirmed }), certificate)).toEqual(["Fellside Mills"]);
    expect(protectedBy(brands(2, { owned, confirmed }))).toEqual([]);
    for (const facts of [{ owned }, { confirmed }, { sold: owned, confirmed }])
      expect(protectedBy(certificate, brands(2, facts))).toEqual([]);
    expect(protectedBy(certificate, brands(3, { confirmed }), brands(2, { owned, confirmed }))).toEqual([]);
    const closed = issued(first, 4, { status: "closed" });
    expect(protectedBy(certificate, brands(2, { owned, confirmed }), closed)).toEqual([]);
  });

  it("never include an everyday word, and tell the brands of each business", () => {
    const names = createCertifiedNames();
    expect(names.brandsOf(first)).toEqual({ confirmed: [], sold: [] });
    const brands = { owned: ["Organic"], sold: ["Fellside"], confirmed: ["Organic"] };
    const party = { uuid: first, brands };
    names.put(issued(first, 1));
    names.put({ table: "party", partition: first, key: first, change: 2, body: JSON.stringify(party) });
    expect(names.index.some(["organic"], () => true)).toBe(false);
    expect(names.brandsOf(first)).toEqual({ confirmed: ["Organic"], sold: ["Fellside"] });
    expect(names.brandsOf(first)).toBe(names.brandsOf(first));
  });
});
