// A transparency log, to which one leaf after another is appended.

import { benchEntry, openSequencer } from "../log/sequencer.ts";

export interface AppendedLog extends AsyncDisposable {
  /** Appends another leaf, and waits for the checkpoint that covers it. */
  append(): Promise<void>;
}

/** Expects an existing folder. */
export function openAppendedLog(folder: string): AppendedLog {
  let published = Promise.withResolvers<void>();
  const sequencer = openSequencer(folder, {
    log: (log) => ({
      ...log,
      publish: async (head) => {
        await log.publish(head);
        published.resolve();
      },
    }),
  });
  let appended = 0;
  return {
    append: async () => {
      published = Promise.withResolvers();
      appended += 1;
      await sequencer.append(benchEntry(appended));
      await published.promise;
    },
    [Symbol.asyncDispose]: () => sequencer[Symbol.asyncDispose](),
  };
}
