import { describe, expect, it } from "vitest";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import type { IndexRow } from "../protocol/row.ts";
import { recordBytes } from "./business.fixture.ts";
import { servedRow } from "./retrieval.fixture.ts";
import { codeOf, held, makeScene } from "./scene.fixture.ts";
import { asJson } from "./service.fixture.ts";

const { service, business, verifier, verifierOf } = makeScene();
const bytes = recordBytes();
const row = servedRow(service, business, bytes);
const stored = held(verifier.rowSignature(row));

describe("a row", () => {
  it("stands with the members that are set when it is served", () => {
    expect(
      codeOf(verifier.rowSignature(asJson({ ...(row as object), sponsored: true, ai_policy_bits: {} }))),
    ).toBe("ok");
  });

  it("with any other change is row_signature_invalid", () => {
    const changes = [
      { brand: "Other" },
      { price_DE: 1 },
      { note: "x" },
      { ai_policy_version: 2 },
      { published_at: 1 },
    ];
    for (const change of changes) {
      expect(codeOf(verifier.rowSignature(asJson({ ...(row as object), ...change })))).toBe(
        "row_signature_invalid",
      );
    }
    const smuggled = JSON.parse(
      JSON.stringify(row).replace("{", '{"__proto__":{"brand":"Other"},'),
    ) as JsonValue;
    expect(codeOf(verifier.rowSignature(smuggled))).toBe("row_signature_invalid");
  });

  it("of a projection that is not known is projection_unknown, never guessed", () => {
    for (const name of ["products/999999", "gadgets/1"]) {
      expect(codeOf(verifier.rowSignature(asJson({ ...(row as object), adl_proj: name })))).toBe(
        "projection_unknown",
      );
    }
    expect(codeOf(verifier.rowSignature(asJson({ ...(row as object), adl_proj: "events/1" })))).toBe(
      "record_type_mismatch",
    );
  });

  it("by a key that may not sign rows is key_unknown", () => {
    const bySidecar = servedRow({ ...service, projection: service.sidecar }, business, bytes);
    expect(codeOf(verifier.rowSignature(bySidecar))).toBe("key_unknown");
  });

  it("with a member missing or malformed is payload_malformed", () => {
    for (const change of [
      { adl_origin: undefined },
      { record_id: "x" },
      { adl_row_sig: "x" },
      { published_at: "2026" },
    ]) {
      expect(codeOf(verifier.rowSignature(asJson({ ...(row as object), ...change })))).toBe(
        "payload_malformed",
      );
    }
    expect(codeOf(verifier.rowSignature(null))).toBe("payload_malformed");
  });

  it("by a compromised key stands only where it was demonstrably served before", () => {
    const from = "2026-03-05T00:00:00.000Z";
    const compromised = verifierOf({
      entries: (key) => (key === service.projection ? { compromised_from: from } : {}),
    });
    expect(codeOf(compromised.rowSignature(row))).toBe("key_compromised");
    expect(codeOf(compromised.rowSignature(row, from))).toBe("key_compromised");
    expect(codeOf(compromised.rowSignature(row, "2026-03-04T23:59:59.999Z"))).toBe("ok");
  });

  it("stands only by a key that had not ended before its publication nor begun after its serving", () => {
    const under = (facts: { readonly valid_from?: string; readonly valid_until?: string }) => {
      const certified = service.projection;
      const links = service.links.map((link) => (link.certified === certified ? { ...link, facts } : link));
      return verifierOf({ links, entries: (key) => (key === certified ? facts : {}) });
    };
    expect(codeOf(under({ valid_until: "2026-03-01T12:00:02.000Z" }).rowSignature(row))).toBe(
      "key_not_valid",
    );
    expect(codeOf(under({ valid_until: "2026-03-01T12:00:02.001Z" }).rowSignature(row))).toBe("ok");
    const projectedAgain = under({ valid_from: "2026-04-01T00:00:00.000Z" });
    expect(codeOf(projectedAgain.rowSignature(row))).toBe("ok");
    expect(codeOf(projectedAgain.rowSignature(row, "2026-04-01T00:00:00.000Z"))).toBe("ok");
    expect(codeOf(projectedAgain.rowSignature(row, "2026-03-31T23:59:59.999Z"))).toBe("key_not_valid");
  });

  it("is what the projection gives of the record, and of nothing else", () => {
    expect(codeOf(verifier.projection(stored, bytes))).toBe("ok");
    expect(codeOf(verifier.projection(stored, recordBytes({ brand: "Other" })))).toBe("hash_mismatch");
    for (const change of [{ brand: "Other" }, { note: "x" }, { price_DE: 1 }, { constructor: 1 }]) {
      const verdict = verifier.projection({ ...stored, ...change } as IndexRow, bytes);
      expect(verdict).toMatchObject({ code: "hash_mismatch", pointer: `/${Object.keys(change)[0]}` });
    }
    const { brand: _, ...without } = stored;
    expect(verifier.projection(without as IndexRow, bytes)).toMatchObject({
      code: "hash_mismatch",
      pointer: "/brand",
    });
  });
});
