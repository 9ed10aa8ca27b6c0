// Reads a transparency log over HTTP (C2SP tlog-tiles) from a server that is not trusted: every body is bounded, every answer has to
// come in time, and nobody is followed to another address.

import { parseUtf8 } from "../protocol/bytes.ts";
import { beginningOfBundle } from "../protocol/log/leaves.ts";
import { noteBytesMax } from "../protocol/log/note.ts";
import { entriesPath, type TileId, tilePath, tileWidth } from "../protocol/log/tiles.ts";
import { SvcConnectionError } from "./errors.ts";

/** Why a log is refused. Documented in docs/log.md. */
export type LogFaultCode =
  | "checkpoint_invalid"
  | "checkpoint_malformed"
  | "consistency_invalid"
  | "entries_wrong"
  | "entry_malformed"
  | "log_forked"
  | "log_key_unknown"
  | "log_origin_other"
  | "log_reordered"
  | "log_rolled_back"
  | "log_truncated"
  | "state_invalid"
  | "tile_size"
  | "tile_wrong";

/** The log is not what it should be. */
export class LogFault extends Error {
  readonly code: LogFaultCode;

  constructor(code: LogFaultCode, detail: string) {
    super(detail);
    this.name = "LogFault";
    this.code = code;
  }
}

export interface ReadLog {
  checkpoint(): Promise<string>;
  /** The hashes of a tile, of exactly its width. */
  tile(tile: TileId): Promise<Uint8Array>;
  entries(bundle: Omit<TileId, "level">): Promise<Uint8Array>;
  /** The proof that the log serves, as hash texts. */
  consistency(first: number, second: number): Promise<readonly string[]>;
  /** The service's key set, which is trusted for nothing but what anchors say. */
  keySet(): Promise<string>;
  /** The custody statements of a business's keys, as they are answered. */
  keyCustody(uuid: string): Promise<string>;
}

const timeoutMs = 20_000;
/** An entry with its length; more than any entry that is well formed. */
const entryBytesMax = 1_024;
const consistencyBytesMax = 262_144;
const keySetBytesMax = 8_388_608;

export interface LogAddress {
  readonly url: string;
  readonly fetch: typeof fetch;
  /** For tests. */
  readonly timeoutMs?: number;
}

/**
 * Reads a log by HTTP as its tiles (C2SP tlog-tiles). Its methods reject with {@link LogFault} for answers of another form
 * or size, and with {@link SvcConnectionError} where none comes.
 */
export function httpLog(address: LogAddress): ReadLog {
  const get = (path: string, max: number) => getBytes(address, path, max);
  /** A log may remove partial tiles once the full one is there (C2SP tlog-tiles, «Partial tiles»). */
  const whole = async <T extends { readonly width: number }>(tile: T, pathOf: (tile: T) => string) => {
    const bytes =
      tile.width === tileWidth
        ? null
        : await get(pathOf({ ...tile, width: tileWidth }), tileWidth * entryBytesMax);
    return bytes === "long" ? null : bytes;
  };
  return {
    checkpoint: async () => {
      const bytes = await get("checkpoint", noteBytesMax);
      const text = bytes === null || bytes === "long" ? null : parseUtf8(bytes);
      if (text === null)
        throw new LogFault("checkpoint_malformed", "There is no checkpoint, or it is too long.");
      return text;
    },
    tile: async (tile) => {
      const path = tilePath(tile);
      const bytes = (await get(path, tile.width * 32)) ?? beginningOfTile(await whole(tile, tilePath), tile);
      if (bytes === null)
        throw new LogFault("log_truncated", `${path} is missing from the checkpoint's tree.`);
      if (bytes === "long" || bytes.length !== tile.width * 32)
        throw new LogFault("tile_size", `${path} does not have ${tile.width * 32} bytes.`);
      return bytes;
    },
    entries: async (bundle) => {
      const path = entriesPath(bundle);
      const bytes =
        (await get(path, bundle.width * entryBytesMax)) ??
        beginningOfEntries(await whole(bundle, entriesPath), bundle);
      if (bytes === null)
        throw new LogFault("log_truncated", `${path} is missing from the checkpoint's tree.`);
      if (bytes === "long") throw new LogFault("entries_wrong", `${path} is longer than its entries can be.`);
      return bytes;
    },
    consistency: async (first, second) => {
      const bytes = await get(`v1/log/consistency?first=${first}&second=${second}`, consistencyBytesMax);
      return bytes === null || bytes === "long" ? [""] : proofIn(bytes);
    },
    keySet: async () => textOf(await get(".well-known/keys", keySetBytesMax)),
    keyCustody: async (uuid) =>
      textOf(await get(`v1/certificates/${encodeURIComponent(uuid)}/key-custody`, keySetBytesMax)),
  };
}

function beginningOfTile(full: Uint8Array | null, { width }: { readonly width: number }): Uint8Array | null {
  return full?.slice(0, width * 32) ?? null;
}

function beginningOfEntries(
  full: Uint8Array | null,
  { width }: { readonly width: number },
): Uint8Array | null {
  return full && beginningOfBundle(full, width);
}

function textOf(bytes: Uint8Array | "long" | null): string {
  return bytes === null || bytes === "long" ? "" : (parseUtf8(bytes) ?? "");
}

/** The hash texts of an answer; one that is no hash where it is not an answer. */
function proofIn(bytes: Uint8Array): readonly string[] {
  try {
    const { proof } = JSON.parse(parseUtf8(bytes) ?? "") as { readonly proof?: unknown };
    return Array.isArray(proof) && proof.length < 64 ? proof.map(String) : [""];
  } catch {
    return [""];
  }
}

/** Null for what is not there, `long` for more than `max` bytes. */
async function getBytes(
  { url, fetch, timeoutMs: patienceMs = timeoutMs }: LogAddress,
  path: string,
  max: number,
): Promise<Uint8Array | "long" | null> {
  const at = `${url.replace(/\/$/, "")}/${path}`;
  try {
    const signal = AbortSignal.timeout(patienceMs);
    const answer = await fetch(at, { redirect: "error", signal });
    if (answer.status !== 200) await answer.body?.cancel();
    if (answer.status === 404) return null;
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    const bytes = new Uint8Array(max);
    let length = 0;
    for await (const chunk of answer.body ?? []) {
      if (length + chunk.length > max) return "long";
      bytes.set(chunk, length);
      length += chunk.length;
    }
    return bytes.subarray(0, length);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new SvcConnectionError(`${at} could not be read: ${why}.`, { effect: "not_applied", cause });
  }
}
