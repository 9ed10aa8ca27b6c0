import { describe, expect, it } from "vitest";
import { utf8 } from "../protocol/bytes.ts";
import { Rooms } from "./request-parts.ts";

const join = (rooms: Rooms, ...parts: readonly (string | Uint8Array)[]) => rooms.join(parts);

describe("rooms", () => {
  it("are used again once they are released, and not before (R1)", () => {
    const rooms = new Rooms({ bytes: 100, bytesMin: 3, keptMax: 2 });
    const first = join(rooms, "a\u20ac", utf8("b"));
    const second = join(rooms, "c");
    expect([first.bytes, second.bytes]).toEqual([utf8("a\u20acb"), utf8("c")]);
    first.release();
    const third = join(rooms, "other");
    expect(third.bytes.buffer).toBe(first.bytes.buffer);
    expect([third.bytes, second.bytes]).toEqual([utf8("other"), utf8("c")]);
  });

  it("are kept up to a number, and are not for what is longer or short (R2)", () => {
    const rooms = new Rooms({ bytes: 10, bytesMin: 4, keptMax: 1 });
    const [long, short] = [join(rooms, "four"), join(rooms, "4")];
    long.release();
    short.release();
    expect([long.heldBytes, short.heldBytes]).toEqual([12, 3]);
    const [one, two] = [join(rooms, "11"), join(rooms, "22")];
    expect(one.heldBytes).toBe(10);
    one.release();
    two.release();
    expect(join(rooms, "33").bytes.buffer).toBe(one.bytes.buffer);
    expect(join(rooms, "44").bytes.buffer).not.toBe(two.bytes.buffer);
    expect([long.bytes, short.bytes]).toEqual([utf8("four"), utf8("4")]);
  });
});
