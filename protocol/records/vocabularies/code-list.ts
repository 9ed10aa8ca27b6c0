/** A controlled vocabulary: the only values allowed in the fields that name it. */
export interface CodeList {
  readonly name: string;
  /** Counts the published versions from 1. A published code stays in every later version. */
  readonly version: number;
  /** The standard from which the codes come; `svc` for the service's own. */
  readonly standard: string;
  readonly entries: readonly CodeEntry[];
  readonly codes: ReadonlySet<string>;
}

export interface CodeEntry {
  readonly code: string;
  /** English name for display. */
  readonly name: string;
}

/** Reads a list written as `code name; code name`; an entry without a name uses its code as the name. */
export function codeList(source: {
  readonly name: string;
  readonly version: number;
  readonly standard: string;
  readonly entries: string;
}): CodeList {
  const entries = parseEntries(source.entries);
  return { ...source, entries, codes: new Set(entries.map((entry) => entry.code)) };
}

/** The entries of a text `code name; code name`, with white space collapsed. */
export function parseEntries(text: string): readonly CodeEntry[] {
  return text
    .split(";")
    .map((part) => part.trim().replaceAll(/\s+/g, " "))
    .filter((part) => part !== "")
    .map((part) => {
      const space = part.indexOf(" ");
      return space < 0
        ? { code: part, name: part }
        : { code: part.slice(0, space), name: part.slice(space + 1) };
    });
}
