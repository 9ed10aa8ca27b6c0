// The text of a feed as it arrives: gzip is unpacked, its encoding is checked, and only a little of it is in memory at a time.

import { FeedError } from "./feed-item.ts";

export type Bytes = AsyncIterable<Uint8Array>;

/** What a file may be written in; UTF-16 says so by its mark, and of a Windows code page nothing in the file tells. */
export const feedEncodings = ["utf-8", "utf-16le", "utf-16be", "windows-1252"] as const;
export type FeedEncoding = (typeof feedEncodings)[number];

const gzipMagic = [0x1f, 0x8b];

/** What people send in place of a feed, by its first bytes. */
const otherFiles = [
  { magic: [0x50, 0x4b, 0x03, 0x04], name: "an Excel workbook or a ZIP file" },
  { magic: [0xd0, 0xcf, 0x11, 0xe0], name: "an Excel workbook" },
  { magic: [0x25, 0x50, 0x44, 0x46], name: "a PDF" },
];

/**
 * The text in pieces. Without `encoding` it is UTF-8, or UTF-16 with its mark. Rejects with {@link FeedError} for a broken
 * gzip file, and for bytes that are not text in the encoding.
 */
export async function* textOf(bytes: Bytes, encoding: FeedEncoding | null = null): AsyncGenerator<string> {
  const packed = await peek(bytes, (got) => lengthOf(got) >= 2);
  const isGzip = startsWith(packed.first, gzipMagic);
  let decoding: Decoding | null = null;
  try {
    const { first, all } = await peek(
      isGzip ? unpacked(packed.all) : packed.all,
      (got) => lengthOf(got) >= 4,
    );
    const other = otherFiles.find(({ magic }) => startsWith(first, magic));
    if (other !== undefined)
      throw new FeedError(0, `This is ${other.name}: export the products as CSV in UTF-8.`);
    decoding = new Decoding(encoding ?? markedEncoding(first));
    for await (const chunk of all) yield decoding.next(chunk);
    yield decoding.end();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    // The decoder and the unpacker both throw it.
    throw (
      decoding?.fault ??
      new FeedError(0, isGzip ? "The gzip file is broken, or not whole." : "The file is not text.")
    );
  }
}

function lengthOf(chunks: readonly Uint8Array[]): number {
  return chunks.reduce((sum, { length }) => sum + length, 0);
}

function startsWith(chunks: readonly Uint8Array[], wanted: readonly number[]): boolean {
  const head = chunks.flatMap((each) => [...each.subarray(0, wanted.length)]);
  return wanted.every((byte, at) => head[at] === byte);
}

function markedEncoding(first: readonly Uint8Array[]): FeedEncoding {
  if (startsWith(first, [0xff, 0xfe])) return "utf-16le";
  return startsWith(first, [0xfe, 0xff]) ? "utf-16be" : "utf-8";
}

const zeroBytes = "The file has zero bytes, as UTF-16 without its mark has: save it as UTF-8.";

/** Decodes strictly, and knows the line of what it cannot decode. */
class Decoding {
  readonly #encoding: FeedEncoding;
  readonly #decoder: TextDecoder;
  #line = 1;
  /** Where the bytes are not text. */
  fault: FeedError | null = null;

  constructor(encoding: FeedEncoding) {
    this.#encoding = encoding;
    this.#decoder = new TextDecoder(encoding, { fatal: true });
  }

  next(chunk: Uint8Array): string {
    return this.#decode(chunk, () => this.#decoder.decode(chunk, { stream: true }));
  }

  end(): string {
    return this.#decode(new Uint8Array(), () => this.#decoder.decode());
  }

  #decode(chunk: Uint8Array, decode: () => string): string {
    try {
      const text = decode();
      this.#line += text.split("\n").length - 1;
      if (this.#encoding === "utf-8" && text.includes("\0")) {
        this.fault = new FeedError(this.#line, zeroBytes);
        throw new TypeError(this.fault.message);
      }
      return text;
    } catch (error) {
      this.fault ??= this.#notText(chunk);
      throw error;
    }
  }

  #notText(chunk: Uint8Array): FeedError {
    const before = (new TextDecoder(this.#encoding).decode(chunk).split("\uFFFD", 1)[0] ?? "").split("\n");
    const line = this.#line + before.length - 1;
    if (before.some((text) => text.includes("\0"))) return new FeedError(line, zeroBytes);
    const remedy =
      this.#encoding === "utf-8"
        ? "Save it as UTF-8, or say with --encoding windows-1252 that it comes from an older Windows program."
        : "It may not be whole.";
    return new FeedError(
      line,
      `The file is not ${this.#encoding.toUpperCase()} text after ${JSON.stringify(before.at(-1)?.slice(-20))}. ${remedy}`,
    );
  }
}

/** The first pieces, until they are enough to decide by, and everything including them. */
export async function peek<T>(
  pieces: AsyncIterable<T>,
  isEnough: (first: readonly T[]) => boolean,
): Promise<{ readonly first: readonly T[]; readonly all: AsyncIterable<T> }> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first: T[] = [];
  while (!isEnough(first)) {
    const next = await iterator.next();
    if (next.done === true) break;
    first.push(next.value);
  }
  return { first, all: joined(first, iterator) };
}

async function* joined<T>(first: readonly T[], iterator: AsyncIterator<T>): AsyncGenerator<T> {
  yield* first;
  try {
    for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) yield next.value;
  } finally {
    await iterator.return?.();
  }
}

async function* unpacked(bytes: Bytes): Bytes {
  const gunzip = new DecompressionStream("gzip");
  const writer = gunzip.writable.getWriter();
  const written = (async () => {
    for await (const chunk of bytes) await writer.write(new Uint8Array(chunk));
    await writer.close();
  })();
  // The reader below reports the same failure.
  written.catch(() => writer.abort().catch(() => {}));
  const reader = gunzip.readable.getReader();
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) yield part.value;
    await written;
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Lines with their numbers, without their ends; the last one needs no line feed. */
export async function* linesOf(
  text: AsyncIterable<string>,
  lengthMax: number,
): AsyncGenerator<{ readonly line: number; readonly text: string }> {
  let line = 1;
  let open = "";
  for await (const piece of text) {
    const lines = (open + piece).split("\n");
    open = lines.pop() ?? "";
    for (const each of lines) {
      yield { line, text: each };
      line += 1;
    }
    if (open.length > lengthMax)
      throw new FeedError(line, `The line is longer than ${lengthMax} characters.`);
  }
  if (open !== "") yield { line, text: open };
}
