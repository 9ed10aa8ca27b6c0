// What the retrieval surface calls, composed from the services of a node.

import type { AdRoutesServices } from "../api/ad-routes.ts";
import type { AllowanceReads } from "../api/allowance-routes.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { createAdItems } from "../service/ad-items.ts";
import { type AdPoolCall, createServePool } from "../service/ad-pool.ts";
import { clickAd, renderAd } from "../service/ad-render.ts";
import { createAdTokens } from "../service/ad-tokens.ts";
import { type CompanyEventsRequest, readCompanyEvents } from "../service/company-events.ts";
import { createFetch, type FetchRequest } from "../service/fetch.ts";
import { createChooseListing } from "../service/key-directory.ts";
import { answerStatement, readAllowance } from "../service/ledgers.ts";
import { createReceipts, type Receipts } from "../service/receipts.ts";
import type { KeyBudget } from "../service/regional-limits.ts";
import { createSearch, type SearchCall } from "../service/search.ts";
import { createReadTerms } from "../service/terms.ts";
import { createVerification } from "../service/verification.ts";
import { companyReadsOf } from "./company-reads.ts";
import { imageLinksOf } from "./images/ad-images.ts";
import type { SandboxUrls } from "./sandbox/seed.ts";
import type { NodeServices } from "./services.ts";
import { servingRegions } from "./serving-regions.ts";
import type { SurfaceChanges } from "./surfaces.ts";
import { sandboxTerms } from "./terms-file.ts";

interface RetrievalBounds {
  readonly budget: KeyBudget | null;
  readonly delayUntil: SurfaceChanges["delayUntil"];
}

export function retrievalOf(
  services: NodeServices,
  urls: SandboxUrls,
  { budget, delayUntil: delayed }: RetrievalBounds,
) {
  const { register, records, index, clock, insight, rightOfWay } = services;
  const receipts = createReceipts({
    environment: services.keys.environment,
    region: services.keys.region,
    incarnation: services.lease,
    signer: services.keys.receipt,
    store: services.receipts,
    crypto: nativeCrypto,
    clock,
  });
  const { eventStore, config } = services;
  const { allowance } = services;
  const search = createSearch({ index, register, receipts, insight, budget, allowance });
  const fetch = createFetch({
    records,
    register,
    receipts,
    insight,
    ...{ budget, allowance },
    clock,
    sha256: nativeCrypto.sha256,
    verifyUrl: urls.verify_url,
    delayUntil: delayed ?? ((atMs) => delayUntil(clock, atMs)),
  });
  return {
    ...companyReadsOf(services),
    chooseListing: createChooseListing(services.parties),
    terms: createReadTerms({
      ...{ clock, sha256: nativeCrypto.sha256 },
      terms: () => services.operatorFiles.terms() ?? (config.environment === "sandbox" ? sandboxTerms : []),
    }),
    allowance: allowanceReadsOf(services),
    ads: adsOf(services, urls, { receipts, budget }),
    events: (request: CompanyEventsRequest) =>
      readCompanyEvents({ eventStore, region: config.region }, request),
    search: (call: SearchCall) => rightOfWay.during(() => search(call)),
    fetch: (request: FetchRequest) => rightOfWay.during(() => fetch(request)),
  };
}

function adsOf(
  services: NodeServices,
  urls: SandboxUrls,
  { receipts, budget }: { readonly receipts: Receipts; readonly budget: KeyBudget | null },
): AdRoutesServices {
  const { actors, clock, register, records, keys, config, rightOfWay } = services;
  const links = imageLinksOf(services, urls.base_url);
  const tokens = createAdTokens(nativeCrypto, services.adTokenKey);
  const verification = createVerification({
    ...{ register, clock, keys, crypto: nativeCrypto, verifyUrl: urls.verify_url },
  });
  const items = createAdItems({ records, register, verification, clock, linkOf: links.linkOf });
  const servePool = createServePool({
    ...{ book: register.ads, items, register, receipts, actors, crypto: nativeCrypto, tokens, clock, budget },
    ...{ region: config.region, sessionKey: services.adSessionKey },
  });
  const statements = {
    ...{ actors, items, tokens, clock, regions: servingRegions(services) },
    ...{ crypto: nativeCrypto, timers: services.timers },
  };
  return {
    pool: (call: AdPoolCall) => rightOfWay.during(() => servePool(call)),
    render: (statement) => renderAd(statements, statement),
    click: (statement) => clickAd(statements, statement),
  };
}

function allowanceReadsOf({ actors, allowance, operatorFiles }: NodeServices): AllowanceReads {
  const deps = { actors, prices: () => (allowance === null ? null : operatorFiles.prices()) };
  return {
    allowance: (company) => readAllowance(deps, company),
    statement: (asked) => answerStatement(deps, asked),
  };
}

async function delayUntil(clock: NodeServices["clock"], atMs: number): Promise<void> {
  for (let left = atMs - clock.now(); left > 0; left = atMs - clock.now()) {
    await new Promise((resolve) => setTimeout(resolve, left));
  }
}
