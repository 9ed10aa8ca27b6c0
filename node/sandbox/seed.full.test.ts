import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Signer } from "../../crypto/port.ts";
import { parseGrant } from "../../service/register/sandbox-grant.ts";
import type { NodeServices } from "../composition/services.ts";
import type { Sandbox } from "./sandbox-file.ts";
import {
  complete,
  counts,
  generations,
  Killed,
  newHome,
  opened,
  openWorld,
  thumbprintOf,
} from "./seed.fixture.ts";

describe("a new sandbox", () => {
  it("is filled, and written down as promised", async () => {
    const home = await newHome();
    const world = await openWorld(home);
    const { sandbox, exampleRecordId } = await world.seed();
    expect(await counts(world.services)).toEqual(complete);
    expect(JSON.parse(await readFile(join(home, "sandbox.json"), "utf8"))).toEqual(sandbox);
    expect(Object.keys(sandbox)).toEqual([
      "environment",
      "base_url",
      "business_url",
      "verify_url",
      "mcp_url",
      "ops_url",
      "portal_url",
      "anchors",
      "businesses",
      "ai_companies",
    ]);
    expect((await world.services.records.readServed(exampleRecordId ?? ""))?.head.live).toBe(true);
    expectKeys(sandbox, world.services);
  });

  it("is filled by whoever goes on after a crash, and nothing is published twice", async () => {
    for (const steps of [3, 11, 20, 33, 60, 85, 110, 140, 170, 200]) {
      const home = await newHome();
      const first = await openWorld(home);
      await expect(first.seed(steps)).rejects.toThrow();
      await opened.pop()?.close();
      const second = await openWorld(home);
      await second.seed();
      expect(await counts(second.services)).toEqual(complete);
      expect(new Set(await generations(second.services))).toEqual(new Set([1]));
      await opened.pop()?.close();
    }
  });

  it("is filled also by who goes on hours later, when the seals of before are too old to be taken", async () => {
    const home = await newHome();
    for (const [steps, hours] of [
      [60, 0],
      [150, 1],
    ] as const) {
      const interrupted = await openWorld(home, hours * 3_600_000);
      await expect(interrupted.seed(steps)).rejects.toThrow(Killed);
      await opened.pop()?.close();
    }
    const last = await openWorld(home, 2 * 3_600_000);
    await last.seed();
    expect(await counts(last.services)).toEqual(complete);
    expect(new Set(await generations(last.services))).toEqual(new Set([1]));
  });

  it("has ended when it fails, so that it is begun again at once", async () => {
    const home = await newHome();
    const world = await openWorld(home);
    for (const steps of [11, 33, 60]) {
      await expect(world.seed(steps)).rejects.toThrow(Killed);
      expect(world.underWay()).toBe(0);
    }
    await world.seed();
    expect(await counts(world.services)).toEqual(complete);
    expect(new Set(await generations(world.services))).toEqual(new Set([1]));
  });

  it("waits for no push of a filling that has failed", async () => {
    const world = await openWorld(await newHome());
    const isAsked = Promise.withResolvers<void>();
    const failure = new Error("away");
    const seeding = world.seed(undefined, ({ fetch }) => ({
      // The catalogue's push never ends.
      fetch: async (url, init) => {
        const answer = await fetch(url, init);
        if (!url.includes("/v1/pushes/") || answer.status !== 200) return answer;
        isAsked.resolve();
        const status = JSON.parse(Buffer.from(await answer.arrayBuffer()).toString());
        return Response.json({ ...status, state: "processing", stalled: false });
      },
      publishRecord: async () => {
        await isAsked.promise;
        throw failure;
      },
    }));
    await expect(seeding).rejects.toBe(failure);
  });

  it("has the ads of its businesses, published once", async () => {
    const home = await newHome();
    const world = await openWorld(home);
    await expect(world.seed(undefined, () => ({ publishAd: rejectedAd }))).rejects.toThrow("away");
    await world.seed();
    const shown = async () => {
      await world.services.register.refresh();
      const ask = (country: string, keyword: string) =>
        world.services.register.ads.find({
          country,
          subdivision: null,
          keywords: [keyword],
          nowMs: world.services.clock.now(),
        });
      return ["US diamonds", "CA diamonds", "GB baking", "CA books"].map((each) => {
        const [country = "", keyword = ""] = each.split(" ");
        return ask(country, keyword).flatMap(({ ads }) =>
          Array.from(ads, (ad) => `${ad.business_uuid} ${ad.generation}`),
        );
      });
    };
    const [us, ca, baking, books] = await shown();
    expect([us?.length, ca?.length, baking?.length, books?.length]).toEqual([2, 1, 1, 1]);
    await world.seed();
    expect((await shown()).flat().every((each) => each.endsWith(" 1"))).toBe(true);
    expect(world.services.register.ads.size).toBe(5);
    const nowMs = world.services.clock.now();
    const sponsored = ["GB", "US"].map((country) => [
      ...world.services.register.ads.sponsored({ country, nowMs }).keys(),
    ]);
    expect(sponsored).toEqual([[expect.stringMatching(/^svc_/)], []]);
  });

  it("stays as it is when it is started again", async () => {
    const home = await newHome();
    const world = await openWorld(home);
    const first = await world.seed();
    const again = await world.seed();
    expect(again).toEqual(first);
    expect(await counts(world.services)).toEqual(complete);
    expect(new Set(await generations(world.services))).toEqual(new Set([1]));
  });
});

async function rejectedAd(): Promise<never> {
  throw new Error("away");
}

function expectKeys(sandbox: Sandbox, services: NodeServices): void {
  const grantKey = (services.keys.grant as Signer).publicJwk;
  const keys = [
    ...sandbox.businesses.flatMap((each) => each.integration_keys),
    ...sandbox.ai_companies.flatMap((each) => each.keys),
  ];
  for (const { key_id: keyId, grant, private_jwk } of keys) {
    expect(thumbprintOf(private_jwk)).toBe(keyId);
    expect(parseGrant(grant, { keyId, grantKey, crypto: nativeCrypto })).toMatchObject({ ok: true });
  }
  expect(keys).toHaveLength(5 + 18 + 4 + 7);
  expect(new Set(keys.map(({ key_id }) => key_id)).size).toBe(keys.length);
}
