// What the fence refused this node, kept in the store so that it outlives the node, and what it refused all nodes.
// Also the newest moment at which this home was in use.
//   R1. A commit that is refused because a later activation has claimed the actor counts for the incarnation that sent it,
//       whenever the store's answer arrives, even after the end of that incarnation.
//   R2. An increased count is written at once, and retried until it is written or the node ends; a node that stops tries
//       once more. Writes never overlap.
//   R3. What is shown is the store's content at the last read, and never less than this node knows of itself.
//   R4. Which actors were refused is remembered by the process alone, and only of the newest refusals.

import { join } from "node:path";
import type { LogEntry, TimerPort } from "../../actors/system/ports.ts";
import { OutageLog } from "../../cluster/cluster-view.ts";
import type { Monotonic } from "../../cluster/poller.ts";
import { readFileIfThere, replaceFile } from "../../crypto/durable-file.ts";
import type { Clock } from "../../crypto/port.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import {
  type ActorCommit,
  type ActorStore,
  type CommitOutcome,
  storeWith,
} from "../../storage/actor-store.ts";
import type { FenceLedger, FenceRefusals } from "../../storage/fence-ledger.ts";

export interface FenceWitnessOptions {
  readonly ledger: FenceLedger;
  readonly region: string;
  readonly clock: Clock;
  readonly timers: TimerPort;
  readonly monotonic: Monotonic;
  readonly log: (entry: LogEntry) => void;
}

/** A commit that was refused. */
export interface RefusedCommit {
  readonly kind: string;
  readonly id: string;
  /** The epoch that was refused, and the one that had claimed the actor since. */
  readonly epoch: number;
  readonly supersededBy: number;
  readonly incarnation: string;
  readonly atMs: number;
}

/** Number of refused commits that are remembered one by one (R4). */
const commitsKept = 512;
/** The interval between two reads of what other nodes were refused. */
const lookMs = 10_000;
/** The delay before a failed write is retried. */
const retryMs = 1_000;

export class FenceWitness {
  readonly #options: FenceWitnessOptions;
  readonly #outage: OutageLog;
  /** The counts of this process's incarnations. */
  readonly #own = new Map<string, FenceRefusals>();
  /** The part of those counts that has been written. */
  readonly #written = new Map<string, number>();
  /** The newest last (R4). */
  readonly #commits: RefusedCommit[] = [];
  #read: readonly FenceRefusals[] = [];
  #isStopped = false;
  #underWay: Promise<void> | null = null;
  #cancel = (): void => {};

