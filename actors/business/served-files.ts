// What the served business files of a business say of itself: the domains of its endpoints (domains.ts) and its brands (brands.ts). Both are
// in the party's entry of the register, which is written once for each change.
//   SF1. What operators took down declares nothing. What the file of a record names is set aside until it comes back; of a business that is
//        taken down as a whole, only the party's entry changes, so its rows say at any moment what comes back.
//   SF2. What was set aside is forgotten with its version: it is a text of a record, and records may be purged.

import type { BusinessEvent } from "../../machines/business.ts";
import type { DeclaredBrands } from "../../protocol/records/business-files.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { LeafClaim } from "../messages/business.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { brandsOfFile, declareBrands, noBrands, selectBrands } from "./brands.ts";
import {
  domainsOfFile,
  nameDomains,
  registerParty,
  selectDomains,
  selectNamedDomains,
  watchedFacts,
  writeParty,
} from "./domains.ts";
import { factsIn, registerEntries } from "./rows.ts";
import type { BusinessView } from "./view.ts";

/** What one file names. */
export interface ServedFile {
  readonly domains: readonly string[];
  readonly brands: DeclaredBrands | null;
}

/** What a decision about files adds to its own. */
export interface FileChange {
  readonly events: readonly BusinessEvent[];
  readonly puts: readonly PartitionRow[];
  readonly deletes: readonly RowKey[];
}

/** What live business files name that were taken down, by record id (SF1). */
const setAside = defineJsonTable<ServedFile>("what business files name that were taken down", 93);

/** A file that is served no longer. */
export const unserved: ServedFile = { domains: [], brands: null };

/** The records of these leaves that are business files. */
export function namingFiles(leaves: readonly LeafClaim[]): readonly string[] {
  return leaves.flatMap(({ record_id, domains }) => (domains === undefined ? [] : [record_id]));
}

/** Selects what {@link nameInFiles} reads for these records. */
export function selectNamed(recordIds: readonly string[], uuid: string): readonly RowSelection[] {
  return recordIds.length === 0
    ? []
    : [...selectNamedDomains(recordIds, uuid), ...selectBrands(), setAside.select(recordIds)];
}

/** The versions of these records that are live from now on name this; those of `takenDown` do so once they come back. */
export function nameInFiles(
  files: ReadonlyMap<string, ServedFile>,
  view: BusinessView,
  takenDown: ReadonlySet<string> = new Set(),
): FileChange {
  if (files.size === 0) return { events: [], puts: [], deletes: [] };
  const of = <T>(part: (file: ServedFile) => T): Map<string, T> =>
    new Map([...files].map(([id, file]) => [id, part(takenDown.has(id) ? unserved : file)]));
  const domains = nameDomains(
    of((file) => file.domains),
    view,
  );
  const brands = declareBrands(
    of((file) => file.brands),
    view,
  );
  const known = registerEntries.read(view, `party/${view.id}`);
  const before = (known && factsIn("party", known).brands) ?? noBrands;
  const after = { ...before, ...brands.declared };
  const entry = registerParty(
    {
      ...(domains.facts === undefined ? {} : { domains: domains.facts }),
      ...(JSON.stringify(after) === JSON.stringify(before) ? {} : { brands: after }),
    },
    view,
  );
  const ids = [...files.keys()];
  const aside = [...files].filter(([id]) => takenDown.has(id));
  return {
    events: [...entry.events, ...domains.events],
    puts: [
      ...domains.puts,
      ...brands.puts,
      ...entry.puts,
      ...aside.map(([id, file]) => setAside.write(id, file)),
    ],
    deletes: [
      ...domains.deletes,
      ...brands.deletes,
      ...ids.filter((id) => !takenDown.has(id) && setAside.read(view, id)).map((id) => setAside.key(id)),
    ],
  };
}

/** The live file of a record is taken down, or comes back (SF1). */
export function setFileAside(recordId: string, isDown: boolean, view: BusinessView): FileChange {
  const named = setAside.read(view, recordId) ?? {
    domains: domainsOfFile(recordId, view),
    brands: brandsOfFile(recordId, view),
  };
  return nameInFiles(new Map([[recordId, named]]), view, new Set(isDown ? [recordId] : []));
}

/** Selects what {@link silenceParty} reads. */
export function selectDeclared(uuid: string): readonly RowSelection[] {
  return [...selectDomains(uuid), ...selectBrands()];
}

/** The whole business is taken down, or comes back (SF1). */
export function silenceParty(isDown: boolean, view: BusinessView): Pick<FileChange, "events" | "puts"> {
  const known = registerEntries.read(view, `party/${view.id}`);
  if (known === undefined) return { events: [], puts: [] };
  const { domains, brands } = factsIn("party", known);
  const declared = isDown ? { owned: [], sold: [] } : declareBrands(new Map(), view).declared;
  const watched = isDown ? [] : watchedFacts(view);
  return writeParty(
    {
      ...(domains === undefined && watched.length === 0 ? {} : { domains: watched }),
      ...(brands === undefined && declared.owned.length + declared.sold.length === 0
        ? {}
        : { brands: { ...(brands ?? noBrands), ...declared } }),
    },
    view,
  );
}
