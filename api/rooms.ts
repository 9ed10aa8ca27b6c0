// Room for long answers that is used again: the pages of new memory are cleared before something is written into them, which
// takes longer than the writing.
//   R1. What is joined in a room is not changed before `release` is called. If it never is, the room is only not used again.
//   R2. Kept rooms are bounded in number and size. What is longer gets memory of its own, and so does what is short: it is
//       cheaper than a room that a slow reader keeps.

import { joinUtf8 } from "../protocol/bytes.ts";

export interface RoomsOptions {
  /** The size of a room, and the length from which on one is used. */
  readonly bytes: number;
  readonly bytesMin: number;
  readonly keptMax: number;
}

export interface Joined {
  readonly bytes: Uint8Array;
  /** Bytes of memory that are in use until then. */
  readonly heldBytes: number;
  /** Must be called once the bytes are not needed any more, at most once. */
  readonly release: () => void;
}

export class Rooms {
  readonly #options: RoomsOptions;
  readonly #free: Uint8Array[] = [];

  constructor(options: RoomsOptions) {
    this.#options = options;
  }

  /** The parts as UTF-8, one after another. */
  join(parts: readonly (string | Uint8Array)[]): Joined {
    let room: Uint8Array | null = null;
    const bytes = joinUtf8(parts, (lengthMax) => {
      const { bytesMin, bytes: most } = this.#options;
      if (lengthMax < bytesMin || lengthMax > most) return new Uint8Array(lengthMax);
      room = this.#free.pop() ?? new Uint8Array(most);
      return room;
    });
    return { bytes, heldBytes: bytes.buffer.byteLength, release: () => this.#keep(room) };
  }

  #keep(room: Uint8Array | null): void {
    if (room !== null && this.#free.length < this.#options.keptMax) this.#free.push(room);
  }
}
