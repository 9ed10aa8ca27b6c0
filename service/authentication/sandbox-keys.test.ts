import { describe, expect, it } from "vitest";
import { createSigner, generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { Parties } from "../register/parties.ts";
import { ensureHostedKey } from "./sandbox-grants.ts";

describe("the key that the sandbox holds for a business", () => {
  it("is valid for all who asked for it at once, whoever registered it", async () => {
    const hosted = createSigner(generatePrivateJwk("Ed25519"));
    const validFrom: string[] = [];
    const parties = {
      facts: async () => ({ key: validFrom.length === 0 ? "unknown" : "live" }),
      registerKey: async ({ valid_from }: { readonly valid_from: string }) => void validFrom.push(valid_from),
      stateCustody: async () => {},
    } as unknown as Parties;
    const deps = { parties, clock: { now: Date.now }, hostedSigner: async () => hosted };
    const askedMs = Date.UTC(2026, 0, 1);
    // The caller that registers it was the last to read the clock.
    await ensureHostedKey(deps, "b", askedMs + 50);
    await ensureHostedKey(deps, "b", askedMs);
    expect(validFrom).toHaveLength(1);
    // What the other caller seals is valid from here on (a mandate's valid_from may not precede its sealer's).
    expect((validFrom[0] ?? "") <= formatTimestamp(askedMs)).toBe(true);
  });
});
