// How two nodes of a sandbox, which need no certificates, authenticate each other: challenge and response by HMAC-SHA-256
// under the cluster's secret, over everything that both sides said. There is no socket here: each side is a function from
// the text it received to the text it sends next.
//
//   caller                                          receiver
//   hello: cluster, nonce, who, whom, versions ───▶
//                                              ◀─── challenge: nonce, who, versions
//   proofs                                     ───▶
//                                              ◀─── welcome: proof
//
//   H1. Both nonces are fresh and part of both proofs, so a recorded handshake cannot be replayed.
//   H2. The proofs of the two sides differ by their label, so neither can be reflected to its author.
//   H3. The proofs cover cluster, incarnations, regions and version ranges, so nobody in between can change them unnoticed.
//   H4. The caller names the incarnation that it means; if another one answers, the caller disconnects.
//   H5. The highest version that both speak is chosen; without one there is no connection.
//   H6. Frame keys are derived from the same transcript: they belong to this connection and one direction.
//   H7. A connection uses one secret, the receiver's. While a cluster changes its secret a caller may know two: it
//       proves both, and continues with the one that the receiver proves.
//   H8. The caller proves first: a proof helps to guess a weak secret, and nobody obtains one just by connecting.
// Unknown members are ignored here as well, so that a later version may add some.

import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from "node:crypto";
import { parseBase64Url, toBase64Url } from "../../protocol/bytes.ts";
import {
  commonVersion,
  type HandshakeParty,
  type HandshakeStep,
  handshakeVersion,
  type Introduction,
  type Judge,
  type NodeIdentity,
  type ProtocolRange,
  parseIdentity,
  parseMembers,
  parseRange,
  rangeMembers,
} from "./hello.ts";
import { type FrameKeys, frameKey } from "./messages.ts";

const nonceBytes = 32;
/** At most as many proofs as a caller may know secrets (H7). */
const proofsMax = 2;

export interface Credentials extends Introduction {
  /** The secret that a called node asks for, and proves in turn. */
  readonly secret: KeyObject;
  /** A second secret that also identifies nodes of the cluster, while the secret changes. */
  readonly alsoAccepted?: KeyObject | null;
}

/** What both sides know once they have authenticated each other. */
export interface Proven {
  readonly peer: NodeIdentity;
  /** The chosen version. */
  readonly protocol: number;
  readonly keys: FrameKeys;
}

/** Everything that the proofs cover. */
interface Transcript {
  readonly cluster: string;
  readonly caller: NodeIdentity;
  readonly callerRange: ProtocolRange;
  readonly callerNonce: string;
  readonly receiver: NodeIdentity;
  readonly receiverRange: ProtocolRange;
  readonly receiverNonce: string;
}

/** Creates the side that opened the connection, to reach the incarnation `expected`. */
export function createCaller(
  { cluster, secret, alsoAccepted, self, protocol }: Credentials,
  expected: string,
): HandshakeParty<Proven> {
  const known = [secret, ...(alsoAccepted ? [alsoAccepted] : [])];
  const nonce = freshNonce();
  let challenged: { readonly transcript: Transcript; readonly version: number } | null = null;
  const takeChallenge = (text: string): HandshakeStep<Proven> => {
    const heard = parseMembers(text);
    const [receiver, range, receiverNonce] = [parseIdentity(heard), parseRange(heard), heard["nonce"]];
    if (receiver === null || range === null || !isNonce(receiverNonce)) return { refused: "malformed" };
    const [callerRange, callerNonce, receiverRange] = [protocol, nonce, range];
    const transcript: Transcript = {
      cluster,
      caller: self,
      callerRange,
      callerNonce,
      receiver,
      receiverRange,
      receiverNonce,
    };
    if (receiver.incarnation !== expected) return { refused: "incarnation" };
    const version = commonVersion(protocol, range);
    if (version === null) return { refused: "protocol" };
    challenged = { transcript, version };
    const proofs = known.map((each) => toBase64Url(mac(each, "caller proof", transcript)));
    return { say: JSON.stringify({ proofs }), established: null };
  };
  const takeWelcome = (
    text: string,
    { transcript, version }: NonNullable<typeof challenged>,
  ): HandshakeStep<Proven> => {
    const { proof } = parseMembers(text);
    if (typeof proof !== "string") return { refused: "malformed" };
    const proven = known.find((each) => isProof(proof, each, "receiver proof", transcript));
    if (proven === undefined) return { refused: "stranger" };
    const keys = frameKeys(proven, transcript, "caller");
    return { say: null, established: { peer: transcript.receiver, protocol: version, keys } };
  };
  const hello = {
    svc_transport: handshakeVersion,
    cluster,
    nonce,
    ...self,
    ...rangeMembers(protocol),
    to: expected,
  };
  return {
    opening: JSON.stringify(hello),
    take: (text) => (challenged === null ? takeChallenge(text) : takeWelcome(text, challenged)),
  };
}

