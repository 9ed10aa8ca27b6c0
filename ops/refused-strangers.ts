// What callers without a token leave in the audit log. Each line is flushed to disk before the node continues, so their
// requests must not cost a line each: a few packets would block the node for longer than its lease, and fill its disk.
//   R1. At most `refusedLinesMax` lines per minute come from them.
//   R2. Refusals beyond that are counted. The count is logged when the minute ends or the surface closes.

type Detail = Readonly<Record<string, unknown>>;

export const refusedLinesMax = 60;
const minuteMs = 60_000;

export class RefusedStrangers {
  readonly #write: (event: string, detail: Detail) => void;
  #count = 0;
  #minute: NodeJS.Timeout | null = null;

  /** `write` must not throw. */
  constructor(write: (event: string, detail: Detail) => void) {
    this.#write = write;
  }

  add(detail: Detail): void {
    this.#minute ??= setTimeout(() => this.end(), minuteMs).unref();
    this.#count += 1;
    if (this.#count <= refusedLinesMax) this.#write("ops.refused", detail);
  }

  /** Ends the current minute, if there is one. */
  end(): void {
    if (this.#minute !== null) clearTimeout(this.#minute);
    this.#minute = null;
    const count = this.#count - refusedLinesMax;
    this.#count = 0;
    if (count > 0) this.#write("ops.refused_more", { count });
  }
}
