import { describe, expect, it } from "vitest";
import { packMessages } from "../protocol/signed-version.ts";
import { nativeCrypto } from "./native.ts";
import { createSigner, generatePrivateJwk, privateKeyOf } from "./private-jwk.ts";
import { createWorkerSigner, signInThread } from "./worker-signer.ts";

const messages = Array.from({ length: 300 }, (_, index) =>
  nativeCrypto.randomBytes(index === 7 ? 0 : 10 + index),
);

describe("a batch signer", () => {
  it("signs as the plain signer does, in order, lists at once and short ones too", async () => {
    const [first, second] = [generatePrivateJwk("Ed25519"), generatePrivateJwk("Ed25519")];
    for (const list of [messages, messages.slice(0, 3), []].map(packMessages)) {
      const [a, b] = await Promise.all([
        createWorkerSigner(first).signMany(list),
        createWorkerSigner(second).signMany(list),
      ]);
      expect(a).toEqual(await createSigner(first).signMany(list));
      expect(b).toEqual(await createSigner(second).signMany(list));
    }
  });

  it("has a thread that signs with one key and then another", async () => {
    const jwks = [generatePrivateJwk("Ed25519"), generatePrivateJwk("Ed25519")];
    const packed = packMessages(messages);
    for (const jwk of [...jwks, ...jwks]) {
      const signatures = await createSigner(jwk).signMany(packed);
      const signed = await signInThread(privateKeyOf(jwk), packed);
      expect(signed).toEqual(Uint8Array.from(signatures.flatMap((each) => [...each])));
    }
  });

  it("leaves the messages as they were", async () => {
    const packed = packMessages(messages);
    await createWorkerSigner(generatePrivateJwk("Ed25519")).signMany(packed);
    expect(packed).toEqual(packMessages(messages));
  });

  it("signs a list that its thread did not sign (B2)", async () => {
    const jwk = generatePrivateJwk("Ed25519");
    const signer = createWorkerSigner(jwk, async () => {
      throw new Error("no thread");
    });
    const packed = packMessages(messages);
    expect(await signer.signMany(packed)).toEqual(await createSigner(jwk).signMany(packed));
  });

  it("is for Ed25519 keys", () => {
    expect(() => createWorkerSigner(generatePrivateJwk("ES256"))).toThrow(TypeError);
  });
});
