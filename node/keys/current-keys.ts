// The key set and the signers in force on a running node, and how newer ones replace them.
//   C1. A set is adopted only if it verifies under the node's anchors and was issued later than the one in force.
//   C2. The set and the signers change together: what a node publishes as its keys is what it signs with.
//   C3. A file that is not adopted changes nothing: the previous set stays in force.
//   C4. Unchanged files are not read again.

import { stat } from "node:fs/promises";
import type { LogEntry, TimerPort } from "../../actors/system/ports.ts";
import type { FileKeyStore } from "../../crypto/key-store.ts";
import type { SignerAt } from "../../crypto/port.ts";
import type { Anchors } from "../../protocol/keys/anchors.ts";
import { repeat } from "../../std/back-off.ts";
import { type LoadedKeySet, loadKeySet } from "./trusted-files.ts";
import { type HeldKey, type HeldUse, loadHeldKeys, nodeUses, standingSigners } from "./working-keys.ts";

export interface KeyPlace {
  /** The file of the key set. */
  readonly path: string;
  readonly anchors: Anchors;
  /** The folder of the private halves, and the store that reads it. */
  readonly folder: string;
  readonly store: FileKeyStore;
  readonly region: string;
}

export type TakeOver =
  | { readonly status: "taken_over"; readonly issuedAt: string }
  /** The files contain what is already in force. */
  | { readonly status: "same" }
  | { readonly status: "refused"; readonly detail: string };

export class CurrentKeys {
  readonly #place: KeyPlace;
  #keySet: LoadedKeySet;
  #held: readonly HeldKey[];
  #signers: Readonly<Record<HeldUse, SignerAt>>;
  /** The file state at the last read. */
  #seen = "";

  constructor(place: KeyPlace, keySet: LoadedKeySet, held: readonly HeldKey[]) {
    this.#place = place;
    this.#keySet = keySet;
    this.#held = held;
    this.#signers = standingSigners(held, keySet.trust, place.region);
  }

  get keySet(): LoadedKeySet {
    return this.#keySet;
  }

  signerAt(use: HeldUse): SignerAt {
    return (at) => this.#signers[use](at);
  }

  /** Throws the error of the first use that has no key. */
  assertSigners(at: string): void {
    for (const use of nodeUses) this.#signers[use](at);
  }

  /** Checks the files again (C4). Never throws: the result reports what is wrong with them, once. */
  async takeOver(): Promise<TakeOver> {
    const { path, anchors, folder, store, region } = this.#place;
    try {
      const looks = await looksOf([path, folder]);
      if (looks === this.#seen) return { status: "same" };
      this.#seen = looks;
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

/** Changes when a file is replaced or written to, or when the content of a folder changes. */
async function looksOf(paths: readonly string[]): Promise<string> {
  const looks = await Promise.all(
    paths.map(async (path) => {
      const { ino, size, mtimeNs } = await stat(path, { bigint: true });
      return `${ino} ${size} ${mtimeNs}`;
    }),
  );
  return looks.join("/");
}

function isSame(one: readonly HeldKey[], other: readonly HeldKey[]): boolean {
  return one.length === other.length && one.every((each) => other.includes(each));
}

// Polls the key files, so that a newer key set, and working keys that the operator provisioned, are adopted while the node
// runs. A look that the stop finds under way is waited for, and its outcome is not logged, because the node is leaving.

export const lookEveryMs = 2_000;

/** Starts polling; the returned function stops it and resolves after the last look. */
export function watchKeys(
  current: Pick<CurrentKeys, "takeOver">,
  timers: TimerPort,
  log: (entry: LogEntry) => void,
): () => Promise<void> {
  const note = (level: LogEntry["level"], event: string, detail: string): void =>
    log({ level, event, actor: "", detail });
  const run = async (isStopped: () => boolean): Promise<void> => {
    const outcome = await current.takeOver();
    if (isStopped()) return;
    if (outcome.status === "taken_over") note("info", "keys.taken_over", `issued at ${outcome.issuedAt}`);
    if (outcome.status === "refused") note("error", "keys.not_taken_over", outcome.detail);
  };
  return repeat({ everyMs: lookEveryMs, timers, run });
}
