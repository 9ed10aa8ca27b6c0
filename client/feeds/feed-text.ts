// The text of a feed as it arrives: gzip is unpacked, UTF-8 is checked, and only a little of it is in memory at a time.

import { FeedError } from "./feed-item.ts";

export type Bytes = AsyncIterable<Uint8Array>;

const gzipMagic = [0x1f, 0x8b];

/** The text in pieces. Rejects with {@link FeedError} for a broken gzip file and for what is not UTF-8. */
export async function* textOf(bytes: Bytes): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const { first, all } = await peek(bytes, (got) => got.reduce((sum, each) => sum + each.length, 0) >= 2);
  const head = first.flatMap((each) => [...each.subarray(0, 2)]);
  const isGzip = gzipMagic.every((byte, at) => head[at] === byte);
  try {
    for await (const chunk of isGzip ? unpacked(all) : all) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (error) {
    if (error instanceof TypeError) {
      throw new FeedError(
        0,
        isGzip ? "The file is not UTF-8 text, or not whole." : "The file is not UTF-8 text.",
      );
    }
    throw error;
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
