// The chunks of a push on their way: while one is being settled, those behind it are judged, signed, stored and indexed.
// A cache and nothing more: what is not here, or failed here, is made when it is asked for.
//   L1. Chunks are begun in their order, and none before the one in front of it has its generations: of two leaves that are
//       the same product the earlier one counts.
//   L2. At most `chunksMax` chunks behind the one that is asked for are begun, of at most `pushesMax` pushes.
//   L3. Of what was begun early no failure is seen: the chunk is made anew in its turn, and that failure is.

import { BoundedMap } from "../../std/bounded-map.ts";

export interface ChunkLimits {
  readonly chunksMax: number;
  readonly pushesMax: number;
}

/** Makes a chunk; calls `assigned` when the next one may be begun. */
export type MakeChunk<T> = (chunk: number, assigned: () => void) => Promise<T>;

export interface ChunkLine<T> {
  /** The chunk: as it was begun early, else made now. The chunks behind it are begun. */
  take(push: string, place: { chunk: number; chunks: number }, make: MakeChunk<T>): Promise<T>;
}

interface Line<T> {
  readonly chunks: number;
  /** Of chunks that were not taken yet; null for one that failed. */
  readonly begun: Map<number, Promise<{ readonly made: T } | null>>;
  taken: number;
  /** The last one begun, and the last one that has its generations. */
  begunTo: number;
  assignedTo: number;
}

export function createChunkLine<T>({ chunksMax, pushesMax }: ChunkLimits): ChunkLine<T> {
  const lines = new BoundedMap<string, Line<T>>(pushesMax);
  const lineOf = (push: string, chunk: number, chunks: number): Line<T> => {
    const known = lines.get(push);
    const line = known ?? {
      ...{ chunks, begun: new Map<number, Promise<{ made: T } | null>>() },
      ...{ taken: chunk, begunTo: chunk - 1, assignedTo: chunk - 1 },
    };
    if (chunk + 1 < chunks) lines.set(push, line);
    else lines.delete(push);
    return line;
  };
  const start = (line: Line<T>, chunk: number, make: MakeChunk<T>): Promise<T> => {
    line.begunTo = Math.max(line.begunTo, chunk);
    return make(chunk, () => {
      line.assignedTo = Math.max(line.assignedTo, chunk);
      beginNext(line, make);
    });
  };
  const beginNext = (line: Line<T>, make: MakeChunk<T>): void => {
    const next = line.begunTo + 1;
    if (line.assignedTo < line.begunTo || next >= line.chunks || next > line.taken + chunksMax) return;
    const early = start(line, next, make);
    line.begun.set(
      next,
      early.then(
        (made) => ({ made }),
        () => null,
      ),
    );
  };
  return {
    take: (push, { chunk, chunks }, make) => {
      const line = lineOf(push, chunk, chunks);
      line.taken = Math.max(line.taken, chunk);
      const early = line.begun.get(chunk);
      for (const each of line.begun.keys()) if (each <= chunk) line.begun.delete(each);
      if (early === undefined) return start(line, chunk, make);
      beginNext(line, make);
      return early.then((done) => (done === null ? start(line, chunk, make) : done.made));
    },
  };
}
