// Content-Digest (RFC 9530 §2) with SHA-256.

import { parseDictionary } from "structured-headers";
import { parseBase64, toBase64 } from "./bytes.ts";
import { sha256 as portableSha256, type Sha256 } from "./hash.ts";

/** Formats `sha-256=:<base64>:` for the exact body bytes (RFC 9530 §2). */
export function contentDigest(body: Uint8Array, sha256: Sha256 = portableSha256): string {
  return `sha-256=:${toBase64(sha256(body))}:`;
}

/** Longer fields are not examined: reading them would cost more than everything else in a request. */
const fieldLengthMax = 8_192;
const usualForm = /^sha-256=:([A-Za-z0-9+/]{43}=):$/;

/**
 * The 32 bytes of the header's sha-256 member; null when there is none or the header is not a dictionary (RFC 8941 §3.2).
 * Other algorithms are ignored.
 */
export function parseContentDigest(header: string): Uint8Array | null {
  const usual = usualForm.exec(header);
  if (usual?.[1]) return parseBase64(usual[1]);
  if (header.length > fieldLengthMax) return null;
  try {
    const value = parseDictionary(header).get("sha-256")?.[0];
    const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : null;
    return bytes?.length === 32 ? bytes : null;
  } catch {
    return null;
  }
}
