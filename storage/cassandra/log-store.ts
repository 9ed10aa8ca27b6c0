// The log in Cassandra: L1–L4 of the port.
//   G1. Every object and every leaf is a row of its own. They are compared with what is there before they are written; that is
//       no step of its own, and need not be: whatever is written twice follows from what the sequencer committed (LS1).
//       The partial tiles of a place are rows beside the full one: they are removed in the mutation that writes it (L2).
//   G2. The checkpoint changes by compare-and-set over all regions, so no reader ever sees it go back.

import { equalBytes } from "../../protocol/bytes.ts";
import { splitTilePath, tileWidth } from "../../protocol/log/tiles.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { StoreError } from "../actor-store.ts";
import {
  beginningOf,
  isReplaceable,
  LogConflict,
  type LogObject,
  type LogStore,
  type StoredCheckpoint,
} from "../log-store.ts";
import { numberOf, textOf } from "./columns.ts";
import type { CassandraSession } from "./session.ts";

/** Maximum statements of one call under way at once. */
const lanesMax = 32;
/** How often a compare-and-set is tried where others change the row or the outcome is unknown. */
const attemptsMax = 5;

const cql = {
  objects: "SELECT width, bytes FROM log_object WHERE tile = ? AND width IN (?, ?)",
  putObject: "INSERT INTO log_object (tile, width, bytes) VALUES (?, ?, ?)",
  removePartials: "DELETE FROM log_object WHERE tile = ? AND width < ?",
  leaf: "SELECT place FROM log_leaf WHERE leaf = ?",
  putLeaf: "INSERT INTO log_leaf (leaf, place) VALUES (?, ?)",
  checkpoint: "SELECT size, root, note FROM log_checkpoint WHERE one = 1",
  first: "INSERT INTO log_checkpoint (one, size, root, note) VALUES (1, ?, ?, ?) IF NOT EXISTS",
  next: "UPDATE log_checkpoint SET size = ?, root = ?, note = ? WHERE one = 1 IF size = ? AND root = ?",
} as const;

const plain = { idempotent: true } as const;
const serially = { consistency: "LOCAL_QUORUM", serial: "SERIAL", idempotent: false } as const;

export const logTables: readonly string[] = [
  "CREATE TABLE IF NOT EXISTS log_object (tile text, width int, bytes blob, PRIMARY KEY (tile, width))",
  "CREATE TABLE IF NOT EXISTS log_leaf (leaf text PRIMARY KEY, place bigint)",
  "CREATE TABLE IF NOT EXISTS log_checkpoint (one int PRIMARY KEY, size bigint, root text, note text)",
];

export function openCassandraLogStore(session: CassandraSession): LogStore {
  return new CassandraLogStore(session);
}

class CassandraLogStore implements LogStore {
  readonly #session: CassandraSession;

  constructor(session: CassandraSession) {
    this.#session = session;
  }

  async write(...[objects, leaves, { over } = {}]: Parameters<LogStore["write"]>): Promise<void> {
    const known = await this.read(objects.map(({ path }) => path));
    const isKept = objects.map(({ path, bytes }, at) => {
      const kept = known[at] ?? null;
      const isSame = kept !== null && equalBytes(kept, bytes);
      if (kept !== null && !isSame && !isReplaceable(path, over))
        throw new LogConflict(`${path} has other bytes already.`);
      return isSame;
    });
    const places = await this.findLeaves(leaves.map(({ leaf }) => leaf));
    for (const [at, { leaf, index }] of leaves.entries()) {
      const place = places[at] ?? null;
      if (place !== null && place !== index && !(over !== undefined && place >= over))
        throw new LogConflict(`${leaf} is leaf ${place}, and never ${index}.`);
    }
    const lanes = new Semaphore(lanesMax);
    await lanes.all(
      objects.filter((_object, at) => isKept[at] === false).map((object) => () => this.#put(object)),
    );
    await lanes.all(
      leaves
        .filter(({ index }, at) => places[at] !== index)
        .map(
          ({ leaf, index }) =>
            () =>
              this.#session.execute(cql.putLeaf, [leaf, index], plain),
        ),
    );
  }

  async #put({ path, bytes }: LogObject): Promise<void> {
    const { full, width } = placeOf(path);
    const put = { cql: cql.putObject, params: [full, width, Buffer.from(bytes)] };
    if (width < tileWidth) await this.#session.execute(put.cql, put.params, plain);
    else await this.#session.batch([put, { cql: cql.removePartials, params: [full, tileWidth] }], plain);
  }

