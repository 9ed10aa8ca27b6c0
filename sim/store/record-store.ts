// Records on the model's plain tables. An operation of several statements may be interrupted between any two of them.

import { type CollectionName, recordIdPrefix } from "../../protocol/identifiers.ts";
import type {
  HeadPage,
  PublishedRow,
  PurgedVersion,
  RecordHead,
  RecordStore,
  RecordVersion,
  ServedRecord,
  StagedPage,
  StoredSeal,
  VersionDate,
  VersionId,
  VersionOrigin,
  VersionRow,
} from "../../storage/record-store.ts";
import type { Cell, PlainTable } from "./plain-tables.ts";
import type { StoreClient } from "./store-model.ts";

export interface StagedLeaf {
  readonly pushId: string;
  readonly leaf: number;
  readonly bytes: Uint8Array;
  readonly stagedAtMs: number;
}

interface StagedDocument {
  readonly pushId: string;
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
  return new SimRecordStore(client);
}

class SimRecordStore implements RecordStore {
  readonly #client: StoreClient;
  readonly #heads: PlainTable<RecordHead>;
  readonly #versions: PlainTable<RecordVersion>;
  readonly #seals: PlainTable<StoredSeal>;
  readonly #leaves: PlainTable<StagedLeaf>;
  readonly #documents: PlainTable<StagedDocument>;
  #writes = 0;

  constructor(client: StoreClient) {
    this.#client = client;
    const { tables } = client.model;
    this.#heads = tables.of("record_head");
    this.#versions = tables.of("record_version");
    this.#seals = tables.of("record_seal");
    this.#leaves = tables.of("staged_leaf");
    this.#documents = tables.of("staged_document");
  }

