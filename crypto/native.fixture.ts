// Test support: the native port over each library for Ed25519 that this machine has, as all of them have to judge alike.

import { loadLibsodium, openssl } from "./ed25519.ts";
import { nativeCryptoWith } from "./native.ts";
import type { CryptoPort } from "./port.ts";

const libsodium = loadLibsodium();

/** Libsodium is missing only where npm did not install it, which crypto/ed25519.test.ts sees. */
export const ed25519Libraries = libsodium === null ? [openssl] : [openssl, libsodium];

export const nativePorts: readonly CryptoPort[] = ed25519Libraries.map((library) =>
  nativeCryptoWith(() => library),
);