  read(paths: readonly string[]): Promise<readonly (Uint8Array | null)[]> {
    return new Semaphore(lanesMax).all(
      paths.map((path) => async () => {
        const { full, width } = placeOf(path);
        const { rows } = await this.#session.execute(cql.objects, [full, width, tileWidth], plain);
        const found = new Map(rows.map((row) => [numberOf(row["width"]), bytesOf(row["bytes"])]));
        const whole = found.get(tileWidth) ?? null;
        return found.get(width) ?? (whole && beginningOf(path, whole));
      }),
    );
  }

  findLeaves(leaves: readonly string[]): Promise<readonly (number | null)[]> {
    return new Semaphore(lanesMax).all(
      leaves.map((leaf) => async () => {
        const { rows } = await this.#session.execute(cql.leaf, [leaf], plain);
        return rows[0] === undefined ? null : numberOf(rows[0]["place"]);
      }),
    );
  }

  /** See G2. An attempt whose outcome is unknown is looked at again: the row says whether it was applied. */
  async publish({ size, root, note }: StoredCheckpoint): Promise<void> {
    let failure: unknown;
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const last = await this.#checkpoint("SERIAL");
      if (last !== null && (size < last.size || (size === last.size && root !== last.root)))
        throw new LogConflict(`The log has ${last.size} leaves and cannot become one of ${size}.`);
      if (last?.size === size && last.note === note) return;
      try {
        const [text, params] =
          last === null
            ? [cql.first, [size, root, note]]
            : [cql.next, [size, root, note, last.size, last.root]];
        const { applied } = await this.#session.execute(text, params, serially);
        if (applied) return;
      } catch (error) {
        if (!(error instanceof StoreError) || error.effect !== "unknown") throw error;
        failure = error;
      }
    }
    throw failure ?? new StoreError("unknown", "the checkpoint was changed by others");
  }

  readCheckpoint(): Promise<StoredCheckpoint | null> {
    return this.#checkpoint("LOCAL_QUORUM");
  }

  /** What was agreed upon last, and what any copy has: after the loss of a region, one copy may be all that has it. */
  async readNewestCheckpoint(): Promise<StoredCheckpoint | null> {
    const agreed = await this.#checkpoint("SERIAL");
    const kept = await this.#checkpoint("ALL");
    return (kept?.size ?? 0) > (agreed?.size ?? 0) ? kept : agreed;
  }

  async #checkpoint(consistency: "SERIAL" | "LOCAL_QUORUM" | "ALL"): Promise<StoredCheckpoint | null> {
    const { rows } = await this.#session.execute(cql.checkpoint, [], { consistency, idempotent: true });
    const [row] = rows;
    if (row === undefined) return null;
    return { size: numberOf(row["size"]), root: textOf(row["root"]), note: textOf(row["note"]) };
  }
}

function placeOf(path: string): NonNullable<ReturnType<typeof splitTilePath>> {
  const place = splitTilePath(path);
  if (place === null) throw new RangeError("Not the path of a tile.");
  return place;
}

function bytesOf(value: unknown): Uint8Array | null {
  if (value === undefined || value === null) return null;
  if (!(value instanceof Uint8Array)) throw new TypeError("an object of the log has no bytes");
  return new Uint8Array(value);
}
