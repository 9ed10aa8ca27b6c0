// Fairness in simulated time (SS1, SS2 in run-storm.ts), and that each mechanism of it is missed where it is missing.

import { describe, expect, it } from "vitest";
import { type HostileKind, harmOf, hostileKinds, runStorm, type StormResult } from "./run-storm.ts";
import { type Mechanism, mechanisms } from "./storm-node.ts";

/** Always the same, since a percentile of few acts varies; docs/hardening.md has its figures, and says what others give. */
const seed = 1;
const seconds = 6;

/** The kind of storm that shows it where a mechanism is missing. */
const shownBy: Readonly<Record<Mechanism, HostileKind>> = {
  paces: "validations",
  rightOfWay: "batches",
  searchTurns: "searches",
  signatureTurns: "forgeries",
  checkTurns: "checks",
  filePlaces: "files",
  decodingTurns: "images",
  bodyShares: "bodies",
};

const known = new Map<string, Promise<StormResult>>();

function stormOf(kind: HostileKind | null, without: Mechanism | null = null): Promise<StormResult> {
  const name = `${kind} ${without}`;
  const storm = known.get(name) ?? runStorm({ seed, kind, without, seconds });
  known.set(name, storm);
  return storm;
}

describe("beside a hostile party", () => {
  it("a quiet node is half busy", async () => {
    const { busy, refusals, violations } = await stormOf(null);
    expect({ refusals, violations }).toEqual({ refusals: [], violations: [] });
    expect(busy).toBeGreaterThan(0.35);
    expect(busy).toBeLessThan(0.55);
  });

  it.each(Object.keys(hostileKinds) as HostileKind[])(
    "honest parties are served as if it was quiet, and not refused (SS1, SS2): %s",
    async (kind) => {
      const storm = await stormOf(kind);
      expect(storm.hostile.size, "the hostile party was answered").toBeGreaterThan(0);
      expect(harmOf(await stormOf(null), storm), hostileKinds[kind]).toEqual([]);
    },
  );

  it.each(Object.keys(mechanisms) as Mechanism[])(
    "they are not where a mechanism is missing: %s",
    async (mechanism) => {
      const storm = await stormOf(shownBy[mechanism], mechanism);
      expect(harmOf(await stormOf(null), storm), mechanisms[mechanism]).not.toEqual([]);
    },
  );
});
