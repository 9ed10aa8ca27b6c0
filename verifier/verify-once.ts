// What one evidence file proves in several places is verified in one: all its proofs lead to one checkpoint.

import { equalBytes, toBase64 } from "../protocol/bytes.ts";
import type { SignatureVerifier } from "../protocol/signatures.ts";

/** Recalls the signatures that were valid, each for exactly its key and message. It belongs to one file, so it stays small. */
export function verifyOnce(verify: SignatureVerifier): SignatureVerifier {
  const valid = new Map<string, Uint8Array>();
  return (jwk, message, signature) => {
    const name = `${JSON.stringify(jwk)} ${toBase64(signature)}`;
    const known = valid.get(name);
    if (known !== undefined && equalBytes(known, message)) return true;
    const isValid = verify(jwk, message, signature);
    if (isValid) valid.set(name, message.slice());
    return isValid;
  };
}
