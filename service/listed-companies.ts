// Which AI companies chose to be in the key directory; complete for all of them.

export interface ListedCompanies {
  /** Replaces what a party chose, unless a higher change was already seen; undefined for one that never chose. */
  put(uuid: string, listed: boolean | undefined, change: number): void;
  /** In the order of their uuids. */
  all(): readonly string[];
}

export function createListedCompanies(): ListedCompanies {
  const chosen = new Map<string, { readonly listed: boolean; readonly change: number }>();
  return {
    put: (uuid, listed, change) => {
      if (listed !== undefined && (chosen.get(uuid)?.change ?? -1) <= change)
        chosen.set(uuid, { listed, change });
    },
    all: () => [...chosen].flatMap(([uuid, { listed }]) => (listed ? [uuid] : [])).sort(),
  };
}
