// Issuance by another process: requested over a local socket, and trusted no further than any verifier would trust it.
//   H1. The response must be the requested document and verify under the node's key set: nothing else is kept.
//   H2. If the process is away or does not know this node, the error says so; the same document may be requested again.

import { request } from "node:http";
import { connect } from "node:net";
import {
  type Clock,
  type HostedKeys,
  type Issuance,
  type SigningReason,
  type SigningUnavailable,
  signingUnavailable,
} from "../../crypto/port.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { type Envelope, parseEnvelope, payloadTypes } from "../../protocol/dsse.ts";
import { type PublicJwk, parsePublicJwk } from "../../protocol/keys/jwk.ts";
import { ok, refuse } from "../../protocol/result.ts";
import { judgeIssuable } from "../../service/register/issuance.ts";
import type { Environment } from "../../service/register/service-keys.ts";
import { type Trust, verifyIssued } from "../../verifier/trust.ts";
import {
  hostedKeyPath,
  hostedSealPath,
  type IssuanceAddress,
  issuePath,
} from "../configuration/key-config.ts";

const answerBytesMax = 65_536;
const timeoutMs = 10_000;
const retryAfterSeconds = 5;

interface Place {
  readonly address: IssuanceAddress;
  readonly secret: string;
}

export function createRemoteIssuance(
  options: Place & {
    readonly trust: () => Trust;
    readonly environment: Environment;
    readonly clock: Clock;
  },
): Issuance {
  const { environment, clock, trust } = options;
  return {
    issue: async (payloadType, payload) => {
      const judged = judgeIssuable({ payloadType, payload }, { environment, nowMs: clock.now() });
      if (!judged.ok) return judged;
      const asked = { payload_type: payloadType, payload: toBase64(payload) };
      const { status, body } = await post(options, { path: issuePath, reason: "issuance" }, asked);
      if (status === 422) return refuse("issuance_refused", detailOf(body));
      assertAnswered(status, "issuance");
      const envelope = envelopeIn(body);
      if (envelope === null || envelope.payload !== toBase64(payload))
        throw away("issuance", "it answered with something else");
      const verified = verifyIssued(trust(), envelope, { payloadType, at: judged.value.issued_at });
      if (!verified.ok)
        throw away(
          "issuance",
          `what it signed does not verify under this node's key set (${verified.code}): ${verified.detail}`,
        );
      return ok(envelope);
    },
  };
}

/** The keys that the process holds for businesses. What it seals is judged by the key that the register has, as any seal is. */
export function createRemoteHostedKeys(place: Place): HostedKeys {
  const ask = async (path: string, asked: object) => {
    const answered = await post(place, { path, reason: "hosted_key" }, asked);
    if (answered.status === 409)
      throw signingUnavailable(
        "hosted_key",
        "The issuance process holds no keys for businesses (hosted.jwk).",
      );
    return answered;
  };
  return {
    publicKey: async (of) => {
      const { status, body } = await ask(hostedKeyPath, of);
      assertAnswered(status, "hosted_key");
      const jwk = publicKeyIn(body);
      if (jwk === null) throw away("hosted_key", "it answered with something else");
      return jwk;
    },
    seal: async (of, { payload, confirmation }) => {
      const asked = { ...of, payload: toBase64(payload), confirmation };
      const { status, body } = await ask(hostedSealPath, asked);
      if (status === 422) return refuse("issuance_refused", detailOf(body));
      assertAnswered(status, "hosted_key");
      const envelope = envelopeIn(body);
      const isAsked = envelope?.payload === asked.payload && envelope.payloadType === payloadTypes["seal.v2"];
      if (!isAsked) throw away("hosted_key", "it answered with something else");
      return ok(envelope);
    },
  };
}

function assertAnswered(status: number, reason: SigningReason): void {
  if (status === 401)
    throw away(reason, "it does not know this node: compare SVC_ISSUANCE_SECRET_FILE with its clients");
  if (status !== 200) throw away(reason, `it answered ${status}`);
}

function away(reason: SigningReason, why: string): SigningUnavailable {
  return signingUnavailable(reason, `The issuance process signed nothing: ${why}.`, retryAfterSeconds);
}

function post(
  { address, secret }: Place,
  { path, reason }: { readonly path: string; readonly reason: SigningReason },
  document: object,
): Promise<{ readonly status: number; readonly body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const fail = (error: Error): void => reject(away(reason, `it cannot be reached (${error.message})`));
  const asked = request({
    ...("socket" in address ? { socketPath: address.socket } : address),
    method: "POST",
    path,
    agent: false,
    signal: AbortSignal.timeout(timeoutMs),
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
  });
  asked.once("error", fail);
  asked.once("response", (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      text += chunk;
      if (text.length > answerBytesMax) response.destroy(new Error("too long an answer"));
    });
    response.once("error", fail);
    response.once("end", () => resolve({ status: response.statusCode ?? 0, body: text }));
  });
  asked.end(JSON.stringify(document));
  return promise;
}

function envelopeIn(body: string): Envelope | null {
  try {
    const envelope = parseEnvelope(JSON.parse(body));
    return envelope.ok ? envelope.value : null;
  } catch {
    return null;
  }
}

function publicKeyIn(body: string): PublicJwk | null {
  try {
    const { public_key } = JSON.parse(body) as { readonly public_key?: unknown };
    const jwk = parsePublicJwk(public_key);
    return jwk.ok ? jwk.value : null;
  } catch {
    return null;
  }
}

function detailOf(body: string): string {
  try {
    const { detail } = JSON.parse(body) as { readonly detail?: unknown };
    return typeof detail === "string" ? detail : "The issuance process refused the document.";
  } catch {
    return "The issuance process refused the document.";
  }
}

// Whether anything listens where the issuance process should. It is asked nothing: only a document would show more.

/** Rejects if nobody takes the connection. */
export async function reachIssuance(address: IssuanceAddress): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect("socket" in address ? { path: address.socket } : address);
  socket.once("connect", resolve);
  socket.once("error", (error) => reject(new Error(`it cannot be reached (${error.message})`)));
  await promise.finally(() => socket.destroy());
}
