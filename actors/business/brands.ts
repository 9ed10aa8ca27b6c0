// The brands that the served business files of a business declare.
//   C1. A brand is in the party's entry while a served file names it, and is then forgotten: it is a text of a record, and records may
//       be purged. What an operator confirmed is not of a record, and stays (register.ts).
//   C2. Of one business, `brandFilesMax` files are read, and so many names are kept of them that every node can have them in memory.
//       What is beyond protects and frees nothing.

import type { BusinessContext } from "../../machines/business.ts";
import type { DeclaredBrands } from "../../protocol/records/business-files.ts";
import { brandWords } from "../../protocol/records/company-name-rule.ts";
import { foldedWords } from "../../protocol/records/fold-text.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { BrandFacts, BrandsProtocol } from "../messages/brands.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { type Answer, done, refusal } from "./register-answer.ts";
import { factsIn, type RegisterRow } from "./rows.ts";
import type { BusinessView } from "./view.ts";

const brandFilesMax = 20;
const ownedMax = 100;
const soldMax = 500;
/** Maximum number of confirmed brands of one business; every node keeps them in memory. */
export const confirmedBrandsMax = 100;

/** By record id. */
const brandsOfFiles = defineJsonTable<DeclaredBrands>("brands of business files", 92);

export const noBrands: BrandFacts = { owned: [], sold: [], confirmed: [] };

/** A brand is the same however its name is written. */
function brandKey(name: string): string {
  return foldedWords(name).join(" ");
}

/** Selects what {@link declareBrands} reads. */
export function selectBrands(): readonly RowSelection[] {
  return [brandsOfFiles.selectPage(brandFilesMax)];
}

/** What the file of this record declares now. */
export function brandsOfFile(recordId: string, view: BusinessView): DeclaredBrands | null {
  return brandsOfFiles.readAll(view).find(({ k2 }) => k2 === recordId)?.value ?? null;
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

/** A name is one brand however it is written. What served files name stays as it is. */
export function confirmBrand(
  { name, confirmed }: CommandOf<BrandsProtocol, "brand.confirm">,
  { uuid, party }: BusinessContext,
  known: RegisterRow | undefined,
): Answer {
  if (party?.kind !== "business" || known === undefined)
    return refusal("role_not_allowed", "Only a business has brands.");
  const facts = factsIn("party", known);
  const brands = facts.brands ?? noBrands;
  const others = brands.confirmed.filter((each) => brandKey(each) !== brandKey(name));
  const isConfirmed = others.length < brands.confirmed.length;
  if (confirmed && brandWords(name).length === 0)
    return refusal(
      "brand_not_protectable",
      "The name is an everyday word or a term of a vocabulary, or has fewer than three letters; nobody is kept from using it.",
    );
  if (confirmed && others.length >= confirmedBrandsMax)
    return refusal("too_many_brands", `A business may have at most ${confirmedBrandsMax} confirmed brands.`);
  if (isConfirmed === confirmed) return done;
  return {
    key: `party/${uuid}`,
    body: { ...facts, brands: { ...brands, confirmed: confirmed ? [...others, name] : others } },
  };
}
