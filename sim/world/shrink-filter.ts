// What of a seed's run is kept when it is made shorter: by default everything. Each strike of a fault, each step of a client
// and each node has a name that does not depend on what else is kept, so that leaving one out leaves the others as they were.

export interface Kept {
  /** Strikes as `store_lost#2`: the second of its kind. Null for all. */
  readonly faults: ReadonlySet<string> | null;
  /** Steps as `business-0.1#3`: the third of the second key of the first business. Null for all. */
  readonly steps: ReadonlySet<string> | null;
  /** Nodes as `eu-west1.a`; a region without any is left out. Null for all. */
  readonly nodes: ReadonlySet<string> | null;
}

export const everything: Kept = { faults: null, steps: null, nodes: null };

/** The parts of a run that can be left out, in the order in which a command names them. */
export const keptParts = ["faults", "steps", "nodes"] as const;

/** Options of a command that keep the same, for example `--faults "node_crash#1" --nodes "eu-west1.a"`. */
export function formatKept(kept: Kept): string {
  return keptParts
    .flatMap((part) => {
      const names = kept[part];
      return names === null ? [] : [` --${part} "${[...names].join(" ")}"`];
    })
    .join("");
}

/** Names separated by spaces; an empty text keeps none, none at all keeps everything. */
export function parseKept(given: Readonly<Record<(typeof keptParts)[number], string | undefined>>): Kept {
  const names = (text: string | undefined): ReadonlySet<string> | null =>
    text === undefined ? null : new Set(text.split(" ").filter((name) => name !== ""));
  return { faults: names(given.faults), steps: names(given.steps), nodes: names(given.nodes) };
}
