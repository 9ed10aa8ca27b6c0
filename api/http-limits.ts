// What callers may take up of a node before and while it answers them. The defaults are published in docs/production.md.

export interface HttpLimits {
  /** Connections of all surfaces together; beyond it, the longest-idle connection of the busiest address is closed. */
  readonly connectionsMax: number;
  /** Connections of one address, not counting trusted proxies; 0 for no bound. */
  readonly connectionsPerAddressMax: number;
  /** After this many requests a connection is closed with its answer; 0 for no bound. */
  readonly requestsPerConnectionMax: number;
  /** Maximum time for a head to arrive. */
  readonly headTimeoutMs: number;
  /** Minimum time that a body has, to which each `bodyBytesPerSecondMin` received add one more second. */
  readonly bodyGraceMs: number;
  readonly bodyBytesPerSecondMin: number;
  /** The same for a bulk file, which is let in by a token that is valid for an hour: the longest takes little more than that. */
  readonly fileBytesPerSecondMin: number;
  /** Bodies of more than 16 KiB being read or answered, for all callers together and for each: a party, or an address. */
  readonly bodyBytesMax: number;
  readonly bodyBytesPerCallerMax: number;
  /** Bulk files that are taken in at once, for all owners together and for each: a business, or in a sandbox an address. */
  readonly filesMax: number;
  readonly filesPerOwnerMax: number;
  /** Maximum time that a peer may take nothing of an answer. */
  readonly answerStallMs: number;
  /** Answers that peers have not taken, for all addresses together and for each. */
  readonly answerBytesMax: number;
  readonly answerBytesPerAddressMax: number;
  /** Checks (see checks.ts) that are answered at once, for all addresses together and for each; others wait. */
  readonly checksMax: number;
  readonly checksPerAddressMax: number;
  /** Bodies of checks that are read at once or wait to be answered, likewise. */
  readonly checkBodiesMax: number;
  readonly checkBodiesPerAddressMax: number;
  /** Checks that wait to be answered, and as many that wait to be read. */
  readonly checksWaitingMax: number;
  /** Maximum time of each wait. */
  readonly checkWaitMs: number;
  /** Minimum time that a body has for which another one waits. */
  readonly slowBodyMs: number;
}

const mebibyte = 1_048_576;

export const httpLimitsDefault: HttpLimits = Object.freeze({
  connectionsMax: 2_000,
  connectionsPerAddressMax: 256,
  requestsPerConnectionMax: 10_000,
  headTimeoutMs: 15_000,
  bodyGraceMs: 10_000,
  bodyBytesPerSecondMin: 262_144,
  fileBytesPerSecondMin: 65_536,
  bodyBytesMax: 256 * mebibyte,
  bodyBytesPerCallerMax: 96 * mebibyte,
  filesMax: 16,
  filesPerOwnerMax: 8,
  answerStallMs: 30_000,
  answerBytesMax: 128 * mebibyte,
  answerBytesPerAddressMax: 32 * mebibyte,
  checksMax: 8,
  checksPerAddressMax: 4,
  checkBodiesMax: 64,
  checkBodiesPerAddressMax: 16,
  checksWaitingMax: 1_000,
  checkWaitMs: 10_000,
  slowBodyMs: 2_000,
});

/** The maximum time that a body of this many bytes may take. */
export function bodyTimeMs(
  { bodyGraceMs, bodyBytesPerSecondMin }: HttpLimits,
  bytes: number,
  bytesPerSecondMin = bodyBytesPerSecondMin,
): number {
  return bodyGraceMs + (1_000 * bytes) / bytesPerSecondMin;
}
