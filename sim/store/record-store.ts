// Records on the model's plain tables. An operation of several statements may be interrupted between any two of them.

import { recordIdPrefix } from "../../protocol/identifiers.ts";
import type {
  HeadPage,
  RecordHead,
  RecordStore,
  RecordVersion,
  StagedPushes,
  StoredSeal,
  VersionDate,
  VersionId,
  VersionRow,
} from "../../storage/record-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import { readPlainly, type StoreClient, writePlainly } from "./store-model.ts";

export interface StagedLeaf {
  readonly pushId: string;
  readonly leaf: number;
  readonly bytes: Uint8Array;
  readonly stagedAtMs: number;
}

interface StagedDocument {
  readonly pushId: string;
  readonly name: string;
  readonly body: string;
  readonly stagedAtMs: number;
}

/** Stamp of immutable cells: the first to arrive stays. */
const once = 1;
/** Above {@link once}: a purge wins over the version itself. */
const purgeStamp = 2;
/** Number of stamps per millisecond for staged cells. */
const stampsPerMs = 1_000;
const cursorPrefix = "after:";

export function stagedLeafKey(pushId: string, leaf: number): string {
  return `${pushId}/${leaf}`;
}

export function openSimRecordStore(client: StoreClient): RecordStore {
  const { model } = client;
  const heads: PlainTable<RecordHead> = model.tables.of("record_head");
  const versions: PlainTable<RecordVersion> = model.tables.of("record_version");
  const seals: PlainTable<StoredSeal> = model.tables.of("record_seal");
  const read = <T>(execute: (region: string) => T): Promise<T> => readPlainly(client, execute);
  const putHeads: RecordStore["putHeads"] = (put) => {
    const cells = put.map((value) => ({ key: value.record_id, value, stamp: value.change }));
    return writePlainly(client, heads, cells);
  };
  /** The version of exactly this id, as a region has it. */
  const versionOf = (region: string, { record_id, generation, hash }: VersionId): RecordVersion | null => {
    const found = versions.read(region, `${record_id}/${generation}`);
    return found?.hash === hash ? found : null;
  };
  /** The versions of a record below a generation, newest first. */
  const versionsBelow = (region: string, recordId: string, generation: number): readonly RecordVersion[] =>
    versions
      .values(region)
      .filter((each) => each.record_id === recordId && each.generation < generation)
      .sort((a, b) => b.generation - a.generation);
  const pageOf = async (
    cursor: string | null,
    limit: number,
    concerns: (head: RecordHead) => boolean,
  ): Promise<HeadPage> => {
    if (cursor !== null && !cursor.startsWith(cursorPrefix))
      throw new RangeError("not a cursor of these records");
    const after = cursor === null ? "" : cursor.slice(cursorPrefix.length);
    return read((region) => {
      const found = heads
        .values(region)
        .filter((head) => concerns(head) && head.record_id > after)
        .sort((a, b) => (a.record_id < b.record_id ? -1 : 1));
      const page = found.slice(0, limit);
      const last = page.at(-1);
      return { heads: page, cursor: last && found.length > limit ? cursorPrefix + last.record_id : null };
    });
  };
  return {
    ...stagedIn(client),
    putSeal: (seal) => writePlainly(client, seals, [{ key: seal.seal_id, value: seal, stamp: once }]),
    readSeal: (sealId) => read((region) => seals.read(region, sealId)),
    putVersions: async (put, itsHeads) => {
      const keyed = (value: RecordVersion) => `${value.record_id}/${value.generation}`;
      const cells = put.map((value) => ({ key: keyed(value), value, stamp: once }));
      for (const version of put) model.witness.wroteVersion?.(version);
      if (cells.length > 0) await writePlainly(client, versions, cells);
      if (itsHeads.length > 0) await putHeads(itsHeads);
    },
    putHeads,
    readHead: (recordId) => read((region) => heads.read(region, recordId)),
    listHeads: (cursor, limit) => pageOf(cursor, limit, () => true),
    listCatalogue: async (businessUuid, cursor, limit, type = null) => {
      if (cursor !== null && type !== null && !cursor.startsWith(cursorPrefix + recordIdPrefix(type)))
        throw new RangeError("a cursor of another type's catalogue");
      const isIts = (head: RecordHead): boolean =>
        head.business_uuid === businessUuid && (type === null || head.type === type);
      return pageOf(cursor, limit, isIts);
    },
    readOrigins: (ids) =>
      read((region) =>
        ids.flatMap((id) => {
          const found = versionOf(region, id);
          if (found === null) return [];
          const { record_id, generation, hash, bytes, sidecar, published_at_ms } = found;
          return [{ record_id, generation, hash, bytes, sidecar, published_at_ms }];
        }),
      ),
    readServed: (recordId) =>
      read((region) => {
        const head = heads.read(region, recordId);
        const version = head?.live === true ? versionOf(region, head) : null;
        const seal = version && seals.read(region, version.seal_id);
        return head && version && seal && { head, version, seal };
      }),
    readRows: (ids) =>
      read((region) =>
        ids.flatMap((id) => {
          const found = versionOf(region, id);
          return found === null ? [] : [rowOf(found)];
        }),
      ),
    listVersions: (recordId, belowGeneration, limit) =>
      read((region) =>
        versionsBelow(region, recordId, belowGeneration ?? Number.MAX_SAFE_INTEGER)
          .slice(0, limit)
          .map(dateOf),
      ),
    newestWith: (recordId, hash, belowGeneration) =>
      read((region) => {
        const newest = versionsBelow(region, recordId, belowGeneration).find((each) => each.hash === hash);
        return newest === undefined ? null : dateOf(newest);
      }),
    readPublished: (id) =>
      read((region) => {
        const found = versionOf(region, id);
        if (found === null) return null;
        const { sidecar, seal_id, leaf_index, proof } = found;
        return { ...rowOf(found), sidecar, seal_id, leaf_index, proof };
      }),
    purgeVersions: async (purges) => {
      const found = await read((region) =>
        purges.flatMap((purged) => {
          const version = versionOf(region, purged);
          return version === null ? [] : [{ version, purged }];
        }),
      );
      const cells = found.map(({ version, purged }) => ({
        key: `${purged.record_id}/${purged.generation}`,
        value: { ...version, bytes: new Uint8Array(), row: "", sidecar: purged.remains },
        stamp: purgeStamp,
      }));
      for (const { purged } of found) model.witness.purgedVersion?.(purged);
      if (cells.length > 0) await writePlainly(client, versions, cells);
    },
    overwriteUnused: async () => {},
  };
}

