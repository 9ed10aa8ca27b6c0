// What a node's business surface publishes by, built from its services.

import type { AdPublishing } from "../api/ad-routes.ts";
import type { Bulk } from "../api/bulk-routes.ts";
import type { Publishing } from "../api/business.ts";
import { nativeCrypto } from "../crypto/native.ts";
import { receiveFile } from "../service/bulk-file.ts";
import { importFile } from "../service/bulk-import.ts";
import { issueUpload } from "../service/bulk-upload.ts";
import { cancelPush } from "../service/cancel-push.ts";
import { decideHold } from "../service/decide-hold.ts";
import { paceOfBatch } from "../service/judge-batch.ts";
import { listHolds } from "../service/list-holds.ts";
import { createMandateKeeper, createMandateRenewal, type KeepMandate } from "../service/mandate-renewal.ts";
import { publishBatch } from "../service/publish.ts";
import { publishAd, removeAd } from "../service/publish-ad.ts";
import { readPush } from "../service/push-status.ts";
import { removeRecord, withdrawRecords } from "../service/remove-record.ts";
import { sealContext } from "../service/seal-context.ts";
import { validateBatch } from "../service/validate-batch.ts";
import { validateImport } from "../service/validate-import.ts";
import type { NodeServices } from "./services.ts";

const hourMs = 3_600_000;

export function publishingParts(
  services: NodeServices,
  businessUrl: string,
): { readonly publishing: Publishing; readonly bulk: Bulk } {
  const keep = mandateKeeperOf(services);
  return { publishing: publishingOf(services, keep), bulk: bulkOf(services, businessUrl, keep) };
}

/** What advertisers publish by. */
export function adPublishingOf(services: NodeServices): AdPublishing {
  const { imageStore: images, keys, config } = services;
  const { projection, sidecar } = keys;
  const deps = { ...services, crypto: nativeCrypto, images, projection, sidecar, adTerms: config.ads };
  return {
    publishAd: (call) => publishAd(deps, call),
    removeAd: (call) => removeAd(deps, call),
  };
}

function publishingOf(services: NodeServices, keep: KeepMandate): Publishing {
  const { cluster, config } = services;
  const regions = cluster === null ? () => [config.region] : cluster.regions;
  const purgeAfterMs = config.retention.purgeHours * hourMs;
  const deps = { ...services, crypto: nativeCrypto, regions, purgeAfterMs };
  return {
    publishBatch: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return publishBatch({ ...deps, pace: paceOfBatch(services.paces, request.body) }, request);
    },
    removeRecord: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return removeRecord(deps, request);
    },
    withdrawRecords: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return withdrawRecords(deps, request);
    },
    validateBatch: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return validateBatch({ ...deps, pace: services.paces.queued }, request);
    },
    cancelPush: (request) => cancelPush(deps, request),
    readPush: (request) => readPush(services.actors, request),
    listHolds: (request) => listHolds(services, request),
    decideHold: (request) => decideHold(services, request),
    sealContext: (request) => sealContext(services, request),
  };
}

/** In the sandbox the mandates of keys are renewed before they end. */
function mandateKeeperOf(services: NodeServices): KeepMandate {
  const isSandbox = services.keys.environment === "sandbox";
  return isSandbox ? createMandateKeeper(createMandateRenewal(services), services.clock) : () => null;
}

function bulkOf(services: NodeServices, businessUrl: string, keep: KeepMandate): Bulk {
  const deps = { ...services, crypto: nativeCrypto, businessUrl, validating: new Set<string>() };
  return {
    issueUpload: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return issueUpload(deps, request);
    },
    receiveFile: (request) => receiveFile(deps, request),
    importFile: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return importFile(deps, request);
    },
    validateImport: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return validateImport(deps, request);
    },
  };
}
