import { describe, expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { utf8 } from "../../protocol/bytes.ts";
import { createImageLinks } from "./image-read.ts";

const hex = "0123456789abcdef".repeat(4);
const baseUrl = "https://api.example";

function linksAt(atMs: number, secret = "a secret") {
  return createImageLinks({ crypto: nativeCrypto, secret: utf8(secret), baseUrl, now: () => atMs });
}

function queryOf(link: string) {
  const { searchParams } = new URL(link);
  return { expires: searchParams.get("expires"), token: searchParams.get("token") };
}

const madeMs = 1_800_000_000_500;

describe("a link to an image", () => {
  const link = linksAt(madeMs).linkOf(`sha256:${hex}`);

  it("names the image, the end and the token", () => {
    expect(link).toMatch(
      new RegExp(`^https://api\\.example/v1/ads/images/${hex}\\?expires=1800000900&token=[A-Za-z0-9_-]{43}$`),
    );
  });

  it("is the same on every node that has the secret, and valid on each", () => {
    expect(linksAt(madeMs).linkOf(`sha256:${hex}`)).toBe(link);
    expect(linksAt(madeMs).verify(hex, queryOf(link))).toBe(900);
    expect(linksAt(madeMs, "another").verify(hex, queryOf(link))).toBeNull();
  });

  it("is valid until its end, to the millisecond", () => {
    expect(linksAt(1_800_000_899_999).verify(hex, queryOf(link))).toBe(1);
    expect(linksAt(1_800_000_900_000).verify(hex, queryOf(link))).toBeNull();
  });

  it("is for its image and its end alone (L1)", () => {
    const { expires, token } = queryOf(link);
    const links = linksAt(madeMs);
    expect(links.verify(hex.replace("0", "1"), { expires, token })).toBeNull();
    expect(links.verify(hex, { expires: "1800000901", token })).toBeNull();
    expect(links.verify(hex, { expires: "01800000900", token })).toBeNull();
    expect(links.verify(hex, { expires: "1.8000009e9", token })).toBeNull();
    expect(links.verify(hex, { expires, token: `${token}A` })).toBeNull();
    expect(links.verify(hex, { expires, token: null })).toBeNull();
    expect(links.verify(hex, { expires: null, token })).toBeNull();
  });

  it("is made to nothing but a hash", () => {
    expect(() => linksAt(madeMs).linkOf(hex)).toThrow(RangeError);
  });
});
