import { ed25519 } from "@noble/curves/ed25519.js";

/**
 * The point encoded by 32 public key bytes; null unless they are its canonical encoding and it is not of small order. For a
 * key of small order one signature fits many messages (RFC 8032 §5.1.3; Chalkias et al., «Taming the many EdDSAs», 2020).
 */
export function parseEd25519Point(bytes: Uint8Array): InstanceType<typeof ed25519.Point> | null {
  try {
    const point = ed25519.Point.fromBytes(bytes, false);
    return point.isSmallOrder() ? null : point;
  } catch {
    return null;
  }
}
