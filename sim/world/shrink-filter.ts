// What of a seed's run is kept when it is shortened: by default everything. Each fault, each client step and each node has a
// name that does not depend on what else is kept, so that leaving one out does not rename the others.

export interface Kept {
  /** Faults as `store_lost#2`: the second of its kind. Null means all. */
  readonly faults: ReadonlySet<string> | null;
  /** Steps as `business-0.1#3`: the third step of the second key of the first business. Null means all. */
  readonly steps: ReadonlySet<string> | null;
  /** Nodes as `eu-west1_a`; a region without any is left out. Null means all. */
  readonly nodes: ReadonlySet<string> | null;
}

export const everything: Kept = { faults: null, steps: null, nodes: null };

/** The parts of a run that can be left out, in the order in which a command names them. */
export const keptParts = ["faults", "steps", "nodes"] as const;

/** Command-line options that keep the same, for example `--faults "node_crash#1" --nodes "eu-west1_a"`. */
export function formatKept(kept: Kept): string {
  return keptParts
    .flatMap((part) => {
      const names = kept[part];
      return names === null ? [] : [` --${part} "${[...names].join(" ")}"`];
    })
    .join("");
}

/** Parses names separated by spaces; an empty text keeps none, a missing option keeps everything. */
export function parseKept(given: Readonly<Record<(typeof keptParts)[number], string | undefined>>): Kept {
  const names = (text: string | undefined): ReadonlySet<string> | null =>
    text === undefined ? null : new Set(text.split(" ").filter((name) => name !== ""));
  return { faults: names(given.faults), steps: names(given.steps), nodes: names(given.nodes) };
}
