// One incarnation of a node: the same actors and the same service as in production, composed over the ports of a
// simulated world. What a process holds ends with its life; what is in the stores stays.
//   N1. Nothing here makes decisions: it composes what production composes.
//   N2. A node that lost its lease halts its actors before anything else of it runs (cluster-place.ts).

import { bulkUploadActivities } from "../../actors/bulk-upload/activities.ts";
import { businessActivities } from "../../actors/business/activities.ts";
import { logSequencerActivities } from "../../actors/log-sequencer/activities.ts";
import { logParty } from "../../actors/messages/refs.ts";
import type { NoticeChannel } from "../../actors/messages/serving.ts";
import { pushActivities } from "../../actors/push/activities.ts";
import type { PushPorts } from "../../actors/push/ports.ts";
import { regionActivities } from "../../actors/region/activities.ts";
import { createCurrentActors } from "../../actors/system/current-actors.ts";
import type { Activity, ActorDefinition, ActorSystem, Message } from "../../actors/system/definition.ts";
import type { LocalActorSystem } from "../../actors/system/ports.ts";
import { createActorSystem } from "../../actors/system/runtime.ts";
import type { Clock } from "../../crypto/port.ts";
import { createAdSessions } from "../../service/ads/ad-tokens.ts";
import { createSponsoredRows } from "../../service/ads/sponsored-rows.ts";
import type { AuthenticationDeps } from "../../service/authentication/authenticate.ts";
import { signCheckpoint } from "../../service/log/collect-cosignatures.ts";
import type { Allowance } from "../../service/money/allowance.ts";
import { dropAbandoned, type SweepDeps, sweepAbandoned } from "../../service/publishing/abandoned-pushes.ts";
import { createUploadTokens } from "../../service/publishing/bulk-upload.ts";
import { type CatalogueServices, createCatalogueRate } from "../../service/publishing/catalogue.ts";
import type { PublishServices } from "../../service/publishing/publish-batch.ts";
import {
  createParsedLeaves,
  createPushLeaves,
  type ParsedLeaves,
} from "../../service/publishing/push-leaves.ts";
import { loadPlan } from "../../service/publishing/push-plan.ts";
import type { ValidateImportDeps } from "../../service/publishing/validate-import.ts";
import { createValidations } from "../../service/publishing/validate-import.ts";
import { createParties, type Parties } from "../../service/register/parties.ts";
import { createRegister, type Register } from "../../service/register/register.ts";
import { createFetch, type FetchRecord } from "../../service/retrieval/fetch.ts";
import { createInsight, flushRegularly, type Insight } from "../../service/retrieval/insight.ts";
import { createReceipts } from "../../service/retrieval/receipts.ts";
import { createRecordStanding } from "../../service/retrieval/record-standing.ts";
import { createSearch, type Search } from "../../service/retrieval/search.ts";
import { type ActorRef, type ActorStore, storeWith } from "../../storage/actor-store.ts";
import type { History } from "../checkers/history.ts";
import { Life } from "../kernel/life.ts";
import type { Peer } from "../network/network.ts";
import { openSimActorStore } from "../store/actor-store.ts";
import { openSimEventStore, openSimInsightStore } from "../store/event-store.ts";
import { openSimLogStore } from "../store/log-store.ts";
import { openSimReceiptStore } from "../store/receipt-store.ts";
import { openSimRecordStore } from "../store/record-store.ts";
import { openSimRegisterStore } from "../store/register-store.ts";
import { openSimRowIndex } from "../store/row-index.ts";
import { openSimStagingArea } from "../store/staging-area.ts";
import type { StoreWitness } from "../store/store-model.ts";
import { poisonedId } from "../workload/push-life.ts";
import { changingLists } from "./changing-lists.ts";
import { openClusterPlace, type Place } from "./cluster-place.ts";
import { openModelPlace } from "./model-place.ts";
import { allowanceOf, keepAllowance, moneyActivities } from "./money.ts";
import { acceptWithinMs, limitsOf, pacesOf, retrievalOf, sweepTimes, turns } from "./paces.ts";
import type { WorldParts } from "./world-parts.ts";

