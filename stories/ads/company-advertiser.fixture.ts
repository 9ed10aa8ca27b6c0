// An advertiser as a customer is one: it publishes a product, an image, campaigns and ads over HTTP, with the client library. A
// person's passkey seals what is said of ads, as in a portal. For tests.

import { expect } from "vitest";
import { createBusiness } from "../../client/business.ts";
import type { SvcClient } from "../../client/service-client.ts";
import type { SigningKey } from "../../client/signing-key.ts";
import { imageOf } from "../../node/images/images.fixture.ts";
import { type Sealer, sealAlone } from "../../node/sandbox/sealer.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { millionthsOf } from "../../protocol/price-list.ts";
import type { CampaignAnswer } from "../../protocol/wire/ad-requests.ts";
import { product } from "../publishing/publishing.fixture.ts";
import type { AiCompany } from "../retrieval/ai-company.fixture.ts";
import { adRecord, campaignRecord } from "./ads.fixture.ts";

export interface Campaign {
  readonly id: string;
  /** What one confirmed render costs, and what all of them may. */
  readonly price: string;
  readonly budget: string;
  readonly ads: readonly string[];
}

export interface Advertising {
  readonly campaigns: readonly Campaign[];
  /** What became of a campaign: its document is sent again as it was. */
  report(campaign: Campaign): Promise<CampaignAnswer>;
}

/** The subjects of the campaigns' ads. */
export const subjects = { many: "trail running", few: "hiking boots" } as const;

const campaigns: readonly (Campaign & { readonly subject: string })[] = [
  { id: "many", price: "0.918273", budget: "5000", ads: ["trail", "road", "track"], subject: subjects.many },
  // Enough for four renders, and not for five.
  { id: "few", price: "0.4", budget: "1.9", ads: ["boot", "sandal"], subject: subjects.few },
];

/** Publishes a product of the brand, and everything that it takes to advertise. */
export async function advertise(
  client: SvcClient,
  { key, owner, brand }: { readonly key: SigningKey; readonly owner: Sealer; readonly brand: string },
): Promise<Advertising> {
  const pushed = await createBusiness({ client, key }).push([product("stone", { brand })]);
  expect(pushed.batches[0]?.result).toMatchObject({ accepted: 1 });
  const { body: image } = await client.uploadImage(await imageOf("image/png"));
  const { sha256, media_type, width, height } = image;
  const picture = { sha256, media_type, width, height, alt: "A picture." };
  const { body: context } = await client.sealContext();
  const publish = async (record: object) => {
    const bytes = utf8(JSON.stringify(record));
    const seal = await sealAlone(owner, { record: bytes, type: "ads", context, atMs: Date.now() });
    const send = async () => (await client.publishAd(bytes, seal)).body;
    return { send, first: await send() };
  };
  const sent = new Map<string, () => Promise<unknown>>();
  for (const { id, price, budget, ads, subject } of campaigns) {
    const named = { campaign_id: id, price, budget };
    const { send, first } = await publish({ ...campaignRecord(Date.now()), ...named });
    expect(first).toMatchObject({ campaign_id: id, state: "running", renders: 0 });
    sent.set(id, send);
    for (const ad of ads) {
      const facts = { campaign_id: id, keywords: [subject], images: [picture] };
      const { first: published } = await publish({ ...adRecord(ad), ...facts });
      expect(published).toMatchObject({ campaign_id: id, state: "live" });
    }
  }
  return {
    campaigns,
    report: async ({ id }) => (await sent.get(id)?.()) as CampaignAnswer,
  };
}

/** How many renders a budget covers. */
export function rendersMax({ price, budget }: Campaign): number {
  return Number(millionthsOf(budget) / millionthsOf(price));
}

/** Waits until the ads of a subject are in the pools of every region. */
export async function untilServed(company: AiCompany, subject: string, ads: number): Promise<void> {
  for (const door of company.options.doors())
    await expect
      .poll(
        async () => {
          const request = { country: "US", keywords: [subject], sort_by: "published_at:asc" };
          return (await company.client(door).adPool(request)).body.ads.length;
        },
        { timeout: 60_000, interval: 200 },
      )
      .toBe(ads);
}

/**
 * Shows the ads of more pools than the budget of a campaign covers, all at once: what is confirmed is what it covers, and the rest is
 * refused.
 */
export async function spendBudget(company: AiCompany, campaign: Campaign): Promise<void> {
  const pools = await Promise.all(Array.from({ length: 4 }, () => company.openPool(subjects.few)));
  const items = pools.flatMap(({ ads }) => ads);
  expect(items).toHaveLength(4 * campaign.ads.length);
  const outcomes = await Promise.all(items.map((item) => company.show(item)));
  const covered = rendersMax(campaign);
  expect(outcomes.filter((refusal) => refusal === null)).toHaveLength(covered);
  expect(outcomes.filter((refusal) => refusal === "budget_spent")).toHaveLength(items.length - covered);
}

/** Every campaign counts the renders that the company had confirmed, and none beyond its budget. */
export async function judgeCampaigns(
  company: AiCompany,
  { campaigns: all, report }: Advertising,
): Promise<void> {
  for (const campaign of all) {
    const { renders, state } = await report(campaign);
    expect(renders).toBe(company.books.rendered.get(campaign.id)?.size ?? 0);
    expect(renders).toBeLessThanOrEqual(rendersMax(campaign));
    expect(state).toBe(renders === rendersMax(campaign) ? "spent" : "running");
  }
}
