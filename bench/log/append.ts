// In a child process: writers append leaves to the log's sequencer. Each waits until the committed tree head contains its leaf before it appends the next.

import type { TreeHead } from "../../actors/messages/log-sequencer.ts";
import { type ActorCommit, type ActorStore, rowTable } from "../../storage/actor-store.ts";
import type { LogStore } from "../../storage/log-store.ts";
import { withCommit } from "../actors/counter.ts";
import { heldBytes, inLanes, msOf } from "../work.ts";
import { benchEntry, openSequencer } from "./sequencer.ts";

export interface AppendLoad {
  /** An empty folder. */
  readonly folder: string;
  readonly writers: number;
  /** Entries before the clock starts. */
  readonly warmUp: number;
  readonly entries: number;
}

export async function run({ folder, writers, warmUp, entries }: AppendLoad) {
  const sequenced = new Sequenced();
  await using sequencer = openSequencer(folder, {
    log: (log) => sequenced.watchLeaves(log),
    store: (store) => sequenced.watchHeads(store),
  });
  let next = 0;
  const append = (count: number): Promise<void> =>
    inLanes(writers, count, async () => {
      const entry = benchEntry(next);
      next += 1;
      const waiting = sequenced.waitFor(entry.leaf);
      await sequencer.append(entry);
      await waiting;
    });
  await append(warmUp);
  const heapBefore = heldBytes();
  const headsBefore = sequenced.heads;
  const elapsedMs = await msOf(() => append(entries));
  const addedHeapBytes = heldBytes() - heapBefore;
  // The size of the tree counts the checkpoints that became leaves as well; `heads` were committed.
  return { elapsedMs, size: sequenced.size, heads: sequenced.heads - headsBefore, addedHeapBytes };
}

/** Tells when a leaf is in the committed tree: where leaves are, the log store is told, and the head is committed by the actor. */
class Sequenced {
  size = 0;
  heads = 0;
  readonly #waiting = new Map<string, () => void>();
  #written: { readonly leaf: string; readonly index: number }[] = [];

  waitFor(leaf: string): Promise<void> {
    return new Promise((resolve) => this.#waiting.set(leaf, resolve));
  }

  watchLeaves(log: LogStore): LogStore {
    return {
      ...log,
      write: async (objects, leaves) => {
        await log.write(objects, leaves);
        this.#written.push(...leaves);
      },
    };
  }

  watchHeads(store: ActorStore): ActorStore {
    return withCommit(store, async (commit) => {
      const outcome = await store.commit(commit);
      const head = outcome.status === "applied" ? writtenHead(commit) : null;
      if (head !== null) this.#advance(head);
      return outcome;
    });
  }

  #advance({ size }: TreeHead): void {
    this.size = size;
    this.heads += 1;
    const behind: { leaf: string; index: number }[] = [];
    for (const place of this.#written) {
      if (place.index >= size) behind.push(place);
      else this.#tell(place.leaf);
    }
    this.#written = behind;
  }

  #tell(leaf: string): void {
    this.#waiting.get(leaf)?.();
    this.#waiting.delete(leaf);
  }
}

/** The tree head that a commit makes current; null for a commit that makes none. */
function writtenHead({ puts }: ActorCommit): TreeHead | null {
  for (const { rt, body } of puts) {
    if (rt !== rowTable.event || !body.includes('"log.written"')) continue;
    const { e } = JSON.parse(body) as { e: { type: string; head?: TreeHead }[] };
    const written = e.findLast(({ type }) => type === "log.written");
    if (written?.head !== undefined) return written.head;
  }
  return null;
}
