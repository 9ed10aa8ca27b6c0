// The images of ads in Cassandra: the port's obligations I1–I6.
//   G1. The bytes are in rows of one partition for each image; what the image is, in a row elsewhere that is written last
//       and removed first. An image whose row is here and whose bytes are not is still on its way, or leaving. What a
//       process that died had written of the bytes is not counted; the next `put` or `forget` of the image sees to it.
//   G2. How many bytes all images have is read from those rows, at most once a minute by each node, which counts its own
//       images in between: no counter can drift from what is there.
//   G3. What is forgotten and put again is ordered by the clocks, which differ by at most two seconds, or the cluster
//       refuses a node.
//   G4. When an image was needed last is the write time of its row. Renewing it writes the whole image again, at most once a week;
//       what is forgotten as unneeded is deleted as of that time, so an image that is renewed meanwhile stays whole.

import { concatBytes } from "../../protocol/bytes.ts";
import type { ImageMediaType } from "../../protocol/image-type.ts";
import { imageBytesMax } from "../../protocol/limits.ts";
import { Semaphore } from "../../std/semaphore.ts";
import {
  assertImage,
  type ImageStore,
  type ImageStoreOptions,
  type ImageToStore,
  type StoredImage,
  StoreError,
  writtenAgainAfterMs,
} from "../image-store.ts";
import { bucketOf, bytesOf, createWriteTimestamps, msOfStamp, numberOf, textOf } from "./columns.ts";
import { type CassandraSession, type CqlRow, executeAll, type StatementOptions } from "./session.ts";

const options = "gc_grace_seconds = 10800 AND compaction = {'class': 'UnifiedCompactionStrategy'}";