/** Where a node runs, across incarnations: its name, its region, its clock. */
export interface NodeSlot {
  readonly name: string;
  readonly region: string;
  /** Milliseconds by which its clock is ahead of the world's. */
  skewMs: number;
}

export interface SimNode extends Peer {
  readonly slot: NodeSlot;
  /** Name of this run of the process, independent of its name among the others. */
  readonly incarnation: string;
  readonly actors: ActorSystem;
  readonly system: LocalActorSystem;
  readonly parties: Parties;
  readonly register: Register;
  readonly authentication: AuthenticationDeps;
  readonly publishing: PublishServices & { readonly paces: PushPorts["paces"] };
  readonly bulk: ValidateImportDeps & { readonly businessUrl: string };
  /** A business's reads of its own data. */
  readonly reads: CatalogueServices;
  readonly search: Search;
  readonly fetch: FetchRecord;
  readonly insight: Insight;
  start(): void;
  isReady(): boolean;
  /** The incarnation that may currently write; null without a lease. */
  lease(): string | null;
  /** See {@link Place.wakeUp}. */
  wakeUp(): boolean;
  /** Leaves permanently, after finishing everything accepted. */
  leave(): Promise<void>;
}

/** How often changes of the register are followed, as in production. */
const refreshMs = 1_000;
const drainMs = 3_000;
const prepareAgainMs = 200;
const settleAgainMs = 500;
const verifyUrl = "https://verify.svc.test";
const businessUrl = "https://business.svc.test";

export function openNode(parts: WorldParts, slot: NodeSlot, incarnation: string): SimNode {
  const { kernel, crypto, recordIdKey, recordIdOf, thread } = parts;
  const life = new Life(kernel, incarnation);
  const clock = { now: () => kernel.now() + slot.skewMs };
  const process: Process = { parts, slot, incarnation, life, clock };
  const stores = openStores(process);
  const { register, records, leaves, parsed, index, lists, insight } = stores;
  const openPlace = parts.hasRealMembership ? openClusterPlace : openModelPlace;
  const place = openPlace({ parts, slot, name: incarnation, life, actors: () => system });
  const system = createCurrentActors(actorsOf(process, stores, place));
  const actors = watchAsks(system, { history: parts.history, incarnation, life });
  const lease = parts.variation.lease(place.lease, incarnation);
  const allowance = allowanceOf({ parts, slot, clock, actors: system, lease });
  const receipts = createReceipts({
    environment: "production",
    region: slot.region,
    store: stores.receipts,
    crypto,
    clock,
    incarnation: lease,
    signer: () => parts.keys.receipts.get(slot.region) ?? parts.keys.projection,
  });
  const delayUntil = (atMs: number): Promise<void> =>
    new Promise((resolve) => life.after(atMs - clock.now(), `${slot.name} waits`, resolve));
  const timers = {
    schedule: (delayMs: number, run: () => void) => life.after(delayMs, `${slot.name} renews`, run),
  };
  const publishing: SimNode["publishing"] = {
    actors,
    records,
    crypto,
    clock,
    timers,
    leaves,
    parsed,
    recordIdOf,
    lists,
    trust: () => parts.keys.trust,
    acceptWithinMs: acceptWithinMs(parts.night),
    holdMs: parts.holdMs,
    purgeAfterMs,
    asTable: () => null,
    regions: () => parts.regions,
    pace: pacesOf(thread).inline(""),
    paces: pacesOf(thread),
  };
  const { region } = slot;
  const sponsored = sponsoredOf({ register, actors, crypto, clock, region, sessionKey: recordIdKey });
  const searchTurns = thread?.turns.searchTurns ?? turns;
  const limits = limitsOf(thread, { actors, region });
  const standing = createRecordStanding({ register, records });
  const retrieval = { register, receipts, insight, allowance, clock, standing, budget: limits.budget };
  const opening = opener(process, stores, { place, system, allowance });
  return {
    slot,
    name: slot.name,
    incarnation,
    life,
    actors,
    system,
    register,
    insight,
    ...opening,
    parties: createParties({
      actors,
      clock,
      crypto,
      timers,
      recordIdKey,
      keys: parts.keys.service(slot.region),
      trust: () => parts.keys.trust,
      settleHome: place.settleHome,
      claimKey: (keyId, party) => stores.registerStore.claimKey(keyId, party),
    }),
    authentication: {
      environment: "production",
      region: slot.region,
      register,
      actors,
      crypto,
      judge: (_owner, ...signature) => crypto.verify(...signature),
      clock,
      registerGrantedKey: () => Promise.reject(new Error("there are no grants in production")),
      requestRate: limits.requestRate,
      grantSigner: null,
      keyRegion: null,
      limitFields: null,
    },
    publishing,
    bulk: {
      ...publishing,
      staging: stores.staging,
      businessUrl,
      validations: createValidations(),
      uploadTokens: createUploadTokens(crypto, recordIdKey),
    },
    // Pages so short that a list has several of them.
    reads: {
      actors,
      records,
      crypto,
      clock,
      timers,
      recordIdOf,
      regions: () => parts.regions,
      cursorKey: recordIdKey,
      pageMax: 5,
      standing,
      rate: createCatalogueRate({ elapsedMs: () => kernel.now() }),
    },
    ...retrievalOf(thread, {
      search: createSearch({ ...retrieval, index, sponsored, searchTurns }),
      fetch: createFetch({ ...retrieval, records, crypto, verifyUrl, delayUntil }),
    }),
    handlers: place.handlers,
    lease: place.lease,
    wakeUp: place.wakeUp,
    current: place.incarnation,
  };
}

