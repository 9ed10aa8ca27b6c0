// Every bound of the transport, by name. A transport may be given other values, as in tests.

export interface TransportLimits {
  /** Maximum UTF-8 bytes of one message; the sender refuses a longer one. The same on all nodes of a cluster. */
  readonly messageBytesMax: number;
  /** Maximum characters of messages that share a frame. A longer message gets a frame of its own. */
  readonly frameCharsMax: number;
  /** Maximum calls in flight on one connection, enforced by its caller and again by its receiver. */
  readonly callsMax: number;
  /** Maximum characters queued on a connection. Beyond it a caller's next call is refused; a receiver disconnects. */
  readonly queueCharsMax: number;
  /** Characters of queued answers beyond which a receiver reads no further calls. */
  readonly answersPauseChars: number;
  /** Bytes handed to the platform but not yet taken by it, beyond which nothing more is handed over. */
  readonly bufferedBytesMax: number;
  /** Heartbeat interval: a side that has sent nothing since the last beat sends a sign of life. */
  readonly beatMs: number;
  /** Number of beats without any message from the peer after which the connection is dropped. */
  readonly silentBeatsMax: number;
  /** Maximum time from the first packet to the welcome, at either end. */
  readonly handshakeMs: number;
  /** Maximum bytes that a stranger may send, and of one handshake message. */
  readonly handshakeBytesMax: number;
  readonly handshakeMessageMax: number;
  /** Maximum connections that have not proven themselves yet (in total and per address), and of those that have. */
  readonly strangersMax: number;
  readonly strangersPerAddressMax: number;
  readonly connectionsMax: number;
  /** Back-off after a failed attempt to connect: initial and maximum. Jitter takes off up to half. */
  readonly reconnectMs: number;
  readonly reconnectMaxMs: number;
  /** A delivery has no time-out of its own: it waits this long for its answer. */
  readonly deliverTimeoutMs: number;
  /** How often time-outs are checked: one fires at most this much late. */
  readonly timeoutSweepMs: number;
  /** The state of a peer is forgotten when nobody has called it for this long. */
  readonly peerKeptMs: number;
  /** How long `close` waits until answers that are ready have left. */
  readonly closeMs: number;
}

export const defaultTransportLimits: TransportLimits = {
  messageBytesMax: 8 * 1024 * 1024,
  frameCharsMax: 64 * 1024,
  callsMax: 10_000,
  queueCharsMax: 64 * 1024 * 1024,
  answersPauseChars: 4 * 1024 * 1024,
  bufferedBytesMax: 1024 * 1024,
  beatMs: 250,
  silentBeatsMax: 6,
  handshakeMs: 1_500,
  handshakeBytesMax: 8 * 1024,
  handshakeMessageMax: 2 * 1024,
  strangersMax: 64,
  strangersPerAddressMax: 16,
  connectionsMax: 1_024,
  reconnectMs: 50,
  reconnectMaxMs: 2_000,
  deliverTimeoutMs: 30_000,
  timeoutSweepMs: 50,
  peerKeptMs: 60_000,
  closeMs: 500,
};

/** Bytes before the messages of a frame: the tag and the protocol version. */
export const frameHeadBytes = 17;

/** Bytes of the longest frame within the limits. */
export function frameBytesMax({ messageBytesMax, frameCharsMax }: TransportLimits): number {
  // A UTF-16 code unit takes at most three bytes of UTF-8.
  return frameHeadBytes + 2 + Math.max(messageBytesMax, frameCharsMax * 3);
}
