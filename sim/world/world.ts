// A whole world of one seed: regions, nodes, stores, parties, and what was observed of them.
//   W1. Everything is drawn from the seed: the numbers of everything, the faults, what clients do, and every delay.
//   W2. Violations are collected, never thrown: one run may show several, and it continues to show what follows.

import { logParty, placementOf } from "../../actors/messages/refs.ts";
import type { ActorLimits } from "../../actors/system/limits.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import type { Clock } from "../../crypto/port.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { recordIdOf } from "../../protocol/identifiers.ts";
import type { KeyEntry } from "../../protocol/keys/key-set.ts";
import type { JournalFile } from "../../service/log/journal-file.ts";
import { createIssuance } from "../../service/register/issuance.ts";
import type { ServiceKeys } from "../../service/register/service-keys.ts";
import { MemoryCluster } from "../../storage/memory/cluster-store.ts";
import { History } from "../checkers/history.ts";
import { Observed } from "../checkers/observed.ts";
import { createSimCrypto, type SimCrypto, type SimSigner } from "../crypto/sim-crypto.ts";
import { portal } from "../crypto/sim-passkey.ts";
import { Kernel, Trace } from "../kernel/kernel.ts";
import { Random } from "../kernel/random.ts";
import { Network } from "../network/network.ts";
import type { PlainTable } from "../store/plain-tables.ts";
import { type StagedLeaf, stagedLeafKey } from "../store/record-store.ts";
import { WatchedRowIndex } from "../store/row-index.ts";
import { type StagedFile, stagedFiles } from "../store/staging-area.ts";
import { createStatements } from "../store/statements.ts";
import { laggingReplication, StoreModel } from "../store/store-model.ts";
import { createIndexFaults, createStoreFaults, Faults, skewMaxMs } from "./faults.ts";
import { type Before, beforeOf, nothingBefore } from "./from-journal.ts";
import { MembershipModel } from "./model-place.ts";
import { drawMoney, moneyDraws } from "./money.ts";
import { drawNight, type NodeThread, nightDraws, sweepTimes } from "./paces.ts";
import { type NodeSlot, openNode, type SimNode } from "./sim-node.ts";
import type { Variation } from "./variation.ts";
import { createSimWitnesses } from "./witnesses.ts";
import type { WorldKeys, WorldParts } from "./world-parts.ts";

export interface WorldOptions {
  readonly seed: number;
  readonly variation: Variation;
  /** Whether the story is recorded for a reader. */
  readonly story: boolean;
  /** What a shortened run keeps. */
  readonly kept: Kept;
  readonly start: JournalFile | null;
  /** The thread of the only node of a world in which work takes time. */
  readonly thread?: NodeThread;
}

/** 12:10 on a winter day, so that no hour and no day ends within a run. */
const startMs = 1_772_367_000_000;
const dayMs = 86_400_000;
const regionNames = ["eu-west1", "us-east1"] as const;

export class World {
  readonly random: Random;
  readonly parts: WorldParts;
  readonly observed: Observed;
  /** The incarnation currently running at each slot; none while it is down. */
  readonly running = new Map<string, SimNode>();
  /** Pairs of regions whose replication is suspended, as `from to`. */
  readonly cutRegions = new Set<string>();
  /** How often each company asked for each subject, as `<uuid> <subject>`. */
  readonly asked = new Map<string, number>();
  /** Names of the steps that clients took. */
  readonly steps: string[] = [];
  readonly #kept: Kept;
  readonly #indexes: ReadonlyMap<string, WatchedRowIndex>;
  #incarnations = 0;

