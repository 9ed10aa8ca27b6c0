// The brands that the served business files of a business declare.
//   C1. A brand is in the party's entry while a served file names it, and is then forgotten: it is a text of a record, and records may
//       be purged. What an operator confirmed is not of a record, and stays (register.ts).
//   C2. Of one business, `brandFilesMax` files are read, and so many names are kept of them that every node can have them in memory.
//       What is beyond protects and frees nothing.

import type { DeclaredBrands } from "../../protocol/records/business-files.ts";
import { foldedWords } from "../../protocol/records/fold-text.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { BrandFacts } from "../messages/business.ts";
import { defineJsonTable } from "../system/row-table.ts";
import type { BusinessView } from "./view.ts";

const brandFilesMax = 20;
const ownedMax = 100;
const soldMax = 500;

/** By record id. */
const brandsOfFiles = defineJsonTable<DeclaredBrands>("brands of business files", 92);

export const noBrands: BrandFacts = { owned: [], sold: [], confirmed: [] };

/** A brand is the same however its name is written. */
export function isSameBrand(a: string, b: string): boolean {
  return brandKey(a) === brandKey(b);
}

function brandKey(name: string): string {
  return foldedWords(name).join(" ");
}

/** Selects what {@link declareBrands} reads. */
export function selectBrands(): readonly RowSelection[] {
  return [brandsOfFiles.selectPage(brandFilesMax)];
}

export interface BrandChange {
  readonly declared: Omit<BrandFacts, "confirmed">;
  readonly puts: readonly PartitionRow[];
  readonly deletes: readonly RowKey[];
}

/** What all served files declare, once these do; null for one that is served no longer. */
export function declareBrands(
  files: ReadonlyMap<string, DeclaredBrands | null>,
  view: BusinessView,
): BrandChange {
  const served = new Map(brandsOfFiles.readAll(view).map(({ k2, value }) => [k2, value]));
  const puts: PartitionRow[] = [];
  const deletes: RowKey[] = [];
  for (const [recordId, declared] of files) {
    const isKnown = served.delete(recordId);
    if (
      declared !== null &&
      declared.owned.length + declared.sold.length > 0 &&
      served.size < brandFilesMax
    ) {
      served.set(recordId, declared);
      puts.push(brandsOfFiles.write(recordId, declared));
    } else if (isKnown) deletes.push(brandsOfFiles.key(recordId));
  }
  const all = [...served.values()];
  const owned = all.flatMap((each) => each.owned);
  const sold = all.flatMap((each) => each.sold);
  return { declared: { owned: once(owned, ownedMax), sold: once(sold, soldMax) }, puts, deletes };
}

function once(names: readonly string[], max: number): readonly string[] {
  const byKey = new Map<string, string>();
  for (const name of names) if (!byKey.has(brandKey(name))) byKey.set(brandKey(name), name);
  return [...byKey.values()].slice(0, max);
}
