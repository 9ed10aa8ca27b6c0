// Reads a file of actors' journals (service/log/journal-file.ts), which a simulation starts from.

import { parseBase64 } from "../protocol/bytes.ts";
import {
  type JournalActor,
  type JournalFile,
  journalFormat,
  type StagedPush,
} from "../service/log/journal-file.ts";

interface Line {
  readonly format?: string;
  readonly takenAtMs?: number;
  readonly actor?: JournalActor;
  readonly staged?: Omit<StagedPush, "leaves"> & { readonly leaves: readonly string[] };
}

/** Throws a RangeError for a text that is not a journal. */
export function parseJournal(text: string): JournalFile {
  const [first, ...rest] = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line, index) => parseLine(line, index + 1));
  if (first?.format !== journalFormat || typeof first.takenAtMs !== "number")
    throw new RangeError(`not a journal: its first line does not say «${journalFormat}»`);
  return {
    takenAtMs: first.takenAtMs,
    actors: rest.flatMap(({ actor }) => (actor === undefined ? [] : [actor])),
    staged: rest.flatMap(({ staged }) =>
      staged === undefined ? [] : [{ ...staged, leaves: staged.leaves.map(bytesOf) }],
    ),
  };
}

function parseLine(line: string, number: number): Line {
  try {
    return JSON.parse(line) as Line;
  } catch {
    throw new RangeError(`not a journal: line ${number} is not JSON`);
  }
}

function bytesOf(text: string): Uint8Array {
  const bytes = parseBase64(text);
  if (bytes === null) throw new RangeError("not a journal: staged bytes are not base64");
  return bytes;
}
