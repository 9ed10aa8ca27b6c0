// Whether the service sent a webhook: what a receiver in Node runs. Put the verification host of your deployment in.

import { createHash, createPublicKey, verify } from "node:crypto";

const directory = "https://verify.svc.example/.well-known/http-message-signatures-directory";
const signed =
  /^sig1=(\("@method" "@authority" "@path" "content-digest"\);created=\d+;expires=(\d+);nonce="[\w-]+";keyid="([\w-]+)";tag="svc-webhook")$/;

/** `url` is yours, as you wrote it; `headers` as Node has them; `body` the bytes that came. */
export async function isOfService(url, headers, body) {
  const [, params, expires, keyid] = signed.exec(headers["signature-input"]) ?? [];
  const digest = `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;
  if (headers["content-digest"] !== digest || !(expires > Date.now() / 1000)) return false;
  const { keys } = await (await fetch(directory)).json();
  const key = keys.find(({ kid }) => kid === keyid);
  const { host, pathname } = new URL(url);
  const base = `"@method": POST\n"@authority": ${host}\n"@path": ${pathname}\n"content-digest": ${digest}\n"@signature-params": ${params}`;
  const signature = Buffer.from((headers.signature ?? "").slice("sig1=:".length, -1), "base64");
  return (
    key !== undefined && verify(null, Buffer.from(base), createPublicKey({ key, format: "jwk" }), signature)
  );
}