  constructor({ seed, variation, story, kept, start, thread }: WorldOptions) {
    this.#kept = kept;
    const random = Random.of(seed);
    this.random = random;
    const kernel = thread?.kernel ?? newKernel(start?.takenAtMs ?? 0, story);
    const faults = new Faults(random.fork("faults"), kept.faults);
    const shape = random.fork("shape");
    const drawn = regionNames.slice(0, shape.chance(0.4) ? 2 : 1).flatMap((region) => slotsOf(region, shape));
    const isEmbedded = drawn.length === 1 && shape.chance(0.5);
    const slots = drawn.filter(({ name }) => kept.nodes === null || kept.nodes.has(name));
    const regions = regionNames.filter((region) => slots.some((slot) => slot.region === region));
    if (slots.length === 0) throw new RangeError("a world has one node at least");
    const crypto = createSimCrypto({ keys: random.fork("keys"), chance: random.fork("entropy") });
    const storeRandom = random.fork("store");
    const lag = random.fork("replication");
    const observed = new Observed(kernel, faults, (...leaf) => this.#hasLeaf(...leaf));
    this.observed = observed;
    this.#indexes = new Map(regions.map((region) => [region, new WatchedRowIndex(variation.indexed)]));
    const membership = new MembershipModel(kernel, random.fork("membership").chance(0.4));
    const hasRealMembership = drawn.length > 1 && shape.chance(0.4);
    // Where two nodes act for one actor whenever nodes start at once, all of them would do so after a night.
    const mayReadOld = membership.isHasty && !hasRealMembership && drawn.length > 1;
    const before = start === null ? nothingBefore : beforeOf(start);
    const recordIdKey = random.fork("record ids").bytes(32);
    const night = mayReadOld ? null : drawNight(nightDraws(random));
    const keys = worldKeys(crypto, regions, kernel);
    this.parts = {
      kernel,
      faults,
      regions,
      slots,
      crypto,
      recordIdKey,
      variation,
      isEmbedded,
      before,
      thread: thread ?? null,
      network: new Network(kernel, faults, random.fork("network"), {
        find: (address) => this.running.get(address) ?? null,
      }),
      stores: new StoreModel({
        regions,
        statements: createStatements(
          kernel,
          createStoreFaults(faults, random.fork("store weather"), isEmbedded),
        ),
        random: storeRandom,
        now: () => kernel.now(),
        replicate: laggingReplication(kernel, {
          lagMs: () => lag.skewed(5, 600),
          isCut: (from, to) => this.cutRegions.has(`${from} ${to}`),
        }),
        witness: observed,
        isEmbedded,
      }),
      indexes: this.#indexes,
      indexWeather: createIndexFaults(faults, random.fork("index weather")),
      membership,
      hasRealMembership,
      cluster: new MemoryCluster(regions, () => kernel.now()),
      nodes: new Map(),
      homes: new Map([[logParty, regions[0] ?? ""]]),
      keys,
      witnesses: createSimWitnesses(random.fork("witnesses"), { kernel, faults, observed, keys, crypto }),
      recordIdOf: recordIdsOf(before, crypto, recordIdKey),
      limits: thread === undefined ? drawLimits(random.fork("limits")) : {},
      operations: random.fork("operations"),
      holdMs: drawHoldMs(random.fork("hold time")),
      night,
      // Leases of money last for minutes: worlds in which a node looks for something ten times a second are too dear.
      money: night !== null || start !== null ? null : drawMoney(moneyDraws(random)),
      history: new History(),
      notices: [],
      mark: (name) => observed.mark(name),
      log: (incarnation, entry) => this.#log(incarnation, entry),
    };
  }

  start(slot: NodeSlot): SimNode {
    this.#incarnations += 1;
    const node = openNode(this.parts, slot, `${slot.name}-${this.#incarnations}`);
    this.observed.mark("node.started");
    this.parts.nodes.set(node.incarnation, node);
    this.running.set(slot.name, node);
    this.parts.kernel.tell(`${node.incarnation} starts`);
    node.life.onEnd(() => this.#ended(node));
    node.start();
    return node;
  }

  /** Whether a client performs its next step, in a shortened run; records the step's name if so. */
  takes(step: string): boolean {
    if (this.#kept.steps !== null && !this.#kept.steps.has(step)) return false;
    this.steps.push(step);
    return true;
  }

  nodeOf(region: string, random: Random): SimNode | null {
    const nodes = [...this.running.values()].filter((node) => node.slot.region === region && node.isReady());
    return nodes.length === 0 ? null : random.pick(nodes);
  }

  /** Ends a node as a power failure would. */
  crash(node: SimNode): void {
    node.life.end();
  }

  /** A halted incarnation is followed by another in the same place; what it is still answering continues. */
  replace(node: SimNode): void {
    if (this.running.get(node.slot.name) === node) this.start(node.slot);
  }

  /** Clients and other nodes use other nodes from now on. */
  stopTaking(node: SimNode): void {
    if (this.running.get(node.slot.name) === node) this.running.delete(node.slot.name);
  }

  /** Texts of the rows that a search of the region could find, by record id. */
  indexed(region: string): ReadonlyMap<string, string> {
    return this.#indexes.get(region)?.live() ?? new Map();
  }

  /**
   * Whether a node may have answered with a stale read: one that did not notice that it lost its lease, or that another node
   * acts for its actor. What such a node writes is refused.
   */
  get mayReadOld(): boolean {
    const { membership, hasRealMembership } = this.parts;
    return (membership.isHasty && !hasRealMembership) || this.observed.marks.has("lease.unnoticed");
  }

  /** Whether no node has anything in flight: no waiting message, no unsettled effect. */
  isQuiet(): boolean {
    return [...this.running.values()].every((node) => {
      const { mailboxed, outboxPending } = node.system.stats();
      return mailboxed === 0 && outboxPending === 0;
    });
  }

  /** Whether something is staged that a sweep should have removed: of a push that nobody accepted within a day. */
  hasAbandoned(): boolean {
    const { kernel, night, regions, before } = this.parts;
    const known = new Set(before.pushes.map(({ id }) => id));
    const untilMs = kernel.now() - sweepTimes(night).afterMs - skewMaxMs;
    return regions.some((region) =>
      [...this.#lastStaged(region)].some(
        ([pushId, stagedAtMs]) =>
          stagedAtMs < untilMs &&
          this.#isAtHome(pushId, region) &&
          !this.observed.staged.isAccepted(pushId) &&
          !known.has(pushId),
      ),
    );
  }

  /** When anything of a push was last staged, by push. */
  #lastStaged(region: string): ReadonlyMap<string, number> {
    const last = new Map<string, number>();
    for (const table of [
      this.#leaves(),
      this.parts.stores.tables.of<Pick<StagedLeaf, "pushId" | "stagedAtMs">>("staged_document"),
    ]) {
      for (const { value } of table.arrived(region).values())
        last.set(value.pushId, Math.max(last.get(value.pushId) ?? 0, value.stagedAtMs));
    }
    return last;
  }

  #isAtHome(pushId: string, region: string): boolean {
    const place = placementOf({ kind: "push", id: pushId });
    return "party" in place && this.parts.homes.get(place.party) === region;
  }

  /** Whether a leaf of a push, or the file that contains it, is staged in any region. */
  #hasLeaf(id: string, leaf: number, file: string | null): boolean {
    return this.parts.regions.some((region) =>
      file === null
        ? this.#leaves().arrived(region).has(stagedLeafKey(id, leaf))
        : this.stagedFile(region, file)?.isDone === true,
    );
  }

