// What is taken as an image of an ad, and by which reason anything else is refused: with real images and the real decoder.

import { crc32, deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";
import { beforeAll, describe, expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { concatBytes, hashOf, utf8 } from "../../protocol/bytes.ts";
import { type ImageMediaType, imageMediaTypes } from "../../protocol/image-type.ts";
import { colourProfileBytesMax, imageBytesMax, imagePixelsMax, imageSideMax } from "../../protocol/limits.ts";
import { ok } from "../../protocol/result.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import {
  createAcceptImage,
  createImageRate,
  createUploadImage,
  judgeStructure,
} from "../../service/ads/ad-images.ts";
import type { Caller } from "../../service/answer.ts";
import type { ImageStore } from "../../storage/image-store.ts";
import { SqliteDatabase } from "../../storage/sqlite/database.ts";
import { openSqliteImageStore } from "../../storage/sqlite/image-store.ts";
import { createImageDecoder } from "./ad-images.ts";
import { animationOf, imageOf } from "./images.fixture.ts";

const { sha256 } = nativeCrypto;
const decode = createImageDecoder();

function openStore(bytesMax = 100_000_000): ImageStore {
  return openSqliteImageStore(SqliteDatabase.open(":memory:"), { bytesMax });
}

const store = openStore();
const accept = createAcceptImage({ decode, store, sha256 });
const made = new Map<ImageMediaType, Uint8Array>();

beforeAll(async () => {
  for (const type of imageMediaTypes) made.set(type, await imageOf(type));
});

const of = (type: ImageMediaType): Uint8Array => made.get(type) ?? new Uint8Array();

/** `taken`, or the reason of the refusal, after which nothing is stored. */
async function outcome(bytes: Uint8Array, declaredMediaType: string | null = null): Promise<string> {
  const accepted = await accept({ bytes, declaredMediaType, owner: "a" });
  const stored = await store.read(hashOf(bytes));
  expect(stored !== null).toBe(accepted.ok);
  return accepted.ok ? "taken" : accepted.code;
}

/** A chunk of a PNG, with its checksum. */
function chunk(type: string, data: Uint8Array): Uint8Array {
  const named = concatBytes(utf8(type), data);
  const whole = new Uint8Array(named.length + 8);
  const view = new DataView(whole.buffer);
  view.setUint32(0, data.length);
  whole.set(named, 4);
  view.setUint32(named.length + 4, crc32(named));
  return whole;
}

const many = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value);

/** Scanlines of a grey interlaced PNG, pixel by pixel: in which of the seven passes each is (PNG §8.2). */
function interlacedBytes(width: number, height: number, depth: number): number {
  const pattern = [
    "16462646",
    "77777777",
    "56565656",
    "77777777",
    "36463646",
    "77777777",
    "56565656",
    "77777777",
  ];
  let bytes = 0;
  for (const pass of "1234567")
    for (let y = 0; y < height; y += 1) {
      let columns = 0;
      for (let x = 0; x < width; x += 1) if (pattern[y % 8]?.[x % 8] === pass) columns += 1;
      if (columns > 0) bytes += 1 + Math.ceil((columns * depth) / 8);
    }
  return bytes;
}

/** The PNG with other dimensions in its head, and the checksum that goes with them. */
function claiming(png: Uint8Array, width: number, height: number): Uint8Array {
  const head = png.slice(16, 29);
  const view = new DataView(head.buffer);
  view.setUint32(0, width);
  view.setUint32(4, height);
  return concatBytes(png.slice(0, 8), chunk("IHDR", head), png.slice(33));
}