/** What is staged for pushes. */
function stagedIn(client: StoreClient): StagedPushes {
  const { model } = client;
  const leaves: PlainTable<StagedLeaf> = model.tables.of("staged_leaf");
  const documents: PlainTable<StagedDocument> = model.tables.of("staged_document");
  const read = <T>(execute: (region: string) => T): Promise<T> => readPlainly(client, execute);
  let writes = 0;
  /** The instant of what is being staged, and a stamp within it. */
  const stage = () => {
    writes += 1;
    const stagedAtMs = model.now();
    return { stagedAtMs, stamp: stagedAtMs * stampsPerMs + (writes % stampsPerMs) };
  };
  return {
    stageLeaves: (pushId, firstLeaf, staged) => {
      const { stamp, stagedAtMs } = stage();
      const cells = staged.map((bytes, index) => {
        const leaf = firstLeaf + index;
        return { key: stagedLeafKey(pushId, leaf), value: { pushId, leaf, bytes, stagedAtMs }, stamp };
      });
      return writePlainly(client, leaves, cells);
    },
    loadLeaves: (pushId, firstLeaf, count) =>
      read((region) => {
        const found: Uint8Array[] = [];
        for (let leaf = firstLeaf; leaf < firstLeaf + count; leaf += 1) {
          const staged = leaves.read(region, stagedLeafKey(pushId, leaf));
          if (staged !== null) found.push(staged.bytes);
          else if (found.length === 0 && leaf - firstLeaf > 8) break;
        }
        return found;
      }),
    dropStaged: (pushId, untilMs = Number.POSITIVE_INFINITY) =>
      model.statements.run(client.life, "write", () => {
        const of = (value: { readonly pushId: string }): boolean => value.pushId === pushId;
        const itsLeaves = leaves.values(client.region).filter(of);
        const itsDocuments = documents.values(client.region).filter(of);
        if ([...itsLeaves, ...itsDocuments].some(({ stagedAtMs }) => stagedAtMs > untilMs)) return;
        const untilStamp = untilMs * stampsPerMs + stampsPerMs - 1;
        const leafKeys = itsLeaves.map(({ leaf }) => stagedLeafKey(pushId, leaf));
        const documentKeys = itsDocuments.map(({ name }) => `${pushId}/${name}`);
        leaves.remove(leafKeys, untilStamp);
        documents.remove([`${pushId}/plan`, ...documentKeys], untilStamp);
        if (itsLeaves.length > 0) model.witness.droppedStaged?.(pushId);
      }),
    putStagedDocument: (pushId, name, body) => {
      const { stamp, stagedAtMs } = stage();
      const value = { pushId, name, body, stagedAtMs };
      return writePlainly(client, documents, [{ key: `${pushId}/${name}`, value, stamp }]);
    },
    readStagedDocument: (pushId, name) =>
      read((region) => documents.read(region, `${pushId}/${name}`)?.body ?? null),
    stagedPushes: (cursor, limit) =>
      read((region) => {
        const newest = new Map<string, number>();
        for (const { pushId, stagedAtMs } of [...leaves.values(region), ...documents.values(region)])
          if (pushId > (cursor ?? "")) newest.set(pushId, Math.max(newest.get(pushId) ?? 0, stagedAtMs));
        const pushes = [...newest]
          .map(([push_id, staged_at_ms]) => ({ push_id, staged_at_ms }))
          .sort((a, b) => (a.push_id < b.push_id ? -1 : 1))
          .slice(0, limit);
        return { pushes, cursor: pushes.length < limit ? null : (pushes.at(-1)?.push_id ?? null) };
      }),
  };
}

function rowOf({ record_id, generation, hash, row }: RecordVersion): VersionRow {
  return { record_id, generation, hash, row };
}

function dateOf({ generation, hash, published_at_ms }: RecordVersion): VersionDate {
  return { generation, hash, published_at_ms };
}
