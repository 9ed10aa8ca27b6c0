import { describe, expect, it } from "vitest";
import { toBase64 } from "../bytes.ts";
import {
  formatAddCheckpoint,
  formatCheckpoint,
  formatNote,
  parseAddCheckpoint,
  parseCosignatures,
  parseTreeSize,
} from "./note.ts";

const hash = (byte: number) => new Uint8Array(32).fill(byte);
const line = (name: string) => ({ name, keyHash: hash(1).slice(0, 4), bytes: hash(2) });
const text = formatCheckpoint({ origin: "o", size: 9, root: hash(3), extensions: [] });
const note = formatNote({ text, signatures: [line("o")] });
const request = { oldSize: 5, proof: [hash(4), hash(5)], note };

describe("a request to a witness", () => {
  it("is the text of C2SP tlog-witness, and is read back", () => {
    const body = formatAddCheckpoint(request);
    expect(body).toBe(`old 5\n${toBase64(hash(4))}\n${toBase64(hash(5))}\n\n${note}`);
    expect(parseAddCheckpoint(body)).toMatchObject({
      ok: true,
      value: { ...request, checkpoint: { size: 9 } },
    });
    const first = { oldSize: 0, proof: [], note };
    expect(formatAddCheckpoint(first)).toBe(`old 0\n\n${note}`);
    expect(parseAddCheckpoint(formatAddCheckpoint(first))).toMatchObject({ ok: true, value: first });
  });

  it("has a proof of at most 63 lines", () => {
    const of = (lines: number) => formatAddCheckpoint({ ...request, proof: Array(lines).fill(hash(1)) });
    expect(parseAddCheckpoint(of(63)).ok).toBe(true);
    expect(parseAddCheckpoint(of(64)).ok).toBe(false);
  });

  it.each([
    ["nothing", ""],
    ["no size", `old \n\n${note}`],
    ["a leading zero", `old 05\n\n${note}`],
    ["a negative size", `old -1\n\n${note}`],
    ["a size that cannot be counted", `old 9999999999999999\n\n${note}`],
    ["another word", `new 5\n\n${note}`],
    ["no empty line", `old 5\n${note}`],
    ["a short hash", `old 5\n${toBase64(hash(1).slice(1))}\n\n${note}`],
    ["a hash that is no base64", `old 5\n${"*".repeat(44)}\n\n${note}`],
    ["carriage returns", `old 5\r\n\r\n${note}`],
    ["a note without a signature", `old 5\n\n${text}`],
    ["a note that does not end", `old 5\n\n${note.slice(0, -1)}`],
    ["a note that is no checkpoint", `old 5\n\n${formatNote({ text: "hello\n", signatures: [line("o")] })}`],
  ])("is refused with %s", (_what, body) => {
    expect(parseAddCheckpoint(body)).toMatchObject({ ok: false, code: "checkpoint_invalid" });
  });
});

describe("a witness's answer", () => {
  const answer = formatNote({ text: "", signatures: [line("w1"), line("w2")] }).slice(1);

  it("consists of signature lines", () => {
    expect(parseCosignatures(note, answer)?.map(({ name }) => name)).toEqual(["w1", "w2"]);
  });

  it.each([
    ["nothing", ""],
    ["no line", "hello\n"],
    ["a line that does not end", answer.slice(0, -1)],
    ["another note", `\n${note}`],
    ["a text of its own", `more\n\n${answer}`],
  ])("is refused with %s", (_what, body) => {
    expect(parseCosignatures(note, body)).toBeNull();
  });

  it("about its size is one number", () => {
    expect(parseTreeSize("0\n")).toBe(0);
    expect(parseTreeSize("20852163\n")).toBe(20_852_163);
    for (const wrong of ["", "5", "05\n", "-1\n", "5\n\n", "x\n", "9999999999999999\n"])
      expect(parseTreeSize(wrong)).toBeNull();
  });
});
