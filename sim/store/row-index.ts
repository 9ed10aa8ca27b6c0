// A region's index: rows in memory behind an engine that may be slow, unreachable, or lose the answer to a completed call.

import { MemoryRowIndex } from "../../storage/memory/row-index.ts";
import {
  indexUnavailable,
  type RowChange,
  type RowHit,
  type RowIndex,
  type RowQuery,
} from "../../storage/row-index.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Life } from "../kernel/life.ts";

export type IndexFate =
  | { readonly kind: "answered"; readonly afterMs: number }
  | { readonly kind: "away"; readonly afterMs: number }
  /** The call was executed, but its answer is lost. */
  | { readonly kind: "unheard"; readonly afterMs: number };

export interface IndexWeather {
  fate(region: string, operation: "apply" | "search"): IndexFate;
  /** Milliseconds after which a caller gives up. */
  readonly timeoutMs: number;
}

export interface IndexClient {
  readonly kernel: Kernel;
  readonly life: Life;
  readonly region: string;
  readonly rows: RowIndex;
  readonly weather: IndexWeather;
}

export function openSimRowIndex(client: IndexClient): RowIndex {
  return {
    apply: (changes: readonly RowChange[]) => call(client, "apply", () => client.rows.apply(changes)),
    search: (query: RowQuery): Promise<readonly RowHit[]> =>
      call(client, "search", () => client.rows.search(query)),
    isFindable: (collection: string, recordId: string) =>
      call(client, "search", () => client.rows.isFindable(collection, recordId)),
    purge: (collections) => call(client, "apply", () => client.rows.purge(collections)),
    count: (collection: string) => call(client, "search", () => client.rows.count(collection)),
  };
}

function call<T>(client: IndexClient, operation: "apply" | "search", run: () => Promise<T>): Promise<T> {
  const { kernel, life, weather, region } = client;
  if (life.isOver) return life.never();
  const fate = weather.fate(region, operation);
  return new Promise((resolve, reject) => {
    const fail = (afterMs: number): void => {
      life.after(afterMs, "index does not answer", () =>
        reject(indexUnavailable("timeout", "the index does not answer")),
      );
    };
    if (fate.kind === "away") {
      fail(fate.afterMs);
      return;
    }
    kernel.after(fate.afterMs, `index ${operation}`, () => {
      const done = run();
      if (fate.kind === "unheard") fail(weather.timeoutMs);
      else if (!life.isOver) done.then(resolve, reject);
    });
  });
}

// The index in memory, whose rows a checker can inspect.

export class WatchedRowIndex extends MemoryRowIndex {
  readonly #changes = new Map<string, RowChange>();

  readonly #kept: (change: RowChange) => RowChange;

  /** `kept` returns what the index keeps of a change: all of it, except in a variation. */
  constructor(kept: (change: RowChange) => RowChange = (change) => change) {
    super();
    this.#kept = kept;
  }

  override async apply(changes: readonly RowChange[]): Promise<readonly ("applied" | "stale")[]> {
    const kept = changes.map(this.#kept);
    const outcomes = await super.apply(kept);
    kept.forEach((change, index) => {
      if (outcomes[index] === "applied") this.#changes.set(change.record_id, change);
    });
    return outcomes;
  }

  /** Row texts that a search could find, by record id. */
  live(): ReadonlyMap<string, string> {
    const rows = new Map<string, string>();
    for (const change of this.#changes.values())
      if (change.kind === "put") rows.set(change.record_id, change.row);
    return rows;
  }
}