/** Short enough for purges to happen while others publish. */
const purgeAfterMs = 3_000;

/** What belongs to one run of a process. */
interface Process {
  readonly parts: WorldParts;
  readonly slot: NodeSlot;
  readonly incarnation: string;
  readonly life: Life;
  readonly clock: Clock;
}

type NodeStores = ReturnType<typeof openStores>;

function openStores({ parts, slot, incarnation, life, clock }: Process) {
  const { variation, kernel } = parts;
  const client = { model: parts.stores, life, region: slot.region };
  const registerStore = variation.register(openSimRegisterStore(client));
  const records = variation.records(openSimRecordStore(client));
  const staging = openSimStagingArea(client);
  const rows = parts.indexes.get(slot.region);
  if (rows === undefined) throw new Error(`region ${slot.region} has no index`);
  const register = createRegister({ store: registerStore, clock });
  return {
    client,
    registerStore,
    records,
    register,
    staging,
    log: variation.log(openSimLogStore(client)),
    lists: variation.lists(changingLists(kernel, register.certifiedNames)),
    receipts: variation.receipts(openSimReceiptStore(client)),
    events: variation.events(openSimEventStore(client, clock.now)),
    index: variation.index(
      openSimRowIndex({ kernel, life, region: slot.region, rows, weather: parts.indexWeather }),
    ),
    leaves: createPushLeaves({
      records,
      staging,
      sha256: parts.crypto.sha256,
      paceOf: pacesOf(parts.thread).queued,
    }),
    parsed: poisonedLeaves(createParsedLeaves()),
    insight: createInsight({
      store: variation.insight(openSimInsightStore(client)),
      crypto: parts.crypto,
      clock,
      incarnation,
      retentionDays: 400,
    }),
  };
}

function noted({ notices }: WorldParts): NoticeChannel {
  return { deliver: async (notice) => void notices.push(notice) };
}

