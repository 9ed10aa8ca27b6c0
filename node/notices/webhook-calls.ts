// Calls to the endpoints of businesses: HTTPS to public addresses (C1 to C3 in node/domains/public-request.ts), each signed.
//   WC1. An answer counts by its status: 2xx, and nothing else. What it says is not looked at.
//   WC2. Everything is bounded: the time of a call, and what is read of its answer.
//   WC3. No log has an address: people put secrets into paths.

import type { IncomingMessage } from "node:http";
import type { CallFailure, CallOutcome } from "../../actors/messages/webhooks.ts";
import type { LogEntry } from "../../actors/system/ports.ts";
import type { WebhookCaller } from "../../actors/webhook/activities.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Clock, Signer } from "../../crypto/port.ts";
import { counter, type Reading } from "../../ops/metrics.ts";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import {
  contentDigest,
  coveredComponents,
  serializeParams,
  signatureBase,
  signatureHeaders,
} from "../../protocol/http-signature.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { signatureLifeMaxSeconds } from "../../protocol/limits.ts";
import { webhookTag } from "../../protocol/wire/webhook.ts";
import {
  codeOf,
  isTheirs,
  NoPublicAddress,
  noRecordCodes,
  openOutside,
  type Resolving,
  requestPublic,
} from "../domains/public-request.ts";
import type { WebhookKeys } from "./webhook-keys.ts";

export interface WebhookCallsDeps {
  readonly resolving: Resolving;
  readonly keys: Pick<WebhookKeys, "signerAt">;
  readonly clock: Clock;
  readonly log: (entry: LogEntry) => void;
  readonly limits?: Partial<CallLimits>;
}

interface CallLimits {
  /** The time of a call. */
  readonly wholeMs: number;
  /** The time of one question to one resolver. */
  readonly questionMs: number;
}

const defaults: CallLimits = { wholeMs: 10_000, questionMs: 2_500 };
/** What is read of an answer, so that an ordinary one is taken whole. */
const answerBytesMax = 16_384;

export interface WebhookCalls extends WebhookCaller {
  readings(): readonly Reading[];
}

export function createWebhookCalls({ resolving, keys, clock, log, limits }: WebhookCallsDeps): WebhookCalls {
  let [calls, failed] = [0, 0];
  return {
    call: async ({ actor, url: text, body }) => {
      const [url, bytes] = [new URL(text), canonicalBytes(body)];
      const nowMs = clock.now();
      const headers = {
        host: url.host,
        "content-type": "application/json",
        "content-length": bytes.length,
        "user-agent": "svc-webhook",
        ...(await signedHeaders(keys.signerAt(nowMs), { url, bytes, created: Math.floor(nowMs / 1_000) })),
      };
      const outside = openOutside(resolving, { ...defaults, ...limits });
      const outcome = await requestPublic(outside, url, { method: "POST", headers, body: bytes }).then(
        outcomeOf,
        (error: unknown) => ({ failure: failureOf(error, outside.signal), status: null }),
      );
      calls += 1;
      if (outcome.failure !== null) failed += 1;
      const detail = `${body.id}: ${outcome.status ?? outcome.failure}`;
      log(
        outcome.failure === null
          ? { level: "info", event: "webhook.delivered", actor, detail }
          : { level: "warn", event: "webhook.not_delivered", actor, detail },
      );
      return outcome;
    },
    readings: () => [
      counter("svc_webhook_calls_total", "Calls to endpoints of businesses.", calls),
      counter(
        "svc_webhook_calls_failed_total",
        "Calls to endpoints of businesses that were not answered with 2xx.",
        failed,
      ),
    ],
  };
}

async function signedHeaders(
  signer: Signer,
  { url, bytes, created }: { readonly url: URL; readonly bytes: Uint8Array; readonly created: number },
): Promise<Readonly<Record<string, string>>> {
  const digest = contentDigest(bytes, nativeCrypto.sha256);
  const query = url.search === "" ? null : url.search;
  const parts = { method: "POST", authority: url.host, path: url.pathname, query, contentDigest: digest };
  const params = serializeParams(coveredComponents(parts), {
    created,
    expires: created + signatureLifeMaxSeconds,
    nonce: toBase64Url(nativeCrypto.randomBytes(32)),
    keyid: signer.keyId,
    tag: webhookTag,
  });
  const signature = await signer.sign(utf8(signatureBase(parts, params)));
  return { "content-digest": digest, ...signatureHeaders(params, signature) };
}

async function outcomeOf(answer: IncomingMessage): Promise<CallOutcome> {
  const { statusCode: status = 0 } = answer;
  await cut(answer);
  if (status >= 200 && status < 300) return { failure: null, status };
  return { failure: status >= 300 && status < 400 ? "redirect" : "status", status };
}

/** Takes an answer, or as much of it as is read of any; the connection ends with the loop (WC2). */
async function cut(answer: IncomingMessage): Promise<void> {
  let length = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > answerBytesMax) break;
    }
  } catch {
    // Its status is known (WC1).
  }
}

function failureOf(error: unknown, { aborted }: AbortSignal): CallFailure {
  if (error instanceof NoPublicAddress) return "private_address";
  if (aborted) return "slow";
  const code = codeOf(error);
  if (noRecordCodes.has(code)) return "no_address";
  return isTheirs(code) && code !== "ECONNREFUSED" && !code.startsWith("HPE_") ? "tls" : "unreachable";
}
