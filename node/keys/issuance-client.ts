// Issuance by another process: requested over a local socket, and trusted no further than any verifier would trust it.
//   H1. The response must be the requested document and verify under the node's key set: nothing else is kept.
//   H2. If the process is away or does not know this node, the error says so; the same document may be requested again.

import { request } from "node:http";
import { connect } from "node:net";
import { type Clock, type Issuance, type SigningUnavailable, signingUnavailable } from "../../crypto/port.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { type Envelope, parseEnvelope } from "../../protocol/dsse.ts";
import { ok, refuse } from "../../protocol/result.ts";
import { judgeIssuable } from "../../service/register/issuance.ts";
import type { Environment } from "../../service/register/service-keys.ts";
import { type Trust, verifyIssued } from "../../verifier/trust.ts";
import { type IssuanceAddress, issuePath } from "../configuration/key-config.ts";

const answerBytesMax = 65_536;
const timeoutMs = 10_000;
const retryAfterSeconds = 5;

export function createRemoteIssuance(options: {
  readonly address: IssuanceAddress;
  readonly secret: string;
  readonly trust: () => Trust;
  readonly environment: Environment;
  readonly clock: Clock;
}): Issuance {
  const { environment, clock, trust } = options;
  return {
    issue: async (payloadType, payload) => {
      const judged = judgeIssuable({ payloadType, payload }, { environment, nowMs: clock.now() });
      if (!judged.ok) return judged;
      const { status, body } = await post(
        options,
        JSON.stringify({ payload_type: payloadType, payload: toBase64(payload) }),
      );
      if (status === 422) return refuse("issuance_refused", detailOf(body));
      if (status === 401)
        throw away("it does not know this node: compare SVC_ISSUANCE_SECRET_FILE with its clients");
      if (status !== 200) throw away(`it answered ${status}`);
      const envelope = envelopeIn(body);
      if (envelope === null || envelope.payload !== toBase64(payload))
        throw away("it answered with something else");
      const verified = verifyIssued(trust(), envelope, { payloadType, at: judged.value.issued_at });
      if (!verified.ok)
        throw away(
          `what it signed does not verify under this node's key set (${verified.code}): ${verified.detail}`,
        );
      return ok(envelope);
    },
  };
}

function away(why: string): SigningUnavailable {
  return signingUnavailable("issuance", `The issuance process signed nothing: ${why}.`, retryAfterSeconds);
}

function post(
  { address, secret }: { readonly address: IssuanceAddress; readonly secret: string },
  body: string,
): Promise<{ readonly status: number; readonly body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const fail = (error: Error): void => reject(away(`it cannot be reached (${error.message})`));
  const asked = request({
    ...("socket" in address ? { socketPath: address.socket } : address),
    method: "POST",
    path: issuePath,
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
  asked.end(body);
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
