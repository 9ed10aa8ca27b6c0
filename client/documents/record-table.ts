// Records of any type as a table: a column for each member, `geo.lat` for a part of one, and `a|b` for a list. A column of a list of
// objects has what each of them says: `Leeds|Toronto` in `locations.city`.

import type { CollectionName } from "../../protocol/identifiers.ts";
import { recordTypes } from "../../protocol/records/parse-record.ts";
import { FeedError, type FeedItem, leftOut } from "../feeds/feed-item.ts";
import type { TableRow } from "../feeds/table-rows.ts";
import { type Beside, leafPaths, RecordDraft, unknownMember } from "./record-draft.ts";

export interface TableSettings {
  readonly beside: Beside;
  /** The member of a column by its name; null leaves the column out. */
  readonly renamed: ReadonlyMap<string, string | null>;
}

/** The records of the rows below the header. Rejects with {@link FeedError} for a header that cannot be read. */
export async function* tableRecords(
  rows: AsyncIterable<TableRow>,
  collection: CollectionName,
  { beside, renamed }: TableSettings,
): AsyncGenerator<FeedItem> {
  let header: readonly Column[] | null = null;
  for await (const row of rows) {
    const { line } = row;
    if ("fault" in row) yield leftOut(line, row.fault);
    else if (header === null) header = columnsOf(row.fields, collection, { renamed, line });
    else {
      const draft = new RecordDraft(collection, beside);
      for (const [at, { name, path }] of header.entries())
        if (path !== null) draft.say(name, path, row.fields[at] ?? "");
      yield draft.finished(line);
    }
  }
}

interface Column {
  readonly name: string;
  readonly path: string | null;
}

function columnsOf(
  fields: readonly string[],
  collection: CollectionName,
  { renamed, line }: Pick<TableSettings, "renamed"> & { readonly line: number },
): readonly Column[] {
  const names = fields.map((field) => field.trim());
  const missing = [...renamed.keys()].find((name) => !names.includes(name));
  if (missing !== undefined)
    throw new FeedError(
      line,
      `--map names a column ${JSON.stringify(missing)}, which the file does not have.`,
    );
  const paths = leafPaths(recordTypes[collection].members);
  const seen = new Map<string, string>();
  return names.map((name) => {
    const path = renamed.has(name) ? (renamed.get(name) ?? null) : name === "" ? null : name;
    if (path === null) return { name, path };
    if (!paths.includes(path))
      throw new FeedError(line, `${unknownMember(collection, path)} --map ${name}= leaves the column out.`);
    const other = seen.get(path);
    if (other !== undefined)
      throw new FeedError(
        line,
        `The columns ${JSON.stringify(other)} and ${JSON.stringify(name)} both say ${path}: take one out, nobody can tell which is meant.`,
      );
    seen.set(path, name);
    return { name, path };
  });
}
