// The portal of a node: where it is, and what its people work with.
//   PS1. The portal is at an origin that the anchors name: what is sealed at any other verifies for nobody.

import { createHash } from "node:crypto";
import { personRef } from "../../actors/messages/refs.ts";
import { secretBox } from "../../crypto/secret-box.ts";
import type { PortalPlace } from "../../portal/authenticators.ts";
import type { PortalDeps } from "../../portal/server.ts";
import type { PasskeyOrigins } from "../../protocol/keys/signatures.ts";
import type { UploadImage } from "../../service/ads/ad-images.ts";
import { type Applications, createApplications } from "../../service/portal/applications.ts";
import { type Homes, nobody } from "../../service/portal/people.ts";
import { createRecoveries, type Recoveries } from "../../service/portal/recoveries.ts";
import { createEnrolment, type Enrolment } from "../../service/register/enrolment.ts";
import { createRevocations } from "../../service/register/revocations.ts";
import { ConfigError } from "../configuration/config-error.ts";
import type { SandboxUrls } from "../sandbox/seed.ts";
import type { NodeServices } from "./capabilities.ts";
import type { NodeCluster } from "./cluster.ts";
import { adPublishingOf, businessReadsOf } from "./publishing-surface.ts";
import { companyViewOf } from "./retrieval-surface.ts";
import { settleHome } from "./services.ts";

/** The parts of the portal that are the same for every one of its surfaces. */
export function portalOf(
  services: NodeServices,
  urls: SandboxUrls,
  {
    uploadImage,
    ...asked
  }: {
    readonly applications: Applications;
    readonly recoveries: Recoveries;
    readonly uploadImage: UploadImage;
  },
): Omit<PortalDeps, "http"> {
  const { keys, anchors } = services;
  const { catalogue, analytics, readDomains } = businessReadsOf(services, urls.verify_url);
  return {
    ...services,
    place: placeOf(anchors.passkeys, urls.portal_url),
    isSandbox: keys.environment === "sandbox",
    homes: homesOf(services.cluster),
    ...asked,
    reads: companyViewOf(services),
    enrolment: enrolmentOf(services),
    catalogue,
    analytics,
    readDomains,
    ads: { ...adPublishingOf(services), uploadImage, currency: services.config.ads.currency },
    mailLink: services.notices.people?.sendLink ?? null,
    urls,
  };
}

/** What people apply for and operators decide. */
export function applicationsOf(services: NodeServices): Applications {
  return createApplications({
    ...services,
    enrolment: enrolmentOf(services),
    homes: homesOf(services.cluster),
    secretBox,
    list: (after, limit) => services.actorStore.listActors("application", after, limit),
  });
}

/** Who lost their passkeys, and how they come back. */
export function recoveriesOf(services: NodeServices): Recoveries {
  return createRecoveries({
    ...services,
    homes: homesOf(services.cluster),
    list: (after, limit) => services.actorStore.listActors("recovery", after, limit),
  });
}

/**
 * The address of the portal: what is set, or else `local` if the anchors name it, or else the first of their origins. Throws {@link
 * ConfigError} for one that is set and that they do not name (PS1).
 */
export function portalUrlOf(
  { origins }: PasskeyOrigins,
  { given, local }: { readonly given: string | undefined; readonly local: string },
): string {
  if (given === undefined) return origins.includes(local) ? local : (origins[0] ?? local);
  if (origins.includes(given)) return given;
  throw new ConfigError(
    "SVC_PORTAL_URL",
    `is ${given}, where no passkey may be used; name one of the anchors' origins: ${origins.join(", ")}`,
  );
}

function enrolmentOf(services: NodeServices): Enrolment {
  return createEnrolment({ ...services, revocations: createRevocations({ ...services, grants: null }) });
}

/** Passkeys are made for the longest domain to which the portal belongs. */
function placeOf({ rp_ids: rpIds }: PasskeyOrigins, portalUrl: string): PortalPlace {
  const { origin, hostname } = new URL(portalUrl);
  const own = rpIds.filter((each) => hostname === each || hostname.endsWith(`.${each}`));
  const [rpId = hostname] = own.toSorted((a, b) => b.length - a.length);
  return { origin, rpId };
}

function homesOf(cluster: NodeCluster | null): Homes {
  const isKnown = async (party: string): Promise<boolean> => {
    if (cluster === null || cluster.placement.homeOf(party) !== null) return true;
    await cluster.placement.settle(personRef(party));
    return cluster.placement.homeOf(party) !== null;
  };
  const nobodyHere = cluster === null ? nobody : nobodyIn(cluster.region);
  return {
    settle: (party) => settleHome(cluster, party),
    isKnown,
    orNobody: async (party) => {
      if (await isKnown(party)) return party;
      await settleHome(cluster, nobodyHere);
      return nobodyHere;
    },
  };
}

/** Each region has its own, so that asking leads to no other region. */
function nobodyIn(region: string): string {
  const tail = createHash("sha256").update(region).digest("hex").slice(0, 12);
  return `${nobody.slice(0, -tail.length)}${tail}`;
}
