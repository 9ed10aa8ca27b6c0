// Images of ads: their type and their outer structure, before a decoder sees them.

import { imageMediaTypes, imageTypeOf } from "../../protocol/image-type.ts";
import { judgeStructure } from "../../service/image-structure.ts";
import { type FuzzTarget, must } from "./target.ts";

const bytes = (latin1: string): Uint8Array => Uint8Array.from(latin1, (character) => character.charCodeAt(0));

export const image: FuzzTarget = {
  name: "image",
  seeds: [
    bytes("\x89PNG\r\n\x1a\n\0\0\0\x04IHDR\0\0\0\x01crc \0\0\0\x01IDAT\x09crc \0\0\0\0IEND\xae\x42\x60\x82"),
    bytes("\xff\xd8\xff\xe0\0\x04ab\xff\xda\0\x03x12\xff\x00\xff\xd0\x34\xff\xd9"),
    bytes("RIFF\x12\0\0\0WEBPVP8L\x05\0\0\0abcde\0"),
    bytes("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x02\0\0\0\0\0\0\0\0\0"),
  ],
  words: ["IHDR", "IDAT", "IEND", "acTL", "VP8 ", "ANIM", "\u0000"],
  check: (input) => {
    const type = imageTypeOf(input);
    if (type === null) return "none";
    must(imageMediaTypes.includes(type), "a type that is not taken");
    const structure = judgeStructure(input, type);
    if (structure !== "whole") return `${type} ${structure}`;
    // What is whole is cut off without its last byte, and followed by something with one more.
    must(judgeStructure(input.subarray(0, -1), type) !== "whole", "an image without its end");
    const longer = new Uint8Array(input.length + 1);
    longer.set(input);
    must(judgeStructure(longer, type) === "followed", "an image with something behind it");
    return `${type} whole`;
  },
};
