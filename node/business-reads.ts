// What a business reads of its own data, composed for the surfaces of a node.

import type { BusinessDeps } from "../api/business.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { readOwnCampaign } from "../service/campaign-renders.ts";
import { listCatalogue, readCatalogueRecord } from "../service/catalogue.ts";
import { createCatalogueRate } from "../service/catalogue-rate.ts";
import { readOwnHeldDeletions } from "../service/held-deletions.ts";
import { readPushAttempts } from "../service/push-attempts.ts";
import { readOwnDomains } from "../service/read-domains.ts";
import { createRecordStanding } from "../service/record-standing.ts";
import { readOwnTakedowns } from "../service/takedowns.ts";
import type { NodeServices } from "./services.ts";
import { servingRegions } from "./serving-regions.ts";

export function businessReadsOf(
  services: NodeServices,
): Pick<BusinessDeps, "catalogue" | "readAttempts" | "readDomains" | "serviceActs"> {
  const common = { ...services, crypto: nativeCrypto };
  const areDomainsChecked = services.config.domains.areChecked;
  const catalogue = {
    ...common,
    regions: servingRegions(services),
    rate: createCatalogueRate(services),
    standing: createRecordStanding(services),
  };
  return {
    catalogue: {
      list: (request) => listCatalogue(catalogue, request),
      read: (request) => readCatalogueRecord(catalogue, request),
    },
    readAttempts: (request) => readPushAttempts(common, request),
    readDomains: (businessUuid) => readOwnDomains({ ...common, areDomainsChecked }, businessUuid),
    serviceActs: {
      takedowns: (businessUuid) => readOwnTakedowns(common, businessUuid),
      campaign: (campaign, after) => readOwnCampaign(common, campaign, after),
      heldDeletions: (businessUuid, after) => readOwnHeldDeletions(common, businessUuid, after),
    },
  };
}
