import { expect, it } from "vitest";
import { toBase64 } from "../../protocol/bytes.ts";
import { canonicalBytes, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { parseBusinessKeys } from "../../protocol/keys/business-keys.ts";
import { coseKeyOf } from "../../protocol/keys/jwk.ts";
import { businessUuid, keyFacts, newKey } from "../authentication.fixture.ts";
import { publishedKeys } from "./home-evidence.ts";

it("published keys are those that seal, oldest first, in the form that verifiers read", async () => {
  const facts = [];
  for (const [role, year] of [
    ["integration", "2026"],
    ["retrieval", "2025"],
    ["hosted", "2024"],
    ["sealing", "2023"],
  ] as const) {
    const key = await newKey(role === "sealing" ? "ES256" : "Ed25519");
    const cose = role === "sealing" ? toBase64(coseKeyOf(key.publicJwk) ?? new Uint8Array()) : null;
    facts.push(
      keyFacts(key.keyId, key.publicJwk, {
        role,
        party: businessUuid,
        cose,
        valid_from: `${year}-01-01T00:00:00.000Z`,
      }),
    );
  }
  const keys = publishedKeys({
    uuid: businessUuid,
    certId: `sha256:${"0".repeat(64)}`,
    issuedAt: "2026-03-01T00:00:00.000Z",
    keys: facts,
  });
  expect(keys.keys.map((key) => `${key.purpose} ${key.kind}`)).toEqual([
    "sealing passkey",
    "sealing hosted",
    "integration system",
  ]);
  expect(parseBusinessKeys(canonicalBytes(keys as unknown as JsonValue))).toMatchObject({ ok: true });
});
