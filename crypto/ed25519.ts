// Ed25519 by libsodium where its library can be loaded, which takes half the time of the platform's OpenSSL; by OpenSSL otherwise.
//   E1. Both judge alike, as protocol/keys/signatures.ts does: the same vectors run over both, and a libsodium that judges one of
//       `probes` otherwise is not used. Its main branch checks another equation, which holds for more signatures.
//   E2. Both sign alike: a signature follows from key and message (RFC 8032 §5.1.6).
//   E3. Native code gets no key and no signature whose length was not compared here.
//   E4. Nothing is loaded before the first use, and libsodium not at all by a process that chose OpenSSL, nor by its threads.

import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from "node:crypto";
import { createRequire } from "node:module";
import { getEnvironmentData, setEnvironmentData } from "node:worker_threads";
import { parseBase64Url, toBase64Url } from "../protocol/bytes.ts";

/** Judges signatures by one key. May throw if a signature cannot be checked. */
export type Ed25519Verifier = (message: Uint8Array, signature: Uint8Array) => boolean;

/** Makes signatures of 64 bytes with one key. */
export type Ed25519Signer = (message: Uint8Array) => Uint8Array;

export interface Ed25519Library {
  readonly name: "libsodium" | "openssl";
  /**
   * For a public key of 32 bytes that protocol/keys/jwk.ts accepts, and signatures whose R is not of small order: of others, releases
   * judge differently. Throws for a key of another length.
   */
  verifierOf(publicKey: Uint8Array): Ed25519Verifier;
  /** For a private Ed25519 key; throws for any other. */
  signerOf(key: KeyObject): Ed25519Signer;
}

const keyLength = 32;
const signatureLength = 64;
/** Bytes of libsodium's secret key: the seed and the public key. */
const secretLength = 64;

let preferred: Ed25519Library | null = null;

/** The library of this process. */
export function ed25519Library(): Ed25519Library {
  preferred ??= (getEnvironmentData(choice) === openssl.name ? null : loadLibsodium()) ?? openssl;
  return preferred;
}

const choice = "svc:ed25519";

/** @internal for tests and the benchmark. Chooses OpenSSL for this process and the threads that it starts from now on. */
export function chooseOpenssl(): void {
  setEnvironmentData(choice, openssl.name);
  preferred = null;
}

/** @internal for tests, which compare both. */
export const openssl: Ed25519Library = {
  name: "openssl",
  verifierOf: (publicKey) => {
    assertLength(publicKey, keyLength);
    const x = toBase64Url(publicKey);
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return (message, signature) => verify(null, message, key, signature);
  },
  signerOf: (key) => {
    assertEd25519(key);
    return (message) => {
      const signature = sign(null, message, key);
      return new Uint8Array(signature.buffer, signature.byteOffset, signature.length);
    };
  },
};

/** What is used of the library, under its own names. */
interface Libsodium {
  readonly crypto_sign_verify_detached: (
    signature: Uint8Array,
    message: Uint8Array,
    publicKey: Uint8Array,
  ) => boolean;
  readonly crypto_sign_seed_keypair: (publicKey: Uint8Array, secret: Uint8Array, seed: Uint8Array) => void;
  readonly crypto_sign_detached: (signature: Uint8Array, message: Uint8Array, secret: Uint8Array) => void;
}

/** @internal for tests. Null where libsodium cannot be loaded, or judges otherwise (E1). */
export function loadLibsodium(load: () => unknown = loadAddon): Ed25519Library | null {
  try {
    const loaded = load();
    const library = isLibsodium(loaded) ? libraryOf(loaded) : null;
    return library !== null && judgesAlike(library) ? library : null;
  } catch {
    return null;
  }
}

/** Loads the library itself: the package's own code would also look for one in other folders. */
function loadAddon(): unknown {
  const file = `sodium-native/prebuilds/${process.platform}-${process.arch}/sodium-native.node`;
  return createRequire(import.meta.url)(file);
}

function isLibsodium(value: unknown): value is Libsodium {
  const names: readonly (keyof Libsodium)[] = [
    "crypto_sign_verify_detached",
    "crypto_sign_seed_keypair",
    "crypto_sign_detached",
  ];
  return (
    typeof value === "object" &&
    value !== null &&
    names.every((name) => typeof Reflect.get(value, name) === "function")
  );
}

