// The service's key set, read from the public surface and read again every ten minutes (specification, «D. Tool server»).
//   K1. A key set is used for ten minutes, then read again by the next call that needs it; calls meanwhile share one read.
//   K2. If that read fails, the older key set is used on: it is signed, and says itself how long its keys are valid.

import type { SvcClient } from "../client/service-client.ts";
import { utf8 } from "../protocol/bytes.ts";

export const keySetLifeMs = 600_000;

export type ReadKeySet = () => Promise<Uint8Array>;

/** `now` gives Unix milliseconds. The result rejects only while there has never been a key set. */
export function createKeySetCache(
  client: Pick<SvcClient, "verificationRead">,
  now: () => number,
): ReadKeySet {
  let held: { readonly keySet: Uint8Array; readonly readAtMs: number } | null = null;
  let reading: Promise<Uint8Array> | null = null;
  const read = async (): Promise<Uint8Array> => {
    try {
      const { text } = await client.verificationRead("/.well-known/keys");
      held = { keySet: utf8(text), readAtMs: now() };
      return held.keySet;
    } catch (error) {
      if (held === null) throw error;
      return held.keySet;
    } finally {
      reading = null;
    }
  };
  return () => {
    if (held !== null && now() - held.readAtMs < keySetLifeMs) return Promise.resolve(held.keySet);
    reading ??= read();
    return reading;
  };
}