/** Creates the actor system for an owner's name. */
function actorsOf(process: Process, stores: NodeStores, place: Place): (owner: string) => LocalActorSystem {
  const { parts, slot, incarnation, life, clock } = process;
  const { keys, crypto, variation } = parts;
  const { records, receipts, events, register, registerStore, index, leaves, staging, parsed, lists } =
    stores;
  const regions = (): readonly string[] => parts.regions;
  const activities: Record<string, Activity> = {
    ...bulkUploadActivities({ staging }),
    ...logSequencerActivities({
      log: stores.log,
      origin: keys.trust.anchors.log.origin,
      sha256: crypto.sha256,
      sign: (text) =>
        signCheckpoint(
          {
            anchor: keys.trust.anchors.log,
            signer: keys.service(slot.region).log,
            now: clock.now,
            sha256: crypto.sha256,
          },
          text,
        ),
      cosign: parts.witnesses.cosignFor(life),
      keyFault: () => null,
      policy: "simulated",
      report: (reason, detail) => parts.kernel.tell(`the log is held: ${reason}: ${detail}`),
    }),
    ...businessActivities({
      register: registerStore,
      records,
      regions,
      registerChanged: () => register.refresh(),
      domains: { probe: null, schedule: { interval_ms: 86_400_000, grace_ms: 259_200_000 } },
    }),
    ...pushActivities({
      records,
      crypto,
      leaves,
      parsed,
      region: slot.region,
      regions,
      planOf: (uuid, pushId) =>
        loadPlan(
          { records, lists, recordIdOf: parts.recordIdOf, pace: pacesOf(parts.thread).queued(uuid) },
          uuid,
          pushId,
        ),
      paces: pacesOf(parts.thread),
      holdMs: parts.holdMs,
      projection: () => keys.projection,
      sidecar: () => keys.sidecar,
      recordIdOf: poisoned(parts.recordIdOf),
      lists,
      notices: { record: noted(parts), mail: { deliver: async () => {} } },
    }),
    // Production's default: longer than any world lasts, so no receipt may be missing at its end.
    ...regionActivities({
      index,
      records,
      receipts,
      events,
      sha256: crypto.sha256,
      receiptRetentionMs: 400 * 86_400_000,
    }),
  };
  const operations = parts.operations.fork(incarnation);
  return (owner) =>
    createActorSystem({
      store: watchJoints(
        parts.stores.witness,
        variation.actorStore(openSimActorStore(stores.client, variation.storeGuards, variation.guardMissed)),
      ),
      definitions: variation.definitions.map(joining),
      activities: variation.activities(moneyActivities(parts, activities)),
      clock,
      timers: { schedule: (delayMs, run) => life.after(delayMs, `${slot.name} timer`, run) },
      entropy: { newOperationId: () => operations.uuid() },
      owner,
      route: place.route,
      limits: parts.limits,
      log: (entry) => parts.log(incarnation, entry),
    });
}

/** What more kinds join here than in production, where their store allows it, so that there is much that it could break. */
const joined: Readonly<Record<string, readonly string[]>> = {
  "bulk-upload": ["import.begin"],
  "integration-key": ["key.retire"],
  "log-sequencer": ["log.append"],
  push: ["hold.release", "push.cancelled", "push.fail"],
};

function joining(definition: ActorDefinition): ActorDefinition {
  const joinable = joined[definition.kind];
  return joinable === undefined ? definition : { ...definition, joinable };
}

/** The store as its actors see it: what they send together is known before anything happens to it. */
function watchJoints(witness: StoreWitness, store: ActorStore): ActorStore {
  return storeWith(store, {
    commit: (commit) => {
      if (commit.with !== undefined) witness.sentTogether?.(commit, commit.with);
      return store.commit(commit);
    },
  });
}

/**
 * Starts as production does: it runs actors once the register was read, because records are judged by the companies in it.
 * It then accepts requests, except that a single node with a store of its own first drops abandoned pushes: only such a
 * node can know that nobody is about to accept what is staged.
 */
function opener(
  process: Process,
  { records, register, insight }: NodeStores,
  {
    place,
    system,
    allowance,
  }: { readonly place: Place; readonly system: LocalActorSystem; readonly allowance: Allowance | null },
): Pick<SimNode, "start" | "isReady" | "leave"> {
  let isReady = false;
  let stopSweeping = (): Promise<void> => Promise.resolve();
  let stopFlushing = (): Promise<void> => Promise.resolve();
  const sweep = sweepOf(process, { actors: system, records, isHere: place.isHere });
  const { parts, slot, life } = process;
  const stopSpending = keepAllowance(allowance, { life, slot });
  let hasJoined = false;
  const prepare = async (): Promise<void> => {
    await register.refresh();
    if (!hasJoined) place.join();
    hasJoined = true;
    if (parts.isEmbedded) await dropAbandoned(sweep, Number.POSITIVE_INFINITY);
    isReady = true;
    stopSweeping = sweepAbandoned(sweep);
    stopFlushing = flushRegularly({
      insight,
      clock: process.clock,
      failed: () => parts.mark("insight.not_written"),
      timers: { schedule: (delayMs, run) => life.after(delayMs, `${slot.name} counts`, run) },
    });
    follow(life, register, slot.name);
    if (slot.region === parts.regions[0]) settleLogHome();
  };
  const settleLogHome = (): void => {
    place.settleHome(logParty).catch(() => {
      life.after(settleAgainMs, `${slot.name} settles the log's home`, settleLogHome);
    });
  };
  const attempt = (): void => {
    prepare().catch(() => void life.after(prepareAgainMs, `${slot.name} prepares again`, attempt));
  };
  return {
    isReady: () => isReady,
    start: attempt,
    leave: async () => {
      const stopped = Promise.all([stopSpending(), stopSweeping(), stopFlushing()]);
      await place.leave(drainMs);
      await stopped;
    },
  };
}

