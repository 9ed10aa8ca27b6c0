// The log on the model's plain tables, as in Cassandra: objects and leaves are rows that are written at true time where they are not
// there already, the checkpoint is a cell of which the largest stays, and what another region wrote appears later.

import { equalBytes } from "../../protocol/bytes.ts";
import { parseTilePath, splitTilePath } from "../../protocol/log/tiles.ts";
import {
  beginningOf,
  isReplaceable,
  LogConflict,
  type LogObject,
  type LogStore,
  type StoredCheckpoint,
} from "../../storage/log-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { Reach, Subject } from "./statements.ts";
import type { StoreClient } from "./store-model.ts";

/** The log's writes, as a fault may meet them. */
const subject: Subject = { name: "log", isLogging: true };

export const logObjects = "log_object";
export const logLeaves = "log_leaf";
export const logCheckpoint = "log_checkpoint";

const stampsPerMs = 1_000;
/** A newer note of the same tree is stamped this much higher; trees are stamped with their sizes. */
const noteStamp = 2 ** -20;

export function openSimLogStore({ model, life, region }: StoreClient): LogStore {
  const objects: PlainTable<Uint8Array> = model.tables.of(logObjects);
  const leaves: PlainTable<number> = model.tables.of(logLeaves);
  const checkpoints: PlainTable<StoredCheckpoint> = model.tables.of(logCheckpoint);
  const run = model.statements;
  let lastStamp = 0;
  const rising = (): number => {
    lastStamp = Math.max(lastStamp + 1, model.now() * stampsPerMs);
    return lastStamp;
  };
  const write = <T>(change: (reach: Reach) => T): Promise<T> => run.run(life, "write", change, subject);
  const read = (path: string) => readObject(objects, region, path);
  const keptOf = ({ path, bytes }: LogObject): "none" | "same" | "other" => {
    const kept = read(path);
    return kept === null ? "none" : equalBytes(kept, bytes) ? "same" : "other";
  };
  return {
    write: async (written, places, { over } = {}) => {
      assertPaths(written.map(({ path }) => path));
      const conflict = await run.run(life, "read", () => {
        for (const object of written)
          if (keptOf(object) === "other" && !isReplaceable(object.path, over))
            return `${object.path} has other bytes.`;
        for (const { leaf, index } of places) {
          const place = leaves.read(region, leaf) ?? index;
          if (place !== index && !(over !== undefined && place >= over)) return `${leaf} is elsewhere.`;
        }
        return null;
      });
      if (conflict !== null) throw new LogConflict(conflict);
      await write((reach) => {
        const cells = written
          .filter((object) => keptOf(object) !== "same")
          .map(({ path, bytes }) => ({ key: path, value: bytes.slice(), stamp: rising() }));
        objects.write(region, cells, reach);
      });
      await write((reach) => {
        const cells = places
          .filter(({ leaf, index }) => leaves.read(region, leaf) !== index)
          .map(({ leaf, index }) => ({ key: leaf, value: index, stamp: rising() }));
        leaves.write(region, cells, reach);
      });
    },
    read: async (paths) => {
      assertPaths(paths);
      return run.run(life, "read", () => paths.map(read));
    },
    findLeaves: (asked) => run.run(life, "read", () => asked.map((leaf) => leaves.read(region, leaf))),
    publish: async (checkpoint) => {
      // A statement may be executed when nobody waits for it any more: what it refuses is its answer.
      const conflict = await write((reach) => {
        const last = checkpoints.read(region, "");
        const isFork = checkpoint.size === last?.size && checkpoint.root !== last.root;
        if (last !== null && (checkpoint.size < last.size || isFork))
          return `The log has ${last.size} leaves and cannot become one of ${checkpoint.size}.`;
        if (last?.size === checkpoint.size && last.note === checkpoint.note) return null;
        const before = checkpoints.arrived(region).get("")?.stamp ?? 0;
        const stamp = last?.size === checkpoint.size ? before + noteStamp : checkpoint.size;
        checkpoints.write(region, [{ key: "", value: checkpoint, stamp }], reach);
        model.witness.publishedCheckpoint?.(checkpoint);
        return null;
      });
      if (conflict !== null) throw new LogConflict(conflict);
    },
    readCheckpoint: () => run.run(life, "read", () => checkpoints.read(region, "")),
    readNewestCheckpoint: () => run.run(life, "read", () => checkpoints.read(region, "")),
  };
}

/** As if the mutation of a full tile removed the partial ones: what is older than it is not there. */
function readObject(objects: PlainTable<Uint8Array>, region: string, path: string): Uint8Array | null {
  const own = objects.read(region, path);
  const { full = path } = splitTilePath(path) ?? {};
  const whole = full === path ? null : objects.read(region, full);
  if (whole === null) return own;
  const stampOf = (key: string): number => objects.arrived(region).get(key)?.stamp ?? -1;
  return stampOf(path) > stampOf(full) ? own : beginningOf(path, whole);
}

function assertPaths(paths: readonly string[]): void {
  for (const path of paths) if (parseTilePath(path) === null) throw new RangeError("Not the path of a tile.");
}
