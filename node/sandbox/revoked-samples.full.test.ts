// A sandbox is restarted after operators revoked keys of its samples.

import { describe, expect, it } from "vitest";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { sampleBusinesses, sampleCompanies, trialBusinesses, trialCompanies } from "./businesses.ts";
import { complete, counts, Killed, newHome, opened, openWorld, type World } from "./seed.fixture.ts";
import { tourLines } from "./tour.ts";

const dayMs = 86_400_000;
const parties = [...sampleBusinesses, ...trialBusinesses, ...sampleCompanies, ...trialCompanies];

/** Revokes all keys of the samples in these roles, as an operator would; returns how many. */
async function revoke({ services }: World, roles: readonly string[]): Promise<number> {
  const nowMs = services.clock.now();
  let revoked = 0;
  for (const { uuid } of parties) {
    for (const entry of await services.registerStore.list("key", uuid)) {
      const { key_id, role, revoked_at } = JSON.parse(entry.body);
      if (!roles.includes(role) || revoked_at !== null) continue;
      const [at, from] = [formatTimestamp(nowMs), formatTimestamp(nowMs - 1_000)];
      await services.parties.revokeKey({ uuid, key_id, revoked_at: at, compromised_from: from });
      revoked += 1;
    }
  }
  return revoked;
}

const sealers = ["sealing", "hosted"];
const all = [...sealers, "integration", "retrieval"];

describe("a sandbox whose sample keys were revoked", () => {
  it.each([
    ["all keys", all, 0],
    ["all keys", all, 340],
    ["the keys that seal", sealers, 340],
  ])("starts again: %s (%j), %i days later", async (_which, roles, days) => {
    const home = await newHome();
    const world = await openWorld(home);
    const { sandbox: before } = await world.seed();
    expect(await revoke(world, roles)).toBeGreaterThan(4);
    await opened.pop()?.close();
    const again = await openWorld(home, days * dayMs);
    const { sandbox } = await again.seed();
    const keyIds = (found: typeof before) =>
      found.businesses.map(({ integration_keys: keys }) => keys.map(({ key_id }) => key_id));
    expect(keyIds(sandbox)).toEqual(keyIds(before));
  });

  const catalogue = 675;
  const nothing = Object.fromEntries(Object.keys(complete).map((name) => [name, 0]));
  it.each([
    ["all keys", all, nothing],
    ["the keys that seal", sealers, nothing],
    ["the keys that push", ["integration"], { ...complete, products: complete.products - catalogue }],
  ])("is filled without them where it was not filled yet: %s (%j)", async (_which, roles, expected) => {
    const home = await newHome();
    const world = await openWorld(home);
    // By then everything is registered and nothing is published.
    await expect(world.seed(150)).rejects.toThrow(Killed);
    await revoke(world, roles);
    await opened.pop()?.close();
    const again = await openWorld(home);
    const { sandbox, exampleRecordId } = await again.seed();
    expect(sandbox.businesses).toHaveLength(sampleBusinesses.length + trialBusinesses.length);
    expect(await counts(again.services)).toEqual(expected);
    expect(exampleRecordId === null).toBe(expected === nothing);
    const tour = tourLines({ sandbox, exampleRecordId }, { homeOption: null }).join("\n");
    expect(tour.includes("svc -- fetch ")).toBe(exampleRecordId !== null);
  });
});
