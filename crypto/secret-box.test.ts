import { createDecipheriv, createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { secretBox } from "./secret-box.ts";

describe("a secret box", async () => {
  const key = new Uint8Array(randomBytes(32));
  const bytes = new Uint8Array(randomBytes(1_000));
  const { sealed, sha256 } = await secretBox.seal(key, bytes, "a/1");

  it("opens with its key, at the place that it is bound to, and to no changed bytes", async () => {
    expect(await secretBox.open(key, sealed, "a/1")).toEqual(bytes);
    expect(sha256).toEqual(new Uint8Array(createHash("sha256").update(bytes).digest()));
    expect(await secretBox.open(new Uint8Array(randomBytes(32)), sealed, "a/1")).toBeNull();
    expect(await secretBox.open(key, sealed, "a/2")).toBeNull();
    for (const at of [0, 12, 500, sealed.length - 1]) {
      const changed = sealed.with(at, (sealed[at] ?? 0) ^ 1);
      expect(await secretBox.open(key, changed, "a/1")).toBeNull();
    }
    for (const length of [0, 27, 28])
      expect(await secretBox.open(key, sealed.subarray(0, length), "a/1")).toBeNull();
  });

  it("is never the same twice, and is AES-256-GCM with its nonce in front and its tag behind", async () => {
    expect((await secretBox.seal(key, bytes, "a/1")).sealed).not.toEqual(sealed);
    expect(sealed.length).toBe(bytes.length + 28);
    const plain = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, 12), { authTagLength: 16 });
    plain.setAAD(Buffer.from("a/1")).setAuthTag(sealed.subarray(-16));
    const opened = Buffer.concat([plain.update(sealed.subarray(12, -16)), plain.final()]);
    expect(new Uint8Array(opened)).toEqual(bytes);
  });
});
