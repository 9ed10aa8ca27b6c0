// What a bulk file is read with: the form that it arrives in, and its lines. Whatever the bytes are, reading ends with what they
// contain or with the first fault, and it is the same however they were split on their way. The first bytes of an input say how.

import { type MultipartEvent, MultipartFault, MultipartReader } from "../../api/multipart.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { recordCharactersMax } from "../../protocol/limits.ts";
import { isRefused } from "../../service/answer.ts";
import { RecordLines } from "../../service/record-lines.ts";
import { type FuzzTarget, must, mustEqual } from "./target.ts";

const latin1 = (text: string): Uint8Array => Buffer.from(text, "latin1");

/** Number of the first bytes of an input that are the lengths of the pieces, in turn. */
const lengths = 3;
const pieced = "\u0001\u0007\u0028";
const byteByByte = "\u0000\u0000\u0000";

function split(input: Uint8Array): { readonly body: Uint8Array; readonly pieces: readonly number[] } {
  return {
    body: input.subarray(lengths),
    pieces: Array.from(input.subarray(0, lengths), (each) => each + 1),
  };
}

function* inPieces(body: Uint8Array, pieces: readonly number[]): Generator<Uint8Array> {
  let from = 0;
  for (let turn = 0; from < body.length; turn += 1) {
    const to = from + (pieces[turn % pieces.length] ?? body.length);
    yield body.subarray(from, to);
    from = to;
  }
}

const boundary = "b";
const head = 'Content-Disposition: form-data; name="file"';
const formSplit = (lengthsOf: string, ...parts: readonly string[]): Uint8Array =>
  latin1(`${lengthsOf}${parts.map((each) => `--b\r\n${each}\r\n`).join("")}--b--\r\n`);
const form = (...parts: readonly string[]): Uint8Array => formSplit(pieced, ...parts);
const longHead = (length: number): string => `${head}\r\nContent-Type: `.padEnd(length, "x");

interface Form {
  readonly parts: readonly { name: string; value: string }[];
  readonly fault: string | null;
}

const multipart: FuzzTarget = {
  name: "multipart",
  seeds: [
    form(`${head}\r\n\r\nAAAA\n`),
    form('Content-Disposition: form-data; name="upload"\r\n\r\nbut', `${head}\r\n\r\n\r\n--c\r\n-`),
    form(`${head}; filename="a.ndjson"\r\nContent-Type: text/plain\r\n\r\n`),
    form(`${head}\r\n`),
    // The longest heads: a byte more is refused.
    ...[4_095, 4_096, 4_097].map((length) => formSplit(byteByByte, `${longHead(length)}\r\n\r\nx`)),
  ],
  words: ["\r\n", "\r", "\n", "--", "--b", "\r\n--b", "\r\n--b--\r\n", "\r\n\r\n", head, 'name="', '"', "; "],
  check: (input) => {
    const { body, pieces } = split(input);
    const whole = formOf(body, [body.length]);
    mustEqual(formOf(body, pieces), whole, "the form in pieces");
    if (whole.fault === null) mustEqual(whole.parts, partsOf(body), "the parts");
    return whole.fault ?? `ok ${Math.min(3, whole.parts.length)}`;
  },
};

function formOf(body: Uint8Array, pieces: readonly number[]): Form {
  const reader = new MultipartReader(boundary);
  const parts: { name: string; value: string }[] = [];
  const add = (event: MultipartEvent): void => {
    const last = parts.at(-1);
    if (event.kind === "part") parts.push({ name: event.name, value: "" });
    else if (last === undefined) throw new Error("There are bytes before the first part.");
    else last.value += Buffer.from(event.bytes).toString("latin1");
  };
  try {
    for (const piece of inPieces(body, pieces)) for (const event of reader.take(piece)) add(event);
    reader.end();
    return { parts, fault: null };
  } catch (error) {
    if (!(error instanceof MultipartFault)) throw error;
    // Of a form with a fault nothing is used, so how much of a value was read before it does not matter.
    return { parts: [], fault: error.message };
  }
}

/** The parts of a valid body, by the grammar alone: it is cut at every delimiter. */
function partsOf(body: Uint8Array): Form["parts"] {
  const between = `\r\n${Buffer.from(body).toString("latin1")}`.split(`\r\n--${boundary}`).slice(1, -1);
  return between.map((part) => {
    const end = `${part}\r\n`.indexOf("\r\n\r\n");
    const name = /; *name="([^"]*)"/i.exec(part.slice(0, end))?.[1] ?? "";
    return { name, value: part.slice(end + 4) };
  });
}

/** Stands for as many characters as the longest record has, which no mutation would write. */
const longest = "\u00ff";

const recordLines: FuzzTarget = {
  name: "record-lines",
  seeds: [
    "eyJhIjoxfQ==\n",
    "eyJhIjoxfQ==\nAAAA\nAA==\n",
    "AAAA\r\nAAAA\n",
    "AAAA\n\nAAAA",
    `AAAA\n${longest}\n`,
    `${longest}A\nAAAA\n`,
    `${longest}\r\n`,
    `${longest}A\r\n`,
  ].map((lines) => latin1(`${pieced}${lines}`)),
  words: ["\n", "\r\n", "=", "==", "AAAA", "-_", "{}", "\u00ef\u00bb\u00bf", "\u00c3\u00a4", longest],
  check: (input) => {
    const { body: short, pieces } = split(input);
    const body = latin1(
      Buffer.from(short).toString("latin1").replace(longest, "A".repeat(recordCharactersMax)),
    );
    const whole = linesOf(body, [body.length]);
    mustEqual(linesOf(body, pieces), whole, "the lines in pieces");
    if (whole.fault === null)
      must(
        // The last line may lack its end.
        [whole.records.join("\n"), `${whole.records.join("\n")}\n`].some(
          (each) => latin1(each).toHex() === body.toHex(),
        ),
        "the records are not the file",
      );
    return whole.fault ?? `ok ${Math.min(3, whole.records.length)}`;
  },
};

function linesOf(body: Uint8Array, pieces: readonly number[]) {
  const lines = new RecordLines();
  const records: string[] = [];
  const faulty = (reason: unknown) => ({ records: [], count: lines.count, fault: JSON.stringify(reason) });
  for (const piece of inPieces(body, pieces)) {
    for (const taken of lines.take(piece)) {
      // A file with a fault is not kept, so what was read of it before does not matter.
      if (isRefused(taken)) return faulty(taken.problem);
      records.push(toBase64(taken));
    }
  }
  const end = lines.end();
  if (isRefused(end)) return faulty(end.problem);
  return { records: [...records, ...end.map(toBase64)], count: lines.count, fault: null };
}

export const bulkTargets: readonly FuzzTarget[] = [multipart, recordLines];
