// Test support: the Ed25519 edge cases of CCTV (vectors/cctv/README.md), and the verdict that a verifier has to reach.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseBase64Url, utf8 } from "./bytes.ts";
import type { PublicJwk } from "./keys/jwk.ts";

interface CctvCase {
  readonly number: number;
  readonly jwk: PublicJwk;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
  readonly isValid: boolean;
}

/** `tests` has the number, the message, the signature and the indexes of its flags; keys and signatures are base64url. */
interface VectorFile {
  readonly flags: readonly string[];
  readonly groups: readonly {
    readonly key: string;
    readonly tests: readonly (readonly [number, string, string, readonly number[]])[];
  }[];
}

/** A point with a part of small order beside one of large order is nothing to refuse, as long as the equation holds. */
const harmless = ["low_order_component_A", "low_order_component_R"];

export function cctvCases(): readonly CctvCase[] {
  const path = join(import.meta.dirname, "vectors", "cctv", "ed25519.json");
  const { flags, groups } = JSON.parse(readFileSync(path, "utf8")) as VectorFile;
  return groups.flatMap(({ key: x, tests }) =>
    tests.map(([number, message, signature, flagged]) => ({
      number,
      jwk: { kty: "OKP", crv: "Ed25519", x } as const,
      message: utf8(message),
      signature: parseBase64Url(signature) ?? new Uint8Array(),
      isValid: flagged.every((at) => harmless.includes(flags[at] ?? "")),
    })),
  );
}