describe("an image of an ad", () => {
  it.each(imageMediaTypes)("of type %s is stored exactly as it came", async (type) => {
    const bytes = of(type);
    for (const declared of [type, null, `${type.toUpperCase()}; q=1`]) {
      const accepted = await accept({ bytes, declaredMediaType: declared, owner: "a" });
      const facts = { sha256: hashOf(bytes), media_type: type, width: 64, height: 48, bytes: bytes.length };
      expect(accepted).toEqual(ok(facts));
    }
    const stored = await store.read(hashOf(bytes));
    expect(new Uint8Array(stored?.bytes ?? [])).toEqual(bytes);
    expect(stored).toMatchObject({ mediaType: type, width: 64, height: 48 });
  });

  it("is what its bytes are, whatever it is called", async () => {
    const png = await imageOf("image/png");
    expect(await outcome(png, "image/jpeg")).toBe("image_type_unsupported");
    expect(await outcome(png, "application/json")).toBe("image_type_unsupported");
    expect(await outcome(png, "image/png")).toBe("taken");
  });

  it("is a PNG, a JPEG or a WebP, and nothing else that could be shown", async () => {
    for (const bytes of [
      utf8("This is a text."),
      utf8('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'),
      utf8("GIF89a\u0001\u0000\u0001\u0000"),
      utf8("%PDF-1.7\n"),
      concatBytes(utf8("RIFF"), new Uint8Array(4), utf8("WAVE")),
      new Uint8Array(),
    ])
      expect(await outcome(bytes, "image/png")).toBe("image_type_unsupported");
  });

  it("stands still", async () => {
    expect(await outcome(await animationOf(3), "image/webp")).toBe("image_type_unsupported");
    const png = await imageOf("image/png");
    const control = chunk("acTL", new Uint8Array([0, 0, 0, 2, 0, 0, 0, 0]));
    const animated = concatBytes(png.slice(0, 33), control, png.slice(33));
    expect(await outcome(animated, "image/png")).toBe("image_type_unsupported");
  });

  it.each(imageMediaTypes)("of type %s is whole, wherever it could be cut off", async (type) => {
    const bytes = await imageOf(type);
    for (const length of [bytes.length - 1, bytes.length - 2, Math.floor(bytes.length / 2), 40, 24, 15])
      expect(await outcome(bytes.slice(0, length)), `${length} bytes`).toBe("image_invalid");
  });

  it.each(imageMediaTypes)("of type %s has nothing behind it", async (type) => {
    const bytes = await imageOf(type);
    for (const more of [new Uint8Array(1), utf8("PK\u0003\u0004"), bytes])
      expect(await outcome(concatBytes(bytes, more))).toBe("image_invalid");
    expect(await outcome(bytes)).toBe("taken");
  });

  // The coded data of WebP has neither a checksum nor codes that are not used.
  it.each(["image/png", "image/jpeg"] as const)("of type %s is decoded as a whole", async (type) => {
    const bytes = await imageOf(type, { width: 300, height: 200 });
    const zeroed = bytes.slice();
    zeroed.fill(0, Math.floor(bytes.length * 0.6), bytes.length - 40);
    expect(await outcome(zeroed)).toBe("image_invalid");
  });

  it("has dimensions within the limits, which are judged before anything is decoded", async () => {
    const plain = { isNoisy: false };
    const wide = await imageOf("image/png", { ...plain, width: imageSideMax, height: 1 });
    expect(await outcome(wide)).toBe("taken");
    const whole = { ...plain, width: imageSideMax, height: imagePixelsMax / imageSideMax };
    expect(await outcome(await imageOf("image/png", whole))).toBe("taken");
    for (const [width, height] of [
      [imageSideMax + 1, 1],
      [1, imageSideMax + 1],
      [imageSideMax, imagePixelsMax / imageSideMax + 1],
    ] as const)
      for (const type of imageMediaTypes)
        expect(await outcome(await imageOf(type, { ...plain, width, height }))).toBe("image_dimensions");
  });

  it("that would become very large is refused by its head", async () => {
    const bomb = await imageOf("image/png", { isNoisy: false, width: 9_000, height: 9_000 });
    expect(bomb.length).toBeLessThan(imageBytesMax);
    expect(await outcome(bomb)).toBe("image_dimensions");
    const small = await imageOf("image/png");
    expect(await outcome(claiming(small, 1_000_000, 1_000_000))).toMatch(/^image_(dimensions|invalid)$/);
    // One that hides its size in its head does not have as many pixels as it says.
    expect(await outcome(claiming(small, 2_000, 2_000))).toBe("image_invalid");
    expect(await outcome(claiming(bomb, 64, 48))).toBe("image_invalid");
  });

  it("has at most so many bytes, and not one more", async () => {
    const png = await imageOf("image/png");
    const end = png.length - 12;
    const filledTo = (length: number): Uint8Array => {
      const texts: Uint8Array[] = [];
      for (let left = length - png.length; left > 0; ) {
        // No chunk is shorter than its frame of twelve bytes.
        const size = left > 70_000 ? 60_000 : left > 60_000 ? left / 2 : left;
        texts.push(chunk("tEXt", new Uint8Array(Math.ceil(size) - 12)));
        left -= Math.ceil(size);
      }
      return concatBytes(png.slice(0, end), ...texts, png.slice(end));
    };
    expect(await outcome(filledTo(imageBytesMax))).toBe("taken");
    expect(await outcome(filledTo(imageBytesMax + 1))).toBe("image_too_large");
  });

  it("of type PNG has nothing that inflates to more than its pixels", async () => {
    const png = await imageOf("image/png");
    const withChunk = (type: string, data: Uint8Array): Uint8Array =>
      concatBytes(png.slice(0, 33), chunk(type, data), png.slice(33));
    const bomb = deflateSync(new Uint8Array(48 * 1_048_576));
    expect(bomb.length).toBeLessThan(60_000);
    const text = utf8("Comment\0\0");
    const international = (flag: number): Uint8Array =>
      concatBytes(utf8("Comment\0"), new Uint8Array([flag, 0]), utf8("en\0\0a text"));
    expect(await outcome(withChunk("zTXt", concatBytes(text, bomb)))).toBe("image_invalid");
    expect(await outcome(withChunk("iTXt", international(1)))).toBe("image_invalid");
    expect(await outcome(withChunk("iTXt", new Uint8Array(4).fill(65)))).toBe("image_invalid");
    expect(await outcome(withChunk("iCCP", concatBytes(text, bomb)))).toBe("image_invalid");
    expect(await outcome(withChunk("abCd", new Uint8Array(1)))).toBe("image_invalid");
    expect(
      await outcome(concatBytes(png.slice(0, 33), ...many(65, chunk("tEXt", text)), png.slice(33))),
    ).toBe("image_invalid");
    expect(await outcome(withChunk("iTXt", international(0)))).toBe("taken");
    const head = new Uint8Array([0, 0, 0, 64, 0, 0, 0, 48, 8, 2, 0, 0, 0]);
    const lines = 48 * (1 + 64 * 3);
    const holding = (bytes: number): Uint8Array =>
      concatBytes(
        png.slice(0, 8),
        chunk("IHDR", head),
        chunk("IDAT", deflateSync(new Uint8Array(bytes))),
        chunk("IEND", new Uint8Array()),
      );
    expect(await outcome(holding(lines + 1))).toBe("image_invalid");
    expect(await outcome(holding(lines))).toBe("taken");
  });

  it.each([1, 2, 4, 8, 16])("of type PNG may be interlaced, with %i bits a sample", async (depth) => {
    const lines = interlacedBytes(37, 21, depth);
    const head = new Uint8Array([0, 0, 0, 37, 0, 0, 0, 21, depth, 0, 0, 0, 1]);
    const made = concatBytes(
      of("image/png").slice(0, 8),
      chunk("IHDR", head),
      chunk("IDAT", deflateSync(new Uint8Array(lines))),
      chunk("IEND", new Uint8Array()),
    );
    expect(await outcome(made)).toBe("taken");
  });

  it("of type WebP has only the chunks of a still image", async () => {
    const webp = of("image/webp");
    const extended = concatBytes(webp, utf8("abcd"), new Uint8Array([2, 0, 0, 0, 1, 1]));
    new DataView(extended.buffer).setUint32(4, extended.length - 8, true);
    expect(await outcome(extended)).toBe("image_invalid");
  });

  it("of type PNG has one colour profile at most, which inflates to a bounded length (D7)", async () => {
    const png = of("image/png");
    const profile = (bytes: number): Uint8Array =>
      chunk("iCCP", concatBytes(utf8("Profile\0\0"), deflateSync(new Uint8Array(bytes))));
    const having = (...chunks: Uint8Array[]): Uint8Array =>
      concatBytes(png.slice(0, 33), ...chunks, png.slice(33));
    expect(profile(30 * 1_048_576).length).toBeLessThan(32_768);
    expect(await outcome(having(profile(30 * 1_048_576)))).toBe("image_invalid");
    expect(await outcome(having(profile(colourProfileBytesMax + 1)))).toBe("image_invalid");
    expect(await outcome(having(profile(colourProfileBytesMax)))).toBe("taken");
    expect(await outcome(having(profile(128), profile(128)))).toBe("image_invalid");
  });

  it("of type JPEG has a bounded number of segments, each of a kind that is used", async () => {
    const jpeg = of("image/jpeg");
    const segment = (code: number, bytes: number): Uint8Array =>
      concatBytes(Uint8Array.of(0xff, code, (bytes + 2) >> 8, (bytes + 2) & 255), new Uint8Array(bytes));
    const having = (count: number, one: Uint8Array): Uint8Array =>
      concatBytes(jpeg.slice(0, 2), ...many(count, one), jpeg.slice(2));
    expect(await outcome(having(30, segment(0xef, 60_000)))).toBe("image_invalid");
    // Application data of nobody, JPG0, JPG13, SOF5 and one that is reserved.
    for (const code of [0xef, 0xf0, 0xfd, 0xc5, 0x02])
      expect(judgeStructure(having(1, segment(code, 10)), "image/jpeg"), `${code}`).toBe("foreign");
    expect(await outcome(having(40, segment(0xfe, 10)))).toBe("taken");
    expect(await outcome(having(64, segment(0xfe, 10)))).toBe("image_invalid");
  });

  it("of type JPEG has a bounded number of scans", async () => {
    const jpeg = new Uint8Array(await sharp(of("image/png")).jpeg({ progressive: true }).toBuffer());
    const last = jpeg.subarray(Buffer.from(jpeg).lastIndexOf(Uint8Array.of(0xff, 0xda)), -2);
    const scans = jpeg.filter((byte, at) => byte === 0xff && jpeg[at + 1] === 0xda).length;
    expect(scans).toBeGreaterThan(5);
    const having = (count: number): Uint8Array =>
      concatBytes(jpeg.slice(0, -2), ...many(count - scans, last), jpeg.slice(-2));
    expect(judgeStructure(having(32), "image/jpeg")).toBe("whole");
    expect(judgeStructure(having(33), "image/jpeg")).toBe("foreign");
  });

  it("of type WebP has each chunk once, and of a bounded size", async () => {
    const webp = new Uint8Array(await sharp(of("image/png")).webp().withExif({ IFD0: {} }).toBuffer());
    const having = (...chunks: readonly Uint8Array[]): Uint8Array => {
      const whole = concatBytes(webp, ...chunks);
      new DataView(whole.buffer).setUint32(4, whole.length - 8, true);
      return whole;
    };
    const riff = (type: string, bytes: number): Uint8Array => {
      const whole = concatBytes(utf8(type), new Uint8Array(4 + bytes));
      new DataView(whole.buffer).setUint32(4, bytes, true);
      return whole;
    };
    expect(await outcome(having(...many(20, riff("EXIF", 90_000))))).toBe("image_invalid");
    expect(await outcome(having(riff("XMP ", 90_000)))).toBe("image_invalid");
    expect(await outcome(having(riff("EXIF", 10)))).toBe("image_invalid");
    expect(await outcome(having(riff("VP8L", 10)))).toBe("image_invalid");
    expect(await outcome(having(riff("XMP ", 10)))).toBe("taken");
  });

  const described = (image: Sharp): Sharp =>
    image.withIccProfile("p3").withExif({ IFD0: { Copyright: "A bakery" } });
  const xmp = '<x:xmpmeta xmlns:x="adobe:ns:meta/"/>';
  it.each<readonly [string, (image: Sharp) => Sharp]>([
    ["JPEG, progressive", (image) => image.jpeg({ progressive: true })],
    ["JPEG, in many scans", (image) => image.jpeg({ mozjpeg: true })],
    ["JPEG, of full colour", (image) => image.jpeg({ quality: 100, chromaSubsampling: "4:4:4" })],
    ["JPEG, for print", (image) => image.toColourspace("cmyk").jpeg()],
    ["JPEG, grey", (image) => image.greyscale().jpeg()],
    ["JPEG, described", (image) => described(image).withXmp(xmp).jpeg()],
    ["WebP without loss", (image) => image.webp({ lossless: true })],
    ["WebP with alpha", (image) => image.ensureAlpha(0.5).webp()],
    ["WebP with alpha, without loss", (image) => image.ensureAlpha(0.5).webp({ lossless: true })],
    ["WebP, described", (image) => described(image.ensureAlpha(0.5)).withXmp(xmp).webp()],
    ["PNG of 16 bits", (image) => image.toColourspace("rgb16").png()],
    ["PNG, interlaced", (image) => image.ensureAlpha(0.5).png({ progressive: true })],
    ["PNG with a palette", (image) => image.png({ palette: true })],
    ["PNG, described", (image) => described(image).png()],
  ])("may be a %s", async (_, drawn) => {
    expect(await outcome(new Uint8Array(await drawn(sharp(of("image/png"))).toBuffer()))).toBe("taken");
  });

  it("is refused when there is no room for it, and taken again once there is", async () => {
    const small = openStore(of("image/png").length + 10);
    const take = createAcceptImage({ decode, store: small, sha256 });
    const first = { bytes: of("image/png"), declaredMediaType: null, owner: "a" };
    const second = { bytes: of("image/jpeg"), declaredMediaType: null, owner: "a" };
    expect(await take(first)).toMatchObject({ ok: true });
    expect(await take(second)).toMatchObject({ ok: false, code: "image_store_full" });
    expect(await take(first)).toMatchObject({ ok: true });
    await small.forget(hashOf(first.bytes));
    expect(await take(second)).toMatchObject({ ok: true });
  });
});

