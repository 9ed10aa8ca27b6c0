// The log's sequencer with two homes, one of which is lost: each has its own store, and what the other one gets is up to the test.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { formatHash, parseHash, sha256, utf8 } from "../../protocol/bytes.ts";
import { type LogEntry, parseBundle, parseEntry } from "../../protocol/log/leaves.ts";
import { parseCheckpoint } from "../../protocol/log/note.ts";
import { entriesPath } from "../../protocol/log/tiles.ts";
import { verifyConsistency } from "../../protocol/merkle.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import type { LeafPlace, LogObject, LogStore } from "../../storage/log-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteLogStore } from "../../storage/sqlite/log-store.ts";
import type { Cosign } from "../../transport/witness-port.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import type { TreeHead } from "../messages/log-sequencer.ts";
import { logRef } from "../messages/refs.ts";
import type { ActivityContext } from "../system/definition.ts";
import { logSequencerActivities } from "./activities.ts";
import { logSequencerActor } from "./definition.ts";

const origin = "svc.test/log";

export function entry(at: number): LogEntry {
  return { leaf: formatHash(sha256(utf8(`seal ${at}`))), leaf_type: "seal", subject: "b" };
}

export const entries = (from: number, to: number): readonly LogEntry[] =>
  Array.from({ length: to - from }, (_, at) => entry(from + at));

interface Written {
  readonly objects: readonly LogObject[];
  readonly leaves: readonly LeafPlace[];
}

/** A witness as it judges trees, without signatures. */
export class TreeWitness {
  last: TreeHead = { size: 0, root: "" };
  isAway = false;

  readonly cosign: Cosign = async ({ note, size, proofFrom }) => {
    if (this.isAway) return { missing: "w is away" };
    const read = parseCheckpoint(note.slice(0, note.indexOf("\n\n") + 1));
    if (!read.ok) throw new Error(read.detail);
    const root = formatHash(read.value.root);
    const dispute = (what: string) => ({ missing: `w ${what}`, disputed: `w ${what}` });
    if (size < this.last.size) return dispute(`cosigned a tree of ${this.last.size} leaves already`);
    if (size === this.last.size && root !== this.last.root) return dispute("knows another tree");
    if (this.last.size > 0 && size > this.last.size) {
      const path = await proofFrom(this.last.size);
      const [firstRoot, secondRoot] = [parseHash(this.last.root), read.value.root];
      const sizes = { firstSize: this.last.size, secondSize: size };
      if (firstRoot === null || !verifyConsistency({ ...sizes, path, firstRoot, secondRoot }))
        return dispute("answered 422");
    }
    this.last = { size, root };
    return { note: `${note}— w AAAAAAA=\n` };
  };
}

/** The sequencer as one of its homes runs it. */
export class LogHome {
  readonly store: LogStore;
  readonly actor: ActorHarness<"log-sequencer">;
  /** What was written and published, in order. */
  readonly written: Written[] = [];
  /** What was signed. */
  readonly signed: TreeHead[] = [];
  readonly reports: string[] = [];
  readonly #witness: TreeWitness;
  policy = "p";
  keyFault: string | null = null;
  /** Publishes nothing although it signs, as in the moment before a loss. */
  isCutOff = false;

  constructor(witness: TreeWitness) {
    const home = mkdtempSync(join(tmpdir(), "svc-log-home-"));
    const database = SqliteDatabase.open(join(home, "store.db"));
    onTestFinished(() => {
      database.close();
      rmSync(home, { recursive: true });
    });
    this.#witness = witness;
    this.store = openSqliteLogStore({ database, folder: join(home, "log") });
    const intervals = { leafMs: 1_000, receiptsMs: 1_000 };
    this.actor = driveActor(logSequencerActor({ origin, intervals }), "svc-log");
  }

  get context() {
    return this.actor.snapshot.context;
  }

  append(added: readonly LogEntry[]): void {
    for (let at = 0; at < added.length; at += 100)
      this.actor.send({ type: "log.append", entries: added.slice(at, at + 100) });
  }

  /** Appends and does what is due, with what that makes due. */
  async sequence(added: readonly LogEntry[]): Promise<void> {
    this.append(added);
    for (let step = 0; step < 8; step += 1) await this.step();
  }

  /** The time of every timer is over, and the work that follows is done. */
  async step(): Promise<void> {
    this.actor.fireTimers();
    await this.work();
  }

  async work(): Promise<void> {
    for (let effect = this.actor.effects.shift(); effect !== undefined; effect = this.actor.effects.shift()) {
      if (effect.kind !== "activity") throw new Error("The sequencer tells nobody anything.");
      const context: ActivityContext = {
        actor: logRef(),
        workId: "w",
        nowMs: () => this.actor.nowMs,
        signal: { aborted: false },
        ask: async (_to, command) => rubbish(this.actor.send(rubbish(command))),
      };
      const result = await this.#activities()[effect.name]?.(effect.params, context);
      if (result !== null) this.actor.send(rubbish(result));
    }
  }

  /** Another region declared its home lost: its journal is here as far as it came. */
  takeOver(): void {
    this.actor.epoch = 2 ** 32;
    this.signed.length = 0;
    this.written.length = 0;
  }

  async logged(): Promise<readonly LogEntry[]> {
    const size = (await this.store.readCheckpoint())?.size ?? 0;
    const found: LogEntry[] = [];
    for (let index = 0; index * 256 < size; index += 1) {
      const width = Math.min(256, size - index * 256);
      const [bytes] = await this.store.read([entriesPath({ index, width })]);
      const bundle = parseBundle(bytes ?? new Uint8Array(), width) ?? [];
      found.push(...bundle.map((each) => parseEntry(each) as LogEntry));
    }
    return found;
  }

  #activities() {
    const { store } = this;
    const log: LogStore = {
      read: (paths) => store.read(paths),
      findLeaves: (leaves) => store.findLeaves(leaves),
      readCheckpoint: () => store.readCheckpoint(),
      readNewestCheckpoint: () => store.readNewestCheckpoint(),
      publish: async (checkpoint) => {
        if (this.isCutOff) throw new Error("The other region is out of reach.");
        await store.publish(checkpoint);
      },
      write: async (objects, leaves, options) => {
        await store.write(objects, leaves, options);
        this.written.push({ objects, leaves });
      },
    };
    return logSequencerActivities({
      log,
      origin,
      sha256,
      policy: this.policy,
      keyFault: () => this.keyFault,
      sign: async (text) => {
        const read = parseCheckpoint(text);
        if (!read.ok) throw new Error(read.detail);
        this.signed.push({ size: read.value.size, root: formatHash(read.value.root) });
        return `${text}\n— svc-log AAAAAAA=\n`;
      },
      cosign: (request) => this.#witness.cosign(request),
      report: (reason, detail) => this.reports.push(`${reason}: ${detail}`),
    });
  }
}
