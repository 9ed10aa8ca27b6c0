// What a business reads of its own data, composed for the surfaces of a node.

import type { Catalogue } from "../api/catalogue-routes.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { listCatalogue, readCatalogueRecord } from "../service/catalogue.ts";
import { createCatalogueRate } from "../service/catalogue-rate.ts";
import { type NodeServices, servingRegions } from "./services.ts";

export function catalogueOf(services: NodeServices): Catalogue {
  const rate = createCatalogueRate(services);
  const deps = { ...services, crypto: nativeCrypto, regions: servingRegions(services), rate };
  return {
    list: (request) => listCatalogue(deps, request),
    read: (request) => readCatalogueRecord(deps, request),
  };
}
