// Start-up: the serving generation of a collection has this node's layout as far as it can be migrated to it. Any number
// of nodes do this at once; what one node has done the others find done. Where nothing serves there is nothing to prepare:
// the index has to be built first (rebuild.ts).
//   L1. New fields are added to the mapping, so that rows from now on have them.
//   L2. Earlier rows do not have them. Until the index is rebuilt (rebuild.ts), a field that its rows may lack is
//       `lacking`, and a search that uses it is refused rather than answered with fewer rows (X5).

import { indexUnavailable } from "../row-index.ts";
import { type Engine, EngineRefusal } from "./engine.ts";
import { awaitSearchable, readGenerations, readNote, writeNote } from "./generations.ts";
import type { IndexLayout } from "./layout.ts";
import type { IndexNames } from "./names.ts";

export interface PreparedIndex {
  readonly engine: Engine;
  readonly names: IndexNames;
  readonly layout: IndexLayout;
}

/** Other nodes may be switching generations meanwhile. */
const attemptsMax = 5;

/**
 * Brings the mapping of an older index up to date. Returns the names in `layout.making` that its rows may lack (L2): none if the
 * index is missing, because no row of it is found at all.
 */
export async function prepareIndex(index: PreparedIndex): Promise<ReadonlySet<string>> {
  const { engine, names } = index;
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const { serving } = await readGenerations(engine, names);
    if (serving === null) return new Set();
    await awaitSearchable(engine, serving);
    const lacking = await extend(index, serving);
    if (lacking !== null) return lacking;
  }
  throw indexUnavailable("incomplete", `The index ${names.serving} is being changed by others.`);
}

/** The fields that the rows of a generation may lack; null if the index no longer exists. */
async function extend(
  { engine, layout }: PreparedIndex,
  generation: string,
): Promise<ReadonlySet<string> | null> {
  const note = await readNote(engine, generation);
  if (note === null) return null;
  const lacking = lackingOf(layout, note.making);
  if (note.digest === layout.digest) return lacking;
  try {
    const properties = Object.fromEntries(
      Object.entries(layout.properties).filter(([name]) => !isRemade(layout, note.making, name)),
    );
    await writeNote(engine, generation, { note: { ...note, digest: layout.digest }, properties });
    return lacking;
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error;
    if (error.status === 404) return null;
    // A field that every row has would have to change its kind: this node cannot search any of the index.
    return new Set(Object.keys(layout.making));
  }
}

/** Rereads the fields that the rows of the serving generation may lack: the index may have been rebuilt. */
export async function readLacking({ engine, names, layout }: PreparedIndex): Promise<ReadonlySet<string>> {
  const { serving } = await readGenerations(engine, names);
  const note = serving === null ? null : await readNote(engine, serving);
  return note === null ? new Set(Object.keys(layout.making)) : lackingOf(layout, note.making);
}

function lackingOf(layout: IndexLayout, making: Readonly<Record<string, string>>): ReadonlySet<string> {
  return new Set(Object.keys(layout.making).filter((name) => layout.making[name] !== making[name]));
}

/** Whether an existing field was made differently: its mapping may differ, which cannot be changed. */
function isRemade(layout: IndexLayout, making: Readonly<Record<string, string>>, property: string): boolean {
  const name = Object.keys(layout.making).find((each) =>
    each.endsWith("*")
      ? property.startsWith(each.slice(0, -1)) && property.length === each.length + 1
      : each === property,
  );
  return name !== undefined && making[name] !== undefined && making[name] !== layout.making[name];
}
