// The register on the model's plain tables. A feed gives each region's entries as they came there.

import type {
  RegisterEntry,
  RegisterFeed,
  RegisterStore,
  RegisterTable,
} from "../../storage/register-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { StoreClient } from "./store-model.ts";

export function openSimRegisterStore(client: StoreClient): RegisterStore {
  return new SimRegisterStore(client);
}

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

  follow(): RegisterFeed {
    const given = new Set<RegisterEntry>();
    let drainedAt = -1;
    return {
      next: (limit) =>
        this.#read((region) => {
          const arrivals = this.#entries.arrivals(region);
          if (drainedAt === arrivals) return { entries: [], more: false };
          const entries: RegisterEntry[] = [];
          let more = false;
          for (const entry of this.#entries.values(region)) {
            if (given.has(entry)) continue;
            if (entries.length < limit) entries.push(entry);
            else more = true;
          }
          for (const entry of entries) given.add(entry);
          if (!more) drainedAt = arrivals;
          return { entries, more };
        }),
    };
  }

  #read<T>(execute: (region: string) => T): Promise<T> {
    const { model, life, region } = this.#client;
    return model.statements.run(life, "read", () => execute(region));
  }
}
