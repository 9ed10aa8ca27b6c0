// The actors of a node: their kinds, and what their activities work with.

import { randomUUID } from "node:crypto";
import { adCampaignActivities } from "../../actors/ad-campaign/activities.ts";
import { adCampaignActor } from "../../actors/ad-campaign/definition.ts";
import { adPoolActor } from "../../actors/ad-pool/definition.ts";
import { adSessionActor } from "../../actors/ad-session/definition.ts";
import { applicationActivities } from "../../actors/application/activities.ts";
import { applicationActor } from "../../actors/application/definition.ts";
import { bulkUploadActivities } from "../../actors/bulk-upload/activities.ts";
import { bulkUploadActor } from "../../actors/bulk-upload/definition.ts";
import { businessActivities } from "../../actors/business/activities.ts";
import { businessActor } from "../../actors/business/definition.ts";
import { integrationKeyActor } from "../../actors/integration-key/definition.ts";
import { keyLimitsActor } from "../../actors/key-limits/definition.ts";
import { ledgerActivities } from "../../actors/ledger/activities.ts";
import { ledgerActor } from "../../actors/ledger/definition.ts";
import { personActivities } from "../../actors/person/activities.ts";
import { personActor } from "../../actors/person/definition.ts";
import { pushActivities } from "../../actors/push/activities.ts";
import { pushActor } from "../../actors/push/definition.ts";
import { recoveryActivities } from "../../actors/recovery/activities.ts";
import { recoveryActor } from "../../actors/recovery/definition.ts";
import { regionActivities } from "../../actors/region/activities.ts";
import { regionActor } from "../../actors/region/definition.ts";
import type { ActorDefinition } from "../../actors/system/definition.ts";
import type { LocalActorSystem, LogEntry } from "../../actors/system/ports.ts";
import { createActorSystem } from "../../actors/system/runtime.ts";
import { webhookActivities } from "../../actors/webhook/activities.ts";
import { webhookActor } from "../../actors/webhook/definition.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { recoveryPorts } from "../../service/portal/recoveries.ts";
import { loadPlan } from "../../service/publishing/push-plan.ts";
import { nodeTimers } from "../keeping/node-timers.ts";
import type { Keys, NodeServices, Process } from "./capabilities.ts";
import { logActivities, logDefinition } from "./log-parts.ts";

const dayMs = 86_400_000;

/** The kinds of actors that a node runs. */
export function nodeDefinitions(parts: Process & Keys): readonly ActorDefinition[] {
  return [
    applicationActor,
    bulkUploadActor,
    businessActor,
    integrationKeyActor,
    keyLimitsActor,
    ledgerActor,
    personActor,
    pushActor,
    recoveryActor,
    regionActor,
    webhookActor,
    adCampaignActor,
    adPoolActor,
    adSessionActor,
    logDefinition(parts),
  ];
}

export function createNodeActors(
  services: Omit<NodeServices, "allowance" | "listActs" | typeof Symbol.asyncDispose>,
  { owner, log }: { readonly owner: string; readonly log: (entry: LogEntry) => void },
): LocalActorSystem {
  const { config, keys, records, register, registerStore, receipts, index, clock, cluster, regions } =
    services;
  return createActorSystem({
    store: services.timings.watchCommits(services.fence.watch(services.actorStore, incarnationOf(owner))),
    definitions: nodeDefinitions(services),
    activities: {
      ...applicationActivities(services),
      ...bulkUploadActivities(services),
      ...logActivities({ ...services, log }),
      ...adCampaignActivities({
        register: registerStore,
        records,
        registerChanged: () => register.refresh(),
      }),
      ...ledgerActivities({ prices: services.operatorFiles.prices, regions }),
      ...businessActivities({
        register: registerStore,
        records,
        regions,
        registerChanged: () => register.refresh(),
        latePurges: services.latePurges,
        domains: { probe: services.domainProbe, schedule: config.domains.schedule },
      }),
      ...webhookActivities(services),
      ...personActivities({ mail: services.notices.people }),
      ...recoveryActivities(recoveryPorts(services)),
      ...pushActivities({
        records,
        crypto: nativeCrypto,
        projection: keys.projection,
        sidecar: keys.sidecar,
        leaves: services.leaves,
        planOf: (uuid, pushId) => loadPlan({ ...services, pace: services.paces.queued(uuid) }, uuid, pushId),
        paces: services.paces,
        holdMs: services.holdMs,
        parsed: services.parsed,
        recordIdOf: services.recordIdOf,
        lists: services.lists,
        background: services.background,
        stalled: services.stalled,
        tracer: services.tracing?.tracer,
        notices: services.notices,
        region: config.region,
        regions,
      }),
      ...regionActivities({
        index,
        records,
        events: services.eventStore,
        sha256: nativeCrypto.sha256,
        receipts: services.timings.watchBatches(receipts),
        receiptRetentionMs: config.retention.receiptDays * dayMs,
      }),
    },
    clock,
    timers: nodeTimers,
    tracer: services.tracing?.tracer,
    entropy: { newOperationId: randomUUID },
    owner,
    ...(cluster === null ? {} : { route: (ref) => cluster.router.route(ref) }),
    log,
  });
}

/** Actors are claimed under `region/incarnation`. */
function incarnationOf(owner: string): string {
  return owner.slice(owner.indexOf("/") + 1);
}
