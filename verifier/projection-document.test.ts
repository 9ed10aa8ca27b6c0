import { expect, it } from "vitest";
import { hashOf } from "../protocol/bytes.ts";
import { collectionNames } from "../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject } from "../protocol/json/canonical-json.ts";
import { projectionDocument } from "../protocol/projection/project.ts";
import { codeOf, makeScene } from "./scene.fixture.ts";

const { verifier } = makeScene();

/** A document with its own, correct hash. */
function hashed({ sha256: _, ...rest }: JsonObject): JsonObject {
  return { ...rest, sha256: hashOf(canonicalBytes(rest)) };
}

it("a published projection specification is the one of its version, or refused", () => {
  for (const collection of collectionNames) {
    const document = JSON.parse(JSON.stringify(projectionDocument(collection, 1))) as JsonObject;
    expect(hashed(document)).toEqual(document);
    expect(codeOf(verifier.projectionDocument(document))).toBe("ok");
    const rules = (document["rules"] as readonly JsonObject[]).slice(1);
    for (const other of [hashed({ ...document, rules }), { ...document, sha256: `sha256:${"0".repeat(64)}` }])
      expect(codeOf(verifier.projectionDocument(other))).toBe("hash_mismatch");
    const next = hashed({ ...document, version: `${collection}/2` });
    expect(codeOf(verifier.projectionDocument(next))).toBe("projection_unknown");
  }
  for (const none of [null, [], {}, { version: 1 }])
    expect(codeOf(verifier.projectionDocument(none))).toBe("payload_malformed");
});
