// The register on the model's plain tables. A feed returns each region's entries in the order of their arrival there.

import { StoreError } from "../../storage/actor-store.ts";
import type { RegisterEntry, RegisterStore } from "../../storage/register-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { Reach } from "./statements.ts";
import { readPlainly, type StoreClient } from "./store-model.ts";

/** As many as in the real adapter. */
const claimsMax = 3;

export function openSimRegisterStore(client: StoreClient): RegisterStore {
  const { model, life, region } = client;
  const register: PlainTable<RegisterEntry> = model.tables.of("register_entry");
  const read = <T>(execute: () => T): Promise<T> => readPlainly(client, execute);
  /** The party that the register of any region names. */
  const registeredTo = (keyId: string): Promise<string | undefined> =>
    read(() => {
      const known = model.regions.map((each) => register.read(each, `key/${keyId}`));
      return known.find((entry) => entry !== null)?.partition;
    });
  return {
    put: (entries) => {
      const cells = entries.map((value) => ({
        key: `${value.table}/${value.key}`,
        value,
        stamp: value.change,
      }));
      const isOwn = ({ key, value }: (typeof cells)[number]): boolean =>
        (register.read(region, key)?.partition ?? value.partition) === value.partition;
      return model.statements.run(life, "write", (reach) =>
        register.write(region, cells.filter(isOwn), reach),
      );
    },
    claimKey: async (keyId, partyUuid) => {
      const cell = model.keyOwner(keyId);
      const subject = { name: `key_owner/${keyId}` };
      const claimant = (await registeredTo(keyId)) ?? partyUuid;
      const mutation = { head: { epoch: 1, owner: claimant }, puts: [], deletes: [] };
      const claim = (reach: Reach) =>
        cell.cas({ holds: (found) => found.epoch === 0, mutation }, reach, model.coin);
      for (let claims = 1; ; claims += 1) {
        try {
          const { applied, found } = await model.statements.run(life, "cas", claim, subject);
          return applied ? claimant : found.owner;
        } catch (error) {
          if (!(error instanceof StoreError && error.effect === "unknown")) throw error;
          const settle = () => cell.serialRead(model.coin);
          const settled = await model.statements.run(life, "serial", settle, subject);
          if (settled.epoch > 0) return settled.owner;
          if (claims === claimsMax) throw error;
        }
      }
    },
    get: (table, key) => read(() => register.read(region, `${table}/${key}`)),
    list: (table, partition) =>
      read(() =>
        register
          .values(region)
          .filter((entry) => entry.table === table && entry.partition === partition)
          .sort((a, b) => (a.key < b.key ? -1 : 1)),
      ),
    follow: () => {
      const given = new Set<RegisterEntry>();
      let drainedAt = -1;
      return {
        next: (limit) =>
          read(() => {
            const arrivals = register.arrivals(region);
            if (drainedAt === arrivals) return { entries: [], more: false };
            const entries: RegisterEntry[] = [];
            let more = false;
            for (const entry of register.values(region)) {
              if (given.has(entry)) continue;
              if (entries.length < limit) entries.push(entry);
              else more = true;
            }
            for (const entry of entries) given.add(entry);
            if (!more) drainedAt = arrivals;
            return { entries, more };
          }),
      };
    },
  };
}
