// The log on the model's plain tables, as in Cassandra: objects and leaves are rows, the checkpoint is a cell of which the largest
// stays, and what another region wrote appears later.

import { equalBytes } from "../../protocol/bytes.ts";
import { isReplaceable, LogConflict, type LogStore, type StoredCheckpoint } from "../../storage/log-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { Subject } from "./statements.ts";
import type { StoreClient } from "./store-model.ts";

/** The log's writes, as a fault may meet them. */
const subject: Subject = { name: "log", isLogging: true };

export const logObjects = "log_object";
export const logLeaves = "log_leaf";
export const logCheckpoint = "log_checkpoint";

export function openSimLogStore({ model, life, region }: StoreClient): LogStore {
  const objects: PlainTable<Uint8Array> = model.tables.of(logObjects);
  const leaves: PlainTable<number> = model.tables.of(logLeaves);
  const checkpoints: PlainTable<StoredCheckpoint> = model.tables.of(logCheckpoint);
  const run = model.statements;
  return {
    write: async (written, places, { over } = {}) => {
      const conflict = await run.run(life, "read", () => {
        for (const { path, bytes } of written) {
          const kept = objects.read(region, path);
          if (kept !== null && !equalBytes(kept, bytes) && !isReplaceable(path, over))
            return `${path} has other bytes.`;
        }
        for (const { leaf, index } of places) {
          const place = leaves.read(region, leaf) ?? index;
          if (place !== index && !(over !== undefined && place >= over)) return `${leaf} is elsewhere.`;
        }
        return null;
      });
      if (conflict !== null) throw new LogConflict(conflict);
      await run.run(
        life,
        "write",
        (reach) => {
          const cells = written.map(({ path, bytes }) => ({ key: path, value: bytes.slice(), stamp: 1 }));
          objects.write(region, cells, reach);
        },
        subject,
      );
      await run.run(
        life,
        "write",
        (reach) => {
          const cells = places.map(({ leaf, index }) => ({ key: leaf, value: index, stamp: 1 }));
          leaves.write(region, cells, reach);
        },
        subject,
      );
    },
    read: (paths) => run.run(life, "read", () => paths.map((path) => objects.read(region, path))),
    findLeaves: (asked) => run.run(life, "read", () => asked.map((leaf) => leaves.read(region, leaf))),
    publish: async (checkpoint) => {
      // A statement may be executed when nobody waits for it any more: what it refuses is its answer.
      const conflict = await run.run(
        life,
        "write",
        (reach) => {
          const last = checkpoints.read(region, "");
          if (last !== null && (checkpoint.size < last.size || isFork(checkpoint, last)))
            return `The log has ${last.size} leaves and cannot become one of ${checkpoint.size}.`;
          checkpoints.write(region, [{ key: "", value: checkpoint, stamp: checkpoint.size }], reach);
          model.witness.publishedCheckpoint?.(checkpoint);
          return null;
        },
        subject,
      );
      if (conflict !== null) throw new LogConflict(conflict);
    },
    readCheckpoint: () => run.run(life, "read", () => checkpoints.read(region, "")),
    readNewestCheckpoint: () => run.run(life, "read", () => checkpoints.read(region, "")),
  };
}

function isFork(checkpoint: StoredCheckpoint, last: StoredCheckpoint): boolean {
  return checkpoint.size === last.size && checkpoint.root !== last.root;
}
