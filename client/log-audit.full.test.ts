// The audit of a log over HTTP against a server that lies in every way there is a code for.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { formatHash, sha256, utf8 } from "../protocol/bytes.ts";
import type { WitnessPolicy } from "../protocol/log/cosignatures.ts";
import { entryBytes, formatBundle, type LogEntry } from "../protocol/log/leaves.ts";
import { formatCheckpoint, formatNote, logMessage, logSignature, parseNote } from "../protocol/log/note.ts";
import { cosign, noteKey } from "../protocol/log/signed-log.fixture.ts";
import { extendTree, parseTilePath } from "../protocol/log/tiles.ts";
import { buildTree, consistencyPath, leafHash } from "../protocol/merkle.ts";
import {
  type AuditState,
  auditLog,
  formatAuditState,
  parseAuditState,
  portablePrimitives,
} from "./log-audit.ts";
import { httpLog } from "./log-reader.ts";

const origin = "log.test/audited";
const key = noteKey("svc-log", "log", 7);
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

const entryOf = (word: string): LogEntry => ({
  leaf: formatHash(sha256(utf8(word))),
  leaf_type: "seal",
  subject: `business-${word}`,
});
const wordsOf = (size: number): string[] => Array.from({ length: size }, (_, at) => `e${at}`);

interface Served {
  entries: readonly Uint8Array[];
  /** Of which the tiles are; the entries' hashes unless the server lies. */
  hashes: readonly Uint8Array[];
  origin: string;
  key: typeof key;
  answer: (path: string, honest: Uint8Array | null) => Uint8Array | null;
}

function logOf(words: readonly string[], changes: Partial<Served> = {}): Served {
  const entries = words.map((word) => entryBytes(entryOf(word)));
  const hashes = entries.map((each) => leafHash(each, sha256));
  return { entries, hashes, origin, key, answer: (_, honest) => honest, ...changes };
}

function noteOf({ hashes, origin, key }: Served): string {
  const root = buildTree(hashes, sha256).root;
  const text = formatCheckpoint({ origin, size: hashes.length, root, extensions: [] });
  return formatNote({ text, signatures: [logSignature(key, key.sign(logMessage(text)), sha256)] });
}

const madeTiles = new WeakMap<readonly Uint8Array[], Map<string, { readonly hashes: Uint8Array }>>();

async function tilesOf(hashes: readonly Uint8Array[]) {
  const known = madeTiles.get(hashes);
  if (known !== undefined) return known;
  const tiles = await extendTree({ size: 0, read: async () => [], sha256 }, hashes);
  const made = new Map(tiles.map((each) => [`${each.level}/${each.index}`, each] as const));
  madeTiles.set(hashes, made);
  return made;
}

async function honest(log: Served, path: string): Promise<Uint8Array | null> {
  if (path === "checkpoint") return utf8(noteOf(log));
  const [, first] = /consistency\?first=(\d+)/.exec(path) ?? [];
  if (first !== undefined) {
    const proof = consistencyPath(log.hashes, Number(first), sha256).map(formatHash);
    return utf8(JSON.stringify({ proof }));
  }
  const tile = parseTilePath(path);
  if (tile === null) return null;
  const { kind, level, index, width } = tile;
  if (kind === "entries") return formatBundle(log.entries.slice(index * 256, index * 256 + width));
  const found = (await tilesOf(log.hashes)).get(`${level}/${index}`);
  return found === undefined ? null : found.hashes.slice(0, width * 32);
}

