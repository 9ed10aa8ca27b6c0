// The lines of a bulk file, as it arrives in pieces of any size (specification, «Publish behaviour» 10).
//   F1. Every line is the base64 of a record's exact bytes. LF ends a line; the last one may lack it. Whether a file is whole is not seen
//       here: the sealed root and number of records show a file that was cut off, wherever it was.
//   F2. The first fault ends the file, and names its line by the index of its leaf. No more than one line is kept in
//       memory, whatever the file contains.

import { concatBytes, parseUtf8 } from "../protocol/bytes.ts";
import { bulkRecordsMax, recordCharactersMax } from "../protocol/limits.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";
import { parseRecordText } from "./publish-body.ts";

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export class RecordLines {
  /** The beginning of a line whose end has not arrived. */
  #begun: Uint8Array[] = [];
  #begunLength = 0;
  /** Number of records so far. */
  count = 0;

  /** The records whose lines end in these bytes, one after another; a fault is the last of them. */
  *take(bytes: Uint8Array): Generator<Uint8Array | Refused, void> {
    let from = 0;
    for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, from)) {
      const record = this.#endLine(bytes.subarray(from, end));
      yield record;
      if (!(record instanceof Uint8Array)) return;
      from = end + 1;
    }
    const fault = this.#begin(bytes.subarray(from));
    if (fault !== null) yield fault;
  }

  /** Must be called at the end of the file: the record whose line has no LF, if there is one. */
  end(): readonly Uint8Array[] | Refused {
    if (this.#begunLength > 0) {
      const record = this.#endLine(new Uint8Array());
      return record instanceof Uint8Array ? [record] : record;
    }
    return this.count > 0 ? [] : this.#invalid("file_empty", "The file has no records.");
  }

  #begin(rest: Uint8Array): Refused | null {
    if (rest.length === 0) return null;
    this.#begunLength += rest.length;
    if (this.#begunLength > recordCharactersMax + 1) return this.#tooLarge();
    this.#begun.push(rest.slice());
    return null;
  }

  #endLine(rest: Uint8Array): Uint8Array | Refused {
    const line = this.#begunLength === 0 ? rest : concatBytes(...this.#begun, rest);
    this.#begun = [];
    this.#begunLength = 0;
    // First of all, as for a line that has not ended: the fault does not depend on the pieces.
    if (line.length > recordCharactersMax + 1) return this.#tooLarge();
    if (this.count === bulkRecordsMax)
      return this.#invalid("too_many_records", `A file has at most ${bulkRecordsMax} records.`);
    if (line.length === 0) return this.#invalid("line_empty", "The line is empty.");
    if (line.at(-1) === carriageReturn)
      return this.#invalid("line_crlf", "The line ends with CR LF; lines of this file end with LF alone.");
    if (line.length > recordCharactersMax) return this.#tooLarge();
    const text = parseUtf8(line);
    const record = text === null ? null : parseRecordText(text);
    if (record === null || !record.ok)
      return this.#invalid(
        "line_not_base64",
        "The line is not the base64 (RFC 4648 §4, padded) of a record's bytes.",
      );
    this.count += 1;
    return record.value;
  }

  get #pointer(): string {
    return `/file/${this.count}`;
  }

  #invalid(reason: string, detail: string): Refused {
    return refused(problem("request_invalid", detail, { pointer: this.#pointer, reason }));
  }

  #tooLarge(): Refused {
    const detail = `A record must have at most ${recordCharactersMax} base64 characters.`;
    return refused(problem("record_too_large", detail, { pointer: this.#pointer, reason: "line_too_long" }));
  }
}
