// What a node's business surface publishes by, built from its services.

import { setImmediate as nextTurn } from "node:timers/promises";
import type { CurrentActors } from "../../actors/system/current-actors.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import { platformLoop } from "../../api/edge.ts";
import type { AdPublishing } from "../../api/routes/ad-routes.ts";
import type { Bulk } from "../../api/routes/bulk-routes.ts";
import type { BusinessDeps, Publishing as PublishingCalls } from "../../api/routes/business.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock } from "../../crypto/port.ts";
import { readOwnCampaign } from "../../service/ads/campaign-renders.ts";
import { judgeUnsealed, publishAd, removeAd } from "../../service/ads/publish-ad.ts";
import {
  createMandateKeeper,
  createMandateRenewal,
  type KeepMandate,
} from "../../service/authentication/mandate-renewal.ts";
import type { AdActs } from "../../service/portal/advertising.ts";
import { receiveFile } from "../../service/publishing/bulk-file.ts";
import { importFile } from "../../service/publishing/bulk-import.ts";
import { createUploadTokens, issueUpload } from "../../service/publishing/bulk-upload.ts";
import {
  createCatalogueRate,
  listCatalogue,
  readCatalogueRecord,
} from "../../service/publishing/catalogue.ts";
import { cancelPush, decideHold, listHolds } from "../../service/publishing/decide-hold.ts";
import { paceOfBatch, publishBatch } from "../../service/publishing/publish.ts";
import { deliverPolicy, deliverRecord } from "../../service/publishing/publish-record.ts";
import { readOwnHeldDeletions } from "../../service/publishing/purges.ts";
import { readPushAttempts } from "../../service/publishing/push-attempts.ts";
import { createParsedLeaves, createPushLeaves } from "../../service/publishing/push-leaves.ts";
import { readPush } from "../../service/publishing/push-status.ts";
import { removeRecord, withdrawRecords } from "../../service/publishing/remove-record.ts";
import { sealContext } from "../../service/publishing/seal-context.ts";
import { validateBatch } from "../../service/publishing/validate-batch.ts";
import { createValidations, validateImport } from "../../service/publishing/validate-import.ts";
import { deliverCustody, deliverMandate } from "../../service/register/deliver-document.ts";
import { readOwnDomains } from "../../service/register/read-domains.ts";
import { readOwnTakedowns } from "../../service/register/takedowns.ts";
import { dailyAnalytics, readDemand, whoIsAsking } from "../../service/retrieval/analytics.ts";
import { createRecordStanding } from "../../service/retrieval/record-standing.ts";
import { createBackground, type NodeConfig } from "../configuration/config.ts";
import { createLatePurges, createStalledPushes } from "../keeping/late-purges.ts";
import { createThreadTurns } from "../keeping/thread-turns.ts";
import { openNotices } from "../notices/notices.ts";
import type { NodeServices, Process, Publishing, Stores } from "./capabilities.ts";

const hourMs = 3_600_000;

export function publishingParts(
  services: NodeServices,
  businessUrl: string,
): { readonly publishing: PublishingCalls; readonly bulk: Bulk } {
  const keep = mandateKeeperOf(services);
  return { publishing: publishingOf(services, keep), bulk: bulkOf(services, businessUrl, keep) };
}

/** What advertisers publish by. */
export function adPublishingOf(services: NodeServices): AdPublishing & Pick<AdActs, "judgeUnsealed"> {
  const deps = { ...services, adTerms: services.config.ads };
  return {
    publishAd: (call) => publishAd(deps, call),
    removeAd: (call) => removeAd(deps, call),
    judgeUnsealed: (document) => judgeUnsealed(deps, document),
  };
}

function publishingOf(services: NodeServices, keep: KeepMandate): PublishingCalls {
  return {
    publishBatch: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return publishBatch({ ...services, pace: paceOfBatch(services.paces, request) }, request);
    },
    removeRecord: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return removeRecord(services, request);
    },
    withdrawRecords: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return withdrawRecords(services, request);
    },
    validateBatch: async (request) => {
      await keep(request.caller.party.uuid, request.caller.key.key_id);
      return validateBatch({ ...services, pace: services.paces.queued(request.caller.party.uuid) }, request);
    },
    deliverRecord: (request) => deliverRecord(services, request),
    deliverPolicy: (request) => deliverPolicy(services, request),
    deliverMandate: (request) => deliverMandate(services, request),
    deliverCustody: (request) => deliverCustody(services, request),
    cancelPush: (request) => cancelPush(services, request),
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
  const deps = { ...services, businessUrl, validations: createValidations() };
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
      return validateImport({ ...deps, pace: services.paces.inline(request.caller.party.uuid) }, request);
    },
  };
}

// What a business reads of its own data, composed for the surfaces of a node.

export function businessReadsOf(
  services: NodeServices,
  verifyUrl: string,
): Pick<BusinessDeps, "analytics" | "catalogue" | "readAttempts" | "readDomains" | "serviceActs"> {
  const analytics = { ...services, verifyUrl };
  const areDomainsChecked = services.config.domains.areChecked;
  const catalogue = {
    ...services,
    rate: createCatalogueRate(services),
    standing: createRecordStanding(services),
  };
  return {
    analytics: {
      daily: (request) => dailyAnalytics(analytics, request),
      whoIsAsking: (request) => whoIsAsking(analytics, request),
      demand: (request) => readDemand(analytics, request),
    },
    catalogue: {
      list: (request) => listCatalogue(catalogue, request),
      read: (request) => readCatalogueRecord(catalogue, request),
    },
    readAttempts: (request) => readPushAttempts(services, request),
    readDomains: (businessUuid) => readOwnDomains({ ...services, areDomainsChecked }, businessUuid),
    serviceActs: {
      takedowns: (businessUuid) => readOwnTakedowns(services, businessUuid),
      campaign: (campaign, after) => readOwnCampaign(services, campaign, after),
      heldDeletions: (businessUuid, after) => readOwnHeldDeletions(services, businessUuid, after),
    },
  };
}

// What the pushes of a node need beside its stores.

const dayMs = 86_400_000;

/** Throws {@link ConfigError}. */
export function pushPartsOf(
  config: NodeConfig,
  parts: {
    readonly stores: Stores;
    readonly recordIdKey: Uint8Array;
    readonly actors: CurrentActors;
    readonly clock: Clock;
    readonly workMs: (() => number) | undefined;
    readonly log: (entry: LogEntry) => void;
  },
): Publishing & Pick<Process, "pause"> {
  const pause = (): Promise<void> => nextTurn();
  const { nowMs } = platformLoop;
  const turns = createThreadTurns(
    { ...platformLoop, nowMs: parts.workMs ?? nowMs },
    parts.stores.searchPlaces,
  );
  const { paces } = turns;
  return {
    ...turns,
    pace: paces.inline(""),
    leaves: createPushLeaves({ ...parts.stores, sha256: nativeCrypto.sha256, paceOf: paces.queued }),
    uploadTokens: createUploadTokens(nativeCrypto, parts.recordIdKey),
    parsed: createParsedLeaves(),
    background: createBackground(config.background, () => parts.actors.stats()),
    stalled: createStalledPushes(parts),
    latePurges: createLatePurges(parts),
    notices: openNotices(config, parts),
    pause,
    holdMs: config.retention.holdDays * dayMs,
    purgeAfterMs: config.retention.purgeHours * hourMs,
  };
}
