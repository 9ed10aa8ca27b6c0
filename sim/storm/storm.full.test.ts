// Fairness in simulated time (SS1, SS2 in run-storm.ts), and that each mechanism of it is missed where it is missing.

import { describe, expect, it } from "vitest";
import { type HostileKind, harmOf, hostileKinds, runStorm, type StormResult } from "./run-storm.ts";
import { type Mechanism, mechanisms } from "./storm-node.ts";

/**
 * A 99th percentile of one seed differs by an eighth from that of the next, so that any change of what a node does would decide. A missing
 * mechanism shows in one seed.
 */
const seeds = [1, 2, 3];
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

function stormOf(
  seed: number,
  kind: HostileKind | null,
  without: Mechanism | null = null,
): Promise<StormResult> {
  const name = `${seed} ${kind} ${without}`;
  const storm = known.get(name) ?? runStorm({ seed, kind, without, seconds });
  known.set(name, storm);
  return storm;
}

/** One after the other, as one process simulates one world at a time. */
async function stormsOf(kind: HostileKind | null): Promise<readonly StormResult[]> {
  const storms: StormResult[] = [];
  for (const seed of seeds) storms.push(await stormOf(seed, kind));
  return storms;
}

describe("beside a hostile party", () => {
  it("a quiet node is half busy", async () => {
    const { busy, refusals, violations } = await stormOf(1, null);
    expect({ refusals, violations }).toEqual({ refusals: [], violations: [] });
    expect(busy).toBeGreaterThan(0.35);
    expect(busy).toBeLessThan(0.55);
  });

  it.each(Object.keys(hostileKinds) as HostileKind[])(
    "honest parties are served as if it was quiet, and not refused (SS1, SS2): %s",
    async (kind) => {
      const storms = await stormsOf(kind);
      for (const { hostile } of storms)
        expect(hostile.size, "the hostile party was answered").toBeGreaterThan(0);
      expect(harmOf(await stormsOf(null), storms), hostileKinds[kind]).toEqual([]);
    },
  );

  it.each(Object.keys(mechanisms) as Mechanism[])(
    "they are not where a mechanism is missing: %s",
    async (mechanism) => {
      const storm = await stormOf(1, shownBy[mechanism], mechanism);
      expect(harmOf([await stormOf(1, null)], [storm]), mechanisms[mechanism]).not.toEqual([]);
    },
  );
});