  /** Starts the periodic reads. */
  constructor(options: FenceWitnessOptions) {
    this.#options = options;
    const note = (level: LogEntry["level"], event: string, detail: string): void => {
      if (!this.#isStopped) options.log({ level, event, actor: "", detail });
    };
    this.#outage = new OutageLog({
      monotonic: options.monotonic,
      failed: (detail) => note("warn", "fence.ledger_failed", detail),
      over: (detail) => note("info", "fence.ledger_succeeded", detail),
    });
    this.#soon();
  }

  /** Wraps the store for the incarnation's actors: refusals are counted (R1), and nothing else changes. */
  watch(store: ActorStore, incarnation: string): ActorStore {
    return storeWith(store, {
      commit: (commit) => {
        const outcome = store.commit(commit);
        outcome.then(
          (found) => this.#judge(incarnation, commit, found),
          () => {},
        );
        return outcome;
      },
    });
  }

  /** Refusals by region and incarnation, the most recent first (R3). */
  refusals(): readonly FenceRefusals[] {
    const all = new Map(this.#read.map((each) => [nameOf(each), each]));
    for (const own of this.#own.values()) {
      if ((all.get(nameOf(own))?.refusals ?? 0) < own.refusals) all.set(nameOf(own), own);
    }
    return [...all.values()].sort((one, two) => two.last_at_ms - one.last_at_ms);
  }

  /** What this process remembers of the actor's refused commits, the newest first (R4). */
  refusedCommits({ kind, id }: { readonly kind: string; readonly id: string }): readonly RefusedCommit[] {
    return this.#commits.filter((each) => each.kind === kind && each.id === id).reverse();
  }

  total(): number {
    return this.refusals().reduce((sum, { refusals }) => sum + refusals, 0);
  }

  /** Stops the periodic work and tries one last write (R2). Never rejects. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#underWay;
    await this.#write().catch(() => {});
  }

  #judge(incarnation: string, sent: ActorCommit, outcome: CommitOutcome): void {
    if (outcome.status !== "refused") return;
    const { other: commit = sent } = outcome;
    // A commit that was to create its actor held nothing that anybody could have taken.
    if (outcome.epoch <= commit.epoch || commit.creates !== undefined) return;
    const { region, clock } = this.#options;
    const refusals = (this.#own.get(incarnation)?.refusals ?? 0) + 1;
    const atMs = clock.now();
    this.#own.set(incarnation, { region, incarnation, refusals, last_at_ms: atMs });
    const { ref, epoch } = commit;
    this.#commits.push({ ...ref, epoch, supersededBy: outcome.epoch, incarnation, atMs });
    if (this.#commits.length > commitsKept) this.#commits.shift();
    this.#soon();
  }

  #soon(): void {
    if (this.#isStopped || this.#underWay !== null) return;
    this.#cancel();
    this.#underWay = this.#outage
      .watch("the ledger", () => this.#look())
      .then(() => {
        this.#underWay = null;
        if (this.#isStopped) return;
        const delayMs = this.#unwritten().length > 0 ? retryMs : lookMs;
        this.#cancel = this.#options.timers.schedule(delayMs, () => this.#soon());
      });
  }

  async #look(): Promise<void> {
    await this.#write();
    this.#read = await this.#options.ledger.read();
  }

  async #write(): Promise<void> {
    for (let grown = this.#unwritten(); grown.length > 0; grown = this.#unwritten()) {
      for (const own of grown) {
        await this.#options.ledger.note(own);
        this.#written.set(own.incarnation, own.refusals);
      }
    }
  }

  #unwritten(): readonly FenceRefusals[] {
    return [...this.#own.values()].filter(
      ({ incarnation, refusals }) => (this.#written.get(incarnation) ?? 0) < refusals,
    );
  }
}

function nameOf({ region, incarnation }: FenceRefusals): string {
  return `${region}/${incarnation}`;
}

// The newest moment at which this home was in use, by the node's own clock, kept in a file: a clock that is behind it was set back, and
// then callers are refused, whose own clocks are right. A node of a cluster compares its clock with the store's instead.

export interface NewestMoment {
  /** Throws, in words, while the clock is behind. */
  assertReached(): void;
  stop(): Promise<void>;
}

const fileName = "newest-moment";
const everyMs = 60_000;
/** As much as nodes of a cluster may differ. */
const behindMaxMs = 2_000;

/** `onFailed` is told of a file that cannot be written. */
export async function keepNewestMoment(
  home: string,
  {
    clock,
    timers,
    onFailed,
  }: { readonly clock: Clock; readonly timers: TimerPort; readonly onFailed: (error: unknown) => void },
): Promise<NewestMoment> {
  let newestMs = await readNewest(home);
  const write = async (): Promise<void> => {
    if (clock.now() <= newestMs) return;
    newestMs = clock.now();
    await replaceFile(join(home, fileName), `${formatTimestamp(newestMs)}\n`).catch(onFailed);
  };
  let writing = write();
  let cancel = (): void => {};
  const wait = (): void => {
    cancel = timers.schedule(everyMs, () => {
      writing = write();
      wait();
    });
  };
  wait();
  return {
    assertReached: () => {
      const words = behindWords(newestMs, clock.now());
      if (words !== null) throw new Error(words);
    },
    stop: async () => {
      cancel();
      await writing;
      await write();
    },
  };
}

/** How far the clock is behind the newest moment of a home, in words; null if it is not. */
export async function clockFault(home: string, clock: Clock): Promise<string | null> {
  return behindWords(await readNewest(home), clock.now());
}

function behindWords(newestMs: number, nowMs: number): string | null {
  const behindMs = newestMs - nowMs;
  if (behindMs <= behindMaxMs) return null;
  return `this machine's clock says ${formatTimestamp(nowMs)}, ${Math.ceil(behindMs / 1_000)} s before ${formatTimestamp(newestMs)}, at which this node was in use: correct it (NTP). Callers whose clocks are right are refused meanwhile`;
}

async function readNewest(home: string): Promise<number> {
  const moment = Date.parse((await readFileIfThere(join(home, fileName)))?.trim() ?? "");
  return Number.isNaN(moment) ? 0 : moment;
}
