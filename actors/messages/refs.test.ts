import { describe, expect, it } from "vitest";
import { businessRef, keyLimitsRef, keyRef, nonceRef, placementOf, pushRef, regionRef } from "./refs.ts";

const party = "6f1c0a2e-0000-4000-8000-000000000001";

describe("the place of an actor", () => {
  it("is its party's home for the party, its keys and its pushes (P1)", () => {
    for (const ref of [businessRef(party), keyRef(party, "a.b_c-1"), pushRef(party, "bat_01")]) {
      expect(placementOf(ref)).toEqual({ party });
    }
  });

  it("is the region named by a nonce actor, that of a key's limits, and by the region actor (P2)", () => {
    expect(placementOf(nonceRef("key", "eu-west1"))).toEqual({ region: "eu-west1" });
    expect(placementOf(keyLimitsRef("key", "eu-west1"))).toEqual({ region: "eu-west1" });
    expect(placementOf(regionRef("us-east1"))).toEqual({ region: "us-east1" });
  });

  it("is refused for a name that nothing makes", () => {
    expect(() => placementOf({ kind: "push", id: "bat_01" })).toThrow(
      "The home of push/bat_01 cannot be determined.",
    );
    expect(() => placementOf({ kind: "integration-key", id: ".key" })).toThrow();
  });
});
