// A strict reader of multipart/form-data (RFC 7578, RFC 2046 §5.1): the parts of a body, as it arrives in pieces of any
// size. What form it has is decided by the grammar alone, and anything else is refused:
//   M1. The body begins with the first delimiter and ends with the last one, which at most a line end follows: there is
//       no text before, between or after the parts.
//   M2. Every part says in its head that it is a member of the form, once, and by which name. A head is short.
//   M3. No more is kept in memory than a head, or the beginning of what may be a delimiter.

/** What a body consists of, in order. */
export type MultipartEvent =
  | ({ readonly kind: "part"; readonly name: string } & SaidOfFile)
  /** Some bytes of the part that began last. */
  | { readonly kind: "bytes"; readonly bytes: Uint8Array };

/** What a browser says of a part that is a file: the name is the sender's, and neither is believed. */
interface SaidOfFile {
  readonly filename: string | null;
  readonly mediaType: string | null;
}

export class MultipartFault extends Error {}

const headBytesMax = 4_096;
const dashes = "--";
const lineEnd = "\r\n";

const mediaType = /^multipart\/form-data(?=[\t ]*;)/i;
/** One parameter of a media type, at the place where the one before it ended: a token, or a quoted text without escapes. */
const parameter = /[\t ]*;[\t ]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)=(?:"([^"\\]*)"|([!#$%&'*+.^_`|~0-9A-Za-z-]+))/y;

/** The boundary in a Content-Type field; null unless it is multipart/form-data with one valid boundary among its parameters. */
export function boundaryOf(contentType = ""): string | null {
  let end = mediaType.exec(contentType)?.[0].length ?? 0;
  if (end === 0) return null;
  const boundaries: string[] = [];
  while (end < contentType.length) {
    parameter.lastIndex = end;
    const [whole, name, quoted, token] = parameter.exec(contentType) ?? [];
    if (whole === undefined || name === undefined) return null;
    end += whole.length;
    if (name.toLowerCase() === "boundary") boundaries.push(quoted ?? token ?? "");
  }
  const [boundary = "", ...more] = boundaries;
  if (more.length > 0) return null;
  return /^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$/.test(boundary) ? boundary : null;
}

type State = "delimiter" | "head" | "body" | "end";

export class MultipartReader {
  readonly #first: Buffer;
  readonly #delimiter: Buffer;
  #state: State = "delimiter";
  #isFirst = true;
  /** Whether the line end that ended a head is still in front of the bytes. */
  #isAtStart = false;
  #rest: Buffer = Buffer.alloc(0);

  constructor(boundary: string) {
    this.#first = Buffer.from(`${dashes}${boundary}`, "latin1");
    this.#delimiter = Buffer.from(`${lineEnd}${dashes}${boundary}`, "latin1");
  }