  stagedFile(region: string, name: string): StagedFile | null {
    const files = this.parts.stores.tables.of<StagedFile>(stagedFiles);
    const file = files.arrived(region).get(name)?.value;
    return file === undefined || file.isGone ? null : file;
  }

  #leaves(): PlainTable<StagedLeaf> {
    return this.parts.stores.tables.of("staged_leaf");
  }

  #ended(node: SimNode): void {
    this.parts.kernel.tell(`${node.incarnation} is dead`);
    if (this.running.get(node.slot.name) === node) this.running.delete(node.slot.name);
    this.observed.mark("node.died");
    const backAfterMs = this.random.fork(`back ${node.incarnation}`).between(50, 3_000);
    this.parts.kernel.after(backAfterMs, "node comes back", () => {
      if (!this.running.has(node.slot.name)) this.start(node.slot);
    });
  }

  #log(incarnation: string, entry: LogEntry): void {
    this.observed.mark(entry.event);
    // Nothing in these worlds may make an actor throw.
    if (entry.event === "actor.crashed" || entry.event === "actor.quarantined")
      this.observed.violate("no-actor-crashes", `${entry.actor} at ${incarnation}: ${entry.detail}`);
    this.parts.kernel.tell(`${incarnation} ${entry.event}`, () => `${entry.actor} ${entry.detail}`);
  }
}

/** In every other world, holds end while it runs. */
function drawHoldMs(draw: Random): number | undefined {
  return draw.chance(0.5) ? draw.skewed(500, 20_000) : undefined;
}

/** The time of a world that starts after an instant. */
export function newKernel(afterMs = 0, story = false): Kernel {
  return new Kernel({ startMs: startAfter(afterMs), trace: new Trace({ story }) });
}

/** The first such time of day after an instant. */
function startAfter(ms: number): number {
  return startMs + Math.max(0, Math.ceil((ms - startMs) / dayMs)) * dayMs;
}

function slotsOf(region: string, shape: Random): readonly NodeSlot[] {
  const count = shape.pick([1, 1, 2, 3]);
  return Array.from({ length: count }, (_, index) => ({
    name: `${region}_${"abc"[index]}`,
    region,
    skewMs: shape.between(-150, 150),
  }));
}

function recordIdsOf(before: Before, crypto: SimCrypto, key: Uint8Array): WorldParts["recordIdOf"] {
  return (business, collection, localId) =>
    before.recordIdOf(business, localId) ??
    recordIdOf(collection, crypto.hmacSha256(key, utf8(`${business}\n${collection}\n${localId}`)));
}

