// The key set and the signers that are in force on a running node, and how newer ones take their place.
//   C1. A set is taken over only when it verifies under the node's anchors and was issued later than the one in force.
//   C2. The set and the signers change together: what a node publishes as its keys is what it signs with.
//   C3. A file that is not taken over changes nothing: the set before stays in force.

import type { FileKeyStore } from "../../crypto/key-store.ts";
import type { SignerAt } from "../../crypto/port.ts";
import type { Anchors } from "../../protocol/anchors.ts";
import { type LoadedKeySet, loadKeySet } from "./trusted-files.ts";
import { type HeldKey, loadHeldKeys, type NodeUse, nodeUses, standingSigners } from "./working-keys.ts";

export interface KeyPlace {
  /** File of the key set. */
  readonly path: string;
  readonly anchors: Anchors;
  readonly store: FileKeyStore;
  readonly region: string;
}

export type TakeOver =
  | { readonly status: "taken_over"; readonly issuedAt: string }
  /** The files say what is in force already. */
  | { readonly status: "same" }
  | { readonly status: "refused"; readonly detail: string };

export class CurrentKeys {
  readonly #place: KeyPlace;
  #keySet: LoadedKeySet;
  #held: readonly HeldKey[];
  #signers: Readonly<Record<NodeUse, SignerAt>>;

  constructor(place: KeyPlace, keySet: LoadedKeySet, held: readonly HeldKey[]) {
    this.#place = place;
    this.#keySet = keySet;
    this.#held = held;
    this.#signers = standingSigners(held, keySet.trust, place.region);
  }

  get keySet(): LoadedKeySet {
    return this.#keySet;
  }

  signerAt(use: NodeUse): SignerAt {
    return (at) => this.#signers[use](at);
  }

  /** Throws what the first use without a key throws. */
  assertSigners(at: string): void {
    for (const use of nodeUses) this.#signers[use](at);
  }

  /** Looks at the files again. Never throws: what is wrong with them is in the answer. */
  async takeOver(): Promise<TakeOver> {
    const { path, anchors, store, region } = this.#place;
    try {
      const held = await loadHeldKeys(store, region, this.#held);
      const keySet = await loadKeySet(path, anchors);
      const isSameSet = keySet.text === this.#keySet.text;
      const issuedAt = keySet.trust.keySet.issued_at;
      const before = this.#keySet.trust.keySet.issued_at;
      if (!isSameSet && issuedAt <= before)
        return {
          status: "refused",
          detail: `${path} was issued at ${issuedAt}, the set in force at ${before}.`,
        };
      if (isSameSet && isSame(held, this.#held)) return { status: "same" };
      if (!isSameSet) this.#keySet = keySet;
      this.#held = held;
      this.#signers = standingSigners(held, this.#keySet.trust, region);
      return { status: "taken_over", issuedAt };
    } catch (error) {
      return { status: "refused", detail: error instanceof Error ? error.message : String(error) };
    }
  }
}

function isSame(one: readonly HeldKey[], other: readonly HeldKey[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
}
