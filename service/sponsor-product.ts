// A sealed sponsored product, which goes through its campaign's actor like an ad (publish-ad.ts), and leaves by the same sealed removal.
//   SP1. A product is sponsored by its own business alone, and only once it is published; one that is out of serving later has no rows.
//   SP2. A product has one sponsorship in a campaign: a document that is sealed later takes the place of the earlier one.
//   SP3. Only the seal is stored: the document is never served, and the campaign's actor has what it says.

import type { AdFacts } from "../actors/messages/ads.ts";
import { campaignRef } from "../actors/messages/refs.ts";
import { type AdProductRecord, adProductLocalId } from "../protocol/ad-product.ts";
import { formatTimestamp, parseTimestamp } from "../protocol/identifiers.ts";
import { sealLeafOf } from "../protocol/log/leaves.ts";
import type { AdAnswer } from "../protocol/wire/ad-requests.ts";
import type { RecordStore } from "../storage/record-store.ts";
import { answerJson, type Outcome } from "./answer.ts";
import { campaignRefused, notAssigned, notDone } from "./campaign-refused.ts";
import { adSealOf, type SealedAlone, type SealedAloneDeps } from "./sealed-alone.ts";

export interface SponsorProductDeps extends Pick<SealedAloneDeps, "actors" | "crypto"> {
  readonly records: Pick<RecordStore, "readHead">;
  readonly recordIdOf: (businessUuid: string, kind: "ads", localId: string) => string;
}

export async function sponsorProduct(
  deps: SponsorProductDeps,
  {
    businessUuid,
    sealed,
    product,
  }: {
    readonly businessUuid: string;
    readonly sealed: SealedAlone;
    readonly product: AdProductRecord;
  },
): Promise<Outcome> {
  const { seal, sealId: seal_id, isKnown } = sealed;
  const { campaign_id, record_id, countries, allow_repeats = false } = product;
  if (!isKnown && !(await isPublished(deps, businessUuid, record_id)))
    return campaignRefused("product_unknown", "The business has no published product with this record_id.");
  const campaign = campaignRef(businessUuid, campaign_id);
  const ad_id = deps.recordIdOf(businessUuid, "ads", adProductLocalId(product));
  const { hash } = seal;
  const sealed_at_ms = parseTimestamp(seal.sealed_at) ?? 0;
  const assigned = await deps.actors.ask(campaign, {
    type: "ad.assign",
    ...{ ad_id, seal_id, sealed_at_ms, hash },
  });
  if (assigned.status !== "assigned") return notAssigned(assigned.status);
  await sealed.keepSeal();
  const { generation, published_at_ms } = assigned;
  const facts: AdFacts = {
    ...{ ad_id, business_uuid: businessUuid, campaign_id, generation, hash, product: record_id },
    ...{ countries, subdivisions: [], keywords: [], allow_repeats, published_at_ms, state: "live" },
    sealed: adSealOf(seal, published_at_ms, false),
  };
  const leaf = sealLeafOf(sealed.envelope, deps.crypto.sha256);
  const published = await deps.actors.ask(campaign, { type: "ad.publish", facts, seal_id, leaf });
  if (published.status !== "done") return notDone(published);
  const answer: AdAnswer = {
    ...{ ad_id, campaign_id, record_id, version: generation, state: "live" },
    published_at: formatTimestamp(published_at_ms),
  };
  return answerJson(200, answer);
}

async function isPublished(
  { records }: SponsorProductDeps,
  businessUuid: string,
  recordId: string,
): Promise<boolean> {
  const head = await records.readHead(recordId);
  return head?.live === true && head.business_uuid === businessUuid;
}