/** How the node looks for abandoned pushes. */
function sweepOf(
  { parts, slot, incarnation, life, clock }: Process,
  about: Pick<SweepDeps, "actors" | "records" | "isHere">,
): SweepDeps {
  const note = (event: string, detail: string): void =>
    parts.log(incarnation, { level: "info", event, actor: "", detail });
  return parts.variation.sweep({
    ...about,
    ...sweepTimes(parts.night),
    clock,
    timers: { schedule: (delayMs, run) => life.after(delayMs, `${slot.name} sweeps`, run) },
    dropped: (pushes) => note("push.abandoned_dropped", `${pushes}`),
    failed: (error) => note("push.abandoned_look_failed", String(error)),
  });
}

/** Keeps the cache of the register up to date as long as the node lives. */
function follow(life: Life, register: Register, name: string): void {
  const again = (): void => {
    life.after(refreshMs, `${name} follows the register`, () => {
      register.refresh().catch(() => {});
      again();
    });
  };
  again();
}

// One product that no node can process, so that what is given up is simulated as well.

/** Fails for one product, whenever it is tried. */
function poisoned(recordIdOf: WorldParts["recordIdOf"]): WorldParts["recordIdOf"] {
  return (business, collection, localId) => {
    if (localId === poisonedId) throw new Error("this product cannot be processed");
    return recordIdOf(business, collection, localId);
  };
}

/** What admission parsed of that product is not kept: otherwise it would be tried only after the process that admitted it has died. */
function poisonedLeaves(leaves: ParsedLeaves): ParsedLeaves {
  return {
    ...leaves,
    take: (push, leafIndex) => {
      const leaf = leaves.take(push, leafIndex);
      return leaf?.record?.["business_product_id"] === poisonedId ? undefined : leaf;
    },
  };
}

/** No advertiser is simulated, so nothing is sponsored, and every search asks all the same. */
function sponsoredOf(
  deps: Parameters<typeof createAdSessions>[0] & { readonly register: Register; readonly clock: Clock },
) {
  return createSponsoredRows({ ...deps, sessions: createAdSessions(deps) });
}

// The actor system as the service uses it, with every request and answer recorded for the checkers.

export interface Watch {
  readonly history: History;
  readonly incarnation: string;
  readonly life: Life;
}

function watchAsks(system: ActorSystem, { history, incarnation, life }: Watch): ActorSystem {
  const noted = <R>(to: ActorRef, command: Message, reply: Promise<R>): Promise<R> => {
    const settle = history.asked(to, command, incarnation);
    return reply.then(
      (value) => {
        if (!life.isOver) settle.answered(value);
        return value;
      },
      (error: unknown) => {
        if (!life.isOver) settle.failed(error);
        throw error;
      },
    );
  };
  return {
    ask: (to, command, options) => noted(to, command, system.ask(to, command, options)),
    askSpeculative: (to, command) => {
      const { decided, reply } = system.askSpeculative(to, command);
      return { decided, reply: noted(to, command, reply) };
    },
    inspect: (ref) => system.inspect(ref),
    glances: () => system.glances(),
    stats: () => system.stats(),
    start: () => system.start(),
    drain: (timeoutMs) => system.drain(timeoutMs),
  };
}
