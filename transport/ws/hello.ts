// What both kinds of handshake have in common: what a node calls itself, and how its words are read.

/** Version of the handshake itself, which never changes with the protocol's. */
export const handshakeVersion = 2;
const nameCharsMax = 256;

/** Whom a node says that it is. */
export interface NodeIdentity {
  readonly incarnation: string;
  readonly region: string;
  /** `host:port` that it is reached at, as its membership says. */
  readonly address: string;
}

/** Protocol versions that a node speaks: integers from 1 to 255. */
export interface ProtocolRange {
  readonly min: number;
  readonly max: number;
}

/** What a node says of itself to every other. */
export interface Introduction {
  readonly cluster: string;
  readonly self: NodeIdentity;
  readonly protocol: ProtocolRange;
}

/** Why there is no connection; as WebSocket close codes of the private range (RFC 6455 §7.4.2). */
export const refusalCodes = {
  malformed: 4000,
  stranger: 4001,
  cluster: 4002,
  incarnation: 4003,
  protocol: 4004,
  busy: 4005,
  address: 4006,
} as const;

export type HandshakeRefusal = keyof typeof refusalCodes;

/** Asked about a caller that is who it says; why it is refused all the same, or null. */
export type Judge = (caller: NodeIdentity) => HandshakeRefusal | null;

/** What one side does about a text that it heard; `E` is what it knows once it believes the other. */
export type HandshakeStep<E> =
  | { readonly say: string | null; readonly established: E | null; readonly refused?: undefined }
  | { readonly refused: HandshakeRefusal };

export interface HandshakeParty<E> {
  /** What it says unasked; null for the receiver. */
  readonly opening: string | null;
  take(text: string): HandshakeStep<E>;
}

export type Members = Readonly<Record<string, unknown>>;

/** Whatever it is: the members of a JSON object, none of anything else. */
export function parseMembers(text: string): Members {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Members) : {};
  } catch {
    return {};
  }
}

export function parseIdentity({ incarnation, region, address }: Members): NodeIdentity | null {
  return isName(incarnation) && isName(region) && isName(address) ? { incarnation, region, address } : null;
}

export function rangeMembers({ min, max }: ProtocolRange): Members {
  return { protocol_min: min, protocol_max: max };
}

export function parseRange({ protocol_min: min, protocol_max: max }: Members): ProtocolRange | null {
  return isVersion(min) && isVersion(max) && min <= max ? { min, max } : null;
}

/** The highest version in both ranges, null when there is none. */
export function commonVersion(one: ProtocolRange, other: ProtocolRange): number | null {
  const highest = Math.min(one.max, other.max);
  return highest >= Math.max(one.min, other.min) ? highest : null;
}

function isName(name: unknown): name is string {
  return typeof name === "string" && name.length > 0 && name.length <= nameCharsMax;
}

function isVersion(version: unknown): version is number {
  return Number.isInteger(version) && (version as number) >= 1 && (version as number) <= 255;
}
