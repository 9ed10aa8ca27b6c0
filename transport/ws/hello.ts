// What both kinds of handshake have in common: how a node introduces itself, and how that introduction is read.

/** Version of the handshake itself, which is independent of the protocol's version. */
export const handshakeVersion = 1;
const nameCharsMax = 256;

export interface NodeIdentity {
  readonly incarnation: string;
  readonly region: string;
  /** `host:port` at which it is reached, as its membership states. */
  readonly address: string;
}

/** Protocol versions that a node speaks: integers from 1 to 255. */
export interface ProtocolRange {
  readonly min: number;
  readonly max: number;
}

/** What a node states about itself to every other. */
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

/** Judges a caller whose identity is proven; returns why it is refused nevertheless, or null. */
export type Judge = (caller: NodeIdentity) => HandshakeRefusal | null;

/** How one side reacts to a received text; `E` is what it knows once it has authenticated the other. */
export type HandshakeStep<E> =
  | { readonly say: string | null; readonly established: E | null; readonly refused?: undefined }
  | { readonly refused: HandshakeRefusal };

export interface HandshakeParty<E> {
  /** The text that it sends first; null for the receiver. */
  readonly opening: string | null;
  take(text: string): HandshakeStep<E>;
}

export type Members = Readonly<Record<string, unknown>>;

/** The members of a JSON object, or no members for any other text. */
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

/** The highest version in both ranges, or null when there is none. */
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
