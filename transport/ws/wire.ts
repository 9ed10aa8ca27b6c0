// What the two ends of a connection agree on besides its frames, and what an operator sees of a transport.

import type { Credentials, Proven } from "./handshake.ts";
import type { Introduction, NodeIdentity } from "./hello.ts";
import type { Met } from "./tls-handshake.ts";

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
