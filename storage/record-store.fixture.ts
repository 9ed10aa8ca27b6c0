// Versions, heads and seals for the conformance suites of the record store.

import {
  type RecordHead,
  type RecordStore,
  type RecordVersion,
  type StagedPush,
  type StoredSeal,
  stagedPages,
} from "./record-store.ts";

let counter = 0;
/** Unique across this run and earlier ones, so that stores which keep their contents can be used. */
export function fresh(prefix: string): string {
  counter += 1;
  return `${prefix}_${Date.now().toString(36)}_${counter}`;
}

export function bytes(...values: readonly number[]): Uint8Array {
  return Uint8Array.from(values);
}

export function hash(digit: string): string {
  return `sha256:${digit.repeat(64)}`;
}

const business = "6f1c2f5e-8a8b-4a37-9d0c-2f1d7c3b5a10";

export function version(
  record_id: string,
  seal_id: string,
  changes: Partial<RecordVersion> = {},
): RecordVersion {
  return {
    record_id,
    business_uuid: business,
    type: "products",
    generation: 1,
    hash: hash("1"),
    bytes: bytes(0, 123, 255, 128, 10),
    seal_id,
    leaf_index: 3,
    proof: new Uint8Array(64).fill(9),
    sidecar: '{"payloadType":"sidecar","payload":"é\\u0000"}',
    row: '{"product_name":"Größe 4 – 日本語 😀"}',
    cert_id: hash("c"),
    published_at_ms: 1_780_000_000_123,
    ...changes,
  };
}

export function head(record_id: string, changes: Partial<RecordHead> = {}): RecordHead {
  const common = { record_id, business_uuid: business, type: "products" };
  return { ...common, live: true, generation: 1, change: 1, hash: hash("1"), ...changes };
}

export function seal(seal_id: string, changes: Partial<StoredSeal> = {}): StoredSeal {
  return { seal_id, envelope: '{"payloadType":"batch-seal","signatures":[]}', tree_size: 8, ...changes };
}

/** All that is staged, by id, read in pages of at most `limit`. */
export async function stagedIn(store: RecordStore, limit: number): Promise<readonly StagedPush[]> {
  const found: StagedPush[] = [];
  for await (const { pushes } of stagedPages(store, limit)) {
    if (pushes.length > limit) throw new Error(`A page of ${limit} has ${pushes.length} pushes.`);
    found.push(...pushes);
  }
  return found.sort((a, b) => (a.push_id < b.push_id ? -1 : 1));
}
