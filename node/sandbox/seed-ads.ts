// Publishes the ads of the sample businesses, with a journal of their own.
//   ZA1. Interrupted and begun again, the same documents are sealed at the same instants, and nothing is published twice.
//   ZA2. What was revoked meanwhile, or is refused because the sandbox's user changed its business, is left out.

import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { hashOf, toBase64 } from "../../protocol/bytes.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/json/canonical-json.ts";
import type { SealedAdCall } from "../../service/ads/publish-ad.ts";
import type { Outcome } from "../../service/answer.ts";
import type { ImageToStore } from "../../storage/image-store.ts";
import { allEnded } from "./all-ended.ts";
import { sampleBusiness } from "./businesses.ts";
import { type Calendar, calendarFrom, type SampleBusiness } from "./sample.ts";
import type { OpenBusiness, SampleSetDeps } from "./sample-set.ts";
import samples from "./samples.json" with { type: "json" };
import { sealAlone } from "./sealer.ts";
import { openSeedJournal, type SealingInstants, sealingInstants } from "./seed-state.ts";

export interface SeedAdsDeps extends Pick<SampleSetDeps, "home" | "clock" | "parties"> {
  readonly publishAd: (call: SealedAdCall) => Promise<Outcome>;
  readonly images: { readonly put: (image: ImageToStore) => Promise<unknown> };
  readonly adCurrency: string;
  readonly recordIdOf: (businessUuid: string, kind: "products", localId: string) => string;
}

/** Requires that the businesses and their AI policies are registered, and that their records are published. */
export async function seedAds(deps: SeedAdsDeps, businesses: readonly OpenBusiness[]): Promise<void> {
  const now = formatTimestamp(deps.clock.now());
  const journal = await openSeedJournal(join(deps.home, "sandbox-ads.json"), { now, since: now });
  if (journal.state.is_complete) return;
  if (journal.state.sealing_at === null) await journal.advance({ sealing_at: now });
  const instants = sealingInstants(journal, deps.clock);
  const startedMs = parseTimestamp(journal.state.first_started_at) ?? deps.clock.now();
  await allEnded(
    sampleCampaigns.map(async (campaign) => {
      const open = businesses.find(({ business }) => business.uuid === campaign.business.uuid);
      if (open !== undefined) await publishCampaign(deps, open, { campaign, instants, startedMs });
    }),
  );
  await journal.advance({ is_complete: true });
}

interface Publication {
  readonly campaign: SampleCampaign;
  readonly instants: SealingInstants;
  readonly startedMs: number;
}

async function publishCampaign(
  deps: SeedAdsDeps,
  open: OpenBusiness,
  { campaign, instants, startedMs }: Publication,
): Promise<void> {
  const calendar = calendarFrom(startedMs);
  const terms = campaignDocument(campaign, { calendar, currency: deps.adCurrency });
  if (!(await publishOne(deps, open, { document: terms, instants }))) return;
  for (const ad of campaign.ads) {
    const document = adDocument(ad, await storePicture(deps, ad));
    await publishOne(deps, open, { document, instants });
  }
  for (const { id, countries } of campaign.products ?? []) {
    const recordId = deps.recordIdOf(open.business.uuid, "products", id);
    await publishOne(deps, open, { document: productDocument(recordId, countries), instants });
  }
}

/** Whether the document was accepted, now or before (ZA2). */
async function publishOne(
  deps: SeedAdsDeps,
  { business, sealer }: OpenBusiness,
  { document, instants }: { readonly document: JsonObject; readonly instants: SealingInstants },
): Promise<boolean> {
  const record = canonicalBytes(document);
  let tried = 0;
  const attempt = async (): Promise<Outcome | null> => {
    const { certificate, policy } = await deps.parties.facts(business.uuid, sealer.keyId);
    const context = { cert_id: certificate?.cert_id ?? null, ai_policy_version: policy.version };
    for (const instant of instants.kept().slice(tried)) {
      tried += 1;
      const seal = await sealAlone(sealer, {
        record,
        type: "ads",
        context,
        atMs: parseTimestamp(instant) ?? 0,
      });
      const outcome = await deps.publishAd({
        businessUuid: business.uuid,
        recordBase64: toBase64(record),
        seal,
      });
      if (outcome.kind === "answer" || outcome.problem["reason"] !== "sealed_at_skew") return outcome;
    }
    return null;
  };
  let outcome = await attempt();
  if (outcome === null) {
    await instants.another();
    outcome = await attempt();
  }
  return outcome?.kind === "answer";
}

