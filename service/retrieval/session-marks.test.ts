import { describe, expect, it } from "vitest";
import { nativeCrypto } from "../../crypto/native.ts";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import { SessionMarks, sessionSearchesMax, sessionSubjectsMax } from "./topic-screening.ts";

function world(max?: number) {
  const salts: Uint8Array[] = [];
  const marks = new SessionMarks(
    part({
      hmacSha256: (key, bytes) => nativeCrypto.hmacSha256(key, bytes),
      randomBytes: (length) => {
        const salt = nativeCrypto.randomBytes(length);
        salts.push(salt);
        return salt;
      },
    }),
    max,
  );
  return { marks, salts };
}

const today = "2026-03-04";
const tomorrow = "2026-03-05";

describe("the mark of a session", () => {
  it("is its HMAC under the salt of the day, the same all day (S1)", () => {
    const { marks, salts } = world();
    const mark = marks.mark("c1", "chat", today);
    expect(marks.mark("c1", "chat", today)).toBe(mark);
    expect(salts).toHaveLength(1);
    expect(salts[0]).toHaveLength(32);
    const mac = nativeCrypto.hmacSha256(salts[0] ?? new Uint8Array(), utf8("c1\nchat"));
    expect(mark).toBe(toBase64Url(mac.subarray(0, 16)));
  });

  it("is another one for another company, session, day or node (S2, S3)", () => {
    const { marks } = world();
    const all = [
      marks.mark("c1", "chat", today),
      marks.mark("c2", "chat", today),
      marks.mark("c1", "chat2", today),
      world().marks.mark("c1", "chat", today),
      marks.mark("c1", "chat", tomorrow),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it("ends with its day: the salt is overwritten, and everything forgotten (S2)", () => {
    const { marks, salts } = world();
    const mark = marks.mark("c1", "chat", today);
    marks.search(mark, ["kettle"]);
    marks.turn(today);
    expect([marks.size, marks.day, salts[0]?.some((byte) => byte !== 0)]).toEqual([1, today, true]);
    marks.turn(tomorrow);
    expect([marks.size, marks.day]).toEqual([0, tomorrow]);
    expect(salts[0]).toEqual(new Uint8Array(32));
    expect(marks.mark("c1", "chat", tomorrow)).not.toBe(mark);
    // A request that arrived before midnight and is handled after it does not bring the day back.
    marks.mark("c1", "chat", today);
    expect([salts.length, marks.day]).toEqual([2, tomorrow]);
  });
});

describe("what a session asks for", () => {
  it("counts once a day for each subject, up to a number of them", () => {
    const { marks } = world();
    const mark = marks.mark("c1", "chat", today);
    expect(marks.search(mark, ["kettle", "tea"])).toEqual(["kettle", "tea"]);
    expect(marks.search(mark, ["tea", "cup"])).toEqual(["cup"]);
    expect(marks.search(marks.mark("c2", "chat", today), ["tea"])).toEqual(["tea"]);
    const many = Array.from({ length: 30 }, (_, n) => `s${n}`);
    expect(marks.search(mark, many)).toEqual(many.slice(0, sessionSubjectsMax - 3));
    expect(marks.search(mark, many.slice(20))).toEqual([]);
  });

  it("counts no longer once the session asks more often than people do", () => {
    const { marks } = world();
    const mark = marks.mark("c1", "chat", today);
    for (let n = 0; n < sessionSearchesMax; n += 1) marks.search(mark, []);
    expect(marks.excessive).toBe(0);
    expect(marks.search(mark, ["kettle"])).toEqual([]);
    expect(marks.excessive).toBe(1);
  });

  it("is remembered of a bounded number of sessions (S5)", () => {
    const { marks } = world(3);
    for (let n = 0; n < 10; n += 1) marks.search(marks.mark("c1", `chat${n}`, today), ["kettle"]);
    expect(marks.size).toBe(3);
    expect(marks.search(marks.mark("c1", "chat9", today), ["kettle"])).toEqual([]);
    expect(marks.search(marks.mark("c1", "chat0", today), ["kettle"])).toEqual(["kettle"]);
  });
});
