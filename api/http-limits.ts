// What callers may take up of a node before and while it answers them. The defaults are published in docs/production.md.

export interface HttpLimits {
  /** Connections of all surfaces together; beyond it the one of the busiest address that was idle for longest goes. */
  readonly connectionsMax: number;
  /** Connections of one address, proxies that are trusted aside; 0 for no bound. */
  readonly connectionsPerAddressMax: number;
  /** After so many requests a connection is ended with its answer; 0 for no bound. */
  readonly requestsPerConnectionMax: number;
  /** How long a head may take. */
  readonly headTimeoutMs: number;
  /** A body has this long, and a second more for each `bodyBytesPerSecondMin` that came: at no moment less. */
  readonly bodyGraceMs: number;
  readonly bodyBytesPerSecondMin: number;
  /** Bodies of more than 16 KiB that are being read or answered, of all callers and of one: a key, or an address. */
  readonly bodyBytesMax: number;
  readonly bodyBytesPerCallerMax: number;
  /** How long a peer may take nothing of an answer. */
  readonly answerStallMs: number;
  /** Answers that peers have not taken, to all addresses and to one. */
  readonly answerBytesMax: number;
  readonly answerBytesPerAddressMax: number;
}

const mebibyte = 1_048_576;

export const httpLimitsDefault: HttpLimits = Object.freeze({
  connectionsMax: 2_000,
  connectionsPerAddressMax: 256,
  requestsPerConnectionMax: 10_000,
  headTimeoutMs: 15_000,
  bodyGraceMs: 10_000,
  bodyBytesPerSecondMin: 262_144,
  bodyBytesMax: 256 * mebibyte,
  bodyBytesPerCallerMax: 96 * mebibyte,
  answerStallMs: 30_000,
  answerBytesMax: 128 * mebibyte,
  answerBytesPerAddressMax: 32 * mebibyte,
});

/** How long a body of that many bytes may take at most. */
export function bodyTimeMs({ bodyGraceMs, bodyBytesPerSecondMin }: HttpLimits, bytes: number): number {
  return bodyGraceMs + (1_000 * bytes) / bodyBytesPerSecondMin;
}
