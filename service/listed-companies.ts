// Which AI companies chose to be in the key directory; complete for all of them.

export interface ListedCompanies {
  /** Replaces what a party chose, unless a higher change was already seen; undefined for one that never chose. */
  put(uuid: string, listed: boolean | undefined, change: number): void;
  /** Notes that something of a party changed: itself, a key or a certificate. */
  touch(uuid: string): void;
  /** In the order of their uuids. */
  all(): readonly string[];
  /** A number that rises when something of a company that is listed, or was, changes. */
  changes(): number;
}

export function createListedCompanies(): ListedCompanies {
  const chosen = new Map<string, { readonly listed: boolean; readonly change: number }>();
  let changes = 0;
  return {
    put: (uuid, listed, change) => {
      if (listed !== undefined && (chosen.get(uuid)?.change ?? -1) <= change)
        chosen.set(uuid, { listed, change });
    },
    touch: (uuid) => {
      if (chosen.has(uuid)) changes += 1;
    },
    changes: () => changes,
    all: () => [...chosen].flatMap(([uuid, { listed }]) => (listed ? [uuid] : [])).sort(),
  };
}
