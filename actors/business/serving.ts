// What of a business is served, beside what it publishes itself: records that are kept out of serving, and their return.
//   SV1. A record is served if it is live and nothing keeps it out (`isKeptOut`). Serving knows this of every record by its newest
//        change, or will: each commit that decides otherwise raises the record's change and tells every region of it.
//   SV2. A version that is published while its record is kept out is stored, and never becomes findable for longer than it takes to
//        tell the regions of the next change; readers keep it out meanwhile by the register (service/register/register.ts).
//   SV3. What keeps a record out is no concern of its business's order: numbers, generations and holds go on as if it were served.

import type { BusinessEvent } from "../../machines/business.ts";
import type { DeclaredBrands } from "../../protocol/records/business-files.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { BusinessProtocol, LeafClaim } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { ServedState } from "../messages/serving.ts";
import type { Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import {
  brandsOfFile,
  declareBrands,
  domainsOfFile,
  nameDomains,
  noBrands,
  registerParty,
  selectBrands,
  selectDomains,
  selectNamedDomains,
  watchedFacts,
  writeParty,
} from "./domains.ts";
import { type BusinessView, factsIn, type HeadRow, heads, lastNumber, registerEntries } from "./rows.ts";

/** Maximum number of records of which regions are told at once. */
export const restatedMax = 200;

/** Whether something keeps the record out of serving. */
function isKeptOut(head: HeadRow, snapshot: BusinessView["snapshot"]): boolean {
  return head.taken_down === true || snapshot.matches({ serving: "taken_down" });
}

/** Tells serving of those of these heads, {@link restatedMax} at most, of which it knows otherwise (SV1). */
export function restate(
  known: Iterable<readonly [recordId: string, head: HeadRow]>,
  view: Pick<BusinessView, "epoch" | "snapshot">,
): { readonly puts: readonly PartitionRow[]; readonly events: readonly BusinessEvent[] } {
  const puts: PartitionRow[] = [];
  const records: ServedState[] = [];
  for (const [record_id, head] of known) {
    const isOut = isKeptOut(head, view.snapshot);
    if (!head.live || (head.unserved === true) === isOut) continue;
    const { unserved: _before, ...kept } = head;
    const change = lastNumber(view, head.change) + 1;
    const { collection, generation, hash } = head;
    puts.push(heads.write(record_id, { ...kept, change, ...(isOut ? { unserved: true } : {}) }));
    records.push({ record_id, collection, change, generation, hash, live: !isOut });
  }
  return { puts, events: records.length === 0 ? [] : [{ type: "serving.changed", records }] };
}

type RestateCommand = CommandOf<BusinessProtocol, "serving.restate">;

/** A page of heads after a record id. */
export function selectForRestate({ after, limit }: RestateCommand): readonly RowSelection[] {
  return [heads.selectPage(Math.min(limit, restatedMax), { k: 0, k2: after })];
}

/** Tells of the page's records as they are served now, and where the next page begins; null for the last. */
export function restatePage(
  { limit }: RestateCommand,
  view: BusinessView,
): Decision<{ readonly next: string | null }, BusinessEvent> {
  const page = heads.readAll(view);
  const known = page.map(({ k2, value }) => [k2, value] as const);
  const next = page.length < Math.min(limit, restatedMax) ? null : (page.at(-1)?.k2 ?? null);
  return { reply: { next }, ...restate(known, view) };
}

// What the served business files of a business say of itself: the domains of its endpoints and its brands (domains.ts). Both are
// in the party's entry of the register, which is written once for each change.
//   SF1. What operators took down declares nothing. What the file of a record names is set aside until it comes back; of a business that is
//        taken down as a whole, only the party's entry changes, so its rows say at any moment what comes back.
//   SF2. What was set aside is forgotten with its version: it is a text of a record, and records may be purged.

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

/** The rows of what the business declares of itself: its domains and brands. */
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
