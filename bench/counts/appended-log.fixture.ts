// A transparency log on the embedded store, to which one leaf after another is appended. It is composed as in a node, with no
// witness to wait for, and sequences each leaf at once.

import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { join } from "node:path";
import { logSequencerActivities } from "../../actors/log-sequencer/activities.ts";
import { logSequencerActor } from "../../actors/log-sequencer/definition.ts";
import { logRef } from "../../actors/messages/refs.ts";
import { createActorSystem } from "../../actors/system/runtime.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { nodeTimers } from "../../node/node-timers.ts";
import { parseBase64Url, utf8 } from "../../protocol/bytes.ts";
import { formatHash } from "../../protocol/hash.ts";
import { formatNote, logMessage, logSignature } from "../../protocol/log/note.ts";
import { openSqliteActorStore } from "../../storage/sqlite/actor-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteLogStore } from "../../storage/sqlite/log-store.ts";

const origin = "bench.invalid/log";
const { sha256 } = nativeCrypto;

export interface AppendedLog extends AsyncDisposable {
  /** Appends another leaf, and waits for the checkpoint that covers it. */
  append(): Promise<void>;
}

/** Expects an existing folder. */
export function openAppendedLog(folder: string): AppendedLog {
  const database = SqliteDatabase.open(join(folder, "log.db"));
  const log = openSqliteLogStore({ database, folder: join(folder, "log") });
  let published = Promise.withResolvers<void>();
  const system = createActorSystem({
    store: openSqliteActorStore(database, { now: Date.now }),
    definitions: [logSequencerActor({ origin, intervals: { leafMs: 0, receiptsMs: 0 } })],
    activities: logSequencerActivities({
      log: {
        ...log,
        publish: async (head) => {
          await log.publish(head);
          published.resolve();
        },
      },
      ...{ origin, sha256, sign: noteSigner(), cosign: async ({ note }) => ({ note }) },
      ...{ keyFault: () => null, policy: "none", report: () => {} },
    }),
    ...{ clock: { now: Date.now }, timers: nodeTimers, entropy: { newOperationId: randomUUID } },
    ...{ owner: "counts", log: ({ event, detail }) => console.error(`${event}: ${detail}`) },
  });
  let appended = 0;
  return {
    append: async () => {
      published = Promise.withResolvers();
      const leaf = formatHash(sha256(utf8(`leaf ${appended}`)));
      appended += 1;
      const entries = [{ leaf, leaf_type: "seal", subject: "business" }] as const;
      await system.ask(logRef(), { type: "log.append", entries });
      await published.promise;
    },
    [Symbol.asyncDispose]: async () => {
      await system.drain(1_000);
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
    const signature = logSignature(key, sign(null, logMessage(text), privateKey), sha256);
    return formatNote({ text, signatures: [signature] });
  };
}
