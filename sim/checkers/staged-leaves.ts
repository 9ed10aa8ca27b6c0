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
  /** The uploaded file that contains the records. */
  readonly file: string | null;
  settledChunks: number;
  isOver: boolean;
}

/** Keyed by the id of the push's actor, under which its leaves are staged as well. */
export class StagedLeaves {
  readonly #needs = new Map<string, Needs>();
  readonly #hasLeaf: (id: string, leaf: number, file: string | null) => boolean;
  readonly #violate: (invariant: string, detail: string) => void;

  /** `hasLeaf`: whether a leaf, or the file that contains it, is staged in any region. */
  constructor(
    hasLeaf: (id: string, leaf: number, file: string | null) => boolean,
    violate: (invariant: string, detail: string) => void,
  ) {
    this.#hasLeaf = hasLeaf;
    this.#violate = violate;
  }

  happened(id: string, { type, ...rest }: PushFact): void {
    if (type === "push.accepted") {
      const { facts } = rest as { facts: PushFacts };
      this.#needs.set(id, {
        records: facts.records,
        file: facts.file?.name ?? null,
        settledChunks: 0,
        isOver: false,
      });
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

  /** Called when an uploaded file was removed. */
  removed(file: string): void {
    for (const [id, needs] of this.#needs)
      if (needs.file === file) this.#check(id, "needs the file that was removed,");
  }

  isAccepted(id: string): boolean {
    return this.#needs.has(id);
  }

  #check(id: string, what: string): void {
    const needs = this.#needs.get(id);
    if (needs === undefined || needs.isOver) return;
    for (let leaf = needs.settledChunks * chunkSize; leaf < needs.records; leaf += 1) {
      if (this.#hasLeaf(id, leaf, needs.file)) continue;
      this.#violate("accepted-is-staged", `${id} ${what} and its leaf ${leaf} is not there`);
      return;
    }
  }
}
