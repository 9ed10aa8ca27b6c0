// The log's sequencer on the embedded store, composed as in a node, with no witness to wait for: it sequences each leaf at once.

import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { join } from "node:path";
import { logSequencerActivities } from "../../actors/log-sequencer/activities.ts";
import { logSequencerActor } from "../../actors/log-sequencer/definition.ts";
import { logRef } from "../../actors/messages/refs.ts";
import { createActorSystem } from "../../actors/system/runtime.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { nodeTimers } from "../../node/keeping/node-timers.ts";
import { formatHash, parseBase64Url, utf8 } from "../../protocol/bytes.ts";
import type { LogEntry } from "../../protocol/log/leaves.ts";
import { formatNote, logMessage, logSignature } from "../../protocol/log/note.ts";
import type { ActorStore } from "../../storage/actor-store.ts";
import type { LogStore } from "../../storage/log-store.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteLogStore } from "../../storage/sqlite/log-store.ts";

export const origin = "bench.invalid/log";

/** An entry that the benchmarks of the log append: tools/log-judge/append-floor appends the same. */
export function benchEntry(at: number): LogEntry {
  const leaf = formatHash(nativeCrypto.sha256(utf8(`seal ${at}`)));
  return { leaf, leaf_type: "seal", subject: `business-${at % 100}` };
}

/** Expects an existing folder. Who watches the stores sees when a leaf is in the tree; they are as they are without. */
export function openSequencer(
  folder: string,
  watch: {
    readonly log?: (log: LogStore) => LogStore;
    readonly store?: (store: ActorStore) => ActorStore;
  },
) {
  const database = SqliteDatabase.open(join(folder, "log.db"));
  const log = openSqliteLogStore({ database, folder: join(folder, "log") });
  const store = openSqliteActorStore(database, { now: Date.now });
  const system = createActorSystem({
    store: watch.store?.(store) ?? store,
    definitions: [logSequencerActor({ origin, intervals: { leafMs: 0, receiptsMs: 0 } })],
    activities: logSequencerActivities({
      log: watch.log?.(log) ?? log,
      origin,
      sha256: nativeCrypto.sha256,
      sign: noteSigner(),
      cosign: async ({ note }) => ({ note }),
      keyFault: () => null,
      policy: "none",
      report: () => {},
    }),
    clock: { now: Date.now },
    timers: nodeTimers,
    entropy: { newOperationId: randomUUID },
    owner: `bench/${process.pid}`,
    log: ({ level, event, actor, detail }) => console.error(`${level} ${event} ${actor}: ${detail}`),
  });
  return {
    /** Resolves once the leaf is acknowledged, which is before it is sequenced. */
    append: (entry: LogEntry): Promise<unknown> =>
      system.ask(logRef(), { type: "log.append", entries: [entry] }),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      await system.drain(10_000);
      await log[Symbol.asyncDispose]();
      database.close();
    },
  };
}

function noteSigner(): (text: string) => Promise<string> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const bytes = parseBase64Url(publicKey.export({ format: "jwk" }).x ?? "") ?? new Uint8Array();
  const key = { name: "svc-log", kind: "log", publicKey: bytes } as const;
  return async (text) => {
    const signature = logSignature(key, sign(null, logMessage(text), privateKey), nativeCrypto.sha256);
    return formatNote({ text, signatures: [signature] });
  };
}
