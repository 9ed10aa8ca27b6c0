import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "./bytes.ts";
import { pae, payloadTypes } from "./dsse.ts";
import { MessagePacker, packMessages, unpackMessages } from "./signed-version.ts";

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.string({ unit: "grapheme-ascii", maxLength: 9_000 }),
);

describe("packed messages", () => {
  it("are the bytes of the texts and envelopes that were added, in order", () => {
    const added = fc.array(fc.record({ text, isEnvelope: fc.boolean() }), { maxLength: 20 });
    fc.assert(
      fc.property(added, (all) => {
        const packer = new MessagePacker();
        const type = payloadTypes["sidecar.v2"];
        for (const { text, isEnvelope } of all) {
          if (isEnvelope) expect(packer.addEnvelope(type, text)).toBe(utf8(text).toBase64());
          else packer.addText(text);
        }
        const expected = all.map(({ text, isEnvelope }) => (isEnvelope ? pae(type, utf8(text)) : utf8(text)));
        const packed = packer.pack();
        expect(unpackMessages(packed).map((each) => each.toHex())).toEqual(
          expected.map((each) => each.toHex()),
        );
        expect(packMessages(expected)).toEqual(packed);
      }),
    );
  });
});
