// Long lists of the operator's, one entry a line. Empty lines, and what follows a # at the start of a line or after a space,
// mean nothing.
//   L1. The first line with a fault refuses the file, and so does a file without an entry: a list that was cut off while it
//       was written must not count as short.
//   L2. Reading yields the thread after each block, however long the file is.

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import { parseUtf8 } from "../protocol/bytes.ts";
import { ConfigError } from "./config-error.ts";

export interface LineFile {
  readonly setting: string;
  readonly path: string;
  readonly bytesMax: number;
  readonly linesMax: number;
  /** Takes one entry; returns what is wrong with it, null if nothing is. */
  readonly take: (entry: string) => string | null;
}

const blockBytes = 65_536;
const lineLengthMax = 4_096;
const quotedMax = 100;

/** Reads all entries; returns their number. Throws {@link ConfigError}, which names the line. */
export async function readLines(file: LineFile): Promise<number> {
  const { setting, path, bytesMax, linesMax, take } = file;
  const fail = (fault: string): ConfigError => new ConfigError(setting, `${path} ${fault}`);
  await checkSize(file, fail);
  let [line, entries] = [0, 0];
  const takeLine = (written: string): void => {
    line += 1;
    const entry = written.replace(/(?:^|\s)#.*$/, "").trim();
    if (entry === "") return;
    entries += 1;
    if (entries > linesMax) throw fail(`has more than ${linesMax} entries; shorten it`);
    const fault = entry.length > lineLengthMax ? "is too long" : take(entry);
    if (fault !== null) throw fail(`line ${line}: ${JSON.stringify(entry.slice(0, quotedMax))} ${fault}`);
  };
  try {
    let bytes = 0;
    let rest: Uint8Array = new Uint8Array();
    for await (const block of createReadStream(path, {
      highWaterMark: blockBytes,
    }) as AsyncIterable<Buffer>) {
      bytes += block.length;
      if (bytes > bytesMax) throw fail(`has more than ${bytesMax} bytes; shorten it`);
      const read = Buffer.concat([rest, block]);
      const end = read.lastIndexOf(10) + 1;
      for (const each of textOf(read.subarray(0, end)).split("\n").slice(0, -1)) takeLine(each);
      rest = read.subarray(end);
      if (rest.length > 4 * lineLengthMax) throw fail(`line ${line + 1} is too long`);
      await nextTurn();
    }
    takeLine(textOf(rest));
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw fail(`cannot be read (${String(error)}); name a text file in UTF-8, or unset it`);
  }
  if (entries === 0) throw fail("has no entry; list at least one, or unset it");
  return entries;
}

function textOf(bytes: Uint8Array): string {
  const text = parseUtf8(bytes);
  if (text === null) throw new Error("it is not UTF-8");
  return text;
}

async function checkSize({ path, bytesMax }: LineFile, fail: (fault: string) => ConfigError): Promise<void> {
  const file = await stat(path).catch((error: unknown) => {
    throw fail(`cannot be read (${String(error)}); name a text file, or unset it`);
  });
  if (!file.isFile()) throw fail("is not a file; name a text file, or unset it");
  if (file.size > bytesMax) throw fail(`has ${file.size} bytes; use at most ${bytesMax}`);
}
