import { describe, expect, it } from "vitest";
import { frameKey, openFrame, sealFrame } from "./messages.ts";

const key = frameKey(new Uint8Array(32).fill(1));

describe("a frame", () => {
  it("carries messages of any text", () => {
    const messages = ["", "ä ☃ \u{1f600}", "x".repeat(100_000), { a: [1, null] }];
    expect(openFrame(key, 3, sealFrame(key, 3, JSON.stringify(messages)))).toEqual(messages);
  });

  it("is nobody's when a single bit of it changed", () => {
    const frame = sealFrame(key, 1, '[{"k":"alive"}]');
    expect(openFrame(key, 1, frame)).not.toBeNull();
    for (let bit = 0; bit < frame.length * 8; bit += 1) {
      const changed = Buffer.from(frame);
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(openFrame(key, 1, changed)).toBeNull();
    }
  });

  it("is nobody's under another key or of another version, or cut short", () => {
    const frame = sealFrame(key, 1, "[]");
    expect(openFrame(frameKey(new Uint8Array(32).fill(2)), 1, frame)).toBeNull();
    expect(openFrame(key, 2, frame)).toBeNull();
    for (let length = 0; length < frame.length; length += 1)
      expect(openFrame(key, 1, frame.subarray(0, length))).toBeNull();
  });

  it.each(["{}", "7", "null", "", "[", '"text"'])("is none when it carries %s", (text) => {
    expect(openFrame(key, 1, sealFrame(key, 1, text))).toBeNull();
  });

  it("has no tag over TLS, and its version counts all the same", () => {
    const frame = sealFrame(null, 3, '[{"k":"alive"}]');
    expect(openFrame(null, 3, frame)).toEqual([{ k: "alive" }]);
    expect(openFrame(null, 2, frame)).toBeNull();
    expect(openFrame(null, 3, Buffer.alloc(0))).toBeNull();
    for (const text of ["{}", "7", "", "["]) expect(openFrame(null, 3, sealFrame(null, 3, text))).toBeNull();
    // Neither kind can be read as the other.
    expect(openFrame(key, 3, frame)).toBeNull();
    expect(openFrame(null, 3, sealFrame(key, 3, "[]"))).toBeNull();
  });
});
