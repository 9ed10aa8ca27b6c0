// An image of an ad is kept while the ad is live, and for a month after that.

import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { forgetUnneeded, unneededMs } from "../../service/ads/unneeded-images.ts";
import { type AttackNode, openAttackNode } from "../retrieval/attack.fixture.ts";
import { type Advertiser, newAdvertiser } from "./ads.fixture.ts";

let node: AttackNode;
let advertiser: Advertiser;
let movedMs = 0;

beforeAll(async () => {
  node = await openAttackNode({ clock: { now: () => Date.now() + movedMs } });
  advertiser = await newAdvertiser(node);
});
afterAll(() => node.close());

const forget = (): Promise<number> => {
  const { imageStore: images, register, records, clock } = node.running.services;
  return forgetUnneeded({ images, book: register.ads, records, clock });
};
const isThere = async (image: object): Promise<boolean> => {
  const { sha256 } = image as { readonly sha256: string };
  return (await node.running.services.imageStore.read(sha256)) !== null;
};

it("is forgotten a month after its ad was taken back, and not while the ad is live or was just published", async () => {
  const [image, other] = [await advertiser.image(), await advertiser.image()];
  movedMs += unneededMs + 1_000;
  await advertiser.campaign();
  const published = await advertiser.ad("shoe", { images: [image] });
  expect(published).toMatchObject({ status: 200 });
  expect(await forget()).toBe(1);
  expect([await isThere(image), await isThere(other)]).toEqual([true, false]);
  movedMs += unneededMs + 1_000;
  expect(await forget()).toBe(0);
  const adId = String(published.json["ad_id"]);
  expect(await advertiser.remove(adId, "withdraw")).toMatchObject({ status: 200 });
  const live = () => node.running.services.register.ads.live().map(({ ad_id }) => ad_id);
  await vi.waitFor(() => expect(live()).not.toContain(adId), { timeout: 20_000 });
  movedMs += unneededMs - 60_000;
  expect(await forget()).toBe(0);
  movedMs += 120_000;
  expect(await forget()).toBe(1);
  expect(await isThere(image)).toBe(false);
  expect(await advertiser.ad("shoe", { images: [image] })).toMatchObject({
    status: 422,
    json: { reason: "image_unknown" },
  });
});