  /** The events in these bytes. Throws {@link MultipartFault}. */
  *take(bytes: Uint8Array): Generator<MultipartEvent, void> {
    const more = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#rest = this.#rest.length === 0 ? more : Buffer.concat([this.#rest, more]);
    for (;;) {
      const before = this.#rest;
      if (this.#state === "delimiter") this.#passDelimiter();
      else if (this.#state === "head") yield* this.#readHead();
      else if (this.#state === "body") yield* this.#readBody();
      else this.#passEnd();
      // Nothing was consumed: it takes more bytes to go on.
      if (this.#rest === before) return;
    }
  }

  /** Must be called at the end of the body. Throws {@link MultipartFault} for one that was cut off. */
  end(): void {
    if (this.#state !== "end" || (this.#rest.length > 0 && this.#rest.toString("latin1") !== lineEnd))
      throw new MultipartFault("The body ends before its last delimiter, or does not end with it.");
  }

  /** Behind a delimiter: a line end before the next part, or two dashes at the end. */
  #passDelimiter(): void {
    const lead = this.#isFirst ? this.#first.length : 0;
    if (this.#isFirst && !this.#rest.subarray(0, lead).equals(this.#first.subarray(0, this.#rest.length)))
      throw new MultipartFault("The body must begin with its delimiter.");
    if (this.#rest.length < lead + 2) return;
    const behind = this.#rest.toString("latin1", lead, lead + 2);
    if (behind !== lineEnd && (behind !== dashes || this.#isFirst))
      throw new MultipartFault("A delimiter must be followed by a part, or end the body.");
    this.#isFirst = false;
    this.#state = behind === dashes ? "end" : "head";
    this.#rest = this.#rest.subarray(lead + 2);
  }

  *#readHead(): Generator<MultipartEvent, void> {
    const end = this.#rest.indexOf(`${lineEnd}${lineEnd}`, 0, "latin1");
    // The empty line behind the longest head may not be whole yet.
    if (end < 0 && this.#rest.length < headBytesMax + 2 * lineEnd.length) return;
    if (end < 0 || end > headBytesMax)
      throw new MultipartFault(`The head of a part must have at most ${headBytesMax} bytes.`);
    const head = headOf(this.#rest.subarray(0, end));
    // The line end before a delimiter may be the one that ends the head.
    this.#rest = this.#rest.subarray(end + lineEnd.length);
    this.#isAtStart = true;
    this.#state = "body";
    yield { kind: "part", ...head };
  }

  *#readBody(): Generator<MultipartEvent, void> {
    const at = this.#rest.indexOf(this.#delimiter);
    if (at >= 0) {
      yield* this.#bytes(at);
      this.#rest = this.#rest.subarray(this.#delimiter.length);
      this.#state = "delimiter";
      return;
    }
    // The last bytes may be the beginning of a delimiter.
    const sure = this.#rest.length - (this.#delimiter.length - 1);
    if (sure > lineEnd.length) yield* this.#bytes(sure);
  }

  *#bytes(length: number): Generator<MultipartEvent, void> {
    const from = this.#isAtStart ? lineEnd.length : 0;
    const bytes = this.#rest.subarray(Math.min(from, length), length);
    this.#rest = this.#rest.subarray(length);
    this.#isAtStart = false;
    if (bytes.length > 0) yield { kind: "bytes", bytes };
  }

  #passEnd(): void {
    if (this.#rest.length > lineEnd.length || !lineEnd.startsWith(this.#rest.toString("latin1")))
      throw new MultipartFault("Nothing may follow the last delimiter.");
  }
}

const disposition =
  /^content-disposition: *form-data *; *name="([^"\\\r\n]{1,64})"(?: *; *filename="([^"\r\n]*)")?$/i;
const mediaTypeLine = /^content-type: *([\x20-\x7e]+)$/i;
const lengthLine = /^content-length: *[\x20-\x7e]+$/i;
const encoding = /^content-transfer-encoding: *(?:7bit|8bit|binary)$/i;

function headOf(head: Buffer): SaidOfFile & { readonly name: string } {
  const lines = head.toString("latin1").split(lineEnd);
  const found = lines.flatMap((line) => {
    const [whole, name = "", filename = null] = disposition.exec(line) ?? [];
    return whole === undefined ? [] : [{ name, filename }];
  });
  const [named] = found;
  const isKnown = (line: string): boolean =>
    [disposition, mediaTypeLine, lengthLine, encoding].some((each) => each.test(line));
  if (named === undefined || found.length > 1 || !lines.every(isKnown))
    throw new MultipartFault(
      'The head of a part must be Content-Disposition: form-data; name="…", and at most Content-Type beside it.',
    );
  const { name, filename } = named;
  const mediaType = lines.flatMap((line) => mediaTypeLine.exec(line)?.[1] ?? [])[0] ?? null;
  // Browsers send it in the encoding of the page (HTML, «multipart/form-data encoding algorithm»), with a quotation mark as %22.
  return { name, filename: filename && Buffer.from(filename, "latin1").toString("utf8"), mediaType };
}
