// Mutants of the transparency log: what makes it only grow, and take every leaf once.

import { waitingLeaves } from "../../actors/log-sequencer/definition.ts";
import { bound, deciding, type Mutant, mutant, redeciding } from "./mutant.ts";

export const logMutants: readonly Mutant[] = [
  mutant(
    "pushesAreNotLogged",
    "the seal of an accepted push is not appended",
    deciding("push", (truly, command, view) => {
      const { effects, ...decision } = truly(command, view);
      if (effects === undefined) return decision;
      const others = effects.filter((each) => each.kind !== "tell" || each.to.kind !== "log-sequencer");
      return { ...decision, effects: others };
    }),
  ),
  mutant("tilesAreNotWaitedFor", "a tree head is committed before its tiles are durable", (changed) => ({
    log: (log) => ({
      ...bound(log),
      write: async (objects, leaves) => {
        changed();
        log.write(objects, leaves).catch(() => {});
      },
    }),
  })),
  mutant("bundlesLoseTheirEntries", "a bundle's last entry is another one's", (changed) => ({
    log: (log) => ({
      ...bound(log),
      write: (objects, leaves) =>
        log.write(
          objects.map((object) => {
            if (!object.path.includes("entries") || object.bytes.length < 8) return object;
            changed();
            const bytes = object.bytes.slice();
            bytes.set(bytes.subarray(4, 5), bytes.length - 5);
            return { ...object, bytes };
          }),
          leaves,
        ),
    }),
  })),
  mutant("cosignaturesAreLost", "a checkpoint is published without its cosignatures", (changed) => ({
    log: (log) => ({
      ...bound(log),
      publish: (checkpoint) => {
        changed();
        return log.publish({ ...checkpoint, note: checkpoint.note.replaceAll(/— witness\..*\n/g, "") });
      },
    }),
  })),
  mutant("checkpointOfAnotherRoot", "a checkpoint is published with the root of another tree", (changed) => ({
    log: (log) => ({
      ...bound(log),
      publish: (checkpoint) => {
        changed();
        return log.publish({ ...checkpoint, root: checkpoint.root.replace(/.$/, "0") });
      },
    }),
  })),
  mutant(
    "leavesWaitTooLong",
    "what waits is sequenced a minute after its interval",
    deciding("log-sequencer", (truly, command, view) => {
      const { events = [], ...decision } = truly(command, view);
      const late = events.map((event) =>
        "due_ms" in event ? { ...event, due_ms: Number(event.due_ms) + 60_000 } : event,
      );
      return { ...decision, events: late };
    }),
  ),
  mutant(
    "leavesAreDroppedUnwritten",
    "with a batch that is written, the leaf behind it is dropped",
    deciding("log-sequencer", (truly, command, view) => {
      const { deletes = [], ...decision } = truly(command, view);
      const written = new Set(deletes.map(({ k2 }) => k2));
      const behind = waitingLeaves.readAll(view).find(({ k2 }) => !written.has(k2));
      if (command.type !== "log.written" || deletes.length === 0 || behind === undefined)
        return { ...decision, deletes };
      return { ...decision, deletes: [...deletes, waitingLeaves.key(behind.k2, behind.k)] };
    }),
  ),
  mutant("knownLeavesAreForgotten", "a leaf is in the log again when it is appended again", (changed) => ({
    log: (log) => ({
      ...bound(log),
      findLeaves: async (leaves) => {
        const found = await log.findLeaves(leaves);
        // One leaf is what a reader asks for.
        if (leaves.length === 1) return found;
        if (found.some((index) => index !== null)) changed();
        return found.map(() => null);
      },
    }),
  })),
  mutant(
    "batchesFollowNoOrder",
    "what waits has another order for the next process",
    redeciding("log-sequencer", "log.pending", (decision, _command, view) =>
      view.epoch % 2 === 0 && Array.isArray(decision.reply)
        ? { ...decision, reply: decision.reply.toReversed() }
        : decision,
    ),
  ),
  mutant("proofsOfAnotherLeaf", "the place of a leaf is that of its neighbour", (changed) => ({
    log: (log) => ({
      ...bound(log),
      findLeaves: async (leaves) => {
        const found = await log.findLeaves(leaves);
        return found.map((index) => {
          if (index === null || index === 0) return index;
          changed();
          return index - 1;
        });
      },
    }),
  })),
  mutant("treeForgetsItsMiddle", "a tile above the leaves is read as one of other hashes", (changed) => ({
    log: (log) => ({
      ...bound(log),
      read: async (paths) => {
        const objects = await log.read(paths);
        return objects.map((bytes, at) => {
          if (bytes === null || bytes.length < 64 || !paths[at]?.startsWith("tile/0/")) return bytes;
          changed();
          const other = bytes.slice();
          other.set(bytes.subarray(32, 64), 0);
          return other;
        });
      },
    }),
  })),
];