export const imageTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS ad_image (
     bucket int, sha256 text, media_type text, width int, height int, size bigint,
     PRIMARY KEY ((bucket), sha256)) WITH ${options}`,
  `CREATE TABLE IF NOT EXISTS ad_image_bytes (
     sha256 text, part int, bytes blob, PRIMARY KEY ((sha256), part)) WITH ${options}`,
];

const cql = {
  put: "INSERT INTO ad_image (bucket, sha256, media_type, width, height, size) VALUES (?, ?, ?, ?, ?, ?) USING TIMESTAMP ?",
  image:
    "SELECT media_type, width, height, size, WRITETIME(size) AS needed FROM ad_image WHERE bucket = ? AND sha256 = ?",
  needed: "SELECT sha256, WRITETIME(size) AS needed FROM ad_image WHERE bucket = ?",
  forget: "DELETE FROM ad_image USING TIMESTAMP ? WHERE bucket = ? AND sha256 = ?",
  sum: "SELECT sum(size) AS taken FROM ad_image WHERE bucket = ?",
  add: "INSERT INTO ad_image_bytes (sha256, part, bytes) VALUES (?, ?, ?) USING TIMESTAMP ?",
  parts: "SELECT bytes FROM ad_image_bytes WHERE sha256 = ?",
  drop: "DELETE FROM ad_image_bytes USING TIMESTAMP ? WHERE sha256 = ?",
} as const;

/** Partitions that the rows of all images are spread over; stored data depends on it. */
const buckets = 16;
/** Bytes of one row: far below the engine's limits. */
const bytesPerRow = 256 * 1024;
const lanesMax = 8;
const countedMs = 60_000;

const plain = { idempotent: true } as const;

export interface CassandraImageStoreOptions extends ImageStoreOptions {
  /** Acknowledges a write only once other regions have it. */
  readonly replicateBeforeAck?: boolean;
}

export function openCassandraImageStore(
  session: CassandraSession,
  { bytesMax, replicateBeforeAck = false, now = Date.now }: CassandraImageStoreOptions,
): ImageStore {
  const write: StatementOptions = replicateBeforeAck ? { ...plain, consistency: "EACH_QUORUM" } : plain;
  const lanes = new Semaphore(lanesMax);
  const room = new CountedRoom(session, bytesMax, now);
  const stamps = createWriteTimestamps(now);
  /** The bytes first, then the row, under one stamp: what is forgotten as of it is the whole image (G4). */
  const writeImage = async (image: ImageToStore): Promise<void> => {
    const { sha256, bytes } = image;
    const stamp = stamps.rising();
    await lanes.all(
      partsOf(image).map((params) => () => session.execute(cql.add, [...params, stamp], write)),
    );
    const known = await readImageRow(session, sha256);
    // The first row stays what it was (I2).
    const { mediaType, width, height } = known === null ? image : imageIn(known);
    const params = [bucketOf(sha256, buckets), sha256, mediaType, width, height, bytes.length, stamp];
    await session.execute(cql.put, params, write);
  };
  return {
    put: async (image) => {
      assertImage(image);
      if ((await readImageRow(session, image.sha256)) === null && !(await room.take(image.bytes.length)))
        return "full";
      await writeImage(image);
      return "stored";
    },
    read: (sha256) => readImage(session, sha256),
    renew: async (sha256) => {
      const row = await readImageRow(session, sha256);
      if (row === null || now() - neededAtMs(row) < writtenAgainAfterMs) return row !== null;
      const image = await readImage(session, sha256);
      if (image !== null) await writeImage({ sha256, ...image });
      return image !== null;
    },
    unneeded: async (sinceMs, limit) => {
      const found: string[] = [];
      for (let bucket = 0; bucket < buckets && found.length < limit; bucket += 1)
        for (const row of await executeAll(session, cql.needed, [bucket], plain))
          if (neededAtMs(row) < sinceMs) found.push(textOf(row["sha256"]));
      return found.slice(0, limit);
    },
    forget: async (sha256, unneededSinceMs) => {
      let stamp = stamps.rising();
      if (unneededSinceMs !== undefined) {
        const row = await readImageRow(session, sha256);
        if (row === null || neededAtMs(row) >= unneededSinceMs) return;
        stamp = numberOf(row["needed"]);
      }
      await session.execute(cql.forget, [stamp, bucketOf(sha256, buckets), sha256], write);
      await session.execute(cql.drop, [stamp, sha256], write);
      room.countAgain();
    },
  };
}

/** See G4. */
function neededAtMs(row: CqlRow): number {
  return msOfStamp(numberOf(row["needed"]));
}

function partsOf({ sha256, bytes }: ImageToStore) {
  return Array.from(
    { length: Math.ceil(bytes.length / bytesPerRow) },
    (_, part) => [sha256, part, bytes.slice(part * bytesPerRow, (part + 1) * bytesPerRow)] as const,
  );
}

async function readImageRow(session: CassandraSession, sha256: string): Promise<CqlRow | null> {
  const { rows } = await session.execute(cql.image, [bucketOf(sha256, buckets), sha256], plain);
  return rows[0] ?? null;
}

async function readImage(session: CassandraSession, sha256: string): Promise<StoredImage | null> {
  const row = await readImageRow(session, sha256);
  if (row === null) return null;
  const fetchSize = Math.ceil(imageBytesMax / bytesPerRow);
  const rows = await executeAll(session, cql.parts, [sha256], { ...plain, fetchSize });
  const bytes = concatBytes(...rows.map((each) => bytesOf(each["bytes"])));
  // See G1.
  if (bytes.length !== numberOf(row["size"]))
    throw new StoreError("not_applied", "the bytes of an image are not readable here yet");
  return { ...imageIn(row), bytes };
}

function imageIn(row: CqlRow): Omit<StoredImage, "bytes"> {
  return {
    mediaType: textOf(row["media_type"]) as ImageMediaType,
    width: numberOf(row["width"]),
    height: numberOf(row["height"]),
  };
}

/** See G2. */
class CountedRoom {
  readonly #session: CassandraSession;
  readonly #bytesMax: number;
  readonly #now: () => number;
  #taken = 0;
  #countedAtMs = Number.NEGATIVE_INFINITY;
  #counting: Promise<void> | null = null;

  constructor(session: CassandraSession, bytesMax: number, now: () => number) {
    this.#session = session;
    this.#bytesMax = bytesMax;
    this.#now = now;
  }

  /** Whether there is room for these bytes, which are then taken. */
  async take(bytes: number): Promise<boolean> {
    if (Math.abs(this.#now() - this.#countedAtMs) > countedMs) {
      this.#counting ??= this.#count().finally(() => {
        this.#counting = null;
      });
      await this.#counting;
    }
    if (this.#taken + bytes > this.#bytesMax) return false;
    this.#taken += bytes;
    return true;
  }

  countAgain(): void {
    this.#countedAtMs = Number.NEGATIVE_INFINITY;
  }

  async #count(): Promise<void> {
    const atMs = this.#now();
    let taken = 0;
    for (let bucket = 0; bucket < buckets; bucket += 1) {
      const { rows } = await this.#session.execute(cql.sum, [bucket], plain);
      taken += numberOf(rows[0]?.["taken"] ?? 0);
    }
    this.#taken = taken;
    this.#countedAtMs = atMs;
  }
}
