/** A controlled vocabulary: the only values that the fields naming it may have. */
export interface CodeList {
  readonly name: string;
  /** Counts the published versions from 1. A code that was published stays in every later version. */
  readonly version: number;
  /** The standard that the codes come from; `svc` for the service's own. */
  readonly standard: string;
  readonly entries: readonly CodeEntry[];
  readonly codes: ReadonlySet<string>;
}

export interface CodeEntry {
  readonly code: string;
  /** English name for a person. */
  readonly name: string;
}

/** Reads a list written as `code name; code name`; an entry without a name is named by its code. */
export function codeList(source: {
  readonly name: string;
  readonly version: number;
  readonly standard: string;
  readonly entries: string;
}): CodeList {
  const entries = parseEntries(source.entries);
  return { ...source, entries, codes: new Set(entries.map((entry) => entry.code)) };
}

/** Entries of a text `code name; code name`, white space collapsed. */
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
