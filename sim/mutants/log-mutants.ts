// Mutants of the transparency log: what makes it only grow, and take every leaf once.

import { bound, deciding, type Mutant, mutant } from "./mutant.ts";

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
];
