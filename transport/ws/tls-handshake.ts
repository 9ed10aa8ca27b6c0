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

/** What both sides know once the handshake is complete. */
export interface Met {
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
    ...{ svc_transport: handshakeVersion, over: "tls", cluster },
    ...{ ...self, ...rangeMembers(protocol), to: expected },
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

/** Creates the side that was called. */
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