/** Creates the side that was called. `judge` is asked about a caller that has proven itself, and may refuse it. */
export function createReceiver(
  { cluster, secret, self, protocol }: Credentials,
  judge: Judge = () => null,
): HandshakeParty<Proven> {
  let transcript: Transcript | null = null;
  let chosen: Proven | null = null;
  const takeHello = (text: string): HandshakeStep<Proven> => {
    const heard = parseMembers(text);
    const [caller, range, callerNonce] = [parseIdentity(heard), parseRange(heard), heard["nonce"]];
    const isOurs = heard["svc_transport"] === handshakeVersion;
    if (!isOurs || caller === null || range === null || !isNonce(callerNonce))
      return { refused: "malformed" };
    if (heard["cluster"] !== cluster) return { refused: "cluster" };
    if (heard["to"] !== self.incarnation) return { refused: "incarnation" };
    const version = commonVersion(protocol, range);
    if (version === null) return { refused: "protocol" };
    const [receiverNonce, callerRange, receiverRange] = [freshNonce(), range, protocol];
    transcript = { cluster, caller, callerRange, callerNonce, receiver: self, receiverRange, receiverNonce };
    chosen = { peer: caller, protocol: version, keys: frameKeys(secret, transcript, "receiver") };
    const challenge = { nonce: receiverNonce, ...self, ...rangeMembers(protocol) };
    return { say: JSON.stringify(challenge), established: null };
  };
  const takeProofs = (text: string, of: Transcript): HandshakeStep<Proven> => {
    const { proofs } = parseMembers(text);
    const given = Array.isArray(proofs) ? proofs.slice(0, proofsMax) : [];
    if (!given.some((each) => isProof(each, secret, "caller proof", of))) return { refused: "stranger" };
    const refused = judge(of.caller);
    if (refused !== null) return { refused };
    // H8: only now.
    const proof = toBase64Url(mac(secret, "receiver proof", of));
    return { say: JSON.stringify({ proof }), established: chosen };
  };
  return {
    opening: null,
    take: (text) => (transcript === null ? takeHello(text) : takeProofs(text, transcript)),
  };
}

type Label = "caller proof" | "receiver proof" | "caller frames" | "receiver frames";

function mac(secret: KeyObject, label: Label, of: Transcript): Buffer {
  // A JSON list of texts and numbers: no two transcripts have the same bytes.
  const words = [
    "svc_transport",
    handshakeVersion,
    label,
    of.cluster,
    of.caller.incarnation,
    of.caller.region,
    of.caller.address,
    of.callerRange.min,
    of.callerRange.max,
    of.callerNonce,
    of.receiver.incarnation,
    of.receiver.region,
    of.receiver.address,
    of.receiverRange.min,
    of.receiverRange.max,
    of.receiverNonce,
  ];
  return createHmac("sha256", secret).update(JSON.stringify(words)).digest();
}

function isProof(proof: unknown, secret: KeyObject, label: Label, of: Transcript): boolean {
  const given = typeof proof === "string" ? parseBase64Url(proof) : null;
  const right = mac(secret, label, of);
  return given !== null && given.length === right.length && timingSafeEqual(given, right);
}

function frameKeys(secret: KeyObject, of: Transcript, side: "caller" | "receiver"): FrameKeys {
  const caller = frameKey(mac(secret, "caller frames", of));
  const receiver = frameKey(mac(secret, "receiver frames", of));
  return side === "caller"
    ? { sending: caller, receiving: receiver }
    : { sending: receiver, receiving: caller };
}

function freshNonce(): string {
  return toBase64Url(randomBytes(nonceBytes));
}

function isNonce(nonce: unknown): nonce is string {
  return typeof nonce === "string" && parseBase64Url(nonce)?.length === nonceBytes;
}
