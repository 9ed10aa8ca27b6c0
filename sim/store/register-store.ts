// The register on the model's plain tables. A feed returns each region's entries in the order of their arrival there.

import { StoreError } from "../../storage/actor-store.ts";
import type {
  RegisterEntry,
  RegisterFeed,
  RegisterStore,
  RegisterTable,
} from "../../storage/register-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { Reach } from "./statements.ts";
import type { StoreClient } from "./store-model.ts";

/** As many as in the real adapter. */
const claimsMax = 3;

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
    const isOwn = ({ key, value }: (typeof cells)[number]): boolean =>
      (this.#entries.read(region, key)?.partition ?? value.partition) === value.partition;
    return model.statements.run(life, "write", (reach) =>
      this.#entries.write(region, cells.filter(isOwn), reach),
    );
  }

  async claimKey(keyId: string, partyUuid: string): Promise<string> {
    const { model, life } = this.#client;
    const cell = model.keyOwner(keyId);
    const subject = { name: `key_owner/${keyId}` };
    const claimant = (await this.#registeredTo(keyId)) ?? partyUuid;
    const mutation = { head: { epoch: 1, owner: claimant }, puts: [], deletes: [] };
    const claim = (reach: Reach) =>
      cell.cas({ holds: (found) => found.epoch === 0, mutation }, reach, model.coin);
    for (let claims = 1; ; claims += 1) {
      try {
        const { applied, found } = await model.statements.run(life, "cas", claim, subject);
        return applied ? claimant : found.owner;
      } catch (error) {
        if (!(error instanceof StoreError && error.effect === "unknown")) throw error;
        const read = () => cell.serialRead(model.coin);
        const settled = await model.statements.run(life, "serial", read, subject);
        if (settled.epoch > 0) return settled.owner;
        if (claims === claimsMax) throw error;
      }
    }
  }

  /** The party that the register of any region names. */
  #registeredTo(keyId: string): Promise<string | undefined> {
    const { model } = this.#client;
    return this.#read(() => {
      const known = model.regions.map((region) => this.#entries.read(region, `key/${keyId}`));
      return known.find((entry) => entry !== null)?.partition;
    });
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
