// Every bound of the transport, by name. A transport may be given others; tests do.

export interface TransportLimits {
  /** UTF-8 bytes of one message; a longer one is refused, at the sender. The same on all nodes of a cluster. */
  readonly messageBytesMax: number;
  /** Characters of messages that share a frame. One longer message has a frame of its own. */
  readonly frameCharsMax: number;
  /** Calls under way on one connection, at its caller and again at its receiver. */
  readonly callsMax: number;
  /** Characters that wait to be sent on one connection. A caller's next call is refused; a receiver gives the connection up. */
  readonly queueCharsMax: number;
  /** Characters of waiting answers over which a receiver reads no further calls. */
  readonly answersPauseChars: number;
  /** Bytes handed to the platform and not yet taken by it, over which nothing more is handed. */
  readonly bufferedBytesMax: number;
  /** Length of the beat: whoever sent nothing since the last one says that it is alive. */
  readonly beatMs: number;
  /** Beats without a word of the peer after which the connection is given up. */
  readonly silentBeatsMax: number;
  /** From the first packet to the welcome, at either end. */
  readonly handshakeMs: number;
  /** Bytes that a stranger may send, and of one message of the handshake. */
  readonly handshakeBytesMax: number;
  readonly handshakeMessageMax: number;
  /** Connections that have not proven themselves yet, all of them and of one address, and those that have. */
  readonly strangersMax: number;
  readonly strangersPerAddressMax: number;
  readonly connectionsMax: number;
  /** Back-off after a failed attempt to connect: first, and at most. Halved at random. */
  readonly reconnectMs: number;
  readonly reconnectMaxMs: number;
  /** A delivery has no time of its own: it waits this long for its answer. */
  readonly deliverTimeoutMs: number;
  /** How often timeouts are looked for: one is this much late at most. */
  readonly timeoutSweepMs: number;
  /** What is known of a peer is forgotten when nobody called it for this long. */
  readonly peerKeptMs: number;
  /** How long `close` waits for what was already answered to leave. */
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

/** Bytes of the longest frame that keeps the limits. */
export function frameBytesMax({ messageBytesMax, frameCharsMax }: TransportLimits): number {
  // A character of UTF-16 is at most three bytes of UTF-8.
  return frameHeadBytes + 2 + Math.max(messageBytesMax, frameCharsMax * 3);
}
