// A witness as a process of its own, or within a sandbox: its key, what it remembers, and its two HTTP routes (C2SP tlog-witness).
//   H1. The key is made at the first start and belongs to one name for ever, because a cosignature does not say under which name
//       it was made.
//   H2. Bodies, connections and times are bounded. Anyone may ask: what counts is the log's signature.

import { mkdir } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { keepFirst } from "../../crypto/durable-file.ts";
import { FileKeyStore } from "../../crypto/key-store.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock } from "../../crypto/port.ts";
import { createSigner } from "../../crypto/private-jwk.ts";
import {
  addCheckpointBytesMax,
  addCheckpointPath,
  isKeyName,
  type NoteKey,
  noteKeyOf,
  verifierKeyOf,
} from "../../protocol/log/note.ts";
import { createWitness, type Witness, type WitnessedLog } from "../../service/log/witness.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteWitnessStore } from "../../storage/sqlite/witness-store.ts";
import { ConfigError } from "../configuration/config-error.ts";

const connectionsMax = 64;
const requestMs = 10_000;
const plain = "text/plain; charset=utf-8";

export interface WitnessOptions {
  /** The folder of its key and of what it remembers; made if it is missing. */
  readonly home: string;
  /** The name under which it signs; null for that of its first start. */
  readonly name: string | null;
  /** What is witnessed now. */
  readonly logs: () => readonly WitnessedLog[];
  /** Port 0 is any that is free. */
  readonly listen: { readonly host: string; readonly port: number };
  readonly clock: Clock;
  /** Told of forks and of failures. */
  readonly report: (event: "witness.forked" | "witness.failed", detail: string) => void;
}

export interface WitnessProcess extends AsyncDisposable {
  readonly url: string;
  /** What a log's policy names it by. */
  readonly verifierKey: string;
}

/** Throws {@link ConfigError} and {@link KeyStoreError}. */
export async function startWitness(options: WitnessOptions): Promise<WitnessProcess> {
  const { home, logs, clock, report } = options;
  await mkdir(home, { recursive: true, mode: 0o700 });
  const { key, signer } = await ownKey(options);
  const database = SqliteDatabase.open(join(home, "witness.db"), { checkpoints: "self" });
  const forked = (origin: string, notes: readonly [string, string]): void =>
    report("witness.forked", `${origin}\n${notes.join("\n")}`);
  const store = openSqliteWitnessStore(database);
  const witness = createWitness({ key, signer, logs, store, clock, crypto: nativeCrypto, forked });
  const server = createServer(
    { requestTimeout: requestMs, headersTimeout: requestMs },
    (request, response) => void attend(witness, request, response, report),
  );
  server.maxConnections = connectionsMax;
  try {
    await listen(server, options.listen);
  } catch (error) {
    database.close();
    throw error;
  }
  return {
    url: urlOf(server, options.listen.host),
    verifierKey: verifierKeyOf(key, nativeCrypto.sha256),
    [Symbol.asyncDispose]: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeIdleConnections();
      await closed.promise;
      database.close();
    },
  };
}

async function ownKey({ home, name }: WitnessOptions) {
  const file = join(home, "name");
  const keys = await FileKeyStore.open(join(home, "keys"));
  if (name === null && (await keys.load("witness")) === null)
    throw new ConfigError(
      "--name",
      "is missing; name the witness at its first start, such as witness.example/w1",
    );
  if (name !== null && !isKeyName(name))
    throw new ConfigError("--name", `is ${JSON.stringify(name)}; use a name without spaces and plus signs`);
  const kept = (await keepFirst(file, `${name}\n`)).trimEnd();
  if (name !== null && kept !== name)
    throw new ConfigError(
      "--name",
      `is ${JSON.stringify(name)}, but this key signs as ${kept}; use another --home`,
    );
  const signer = createSigner(await keys.loadOrCreate("witness", "Ed25519"));
  const made = noteKeyOf(kept, signer.publicJwk);
  if (made === null) throw new TypeError("A witness's key is an Ed25519 key.");
  const key: NoteKey = { ...made, kind: "cosignature" };
  return { key, signer };
}

async function attend(
  witness: Witness,
  request: IncomingMessage,
  response: ServerResponse,
  report: WitnessOptions["report"],
): Promise<void> {
  try {
    const [, originHash] = /^\/([0-9a-f]{64})\/checkpoint$/.exec(request.url ?? "") ?? [];
    if (originHash !== undefined) return await showLatest(witness, originHash, request, response);
    if (request.url !== addCheckpointPath) return answer(request, response, 404, "There is nothing here.\n");
    if (request.method !== "POST") return answer(request, response, 405, "POST a checkpoint.\n");
    const body = await readBody(request);
    if (body === null) return answer(request, response, 413, "A request has fewer bytes.\n");
    const { status, body: text, mediaType } = await witness.addCheckpoint(body);
    answer(request, response, status, text, mediaType);
  } catch (error) {
    // Nothing was signed.
    report("witness.failed", String(error));
    answer(request, response, 503, "The witness cannot write or sign.\n");
  }
}

/** «Monitor Retrieval Mechanism»: anybody may compare what a log showed to this witness with what it shows to them. */
async function showLatest(
  witness: Witness,
  originHash: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.method !== "GET") return answer(request, response, 405, "GET a checkpoint.\n");
  const note = await witness.latest(originHash);
  if (note === null) return answer(request, response, 404, "No checkpoint of that log was cosigned here.\n");
  answer(request, response, 200, note);
}

/** Null for one that is too long. Rejects where the connection ends before it. */
async function readBody(request: IncomingMessage): Promise<Uint8Array | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > addCheckpointBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  text: string,
  type = plain,
): void {
  if (response.headersSent || response.destroyed) return;
  // A connection with an unread body on it cannot be used again.
  const ending = request.complete ? {} : { connection: "close" };
  response.writeHead(status, { "content-type": type, ...ending }).end(text);
}

async function listen(server: Server, { host, port }: WitnessOptions["listen"]): Promise<void> {
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(port, host, listening.resolve);
  await listening.promise.catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError("--listen", `${host}:${port} cannot be listened on (${error.code}); name another`);
  });
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