  stageLeaves(pushId: string, firstLeaf: number, leaves: readonly Uint8Array[]): Promise<void> {
    const { stamp, stagedAtMs } = this.#stage();
    return this.#write(
      this.#leaves,
      leaves.map((bytes, index) => {
        const leaf = firstLeaf + index;
        return { key: stagedLeafKey(pushId, leaf), value: { pushId, leaf, bytes, stagedAtMs }, stamp };
      }),
    );
  }

  loadLeaves(pushId: string, firstLeaf: number, count: number): Promise<readonly Uint8Array[]> {
    return this.#read((region) => {
      const leaves: Uint8Array[] = [];
      for (let leaf = firstLeaf; leaf < firstLeaf + count; leaf += 1) {
        const staged = this.#leaves.read(region, stagedLeafKey(pushId, leaf));
        if (staged !== null) leaves.push(staged.bytes);
        else if (leaves.length === 0 && leaf - firstLeaf > 8) break;
      }
      return leaves;
    });
  }

  dropStaged(pushId: string, untilMs: number = Number.POSITIVE_INFINITY): Promise<void> {
    const { model, life, region } = this.#client;
    return model.statements.run(life, "write", () => {
      const of = (value: { readonly pushId: string }): boolean => value.pushId === pushId;
      const leaves = this.#leaves.values(region).filter(of);
      const documents = this.#documents.values(region).filter(of);
      if ([...leaves, ...documents].some(({ stagedAtMs }) => stagedAtMs > untilMs)) return;
      const untilStamp = untilMs * stampsPerMs + stampsPerMs - 1;
      const names = ["plan", ...documents.map((each) => (each as NamedDocument).name)];
      this.#leaves.remove(
        leaves.map(({ leaf }) => stagedLeafKey(pushId, leaf)),
        untilStamp,
      );
      this.#documents.remove(
        names.map((name) => `${pushId}/${name}`),
        untilStamp,
      );
      if (leaves.length > 0) model.witness.droppedStaged?.(pushId);
    });
  }

  putStagedDocument(pushId: string, name: string, body: string): Promise<void> {
    const { stamp, stagedAtMs } = this.#stage();
    const value: NamedDocument = { pushId, name, body, stagedAtMs };
    return this.#write(this.#documents, [{ key: `${pushId}/${name}`, value, stamp }]);
  }

  readStagedDocument(pushId: string, name: string): Promise<string | null> {
    return this.#read((region) => this.#documents.read(region, `${pushId}/${name}`)?.body ?? null);
  }

  stagedPushes(cursor: string | null, limit: number): Promise<StagedPage> {
    return this.#read((region) => {
      const newest = new Map<string, number>();
      for (const { pushId, stagedAtMs } of [
        ...this.#leaves.values(region),
        ...this.#documents.values(region),
      ])
        if (pushId > (cursor ?? "")) newest.set(pushId, Math.max(newest.get(pushId) ?? 0, stagedAtMs));
      const pushes = [...newest]
        .map(([push_id, staged_at_ms]) => ({ push_id, staged_at_ms }))
        .sort((a, b) => (a.push_id < b.push_id ? -1 : 1))
        .slice(0, limit);
      return { pushes, cursor: pushes.length < limit ? null : (pushes.at(-1)?.push_id ?? null) };
    });
  }

  putSeal(seal: StoredSeal): Promise<void> {
    return this.#write(this.#seals, [{ key: seal.seal_id, value: seal, stamp: once }]);
  }

  readSeal(sealId: string): Promise<StoredSeal | null> {
    return this.#read((region) => this.#seals.read(region, sealId));
  }

  async putVersions(versions: readonly RecordVersion[], heads: readonly RecordHead[]): Promise<void> {
    const cells = versions.map((value) => ({
      key: `${value.record_id}/${value.generation}`,
      value,
      stamp: once,
    }));
    for (const version of versions) this.#client.model.witness.wroteVersion?.(version);
    if (cells.length > 0) await this.#write(this.#versions, cells);
    if (heads.length > 0) await this.putHeads(heads);
  }

  putHeads(heads: readonly RecordHead[]): Promise<void> {
    const cells = heads.map((value) => ({ key: value.record_id, value, stamp: value.change }));
    return this.#write(this.#heads, cells);
  }

  readHead(recordId: string): Promise<RecordHead | null> {
    return this.#read((region) => this.#heads.read(region, recordId));
  }

  listHeads(cursor: string | null, limit: number): Promise<HeadPage> {
    return this.#page(cursor, limit, () => true);
  }

  listCatalogue(
    businessUuid: string,
    cursor: string | null,
    limit: number,
    type: CollectionName | null = null,
  ): Promise<HeadPage> {
    if (cursor !== null && type !== null && !cursor.startsWith(cursorPrefix + recordIdPrefix(type)))
      return Promise.reject(new RangeError("a cursor of another type's catalogue"));
    return this.#page(
      cursor,
      limit,
      (head) => head.business_uuid === businessUuid && (type === null || head.type === type),
    );
  }

  readOrigins(ids: readonly VersionId[]): Promise<readonly VersionOrigin[]> {
    return this.#read((region) =>
      ids.flatMap(({ record_id, generation, hash }) => {
        const found = this.#versions.read(region, `${record_id}/${generation}`);
        if (found === null || found.hash !== hash) return [];
        const { bytes, sidecar, published_at_ms } = found;
        return [{ record_id, generation, hash, bytes, sidecar, published_at_ms }];
      }),
    );
  }

  readServed(recordId: string): Promise<ServedRecord | null> {
    return this.#read((region) => {
      const head = this.#heads.read(region, recordId);
      if (head?.live !== true) return null;
      const version = this.#versions.read(region, `${recordId}/${head.generation}`);
      if (version === null || version.hash !== head.hash) return null;
      const seal = this.#seals.read(region, version.seal_id);
      return seal === null ? null : { head, version, seal };
    });
  }

  readRows(ids: readonly VersionId[]): Promise<readonly VersionRow[]> {
    return this.#read((region) =>
      ids.flatMap(({ record_id, generation, hash }) => {
        const found = this.#versions.read(region, `${record_id}/${generation}`);
        return found === null || found.hash !== hash ? [] : [rowOf(found)];
      }),
    );
  }

  listVersions(
    recordId: string,
    belowGeneration: number | null,
    limit: number,
  ): Promise<readonly VersionDate[]> {
    const below = belowGeneration ?? Number.MAX_SAFE_INTEGER;
    return this.#read((region) =>
      this.#versions
        .values(region)
        .filter((each) => each.record_id === recordId && each.generation < below)
        .sort((a, b) => b.generation - a.generation)
        .slice(0, limit)
        .map(({ generation, hash, published_at_ms }) => ({ generation, hash, published_at_ms })),
    );
  }

  newestWith(recordId: string, hash: string, belowGeneration: number): Promise<VersionDate | null> {
    return this.#read((region) => {
      const [newest] = this.#versions
        .values(region)
        .filter(
          (each) => each.record_id === recordId && each.hash === hash && each.generation < belowGeneration,
        )
        .sort((a, b) => b.generation - a.generation);
      if (newest === undefined) return null;
      const { generation, published_at_ms } = newest;
      return { generation, hash, published_at_ms };
    });
  }

  readPublished({ record_id, generation, hash }: VersionId): Promise<PublishedRow | null> {
    return this.#read((region) => {
      const found = this.#versions.read(region, `${record_id}/${generation}`);
      if (found === null || found.hash !== hash) return null;
      const { sidecar, seal_id, leaf_index, proof } = found;
      return { ...rowOf(found), sidecar, seal_id, leaf_index, proof };
    });
  }

  async purgeVersions(versions: readonly PurgedVersion[]): Promise<void> {
    const found = await this.#read((region) =>
      versions.flatMap((purged) => {
        const version = this.#versions.read(region, `${purged.record_id}/${purged.generation}`);
        return version?.hash === purged.hash ? [{ version, purged }] : [];
      }),
    );
    const cells = found.map(({ version, purged }) => ({
      key: `${purged.record_id}/${purged.generation}`,
      value: { ...version, bytes: new Uint8Array(), row: "", sidecar: purged.remains },
      stamp: purgeStamp,
    }));
    for (const { purged } of found) this.#client.model.witness.purgedVersion?.(purged);
    if (cells.length > 0) await this.#write(this.#versions, cells);
  }

  async overwriteUnused(): Promise<void> {}

  async #page(
    cursor: string | null,
    limit: number,
    concerns: (head: RecordHead) => boolean,
  ): Promise<HeadPage> {
    if (cursor !== null && !cursor.startsWith(cursorPrefix))
      throw new RangeError("not a cursor of these records");
    const after = cursor === null ? "" : cursor.slice(cursorPrefix.length);
    return this.#read((region) => {
      const heads = this.#heads
        .values(region)
        .filter((head) => concerns(head) && head.record_id > after)
        .sort((a, b) => (a.record_id < b.record_id ? -1 : 1));
      const page = heads.slice(0, limit);
      const last = page.at(-1);
      return { heads: page, cursor: last && heads.length > limit ? cursorPrefix + last.record_id : null };
    });
  }

  /** The instant of what is being staged, and a stamp within it. */
  #stage(): { readonly stamp: number; readonly stagedAtMs: number } {
    this.#writes += 1;
    const stagedAtMs = this.#client.model.now();
    return { stagedAtMs, stamp: stagedAtMs * stampsPerMs + (this.#writes % stampsPerMs) };
  }

  #write<V>(table: PlainTable<V>, cells: readonly Cell<V>[]): Promise<void> {
    const { model, life, region } = this.#client;
    return model.statements.run(life, "write", (reach) => table.write(region, cells, reach));
  }

  #read<T>(execute: (region: string) => T): Promise<T> {
    const { model, life, region } = this.#client;
    return model.statements.run(life, "read", () => execute(region));
  }
}

interface NamedDocument extends StagedDocument {
  readonly name: string;
}

function rowOf({ record_id, generation, hash, row }: RecordVersion): VersionRow {
  return { record_id, generation, hash, row };
}
