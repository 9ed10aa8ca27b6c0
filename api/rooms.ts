// Room for long answers that is used again: the pages of new memory are cleared before something is written into them, which
// takes longer than the writing.
//   R1. What is joined in a room is not changed before `release` is called. If it never is, the room is only not used again.
//   R2. Kept rooms are bounded in number and size; what is longer, or comes while all of them are in use, gets memory of its own.

import { joinUtf8 } from "../protocol/bytes.ts";

export interface RoomsOptions {
  readonly bytes: number;
  readonly keptMax: number;
}

export interface Joined {
  readonly bytes: Uint8Array;
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
      if (lengthMax > this.#options.bytes) return new Uint8Array(lengthMax);
      room = this.#free.pop() ?? new Uint8Array(this.#options.bytes);
      return room;
    });
    return { bytes, release: () => this.#keep(room) };
  }

  #keep(room: Uint8Array | null): void {
    if (room !== null && this.#free.length < this.#options.keptMax) this.#free.push(room);
  }
}
