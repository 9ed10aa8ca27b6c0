// The keys that sign webhooks, and nothing else. They follow from a secret that all nodes share, so all of them sign alike, and what a node
// publishes is what every other signs with.
//   WK1. Each key signs for ninety days. The one before, the one that signs and the one after it are published, so a receiver that reads
//        the directory again for a key that it does not know always finds it.

import { nativeCrypto } from "../../crypto/native.ts";
import type { Signer } from "../../crypto/port.ts";
import { createSigner, ed25519OfSeed } from "../../crypto/private-jwk.ts";
import { utf8 } from "../../protocol/bytes.ts";
import type { WebhookKey } from "../../protocol/wire/webhook.ts";

const signsForMs = 90 * 86_400_000;

export interface WebhookKeys {
  signerAt(nowMs: number): Signer;
  /** In the order of their time. */
  publishedAt(nowMs: number): readonly WebhookKey[];
}

export function createWebhookKeys(secret: Uint8Array): WebhookKeys {
  const signerOf = (period: number): Signer =>
    createSigner(ed25519OfSeed(nativeCrypto.hmacSha256(secret, utf8(String(period)))));
  const publishedOf = (period: number): WebhookKey => {
    const { keyId: kid, publicJwk } = signerOf(period);
    if (publicJwk.kty !== "OKP") throw new Error("A seed makes an Ed25519 key.");
    const startOf = (each: number): number => (each * signsForMs) / 1_000;
    return { ...publicJwk, kid, use: "sig", nbf: startOf(period), exp: startOf(period + 1) };
  };
  const made = (period: number) => ({
    period,
    signer: signerOf(period),
    published: [period - 1, period, period + 1].map(publishedOf),
  });
  let current = made(1);
  const at = (nowMs: number): typeof current => {
    const period = Math.floor(nowMs / signsForMs);
    if (current.period !== period) current = made(period);
    return current;
  };
  return { signerAt: (nowMs) => at(nowMs).signer, publishedAt: (nowMs) => at(nowMs).published };
}
