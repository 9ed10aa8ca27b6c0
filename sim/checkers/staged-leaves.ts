// Leaves staged for pushes, as the store holds them: an accepted push keeps its leaves until they are settled, and leaves
// that nobody accepts are removed once they are old.

import type { PushFacts } from "../../actors/messages/push.ts";
import { chunkCount, chunkSize } from "../../machines/push.ts";

/** Events of a push's journal that determine which leaves it still needs. */
export type PushFact =
  | { readonly type: "push.accepted"; readonly facts: PushFacts }
  | { readonly type: "chunk.settled"; readonly chunk: number }
  | { readonly type: string };

/** After these events a push needs its leaves no more: it failed, or its hold ended. */
const overTypes: ReadonlySet<string> = new Set([
  "push.failed",
  "hold.rejected",
  "xstate.after.holdEnds.push.held",
]);

interface Needs {
  readonly records: number;
  settledChunks: number;
  isOver: boolean;
}

/** Keyed by the id of the push's actor, under which its leaves are staged as well. */
export class StagedLeaves {
  readonly #needs = new Map<string, Needs>();
  readonly #hasLeaf: (id: string, leaf: number) => boolean;
  readonly #violate: (invariant: string, detail: string) => void;

  /** `hasLeaf`: whether a leaf is staged in any region. */
  constructor(
    hasLeaf: (id: string, leaf: number) => boolean,
    violate: (invariant: string, detail: string) => void,
  ) {
    this.#hasLeaf = hasLeaf;
    this.#violate = violate;
  }

  happened(id: string, { type, ...rest }: PushFact): void {
    if (type === "push.accepted") {
      const { facts } = rest as { facts: PushFacts };
      this.#needs.set(id, { records: facts.records, settledChunks: 0, isOver: false });
      this.#check(id, "was accepted");
      return;
    }
    const needs = this.#needs.get(id);
    if (needs === undefined) return;
    if (type === "chunk.settled")
      needs.settledChunks = Math.max(needs.settledChunks, (rest as { chunk: number }).chunk + 1);
    needs.isOver ||= overTypes.has(type) || needs.settledChunks === chunkCount(needs.records);
  }

  /** Called when staged leaves of the push were dropped. */
  dropped(id: string): void {
    this.#check(id, "was accepted before something was dropped,");
  }

  isAccepted(id: string): boolean {
    return this.#needs.has(id);
  }

  #check(id: string, what: string): void {
    const needs = this.#needs.get(id);
    if (needs === undefined || needs.isOver) return;
    for (let leaf = needs.settledChunks * chunkSize; leaf < needs.records; leaf += 1) {
      if (this.#hasLeaf(id, leaf)) continue;
      this.#violate("accepted-is-staged", `${id} ${what} and its leaf ${leaf} is not there`);
      return;
    }
  }
}
