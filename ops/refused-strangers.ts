// What those who have no token leave in the audit log. Each line there is on the disk before the node goes on, so their
// requests must not cost a line each: a few packets would hold the node for longer than its lease, and fill its disk.
//   R1. At most `refusedLinesMax` lines of a minute are theirs.
//   R2. What came beyond is counted. The count is in the log when the minute ends, or the surface closes.

type Detail = Readonly<Record<string, unknown>>;

export const refusedLinesMax = 60;
const minuteMs = 60_000;

export class RefusedStrangers {
  readonly #write: (event: string, detail: Detail) => void;
  #count = 0;
  #minute: NodeJS.Timeout | null = null;

  /** `write` throws nothing. */
  constructor(write: (event: string, detail: Detail) => void) {
    this.#write = write;
  }

  add(detail: Detail): void {
    this.#minute ??= setTimeout(() => this.end(), minuteMs).unref();
    this.#count += 1;
    if (this.#count <= refusedLinesMax) this.#write("ops.refused", detail);
  }

  /** Ends the minute, if there is one. */
  end(): void {
    if (this.#minute !== null) clearTimeout(this.#minute);
    this.#minute = null;
    const count = this.#count - refusedLinesMax;
    this.#count = 0;
    if (count > 0) this.#write("ops.refused_more", { count });
  }
}
