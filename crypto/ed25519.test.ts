import { execFile } from "node:child_process";
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ed25519 } from "@noble/curves/ed25519.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { root } from "../tools/process.ts";
import { ed25519Library, loadLibsodium, openssl } from "./ed25519.ts";
import { ed25519Libraries } from "./native.fixture.ts";

function keyOfSeed(seed: Uint8Array): KeyObject {
  const prefix = Uint8Array.fromHex("302e020100300506032b657004220420");
  return createPrivateKey({ key: Buffer.concat([prefix, seed]), format: "der", type: "pkcs8" });
}

describe("the libraries for Ed25519", () => {
  it("have libsodium among them where npm installed it for this platform", () => {
    const folder = join(root, "node_modules", "sodium-native", "prebuilds");
    const isInstalled = existsSync(join(folder, `${process.platform}-${process.arch}`));
    const names = isInstalled ? ["openssl", "libsodium"] : ["openssl"];
    expect(ed25519Libraries.map(({ name }) => name)).toEqual(names);
    expect(ed25519Library().name).toBe(names.at(-1));
  });

  it("are OpenSSL alone for a program that chooses it, and for its threads (E4)", async () => {
    const module = new URL("./ed25519.ts", import.meta.url).href;
    const say = `console.log((await import(${JSON.stringify(module)})).ed25519Library().name);`;
    const thread = `data:text/javascript,${encodeURIComponent(say)}`;
    const program = `
      (await import(${JSON.stringify(module)})).chooseOpenssl();
      ${say}
      new (await import("node:worker_threads")).Worker(new URL(${JSON.stringify(thread)}));`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--input-type=module",
      "--eval",
      program,
    ]);
    expect(stdout).toBe("openssl\nopenssl\n");
  });

  // RFC 8032 §7.1, TEST 1 to 3: seed, public key, message, signature.
  it.each([
    [
      "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
      "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
      "",
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ],
    [
      "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
      "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
      "72",
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ],
    [
      "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
      "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
      "af82",
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ],
  ])("sign and judge as RFC 8032 says: %s", (...example) => {
    const [seed, key, message, signature] = example.map((hex) => Uint8Array.fromHex(hex)) as [
      Uint8Array,
      Uint8Array,
      Uint8Array,
      Uint8Array,
    ];
    for (const { signerOf, verifierOf } of ed25519Libraries) {
      expect(signerOf(keyOfSeed(seed))(message)).toEqual(signature);
      expect(verifierOf(key)(message, signature)).toBe(true);
      expect(verifierOf(key)(Uint8Array.of(...message, 0), signature)).toBe(false);
    }
  });

  it("sign alike (E2)", () => {
    const seed = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(seed, fc.uint8Array({ maxLength: 5_000 }), (secret, message) => {
        const made = ed25519Libraries.map(({ signerOf }) => signerOf(keyOfSeed(secret))(message).toHex());
        expect(new Set(made).size).toBe(1);
      }),
      { numRuns: 100 },
    );
  });

  it("take no key and no signature of another length, and sign with Ed25519 keys alone (E3)", () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const x = Uint8Array.fromBase64(publicKey.export({ format: "jwk" }).x ?? "", { alphabet: "base64url" });
    const others = [
      publicKey,
      generateKeyPairSync("x25519").privateKey,
      generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey,
    ];
    for (const { name, verifierOf, signerOf } of ed25519Libraries) {
      for (const length of [0, 31, 33, 64])
        expect(() => verifierOf(new Uint8Array(length))).toThrow(RangeError);
      const message = Uint8Array.of(1);
      const signature = signerOf(privateKey)(message);
      expect(signature).toHaveLength(64);
      expect(verifierOf(x)(message, signature)).toBe(true);
      for (const wrong of [signature.slice(1), Uint8Array.of(...signature, 0), new Uint8Array()]) {
        if (name === "openssl") expect(verifierOf(x)(message, wrong)).toBe(false);
        else expect(() => verifierOf(x)(message, wrong)).toThrow(RangeError);
      }
      for (const key of others) expect(() => signerOf(key)).toThrow(TypeError);
    }
  });

  it("keep the key that they were given, whatever becomes of its bytes", () => {
    const seed = new Uint8Array(32).fill(7);
    const x = ed25519.getPublicKey(seed);
    for (const { verifierOf, signerOf } of ed25519Libraries) {
      const bytes = Uint8Array.from(x);
      const [judge, message] = [verifierOf(bytes), Uint8Array.of(1, 2)];
      bytes.fill(0);
      expect(judge(message, signerOf(keyOfSeed(seed))(message))).toBe(true);
    }
  });
});

describe("a module that was loaded as libsodium", () => {
  type Verdict = (signature: Uint8Array, message: Uint8Array, key: Uint8Array) => boolean;
  const right: Verdict = (signature, message, key) => openssl.verifierOf(key)(message, signature);
  const isMixed = (key: Uint8Array): boolean => !ed25519.Point.fromBytes(key).isTorsionFree();
  /** With S reduced by the group's order, as for a library that does not compare them. */
  const reduced = (signature: Uint8Array): Uint8Array => {
    const s = BigInt(`0x${signature.slice(32).reverse().toHex()}`) % ed25519.Point.Fn.ORDER;
    const bytes = Uint8Array.fromHex(s.toString(16).padStart(64, "0")).reverse();
    return Uint8Array.of(...signature.slice(0, 32), ...bytes);
  };
  const module = {
    crypto_sign_verify_detached: right,
    crypto_sign_seed_keypair: (_key: Uint8Array, secret: Uint8Array, seed: Uint8Array) =>
      secret.set([...seed, ...ed25519.getPublicKey(seed)]),
    crypto_sign_detached: (signature: Uint8Array, message: Uint8Array, secret: Uint8Array) =>
      signature.set(ed25519.sign(message, secret.subarray(0, 32))),
  };
  const judging = (crypto_sign_verify_detached: Verdict) => ({ ...module, crypto_sign_verify_detached });

  it("is used if it judges and signs as OpenSSL does", () => {
    expect(loadLibsodium(() => module)?.name).toBe("libsodium");
  });

  it.each<[string, unknown]>([
    [
      "multiplies the equation by the cofactor",
      judging((signature, message, key) => ed25519.verify(signature, message, key)),
    ],
    [
      "refuses a key to which a point of small order was added",
      judging((...given) => !isMixed(given[2]) && right(...given)),
    ],
    [
      "takes an S beyond the order of the group",
      judging((signature, ...given) => right(reduced(signature), ...given)),
    ],
    ["takes everything", judging(() => true)],
    ["takes nothing", judging(() => false)],
    [
      "cannot judge",
      judging(() => {
        throw new Error("not here");
      }),
    ],
    ["signs otherwise", { ...module, crypto_sign_detached: (signature: Uint8Array) => signature.fill(1) }],
    ["lacks a function", { ...module, crypto_sign_detached: undefined }],
    ["is none", null],
  ])("is not used if it %s (E1)", (_name, loaded) => {
    expect(loadLibsodium(() => loaded)).toBe(null);
  });
});
