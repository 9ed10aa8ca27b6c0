// Mutants of what is counted of answers, and of the events that follow from receipts, each with one guard removed.

import { bound, type Mutant, mutant } from "./mutant.ts";

export const insightMutants: readonly Mutant[] = [
  mutant("flushedTwice", "a count that is written again is counted again", (changed) => {
    let writes = 0;
    return {
      insight: (store) => ({
        ...bound(store),
        put: async (kind, counts) => {
          changed();
          writes += 1;
          await store.put(
            kind,
            counts.map((count) => ({ ...count, writer: `${count.writer}.${writes}` })),
          );
        },
      }),
    };
  }),
  mutant("firstCountStands", "a count is not replaced by a higher one", (changed) => ({
    insight: (store) => {
      const first = new Map<string, Parameters<typeof store.put>[1][number]>();
      return {
        ...bound(store),
        put: (kind, counts) =>
          store.put(
            kind,
            counts.map((count) => {
              const name = JSON.stringify([kind, count.writer, count.name, count.country, count.company]);
              const known = first.get(name);
              if (known !== undefined) changed();
              first.set(name, known ?? count);
              return known ?? count;
            }),
          ),
      };
    },
  })),
  mutant("eventIsLeftOut", "the last event of a batch is not stored", (changed) => ({
    events: (store) => ({
      ...bound(store),
      put: (region, events) => {
        if (events.length > 1) changed();
        return store.put(region, events.length > 1 ? events.slice(0, -1) : events);
      },
    }),
  })),
];
