// Bytes that only the holder of a key reads: AES-256-GCM (NIST SP 800-38D) with a random nonce of 96 bits in front. The words that they
// are bound to are authenticated and not stored, so what is sealed for one place opens at no other.

import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { SecretBox } from "./port.ts";

const algorithm = "aes-256-gcm";
const nonceBytes = 12;
const tagBytes = 16;

export const secretBox: SecretBox = {
  seal: (key, bytes, boundTo) => {
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    cipher.setAAD(Buffer.from(boundTo));
    const parts = [nonce, cipher.update(bytes), cipher.final()];
    return Buffer.concat([...parts, cipher.getAuthTag()]);
  },
  open: (key, sealed, boundTo) => {
    if (sealed.length < nonceBytes + tagBytes) return null;
    const nonce = sealed.subarray(0, nonceBytes);
    const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(boundTo));
    decipher.setAuthTag(sealed.subarray(-tagBytes));
    try {
      return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]);
    } catch {
      return null;
    }
  },
};
