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
import type { CassandraSession, Consistency } from "./session.ts";

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
  const checkpointAt = async (consistency: Consistency): Promise<StoredCheckpoint | null> => {
    const { rows } = await session.execute(cql.checkpoint, [], { consistency, idempotent: true });
    const [row] = rows;
    if (row === undefined) return null;
    return { size: numberOf(row["size"]), root: textOf(row["root"]), note: textOf(row["note"]) };
  };
  const put = async ({ path, bytes }: LogObject): Promise<void> => {
    const { full, width } = placeOf(path);
    const statement = { cql: cql.putObject, params: [full, width, Buffer.from(bytes)] };
    if (width < tileWidth) await session.execute(statement.cql, statement.params, plain);
    else await session.batch([statement, { cql: cql.removePartials, params: [full, tileWidth] }], plain);
  };
  const read: LogStore["read"] = (paths) =>
    new Semaphore(lanesMax).all(
      paths.map((path) => async () => {
        const { full, width } = placeOf(path);
        const { rows } = await session.execute(cql.objects, [full, width, tileWidth], plain);
        const found = new Map(rows.map((row) => [numberOf(row["width"]), bytesOf(row["bytes"])]));
        const whole = found.get(tileWidth) ?? null;
        return found.get(width) ?? (whole && beginningOf(path, whole));
      }),
    );
  const findLeaves: LogStore["findLeaves"] = (leaves) =>
    new Semaphore(lanesMax).all(
      leaves.map((leaf) => async () => {
        const { rows } = await session.execute(cql.leaf, [leaf], plain);
        return rows[0] === undefined ? null : numberOf(rows[0]["place"]);
      }),
    );
  return {
    read,
    findLeaves,
    write: async (objects, leaves, { over } = {}) => {
      const known = await read(objects.map(({ path }) => path));
      const isKept = objects.map(({ path, bytes }, at) => {
        const kept = known[at] ?? null;
        const isSame = kept !== null && equalBytes(kept, bytes);
        if (kept !== null && !isSame && !isReplaceable(path, over))
          throw new LogConflict(`${path} has other bytes already.`);
        return isSame;
      });
      const places = await findLeaves(leaves.map(({ leaf }) => leaf));
      for (const [at, { leaf, index }] of leaves.entries()) {
        const place = places[at] ?? null;
        if (place !== null && place !== index && !(over !== undefined && place >= over))
          throw new LogConflict(`${leaf} is leaf ${place}, and never ${index}.`);
      }
      const lanes = new Semaphore(lanesMax);
      const newObjects = objects.filter((_object, at) => isKept[at] === false);
      await lanes.all(newObjects.map((object) => () => put(object)));
      const newLeaves = leaves.filter(({ index }, at) => places[at] !== index);
      await lanes.all(
        newLeaves.map((each) => () => session.execute(cql.putLeaf, [each.leaf, each.index], plain)),
      );
    },
    /** See G2. An attempt whose outcome is unknown is looked at again: the row says whether it was applied. */
    publish: async ({ size, root, note }) => {
      let failure: unknown;
      for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
        const last = await checkpointAt("SERIAL");
        if (last !== null && (size < last.size || (size === last.size && root !== last.root)))
          throw new LogConflict(`The log has ${last.size} leaves and cannot become one of ${size}.`);
        if (last?.size === size && last.note === note) return;
        try {
          const [text, params] =
            last === null
              ? [cql.first, [size, root, note]]
              : [cql.next, [size, root, note, last.size, last.root]];
          if ((await session.execute(text, params, serially)).applied) return;
        } catch (error) {
          if (!(error instanceof StoreError) || error.effect !== "unknown") throw error;
          failure = error;
        }
      }
      throw failure ?? new StoreError("unknown", "the checkpoint was changed by others");
    },
    readCheckpoint: () => checkpointAt("LOCAL_QUORUM"),
    /** What was agreed upon last, and what any copy has: after the loss of a region, one copy may be all that has it. */
    readNewestCheckpoint: async () => {
      const agreed = await checkpointAt("SERIAL");
      const kept = await checkpointAt("ALL");
      return (kept?.size ?? 0) > (agreed?.size ?? 0) ? kept : agreed;
    },
  };
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