it("a business that sends too many images waits, and those that were refused count as well", async () => {
  const rate = createImageRate({ elapsedMs: () => 0, perDay: 2 });
  const upload = createUploadImage(accept, rate);
  const send = async (uuid: string, bytes: Uint8Array) => {
    const caller = rubbish({ party: { uuid } }) as Caller;
    const outcome = await upload({ caller, bytes, declaredMediaType: null });
    return outcome.kind === "answer" ? outcome.status : (outcome.problem.reason ?? outcome.problem.code);
  };
  expect(await send("a", utf8("a text"))).toBe("image_type_unsupported");
  expect(await send("a", of("image/png"))).toBe(201);
  expect(await send("a", of("image/png"))).toBe("image_uploads");
  expect(await send("b", of("image/png"))).toBe(201);
});

describe("the decoder", () => {
  const program = new URL("./decoder.fixture.ts", import.meta.url);
  const png = "image/png";
  /** An image that takes so many milliseconds. */
  const slow = (ms: number) => Uint8Array.of(3, ms);

  it("decodes many at once, and refuses for a while what is more than may wait (D2)", async () => {
    const narrow = createImageDecoder({ waitingMax: 3, program });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, (_, at) => narrow(slow(50), png, `business ${at}`)),
    );
    const reasons = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    expect(reasons).toHaveLength(3);
    for (const reason of reasons)
      expect(reason).toMatchObject({ reason: "images_in_decoding", effect: "not_applied" });
    expect(await narrow(slow(0), png, "a")).toMatchObject({ ok: true });
  });

  it("has one place for each business, in a process that goes on to the next image (D2)", async () => {
    const ask = createImageDecoder({ program });
    const order: string[] = [];
    const ended = async (name: string, owner: string, ms: number) => {
      const reply = await ask(slow(ms), png, owner);
      order.push(name);
      return reply.ok ? reply.value.width : null;
    };
    // Both processes run before their images count: starting one takes as long as the machine pleases.
    await Promise.all(["a", "b"].map((owner) => ask(slow(0), png, owner)));
    const pids = await Promise.all([
      ...["a1", "a2", "a3"].map((name) => ended(name, "a", 150)),
      ended("b1", "b", 0),
    ]);
    expect(order).toEqual(["b1", "a1", "a2", "a3"]);
    expect(new Set(pids).size).toBe(2);
  });

  it("is killed over an image that takes too long or breaks it, and decodes the next one (D4)", async () => {
    const hasty = createImageDecoder({ program, decodeMs: 400 });
    expect(await hasty(Uint8Array.of(0), png, "a")).toMatchObject({ ok: false, code: "image_invalid" });
    // The time of an image begins before its process is there.
    const ask = createImageDecoder({ program, decodeMs: 60_000 });
    expect(await ask(Uint8Array.of(1), png, "a")).toMatchObject({ ok: false, code: "image_invalid" });
    await expect(ask(Uint8Array.of(2), png, "a")).rejects.toMatchObject({ reason: "image_decoder" });
    expect(await ask(slow(0), png, "a")).toMatchObject({ ok: true });
  });

  it("reads no type but the one that it is asked for (D1)", async () => {
    expect(await decode(of(png), "image/jpeg", "a")).toMatchObject({ ok: false, code: "image_invalid" });
    const svg = utf8('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>');
    expect(await decode(svg, png, "a")).toMatchObject({ ok: false, code: "image_invalid" });
  });
});
