// The portal: where people who work for businesses and AI companies come in, with passkeys alone. Its pages are trees of nodes that a server renders; a
// script is needed for authenticators only.

import type { FastifyInstance } from "fastify";
import { buildServer, type HttpDeps } from "../api/http-server.ts";
import { send } from "../api/request-parts.ts";
import type { Route } from "../api/route.ts";
import { anyText } from "../protocol/shape.ts";
import { refusedWith } from "../service/answer.ts";
import { createAddressRate } from "../service/authentication/request-rate.ts";
import { type AdvertisingDeps, createOwnAdvertising } from "../service/portal/advertising.ts";
import type { Applications } from "../service/portal/applications.ts";
import type { AskingReads } from "../service/portal/asking.ts";
import { type BlockDeps, createOwnBlocks } from "../service/portal/blocks.ts";
import { createChallenges } from "../service/portal/challenges.ts";
import { type CompanyReads, createCompany } from "../service/portal/company.ts";
import { createOwnDomains, type DomainDeps } from "../service/portal/domains.ts";
import { createHostedPublishing } from "../service/portal/hosted-publishing.ts";
import { createMembers } from "../service/portal/members.ts";
import { createNotices, type NoticesDeps } from "../service/portal/notices.ts";
import { createOwnActs } from "../service/portal/own-acts.ts";
import { ownPush } from "../service/portal/own-push.ts";
import { createOwner, type OwnerDeps } from "../service/portal/owner.ts";
import { createPeople, type PeopleDeps } from "../service/portal/people.ts";
import { createOwnPublishing, type OwnPublishingDeps } from "../service/portal/publishing.ts";
import { type RecentPushesDeps, recentPushes } from "../service/portal/recent-pushes.ts";
import type { Recoveries } from "../service/portal/recoveries.ts";
import { createOwnWebhooks, type WebhookDeps } from "../service/portal/webhooks.ts";
import { assetAt, createAssets } from "../web/assets.ts";
import { createAuthenticators, type PortalPlace } from "./authenticators.ts";
import { inItsLanguage } from "./language.ts";
import { type AccountDeps, accountRoutes } from "./routes/account.ts";
import { actRoutes } from "./routes/acts.ts";
import { applyingRoutes } from "./routes/applying.ts";
import { askingRoutes } from "./routes/asking.ts";
import { blockRoutes } from "./routes/blocks.ts";
import { businessRoutes, type ServiceUrls } from "./routes/business.ts";
import { campaignRoutes } from "./routes/campaigns.ts";
import { companyRoutes } from "./routes/company.ts";
import { domainRoutes } from "./routes/domains.ts";
import { type DoorDeps, doorRoutes } from "./routes/door.ts";
import { holdRoutes } from "./routes/holds.ts";
import { noticeRoutes } from "./routes/notices.ts";
import { peopleRoutes } from "./routes/people.ts";
import { publishingRoutes } from "./routes/publishing.ts";
import { pushRoutes } from "./routes/pushes.ts";
import { recordRoutes } from "./routes/records.ts";
import { statementRoutes } from "./routes/statements.ts";
import { terminalLinkRoutes } from "./routes/terminal-links.ts";
import { webhookRoutes } from "./routes/webhooks.ts";
import { refusalPage, sendAsset, type VisitDeps } from "./visit.ts";

export interface PortalDeps
  extends Omit<PeopleDeps, "challenges" | "authenticators">,
    Omit<OwnPublishingDeps, "challenges" | "owner" | "people">,
    Omit<RecentPushesDeps, "owner" | "remedyOf">,
    Omit<BlockDeps, "owner">,
    Omit<DomainDeps, "owner" | "people">,
    Omit<AdvertisingDeps, "challenges" | "owner" | "people">,
    Pick<NoticesDeps, "mailLink">,
    Pick<WebhookDeps, "webhooks">,
    Omit<OwnerDeps, "challenges" | "people"> {
  readonly http: HttpDeps;
  readonly place: PortalPlace;
  readonly isSandbox: boolean;
  readonly applications: Applications;
  readonly recoveries: Recoveries;
  /** What the keys of an AI company read of it. */
  readonly reads: CompanyReads;
  /** What the keys of a business read of who asks. */
  readonly analytics: AskingReads;
  /** Where the systems of businesses send what they publish. */
  readonly urls: ServiceUrls;
  /** Secret bytes for challenges and forms, the same on all nodes. */
  readonly portalKey: Uint8Array;
  /** Monotonic whole milliseconds since some instant. */
  readonly elapsedMs: () => number;
}

