import { expect, it } from "vitest";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { sealedAtSkewMs } from "../../protocol/limits.ts";
import { driveActor } from "../actor.fixture.ts";
import { businessUuid, partyFacts, policyFacts } from "../facts.fixture.ts";
import { businessActor } from "./definition.ts";

const firstMs = Date.UTC(2026, 0, 10);

/** When the second AI policy comes into force if it is accepted `afterMs` after the first, by the actor's clock. */
function secondLiveFrom(afterMs: number): string {
  const business = driveActor(businessActor, businessUuid);
  business.nowMs = firstMs;
  business.send({ type: "party.open", party: partyFacts() });
  for (const [version, nowMs] of [
    [1, firstMs],
    [2, firstMs + afterMs],
  ] as const) {
    business.nowMs = nowMs;
    const policy = policyFacts({ version, record_id: `aip_${version}`, record_base64: `${version}` });
    business.send({ type: "policy.accept", policy });
  }
  return String(business.snapshot.context.policy.live_from);
}

it.each([
  ["in the next millisecond, however long ago the one before was", 86_400_000, 86_400_001],
  ["in the next millisecond when that is the one after the version before", 1, 2],
  ["after the version before in the same millisecond", 0, 2],
  ["after the version before when the clock was set back a little", 1 - sealedAtSkewMs, 2],
  ["in the next millisecond when the clock was set back by more", -sealedAtSkewMs, 1 - sealedAtSkewMs],
])("an AI policy is in force %s", (_when, afterMs, expectedAfterMs) => {
  expect(secondLiveFrom(afterMs)).toBe(formatTimestamp(firstMs + expectedAfterMs));
});
