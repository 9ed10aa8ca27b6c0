// The register on the model's plain tables. Each region follows the changes in the order in which they came to it.

import type { RegisterEntry, RegisterStore, RegisterTable } from "../../storage/register-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { StoreClient } from "./store-model.ts";

export function openSimRegisterStore(client: StoreClient): RegisterStore {
  return new SimRegisterStore(client);
}

/** Arrivals of one region, numbered as a reader first sees them. */
interface Arrivals {
  readonly numbers: Map<RegisterEntry, number>;
  last: number;
}

const arrivalsOf = new WeakMap<PlainTable<RegisterEntry>, Map<string, Arrivals>>();

class SimRegisterStore implements RegisterStore {
  readonly #client: StoreClient;
  readonly #entries: PlainTable<RegisterEntry>;

  constructor(client: StoreClient) {
    this.#client = client;
    this.#entries = client.model.tables.of("register_entry");
  }

  put(entries: readonly RegisterEntry[]): Promise<void> {
    const { model, life, region } = this.#client;
    const cells = entries.map((value) => ({
      key: `${value.table}/${value.key}`,
      value,
      stamp: value.change,
    }));
    return model.statements.run(life, "write", (reach) => this.#entries.write(region, cells, reach));
  }

  get(table: RegisterTable, key: string): Promise<RegisterEntry | null> {
    return this.#read((region) => this.#entries.read(region, `${table}/${key}`));
  }

  list(table: RegisterTable, partition: string): Promise<readonly RegisterEntry[]> {
    return this.#read((region) =>
      this.#entries
        .values(region)
        .filter((entry) => entry.table === table && entry.partition === partition)
        .sort((a, b) => (a.key < b.key ? -1 : 1)),
    );
  }

  changes(cursor: string, limit: number): Promise<{ entries: readonly RegisterEntry[]; cursor: string }> {
    return this.#read((region) => {
      const arrivals = this.#arrivals(region);
      const found: RegisterEntry[] = [];
      let last = cursor;
      for (const entry of this.#entries.values(region)) {
        let number = arrivals.numbers.get(entry);
        if (number === undefined) {
          arrivals.last += 1;
          number = arrivals.last;
          arrivals.numbers.set(entry, number);
        }
        if (number <= Number(cursor) || found.length >= limit) continue;
        found.push(entry);
        last = String(number);
      }
      return { entries: found, cursor: last };
    });
  }

  #arrivals(region: string): Arrivals {
    const known = arrivalsOf.get(this.#entries) ?? new Map<string, Arrivals>();
    arrivalsOf.set(this.#entries, known);
    const arrivals = known.get(region) ?? { numbers: new Map(), last: 0 };
    known.set(region, arrivals);
    return arrivals;
  }

  #read<T>(execute: (region: string) => T): Promise<T> {
    const { model, life, region } = this.#client;
    return model.statements.run(life, "read", () => execute(region));
  }
}
