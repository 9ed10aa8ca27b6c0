// Mutants of what a business reads of its own data, each with one guard removed.

import { bound, deciding, type Mutant, mutant } from "./mutant.ts";

/** Keyed rows of a business, by its own numbering. */
const business = { heads: 16, pushes: 60, refusals: 61 } as const;

export const ownReadsMutants: readonly Mutant[] = [
  mutant(
    "takenDownStaysServed",
    "no region is told of what operators take down",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      if (decision.events === undefined) return decision;
      return { ...decision, events: decision.events.filter(({ type }) => type !== "serving.changed") };
    }),
  ),
  mutant(
    "pushIsNotListed",
    "a push is numbered and not listed",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      if (command.type !== "push.admit") return decision;
      return { ...decision, puts: decision.puts?.filter(({ rt }) => rt !== business.pushes) ?? [] };
    }),
  ),
  mutant(
    "refusalIsForgotten",
    "a refused batch is not kept",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      return command.type === "refusal.keep" ? { ...decision, puts: [] } : decision;
    }),
  ),
  mutant(
    "ownIdsAreMixedUp",
    "the own ids of records are answered in another order",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      if (command.type !== "own_ids.read") return decision;
      const { own_ids } = decision.reply as { readonly own_ids: readonly (string | null)[] };
      return { ...decision, reply: { own_ids: own_ids.toReversed() } };
    }),
  ),
  mutant(
    "purgedKeepsItsName",
    "the own id of a record stays when the record is purged",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      if (command.type !== "purges.forget") return decision;
      return { ...decision, puts: decision.puts?.filter(({ rt }) => rt !== business.heads) ?? [] };
    }),
    { seedsMax: 1_500 },
  ),
  mutant(
    "purgedKeepsItsReasons",
    "a push says the prices of a record that was purged as reasons of its hold",
    deciding("push", (truly, command, view) =>
      command.type === "push.forget" ? { reply: { status: "done" } } : truly(command, view),
    ),
    { seedsMax: 1_500 },
  ),
  mutant("catalogueKeepsRemoved", "a removed record stays in the catalogue", (changed) => ({
    records: (records) => ({
      ...bound(records),
      listCatalogue: async (uuid, cursor, limit, type) => {
        const page = await records.listCatalogue(uuid, cursor, limit, type);
        if (page.heads.some(({ live }) => !live)) changed();
        return { ...page, heads: page.heads.map((head) => ({ ...head, live: true })) };
      },
    }),
  })),
  mutant("cataloguePagesOverlap", "a page of the catalogue ends before its last record", (changed) => ({
    records: (records) => ({
      ...bound(records),
      listCatalogue: async (uuid, cursor, limit, type) => {
        const page = await records.listCatalogue(uuid, cursor, limit, type);
        const before = page.heads.at(-2);
        if (page.cursor === null || before === undefined) return page;
        changed();
        return { ...page, cursor: page.cursor.replace(page.heads.at(-1)?.record_id ?? "", before.record_id) };
      },
    }),
  })),
];