const assetsBase = "/assets/";
/** What a node answers one address in a minute, and how often it lets one come to the door. */
const visitsPerMinute = 300;
const doorsPerMinute = 30;
const allDoorsPerMinute = 1_200;
const applicationsPerMinute = 5;
const allApplicationsPerMinute = 60;
/** What the largest file costs the thread, in short steps, are tens of milliseconds. */
const uploadsPerMinute = 30;
const allUploadsPerMinute = 240;

export function buildPortal(deps: PortalDeps): FastifyInstance {
  const { http, place, portalKey, elapsedMs, urls } = deps;
  const challenges = createChallenges(portalKey, deps);
  const people = createPeople({ ...deps, challenges, authenticators: createAuthenticators(place) });
  const visit: DoorDeps = {
    ...deps,
    people,
    challenges,
    origin: place.origin,
    edge: http.edge,
    assets: createAssets({
      entry: new URL("./pages/browser/main.ts", import.meta.url),
      base: assetsBase,
      failed: (error) => http.logger.error({ err: error }, "portal.script_failed"),
    }),
    visits: createAddressRate({
      perMinute: visitsPerMinute,
      allPerMinute: Number.POSITIVE_INFINITY,
      elapsedMs,
    }),
    doors: createAddressRate({ perMinute: doorsPerMinute, allPerMinute: allDoorsPerMinute, elapsedMs }),
  };
  const info = {
    title: "Portal",
    description:
      "Pages for people who work for businesses and AI companies. They sign in with passkeys; there are no passwords.",
    servers: [place.origin],
  };
  const owner = createOwner({ ...deps, challenges, people });
  const company = createCompany({ ...deps, owner });
  const account: AccountDeps = {
    ...visit,
    owner,
    members: createMembers({ ...deps, challenges, people }),
    company,
    blocks: createOwnBlocks({ ...deps, owner }),
    hosted: createHostedPublishing({ ...deps, owner, people }),
    notices: createNotices({ ...deps, owner, challenges }),
    webhooks: createOwnWebhooks({ ...deps, owner, people }),
    applications: deps.applications,
    recoveries: deps.recoveries,
  };
  const publishing = { ...account, publishing: createOwnPublishing({ ...deps, challenges, owner, people }) };
  const advertising = createOwnAdvertising({ ...deps, challenges, owner, people });
  const pushes = { ...deps, owner, remedyOf: (code: string) => http.docs?.remedyOf(code) ?? null };
  const applicants = createAddressRate({
    perMinute: applicationsPerMinute,
    allPerMinute: allApplicationsPerMinute,
    elapsedMs,
  });
  const uploads = createAddressRate({
    perMinute: uploadsPerMinute,
    allPerMinute: allUploadsPerMinute,
    elapsedMs,
  });
  const routes = [
    ...doorRoutes(visit),
    ...accountRoutes(account),
    ...businessRoutes(account, urls),
    ...terminalLinkRoutes(account),
    ...peopleRoutes(account),
    ...noticeRoutes(account),
    ...actRoutes({ ...account, acts: createOwnActs({ ...deps, owner, members: account.members }) }),
    ...webhookRoutes(account),
    ...companyRoutes(account, { urls, isSandbox: deps.isSandbox }),
    ...statementRoutes(account),
    ...publishingRoutes(publishing),
    ...recordRoutes(publishing),
    ...holdRoutes(publishing),
    ...pushRoutes({
      ...account,
      recentPushes: (who, uuid) => recentPushes(pushes, who, uuid),
      ownPush: (who, push) => ownPush(pushes, who, push),
    }),
    ...askingRoutes({ ...account, analytics: deps.analytics }),
    ...campaignRoutes({ ...account, advertising }),
    ...blockRoutes(account),
    ...domainRoutes({ ...account, domains: createOwnDomains({ ...deps, owner, people }) }),
    ...applyingRoutes({ ...deps, ...visit, applicants, uploads }),
    assetRoute(visit),
  ];
  return buildServer(http, {
    name: "portal",
    info,
    routes: routes.map(inItsLanguage),
    isPublic: false,
    pageOf: (...refused) => refusalPage(visit, ...refused),
  });
}

function assetRoute({ assets }: VisitDeps): Route {
  return {
    method: "GET",
    path: `${assetsBase}:named`,
    tags: [],
    doc: {
      summary: "A script or a stylesheet of the pages",
      answers: {
        200: { description: "It never changes under its address", body: anyText, mediaType: "text/css" },
      },
      problems: ["not_found"],
    },
    handle: async (request, reply) => {
      const { named } = request.params as { readonly named: string };
      const asset = assetAt(await assets(), `${assetsBase}${named}`);
      if (asset === null) return send(reply, refusedWith("not_found", "This address does not exist here."));
      return sendAsset(reply, asset);
    },
  };
}