/** So that a stranger can verify the log with what a node publishes. */
function logKeyEntry({ keyId, publicJwk }: SimSigner): KeyEntry {
  return {
    key_id: keyId,
    use: "log",
    region: null,
    alg: "Ed25519",
    public_key: publicJwk,
    pair: null,
    valid_from: "",
    valid_until: null,
    compromised_from: null,
  };
}

function worldKeys(crypto: SimCrypto, regions: readonly string[], clock: Clock): WorldKeys {
  const projection = crypto.newSigner();
  const sidecar = crypto.newSigner();
  const statement = crypto.newSigner();
  const log = crypto.newSigner();
  const pair: readonly [SimSigner, SimSigner] = [crypto.newSigner(), crypto.newSigner()];
  const receipts = new Map(regions.map((region) => [region, crypto.newSigner()]));
  return {
    projection,
    sidecar,
    receipts,
    log,
    trust: {
      verify: crypto.verify,
      sha256: crypto.sha256,
      anchors: {
        v: 1,
        environment: "production",
        roots: [],
        passkeys: portal,
        log: { origin: "svc.test/log", key_name: "svc-log" },
      },
      keySet: { v: 1, issued_at: "", keys: [], certificates: [] },
      keys: new Map([[log.keyId, logKeyEntry(log)]]),
    },
    service: (region): ServiceKeys => ({
      environment: "production",
      region,
      projection: () => projection,
      sidecar: () => sidecar,
      statement: () => statement,
      log: () => log,
      receipt: () => receipts.get(region) ?? projection,
      issuance: createIssuance(pair, { environment: "production", clock }),
      grant: null,
      keySet: () => "",
    }),
  };
}

// Limits of the actor systems of a world: small, and different for every seed, so that snapshots, passivation, retries and
// full mailboxes happen within seconds of virtual time.

function drawLimits(random: Random): Partial<ActorLimits> {
  return {
    batchCommandsMax: random.pick([1, 2, 8, 64]),
    activationsMax: random.pick([7, 13, 1_000, 1_000]),
    idleMs: random.pick([1_000, 4_000, 60_000]),
    idleSweepMs: 2_000,
    timerHorizonMs: random.pick([1_000, 60_000]),
    snapshotEveryEvents: random.pick([1, 2, 4, 128]),
    askTimeoutMs: random.pick([2_000, 5_000, 10_000]),
    deadlineSweepMs: 250,
    commitResendsMax: random.pick([1, 2, 3]),
    claimAttemptsMax: 5,
    storeRetryMs: 40,
    restartMs: 50,
    restartMaxMs: 1_000,
    deliveryWindow: random.pick([1, 2, 64]),
    effectRetryMs: 50,
    effectRetryMaxMs: 1_500,
    actorActivitiesMax: random.pick([1, 2, 8]),
    ackFlushMs: random.pick([50, 200, 2_000]),
    outboxWakeMs: random.pick([2_000, 5_000]),
    pollMs: random.pick([700, 1_500]),
    commandsPerFlushMax: random.pick([16, 4_096]),
  };
}

// What of a seed's run is kept when it is shortened: by default everything. Each fault, each client step and each node has a
// name that does not depend on what else is kept, so that leaving one out does not rename the others.

export interface Kept {
  /** Faults as `store_lost#2`: the second of its kind. Null means all. */
  readonly faults: ReadonlySet<string> | null;
  /** Steps as `business-0.1#3`: the third step of the second key of the first business. Null means all. */
  readonly steps: ReadonlySet<string> | null;
  /** Nodes as `eu-west1_a`; a region without any is left out. Null means all. */
  readonly nodes: ReadonlySet<string> | null;
}

export const everything: Kept = { faults: null, steps: null, nodes: null };

/** The parts of a run that can be left out, in the order in which a command names them. */
export const keptParts = ["faults", "steps", "nodes"] as const;

/** Command-line options that keep the same, for example `--faults "node_crash#1" --nodes "eu-west1_a"`. */
export function formatKept(kept: Kept): string {
  return keptParts
    .flatMap((part) => {
      const names = kept[part];
      return names === null ? [] : [` --${part} "${[...names].join(" ")}"`];
    })
    .join("");
}

/** Parses names separated by spaces; an empty text keeps none, a missing option keeps everything. */
export function parseKept(given: Readonly<Record<(typeof keptParts)[number], string | undefined>>): Kept {
  const names = (text: string | undefined): ReadonlySet<string> | null =>
    text === undefined ? null : new Set(text.split(" ").filter((name) => name !== ""));
  return { faults: names(given.faults), steps: names(given.steps), nodes: names(given.nodes) };
}
