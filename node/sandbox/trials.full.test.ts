import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { ok } from "../../protocol/result.ts";
import { sampleBusinesses, trialBusinesses, trialCompanies } from "./businesses.ts";
import type { Sandbox } from "./sandbox-file.ts";
import { complete, counts, newHome, opened, openWorld } from "./seed.fixture.ts";

describe("the samples that are refused", () => {
  it("are as their notes say, also when they are registered again", async () => {
    const world = await openWorld(await newHome());
    await world.seed();
    await rm(join(world.home, "sandbox-trials.json"));
    const { sandbox } = await world.seed();
    const [trials] = trialBusinesses;
    const entry = sandbox.businesses.find(({ business_uuid: uuid }) => uuid === trials?.uuid);
    const fates = await Promise.all(
      (entry?.integration_keys ?? []).map(async ({ key_id: keyId }) => {
        const { key, mandates } = await world.services.parties.facts(trials?.uuid ?? "", keyId);
        const now = formatTimestamp(Date.now());
        const inForce = mandates.filter((each) => each.revoked_at === null && each.valid_until > now);
        return `${key} ${inForce.length}/${mandates.length}`;
      }),
    );
    expect(fates).toEqual([
      "live 1/1",
      "live 1/1",
      "unknown 0/0",
      "unknown 0/0",
      "live 1/1",
      "live 1/1",
      "live 1/1",
      "live 1/1",
      "live 1/1",
      "revoked 1/1",
      "revoked 1/1",
      "live 0/0",
      "live 0/1",
      "live 0/1",
      "live 0/0",
    ]);
    const statuses = await Promise.all(
      [...trialBusinesses, ...trialCompanies].map(
        async ({ uuid }) => (await world.services.parties.facts(uuid, "")).certificate?.status,
      ),
    );
    expect(statuses).toEqual([
      "active",
      "revoked",
      "closed",
      "withdrawn",
      "active",
      "withdrawn",
      "active",
      "active",
    ]);
    const issuances = await Promise.all(
      [...trialBusinesses, ...trialCompanies].map(
        async ({ uuid }) => (await world.services.registerStore.list("certificate", uuid)).length,
      ),
    );
    expect(issuances).toEqual([1, 2, 2, 2, 1, 2, 1, 1]);
  });

  it("are in force since an hour before the first start, their AI policies too where they stand", async () => {
    const world = await openWorld(await newHome());
    const startedAt = Date.now();
    await world.seed();
    for (const { uuid, ending } of [...sampleBusinesses, ...trialBusinesses]) {
      if (ending?.reachesBack) continue;
      const { policy } = await world.services.parties.facts(uuid, "");
      expect(startedAt - Date.parse(policy.live_from ?? "")).toBeGreaterThan(3_500_000);
    }
  });

  it("get a note each", async () => {
    const world = await openWorld(await newHome());
    const { sandbox } = await world.seed();
    const notes = [
      ...sandbox.businesses.flatMap((each) => [each, ...each.integration_keys, ...each.mandates]),
      ...sandbox.ai_companies.flatMap((each) => [each, ...each.keys]),
    ].map(({ note }) => note);
    for (const note of notes) expect(note).toMatch(/^.{10,}\.$/);
  });
});

const toEnd =
  /No request has brought|Revoked|Its time is over|Its mandate (was revoked|has ended)|Nobody gave/;

describe("a sandbox that is started again after months", () => {
  it.each([70, 93, 200])("has mandates in force on day %i, but for those that were to end", async (day) => {
    const home = await newHome();
    const laterMs = day * 86_400_000;
    const before = await (await openWorld(home)).seed();
    await opened.pop()?.close();
    const world = await openWorld(home, laterMs);
    const { sandbox } = await world.seed();
    const counted = await Promise.all(
      sandbox.businesses.slice(0, 5).flatMap(({ business_uuid: uuid, integration_keys: keys }) =>
        keys.map(async ({ key_id: keyId, note }) => {
          const { mandates } = await world.services.parties.facts(uuid, keyId);
          return {
            isToEnd: toEnd.test(note),
            mandates: mandates.length,
            until: mandates[0]?.valid_until ?? "",
          };
        }),
      ),
    );
    for (const { isToEnd, mandates, until } of counted) {
      expect(mandates > 1).toBe(!isToEnd);
      if (!isToEnd) expect(Date.parse(until)).toBeGreaterThan(Date.now() + laterMs + 91 * 86_400_000);
    }
    expect(counted.filter(({ isToEnd }) => !isToEnd)).toHaveLength(5 + 7);
    const idsOf = ({ businesses }: Sandbox) =>
      businesses.flatMap((each) => each.mandates.map((one) => one.mandate_id));
    expect(new Set([...idsOf(before.sandbox), ...idsOf(sandbox)]).size).toBe(idsOf(sandbox).length + 12);
  });
});

describe("two nodes that fill one sandbox at once", () => {
  it("agree on it, and each is filled, whichever of them started first", async () => {
    for (const aheadMs of [-2_000, 0, 2_000]) {
      const world = await openWorld(await newHome());
      const home = await newHome();
      const [first_started_at, since] = [0, 3_600_000].map((ms) =>
        formatTimestamp(Date.now() + aheadMs - ms),
      );
      const journal = { v: 1, first_started_at, since, sealing_at: null, is_complete: false };
      for (const name of ["sandbox-seed.json", "sandbox-trials.json"])
        await writeFile(join(home, name), JSON.stringify({ ...journal, example_record_id: null }));
      const [one, two] = await Promise.all([world.seed(), world.seed(undefined, () => ({ home }))]);
      expect(two.sandbox).toEqual(one.sandbox);
      expect(await counts(world.services)).toEqual(complete);
    }
  });

  it("agree on it where the pushes of one are overtaken by those of the other", async () => {
    const world = await openWorld(await newHome());
    const home = await newHome();
    const one = await world.seed();
    const errors = [{ code: "superseded", pointer: "", detail: "A later push was already applied." }];
    const two = await world.seed(undefined, ({ publishRecord }) => ({
      home,
      publishRecord: async (request) => {
        const published = await publishRecord(request);
        if (!published.ok) return published;
        return ok({ ...published.value, outcome: "rejected", version: null, errors });
      },
    }));
    expect(two).toEqual(one);
    expect(await counts(world.services)).toEqual(complete);
  });
});