/** A picture of 640 by 360 pixels. */
async function storePicture({ images }: SeedAdsDeps, { colour }: SampleAd): Promise<StoredPicture | null> {
  if (colour === null) return null;
  const [width, height] = [640, 360];
  const bytes = plainPng(width, height, colour);
  const picture = { sha256: hashOf(bytes), width, height };
  await images.put({ ...picture, mediaType: "image/png", bytes });
  return picture;
}

/** A PNG of one colour: one bit for each pixel, and a palette with one entry. */
function plainPng(width: number, height: number, colour: readonly number[]): Uint8Array {
  const head = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0]);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Each line begins with the number of its filter, which is none.
  const lines = deflateSync(Buffer.alloc(height * (1 + Math.ceil(width / 8))));
  const chunk = (type: string, data: Uint8Array): Buffer => {
    const named = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(named));
    return Buffer.concat([length, named, sum]);
  };
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("PLTE", Uint8Array.from(colour)),
    chunk("IDAT", lines),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

// The ads and sponsored products of the sample businesses: a campaign each, with subjects that a newcomer would ask for.

interface SampleCampaign {
  readonly business: SampleBusiness;
  readonly price: string;
  readonly budget: string;
  readonly ads: readonly SampleAd[];
  /** Products that it sponsors, by the business's own ids. */
  readonly products?: readonly { readonly id: string; readonly countries: readonly string[] }[];
}

interface SampleAd {
  readonly id: string;
  readonly countries: readonly string[];
  readonly keywords: readonly string[];
  readonly headline: string;
  readonly body: string;
  readonly url: string;
  /** A plain picture of this colour (red, green, blue); null for an ad of words. */
  readonly colour: readonly [number, number, number] | null;
}

export const sampleCampaignId = "sandbox";

const sampleCampaigns: readonly SampleCampaign[] = (
  samples.campaigns as unknown as readonly (Omit<SampleCampaign, "business"> & {
    readonly business: string;
  })[]
).map((campaign) => ({ ...campaign, business: sampleBusiness(campaign.business) }));

/** `currency` is that in which the deployment pays for ads. */
function campaignDocument(
  { price, budget }: SampleCampaign,
  { calendar, currency }: { readonly calendar: Calendar; readonly currency: string },
): JsonObject {
  return {
    schema: "svc/ad_campaign/1",
    campaign_id: sampleCampaignId,
    currency,
    price,
    budget,
    starts_at: calendar(0, "00:00"),
    ends_at: calendar(3_650),
    paused: false,
  };
}

function productDocument(record_id: string, countries: readonly string[]): JsonObject {
  return { schema: "svc/ad_product/1", campaign_id: sampleCampaignId, record_id, countries };
}

interface StoredPicture {
  readonly sha256: string;
  readonly width: number;
  readonly height: number;
}

function adDocument(
  { id, countries, keywords, headline, body, url }: SampleAd,
  picture: StoredPicture | null,
): JsonObject {
  const images =
    picture === null ? [] : [{ ...picture, media_type: "image/png", alt: "A plain picture of the sandbox." }];
  return {
    schema: "svc/ads/1",
    language: "en",
    business_ad_id: id,
    campaign_id: sampleCampaignId,
    countries,
    keywords,
    headline,
    body,
    call_to_action: "Have a look",
    display_domain: new URL(url).host,
    destination_url: url,
    images,
  };
}