function libraryOf(sodium: Libsodium): Ed25519Library {
  return {
    name: "libsodium",
    verifierOf: (publicKey) => {
      assertLength(publicKey, keyLength);
      // Copied, so that nobody changes it afterwards.
      const key = Uint8Array.from(publicKey);
      return (message, signature) => {
        assertLength(signature, signatureLength);
        return sodium.crypto_sign_verify_detached(signature, message, key);
      };
    },
    signerOf: (key) => {
      assertEd25519(key);
      const seed = parseBase64Url(key.export({ format: "jwk" }).d ?? "") ?? new Uint8Array();
      assertLength(seed, keyLength);
      const secret = new Uint8Array(secretLength);
      // The public half is derived: a signature over another one would give the key away.
      sodium.crypto_sign_seed_keypair(new Uint8Array(keyLength), secret, seed);
      return (message) => {
        const signature = new Uint8Array(signatureLength);
        sodium.crypto_sign_detached(signature, message, secret);
        return signature;
      };
    },
  };
}

function assertEd25519(key: KeyObject): void {
  if (key.type !== "private" || key.asymmetricKeyType !== "ed25519")
    throw new TypeError("A private Ed25519 key is expected here.");
}

function assertLength(bytes: Uint8Array, length: number): void {
  if (bytes.byteLength !== length) throw new RangeError(`Native code expects ${length} bytes here.`);
}

// Signatures that libraries judge differently, made by the holder of a key from known scalars: with A or R, and with A or R to which
// a point of order 8 was added. Such a signature satisfies [8][S]B = [8]R + [8][k]A, and [S]B = R + [k]A only where the added
// points cancel out (RFC 8032 §5.1.7 allows both equations). The message is one byte.
const [a, aMixed] = [
  "ad7c29f9dc707e069f242cac5ce7c986901370749de1c1caf2e90d0d77c1632f",
  "45c1adf878c2877a4d5c72541b7f45372307b35f25b77119c05f62dfb7e5e745",
];
const [r, rMixed] = [
  "864197afb4b8796a4943240798707ef90dd0a39d93cc0dc5cf579bbc5e310a1b",
  "f0f5947d143fe6b544514848e396cc74c67537a7424077de998ccf7c768e9e6d",
];
const probes = [
  {
    key: a,
    message: 0,
    r,
    s: "03dad86a2fc83b28f403962c26cfbda6ef416aa320ec6090a5193a6b2a76700e",
    holds: true,
  },
  // The same S with the group's order added.
  {
    key: a,
    message: 0,
    r,
    s: "f0adcec7492b4e80caa08dcf04c99cbbef416aa320ec6090a5193a6b2a76701e",
    holds: false,
  },
  {
    key: a,
    message: 1,
    r,
    s: "03dad86a2fc83b28f403962c26cfbda6ef416aa320ec6090a5193a6b2a76700e",
    holds: false,
  },
  {
    key: aMixed,
    message: 0,
    r,
    s: "3edc091ee6680b14e7f5c8c08a8675cfb1e9a4101bda11d71b76856520268f07",
    holds: true,
  },
  {
    key: aMixed,
    message: 1,
    r,
    s: "52e238b996fa76018ec77db0780726016031d3bec8e28d81bca21aa3a1d7b401",
    holds: false,
  },
  {
    key: a,
    message: 0,
    r: rMixed,
    s: "103f0ee2f2a7e61287a991e7379a01826cd139b9937343ae544ed3e91b1abd0a",
    holds: false,
  },
] as const;

/** The first example of RFC 8032 §7.1: the signature of nothing, and its key in PKCS #8 (RFC 8410 §7). */
const example = {
  key: "302e020100300506032b6570042204209d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
  signature:
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
};

function judgesAlike({ verifierOf, signerOf }: Ed25519Library): boolean {
  const bytesOf = (hex: string): Uint8Array => Uint8Array.fromHex(hex);
  const key = createPrivateKey({ key: Buffer.from(example.key, "hex"), format: "der", type: "pkcs8" });
  return (
    signerOf(key)(new Uint8Array()).toHex() === example.signature &&
    probes.every(
      ({ key, message, r, s, holds }) =>
        verifierOf(bytesOf(key))(Uint8Array.of(message), bytesOf(r + s)) === holds,
    )
  );
}
