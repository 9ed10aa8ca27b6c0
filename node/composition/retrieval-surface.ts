// What the retrieval surface calls, composed from the services of a node.

import type { AdRoutesServices } from "../../api/routes/ad-routes.ts";
import type { AllowanceReads } from "../../api/routes/company-routes.ts";
import type { RetrievalDeps } from "../../api/routes/retrieval.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { createAdItems } from "../../service/ads/ad-items.ts";
import { type AdPoolCall, createServePool } from "../../service/ads/ad-pool.ts";
import { clickAd, renderAd } from "../../service/ads/ad-render.ts";
import { type AdSessions, createAdSessions, createAdTokens } from "../../service/ads/ad-tokens.ts";
import { createSponsoredRows } from "../../service/ads/sponsored-rows.ts";
import type { KeyBudget } from "../../service/authentication/regional-limits.ts";
import { createLogReads } from "../../service/log/log-reads.ts";
import { answerStatement, readAllowance } from "../../service/money/ledgers.ts";
import type { CompanyReads } from "../../service/portal/company.ts";
import {
  agreeTo,
  createAgreements,
  createAgreeToTerms,
  createReadEntitlement,
  createReadTerms,
  type TermsDeps,
} from "../../service/register/terms.ts";
import { type CompanyEventsRequest, readCompanyEvents } from "../../service/retrieval/company-events.ts";
import { createFetch, type FetchRequest } from "../../service/retrieval/fetch.ts";
import { readOwnReceipts, readUsage } from "../../service/retrieval/own-receipts.ts";
import { createReceipts, type Receipts } from "../../service/retrieval/receipts.ts";
import { createRecordStanding, type RecordStanding } from "../../service/retrieval/record-standing.ts";
import { createSearch, type SearchCall } from "../../service/retrieval/search.ts";
import { createChooseListing } from "../../service/verification/key-directory.ts";
import { createVerification } from "../../service/verification/verification.ts";
import { logKeysByOrigin } from "../../verifier/log.ts";
import { sandboxTerms } from "../configuration/versioned-file.ts";
import { imageLinksOf } from "../images/ad-images.ts";
import type { SandboxUrls } from "../sandbox/seed.ts";
import type { NodeServices } from "./capabilities.ts";

interface RetrievalBounds {
  readonly budget: KeyBudget | null;
  readonly delayUntil: ((atMs: number) => Promise<void>) | undefined;
}

export function retrievalOf(
  services: NodeServices,
  urls: SandboxUrls,
  { budget, delayUntil: delayed }: RetrievalBounds,
) {
  const { clock, config, eventStore, rightOfWay } = services;
  const { environment, region, receipt: signer } = services.keys;
  const receipts = services.timings.watchReceipts(
    createReceipts({
      environment,
      region,
      signer,
      store: services.receipts,
      incarnation: services.lease,
      crypto: services.crypto,
      clock,
    }),
  );
  const ofRegion = { ...services, region: config.region };
  const sessions = createAdSessions({ ...ofRegion, sessionKey: services.adSessionKey });
  const sponsored = createSponsoredRows({ ...ofRegion, sessions });
  const terms = termsOf(services);
  const standing = createRecordStanding(services);
  const common = { ...services, receipts, budget, standing };
  const search = createSearch({ ...common, sponsored });
  const fetch = createFetch({
    ...common,
    verifyUrl: urls.verify_url,
    delayUntil: delayed ?? ((atMs) => delayUntil(clock, atMs)),
  });
  return {
    ...companyReadsOf(services),
    chooseListing: createChooseListing(services.parties),
    terms: createReadTerms(terms),
    agreeToTerms: createAgreeToTerms(terms),
    entitlement: createReadEntitlement({ ...services, terms, prices: pricesOf(services) }),
    allowance: allowanceReadsOf(services),
    ads: adsOf(services, urls, { receipts, budget, sessions, standing }),
    events: (request: CompanyEventsRequest) =>
      readCompanyEvents({ eventStore, region: config.region }, request),
    search: (call: SearchCall) => rightOfWay.during(() => search(call)),
    fetch: (request: FetchRequest) => rightOfWay.during(() => fetch(request)),
  };
}

/** What the people of an AI company are shown of it. */
export function companyViewOf(services: NodeServices): CompanyReads {
  const terms = termsOf(services);
  return {
    ...companyReadsOf(services),
    terms: createReadTerms(terms),
    agree: (agreed) => agreeTo(terms, agreed),
    ...allowanceReadsOf(services),
  };
}

export function termsOf({ actors, register, clock, config, operatorFiles }: NodeServices): TermsDeps {
  return {
    clock,
    sha256: nativeCrypto.sha256,
    agreements: createAgreements({ actors, register }),
    terms: () => operatorFiles.terms() ?? (config.environment === "sandbox" ? sandboxTerms : []),
  };
}

function adsOf(
  services: NodeServices,
  urls: SandboxUrls,
  {
    receipts,
    budget,
    sessions,
    standing,
  }: {
    readonly receipts: Receipts;
    readonly budget: KeyBudget | null;
    readonly sessions: AdSessions;
    readonly standing: RecordStanding;
  },
): AdRoutesServices {
  const { clock, register, records, config, rightOfWay } = services;
  const links = imageLinksOf(services, urls.base_url);
  const tokens = createAdTokens(nativeCrypto, services.adTokenKey);
  const verification = createVerification({ ...services, verifyUrl: urls.verify_url });
  const items = createAdItems({ records, register, verification, clock, linkOf: links.linkOf });
  const common = { ...services, items, tokens, region: config.region };
  const servePool = createServePool({ ...common, receipts, budget, sessions });
  const statements = { ...common, standing };
  return {
    pool: (call: AdPoolCall) => rightOfWay.during(() => servePool(call)),
    render: (statement) => renderAd(statements, statement),
    click: (statement) => clickAd(statements, statement),
  };
}

/** Null where nothing is charged. */
function pricesOf({ config, operatorFiles }: NodeServices) {
  return () => (config.environment === "sandbox" ? null : operatorFiles.prices());
}

function allowanceReadsOf(services: NodeServices): AllowanceReads {
  const deps = { actors: services.actors, prices: pricesOf(services) };
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

// What an AI company reads of its own receipts, composed for the surfaces of a node.

function companyReadsOf(services: NodeServices): Pick<RetrievalDeps, "receipts" | "usage"> {
  const { clock, config, logStore, logWitnesses, receipts: store, trust } = services;
  const { sha256 } = nativeCrypto;
  const { region } = config;
  const { policy } = logWitnesses;
  const keys = () => logKeysByOrigin(trust());
  const log = createLogReads({ log: logStore, receipts: store, sha256, policy, keys });
  return {
    receipts: (request) =>
      readOwnReceipts({ store, region, trust, sha256, inclusion: log.inclusion }, request),
    usage: (request) => readUsage({ store, region, clock }, request),
  };
}
