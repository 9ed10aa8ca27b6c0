// The fence ledger in memory, for tests: the port's obligations L1–L3.

import { earlier, type FenceLedger, type FenceRefusals, leastRecent, withEarlier } from "../fence-ledger.ts";

export class MemoryFenceLedger implements FenceLedger {
  readonly #kept = new Map<string, FenceRefusals>();
  /** Thrown by every call while it is set. */
  failure: Error | null = null;

  async note(refusals: FenceRefusals): Promise<void> {
    if (this.failure !== null) throw this.failure;
    const { region } = refusals;
    const known = this.#kept.get(nameOf(refusals));
    if (known === undefined) {
      const folded = leastRecent([...this.#kept.values()].filter((each) => each.region === region));
      if (folded !== null) {
        const sum = withEarlier(this.#kept.get(nameOf({ region, incarnation: earlier })), folded);
        this.#kept.delete(nameOf(folded));
        this.#kept.set(nameOf(sum), sum);
      }
    }
    if ((known?.refusals ?? 0) < refusals.refusals) this.#kept.set(nameOf(refusals), { ...refusals });
  }

  async read(): Promise<readonly FenceRefusals[]> {
    if (this.failure !== null) throw this.failure;
    return [...this.#kept.values()];
  }
}

function nameOf({ region, incarnation }: Pick<FenceRefusals, "region" | "incarnation">): string {
  return `${region}/${incarnation}`;
}
