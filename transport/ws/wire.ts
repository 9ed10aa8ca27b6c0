// What the two ends of a connection agree on besides its frames, and what an operator sees of a transport.

import type { Credentials, Proven } from "./handshake.ts";
import {
  commonVersion,
  type HandshakeParty,
  handshakeVersion,
  type Introduction,
  type Judge,
  type NodeIdentity,
  parseIdentity,
  parseMembers,
  parseRange,
  rangeMembers,
} from "./hello.ts";

/** The path on which a node listens; every other path is answered with 404. */
export const transportPath = "/svc-transport";

/** What both ends of a connection know once their handshake is over. */
export type Established = Proven | Met;

/** How the nodes of a cluster recognise each other: by certificates or, in a sandbox, by a secret. */
export type NodeSecurity =
  | { readonly tls: MutualTls; readonly credentials: Introduction }
  | { readonly tls: null; readonly credentials: Credentials };

/** Each side must present a certificate signed by `ca`. */
export interface MutualTls {
  /** Key and certificates in PEM. */
  readonly key: string;
  readonly cert: string;
  readonly ca: string;
}

export interface TransportLogEntry {
  readonly level: "info" | "warn" | "error";
  readonly event:
    | "connected"
    | "connection_ended"
    | "connect_failed"
    | "handshake_refused"
    | "call_crashed"
    | "answer_unfit";
  /** Address or incarnation of the other side; empty for a stranger. */
  readonly peer: string;
  readonly detail: string;
}

export type TransportLog = (entry: TransportLogEntry) => void;

/** A node that is called from here. */
export interface PeerStats {
  readonly address: string;
  readonly incarnation: string;
  readonly state: "idle" | "connecting" | "connected";
  /** The chosen version; null without a connection. */
  readonly protocol: number | null;
  readonly openCalls: number;
  readonly queuedChars: number;
}

/** A node that calls this one. */
export interface CallerStats extends NodeIdentity {
  readonly protocol: number;
  readonly openCalls: number;
  readonly queuedChars: number;
  /** True while its calls are not read because its answers are queued. */
  readonly isPaused: boolean;
}

export interface TransportStats {
  readonly peers: readonly PeerStats[];
  readonly callers: readonly CallerStats[];
  /** Number of connections that have not proven themselves yet. */
  readonly strangers: number;
  /** Handshakes refused here, by reason. */
  readonly refused: Readonly<Record<string, number>>;
  /** Duplicate calls, each executed once. */
  readonly duplicates: number;
}

// The handshake over mutual TLS, which authenticates both nodes and protects every byte (RFC 8446): the two sides only need
// to state who is calling whom, and in which version. There is no socket here: each side is a function from the text it
// received to the text it sends next.
//
//   caller                                receiver
//   hello: cluster, who, whom, versions ───▶
//                                    ◀─── welcome: who, versions
//
//   I1. The caller names the incarnation that it means; if another one answers, the caller disconnects.
//   I2. The highest version that both speak is chosen; without one there is no connection.
//   I3. A caller states the address at which it is reached, and is judged by the certificate that it presented.
//   I4. A keyed hello is refused, and a node that asks for keys refuses a hello without one: the settings differ.
// Unknown members are ignored here as well, so that a later version may add some.

/** What both sides know once the handshake is complete. */
interface Met {
  readonly peer: NodeIdentity;
  /** The chosen version. */
  readonly protocol: number;
  /** TLS protects the frames. */
  readonly keys: null;
}

/** Creates the side that opened the connection, to reach the incarnation `expected`. */
export function createTlsCaller(
  { cluster, self, protocol }: Introduction,
  expected: string,
): HandshakeParty<Met> {
  const hello = {
    svc_transport: handshakeVersion,
    over: "tls",
    cluster,
    ...self,
    ...rangeMembers(protocol),
    to: expected,
  };
  return {
    opening: JSON.stringify(hello),
    take: (text) => {
      const heard = parseMembers(text);
      const [peer, range] = [parseIdentity(heard), parseRange(heard)];
      if (peer === null || range === null) return { refused: "malformed" };
      if (peer.incarnation !== expected) return { refused: "incarnation" };
      const version = commonVersion(protocol, range);
      if (version === null) return { refused: "protocol" };
      return { say: null, established: { peer, protocol: version, keys: null } };
    },
  };
}

export function createTlsReceiver(
  { cluster, self, protocol }: Introduction,
  judge: Judge,
): HandshakeParty<Met> {
  return {
    opening: null,
    take: (text) => {
      const heard = parseMembers(text);
      const [peer, range] = [parseIdentity(heard), parseRange(heard)];
      const isOurs = heard["svc_transport"] === handshakeVersion && heard["over"] === "tls";
      if (!isOurs || peer === null || range === null) return { refused: "malformed" };
      if (heard["cluster"] !== cluster) return { refused: "cluster" };
      if (heard["to"] !== self.incarnation) return { refused: "incarnation" };
      const version = commonVersion(protocol, range);
      if (version === null) return { refused: "protocol" };
      const refused = judge(peer);
      if (refused !== null) return { refused };
      const welcome = { ...self, ...rangeMembers(protocol) };
      return { say: JSON.stringify(welcome), established: { peer, protocol: version, keys: null } };
    },
  };
}
