// Publishes the ads of the sample businesses, with a journal of their own.
//   ZA1. Interrupted and begun again, the same documents are sealed at the same instants, and nothing is published twice.
//   ZA2. What was revoked meanwhile, or is refused because the sandbox's user changed its business, is left out.

import { join } from "node:path";
import { toBase64 } from "../../protocol/bytes.ts";
import { canonicalBytes, type JsonObject } from "../../protocol/canonical-json.ts";
import { hashOf } from "../../protocol/hash.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import type { Outcome } from "../../service/answer.ts";
import type { SealedAdCall } from "../../service/publish-ad.ts";
import type { ImageToStore } from "../../storage/image-store.ts";
import { allEnded } from "./all-ended.ts";
import { calendarFrom } from "./sample.ts";
import {
  adDocument,
  campaignDocument,
  productDocument,
  type SampleAd,
  type SampleCampaign,
  type StoredPicture,
  sampleCampaigns,
} from "./sample-ads.ts";
import type { OpenBusiness, SampleSetDeps } from "./sample-set.ts";
import { sealAlone } from "./seal-alone.ts";
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
      const seal = await sealAlone(sealer, { record, context, atMs: parseTimestamp(instant) ?? 0 });
      const outcome = await deps.publishAd({
        ...{ businessUuid: business.uuid, recordBase64: toBase64(record), seal },
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
  const [r, g, b] = colour;
  // Loaded by the first start of a sandbox alone.
  const { default: sharp } = await import("sharp");
  const drawn = sharp({ create: { width, height, channels: 3, background: { r, g, b } } });
  const bytes = new Uint8Array(await drawn.png().toBuffer());
  const picture = { sha256: hashOf(bytes), width, height };
  await images.put({ ...picture, mediaType: "image/png", bytes });
  return picture;
}
