// What the served business files of a business say of itself: the domains of its endpoints (domains.ts) and its brands (brands.ts). Both are
// in the party's entry of the register, which is written once for each change.

import type { BusinessEvent } from "../../machines/business.ts";
import type { DeclaredBrands } from "../../protocol/records/business-files.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { LeafClaim } from "../messages/business.ts";
import { declareBrands, noBrands, selectBrands } from "./brands.ts";
import { nameDomains, registerParty, selectNamedDomains } from "./domains.ts";
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

/** A file that is served no longer. */
export const unserved: ServedFile = { domains: [], brands: null };

/** The records of these leaves that are business files. */
export function namingFiles(leaves: readonly LeafClaim[]): readonly string[] {
  return leaves.flatMap(({ record_id, domains }) => (domains === undefined ? [] : [record_id]));
}

/** Selects what {@link nameInFiles} reads for these records. */
export function selectNamed(recordIds: readonly string[], uuid: string): readonly RowSelection[] {
  return recordIds.length === 0 ? [] : [...selectNamedDomains(recordIds, uuid), ...selectBrands()];
}

/** The versions that are served from now on of these records name this. */
export function nameInFiles(files: ReadonlyMap<string, ServedFile>, view: BusinessView): FileChange {
  if (files.size === 0) return { events: [], puts: [], deletes: [] };
  const of = <T>(part: (file: ServedFile) => T): Map<string, T> =>
    new Map([...files].map(([id, file]) => [id, part(file)]));
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
  return {
    events: [...entry.events, ...domains.events],
    puts: [...domains.puts, ...brands.puts, ...entry.puts],
    deletes: [...domains.deletes, ...brands.deletes],
  };
}
