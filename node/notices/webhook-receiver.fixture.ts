// What a receiver of webhooks was sent, and an independent judge of its signature. For tests.

import { createHash, createPublicKey, verify } from "node:crypto";
import type { RequestListener } from "node:http";
import { httpbis } from "http-message-signatures";
import type { WebhookBody, WebhookKey } from "../../protocol/wire/webhook.ts";

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly body: WebhookBody;
}

/** Takes what is sent, and then answers; anything but a POST is answered by `others`. */
export function receiving(
  received: Received[],
  answer: RequestListener,
  others: RequestListener = (_request, response) => void response.writeHead(404).end(),
): RequestListener {
  return (request, response) => {
    if (request.method !== "POST") return others(request, response);
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      const bytes = Buffer.concat(chunks);
      const named = Object.entries(headers).map(([name, value]) => [name, String(value)]);
      received.push({
        method,
        url: `https://${headers.host}${url}`,
        headers: Object.fromEntries(named),
        bytes,
        body: JSON.parse(bytes.toString("utf8")),
      });
      answer(request, response);
    });
  };
}

/** Whether one of the keys signed it as a webhook, by another implementation of RFC 9421, and of RFC 9530 by hand. */
export async function isSigned(
  { method, url, headers, bytes }: Received,
  keys: readonly WebhookKey[],
): Promise<boolean> {
  const digest = createHash("sha256").update(bytes).digest("base64");
  if (headers["content-digest"] !== `sha-256=:${digest}:`) return false;
  const isVerified = await httpbis.verifyMessage(
    {
      requiredFields: ["@method", "@authority", "@path", "content-digest"],
      requiredParams: ["created", "expires", "nonce", "keyid", "tag"],
      keyLookup: async ({ keyid, tag }) => {
        const jwk = keys.find(({ kid }) => kid === keyid);
        if (jwk === undefined || tag !== "svc-webhook") return null;
        const key = createPublicKey({ key: { ...jwk }, format: "jwk" });
        return { verify: async (data, signature) => verify(null, data, key, signature) };
      },
    },
    { method, url, headers },
  );
  return isVerified === true;
}