async function audit(log: Served, state: AuditState | null = null, witnesses: WitnessPolicy | null = null) {
  const server = createServer(async (request, response) => {
    const path = (request.url ?? "/").slice(1);
    const body = log.answer(path, await honest(log, path));
    response.writeHead(body === null ? 404 : 200).end(body);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  closing.push(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const seen: number[] = [];
  const read = httpLog({ url, fetch });
  const made = await auditLog(
    { ...portablePrimitives, origin, keys: [key], read, ...(witnesses === null ? {} : { witnesses }) },
    state,
    ({ index }) => seen.push(index),
  );
  return { ...made, seen };
}

const flipped = (bytes: Uint8Array | null): Uint8Array | null =>
  bytes?.with(bytes.length - 5, (bytes.at(-5) ?? 0) ^ 1) ?? null;
const whenPath =
  (part: string, change: (bytes: Uint8Array | null) => Uint8Array | null): Served["answer"] =>
  (path, bytes) =>
    path.includes(part) ? change(bytes) : bytes;

describe("an honest log", () => {
  it.each([
    [0, 1],
    [0, 700],
    [1, 2],
    [255, 256],
    [256, 257],
    [300, 300],
    [300, 700],
    [512, 1_025],
  ])("is followed from %d to %d, each entry once, through a stored state", async (from, to) => {
    const first = from === 0 ? null : (await audit(logOf(wordsOf(from)))).state;
    const kept = first === null ? null : parseAuditState(formatAuditState(first));
    const made = await audit(logOf(wordsOf(to)), kept);
    expect(made).toMatchObject({ from, size: to });
    expect(made.seen).toEqual(Array.from({ length: to - from }, (_, at) => from + at));
    expect(made.state.edge.every((tile) => tile.length < 256 * 32)).toBe(true);
  });

  it("may have removed partial tiles where the full ones are there (C2SP tlog-tiles)", async () => {
    const whole = new Map<string, Uint8Array | null>();
    for (const path of ["tile/0/001", "tile/entries/001"])
      whole.set(path, await honest(logOf(wordsOf(512)), path));
    const log = logOf(wordsOf(300), {
      answer: (path, bytes) => whole.get(path) ?? (path.includes("001.p/") ? null : bytes),
    });
    expect(await audit(log)).toMatchObject({ from: 0, size: 300 });
  });

  it("of 100 000 entries is read one tile at a time, and only its right edge is kept", async () => {
    const size = 100_000;
    const log = logOf(wordsOf(size));
    let [asked, longest] = [0, 0];
    const counted = logOf([], {
      ...log,
      answer: (_, bytes) => {
        asked += 1;
        longest = Math.max(longest, bytes?.length ?? 0);
        return bytes;
      },
    });
    const { state, seen } = await audit(counted);
    expect([seen.length, seen.at(0), seen.at(-1)]).toEqual([size, 0, size - 1]);
    // A tile and a bundle for each 256 entries, the tiles above them, and the checkpoint.
    expect(asked).toBe(1 + 2 * Math.ceil(size / 256) + 1 + 1 + 1 + 1);
    expect(longest).toBeLessThan(64 * 1_024);
    expect(state.edge.map((tile) => tile.length / 32)).toEqual([size % 256, 390 % 256, 1]);
    asked = 0;
    expect((await audit(counted, parseAuditState(formatAuditState(state)))).seen).toEqual([]);
    expect(asked).toBe(1);
  }, 60_000);
});

describe("a policy of witnesses", () => {
  const [one, two] = [1, 2].map((seed) => noteKey(`witness.test/w${seed}`, "cosignature", seed)) as [
    typeof key,
    typeof key,
  ];
  const cosigned = (by: readonly (typeof key)[]): Served["answer"] =>
    whenPath("checkpoint", (bytes) => {
      const note = parseNote(new TextDecoder().decode(bytes ?? new Uint8Array()));
      if (!note.ok) throw new Error(note.detail);
      const lines = by.map((each) => cosign(each, note.value.text, 1_000));
      return utf8(formatNote({ ...note.value, signatures: [...note.value.signatures, ...lines] }));
    });

  it("takes the checkpoint that enough of them cosigned, after one that was audited without them", async () => {
    const { state } = await audit(logOf(wordsOf(3)));
    const log = logOf(wordsOf(5), { answer: cosigned([two]) });
    expect(await audit(log, state, { witnesses: [one, two], quorum: 1 })).toMatchObject({ from: 3, size: 5 });
  });

  it.each([
    ["too few cosigned", cosigned([one])],
    ["nobody cosigned", cosigned([])],
    ["another cosigned under a witness's name", cosigned([one, { ...one, name: two.name }])],
  ])("refuses a checkpoint that %s", async (_, answer) => {
    const log = logOf(wordsOf(5), { answer });
    await expect(audit(log, null, { witnesses: [one, two], quorum: 2 })).rejects.toMatchObject({
      code: "checkpoint_invalid",
    });
  });
});

describe("a lying log", () => {
  const swapped = [...wordsOf(300)];
  [swapped[280], swapped[281]] = ["e281", "e280"];
  const long = wordsOf(400);
  const malformed = logOf(long, {});
  malformed.entries = malformed.entries.with(350, utf8('{"leaf":"x"}'));
  malformed.hashes = malformed.entries.map((each) => leafHash(each, sha256));
  const forkedWords = long.with(10, "other");

  it.each([
    ["log_rolled_back", logOf(wordsOf(299))],
    ["log_forked", logOf(wordsOf(300).with(3, "other"))],
    ["log_forked", logOf(forkedWords)],
    ["log_reordered", logOf([...swapped, ...long.slice(300)])],
    ["log_origin_other", logOf(long, { origin: "log.test/other" })],
    ["log_key_unknown", logOf(long, { key: noteKey("svc-log", "log", 8) })],
    ["log_key_unknown", logOf(long, { answer: whenPath("checkpoint", flipped) })],
    ["checkpoint_malformed", logOf(long, { answer: whenPath("checkpoint", () => utf8("no")) })],
    ["checkpoint_malformed", logOf(long, { answer: whenPath("checkpoint", () => new Uint8Array(70_000)) })],
    ["log_truncated", logOf(long, { answer: whenPath("tile/entries/001", () => null) })],
    ["log_truncated", logOf(long, { answer: whenPath("tile/0/001", () => null) })],
    ["tile_size", logOf(long, { answer: whenPath("tile/0/001", (b) => b?.subarray(32) ?? null) })],
    ["tile_size", logOf(long, { answer: whenPath("tile/0/001", () => new Uint8Array(9_000)) })],
    ["tile_wrong", logOf(long, { answer: whenPath("tile/0/001", flipped) })],
    ["tile_wrong", logOf(long, { answer: whenPath("tile/1/000", flipped) })],
    ["entries_wrong", logOf(long, { answer: whenPath("tile/entries/001", flipped) })],
    ["entries_wrong", logOf(long, { answer: whenPath("tile/entries/001", (b) => b?.subarray(9) ?? null) })],
    ["entries_wrong", logOf(long, { answer: whenPath("entries/001", () => new Uint8Array(400_000)) })],
    ["entry_malformed", malformed],
    ["consistency_invalid", logOf(long, { answer: whenPath("consistency", () => utf8('{"proof":[]}')) })],
    ["consistency_invalid", logOf(long, { answer: whenPath("consistency", () => null) })],
  ] as const)("is refused as %s (%#)", async (code, log) => {
    const { state } = await audit(logOf(wordsOf(300)));
    await expect(audit(log, state)).rejects.toMatchObject({ name: "LogFault", code });
  });

  it("is refused where a bundle has the tree's entries in another order", async () => {
    const log = logOf(long);
    const entries = [...log.entries];
    [entries[5], entries[6]] = [log.entries[6] as Uint8Array, log.entries[5] as Uint8Array];
    await expect(audit({ ...log, entries })).rejects.toMatchObject({ code: "log_reordered" });
  });

  it("is refused at the first audit where a higher tile or the signed root is another", async () => {
    const refused = { code: "tile_wrong" };
    await expect(audit(logOf(long, { answer: whenPath("tile/1/000", flipped) }))).rejects.toMatchObject(
      refused,
    );
    const other = () => utf8(noteOf(logOf(forkedWords)));
    await expect(audit(logOf(long, { answer: whenPath("checkpoint", other) }))).rejects.toMatchObject(
      refused,
    );
  });

  it("cannot use a state of another tree", async () => {
    const { state } = await audit(logOf(wordsOf(300)));
    const edge = state.edge.map((tile) => flipped(tile) ?? tile);
    await expect(audit(logOf(long), { ...state, edge })).rejects.toMatchObject({ code: "state_invalid" });
    expect(() => parseAuditState("{}")).toThrow("not the state of an audit");
  });
});
