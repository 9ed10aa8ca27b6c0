// Bytes that only the holder of a key reads: AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits in front. The words that they
// are bound to are authenticated and not stored, so what is sealed for one place opens at no other. The platform's pool does the work:
// a file is as long as its sender wants.

import { randomFillSync, webcrypto } from "node:crypto";
import type { SecretBox } from "./port.ts";

const { subtle } = webcrypto;
const nonceBytes = 12;
const tagBytes = 16;

export const secretBox: SecretBox = {
  seal: async (key, bytes, boundTo) => {
    const [own, iv] = [ownBytes(bytes), randomFillSync(new Uint8Array(nonceBytes))];
    const [encrypted, digest] = await Promise.all([
      subtle.encrypt(algorithm(iv, boundTo), await keyOf(key), own),
      subtle.digest("SHA-256", own),
    ]);
    const sealed = new Uint8Array(nonceBytes + encrypted.byteLength);
    sealed.set(iv);
    sealed.set(new Uint8Array(encrypted), nonceBytes);
    return { sealed, sha256: new Uint8Array(digest) };
  },
  open: async (key, sealed, boundTo) => {
    if (sealed.length < nonceBytes + tagBytes) return null;
    const own = ownBytes(sealed);
    const of = algorithm(own.subarray(0, nonceBytes), boundTo);
    try {
      return new Uint8Array(await subtle.decrypt(of, await keyOf(key), own.subarray(nonceBytes)));
    } catch {
      return null;
    }
  },
};

function keyOf(key: Uint8Array) {
  return subtle.importKey("raw", ownBytes(key), "AES-GCM", false, ["encrypt", "decrypt"]);
}

function algorithm(iv: Uint8Array<ArrayBuffer>, boundTo: string) {
  const additionalData = new TextEncoder().encode(boundTo);
  return { name: "AES-GCM", iv, additionalData, tagLength: 8 * tagBytes };
}

/** In memory that is not shared, as Web Cryptography wants it. */
function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes;
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, byteOffset, length) : new Uint8Array(bytes);
}
