// The prefetch of a push's chunks: while one is being settled, those behind it are judged, signed, stored and indexed.
// It is only a cache: a chunk that is not here, or failed here, is made when it is requested.
//   L1. Chunks are started in their order, and none before the one in front of it has its generations: of two leaves that are
//       the same product, the earlier one counts.
//   L2. At most `chunksMax` chunks behind the requested one are started, for at most `pushesMax` pushes.
//   L3. A failure of prefetched work is never reported: the chunk is made again in its turn, and a failure then is reported.

import { BoundedMap } from "../../std/bounded-map.ts";

export interface ChunkLimits {
  readonly chunksMax: number;
  readonly pushesMax: number;
}

/** How a chunk is made: `begin` until it has its generations, then `finish`. */
export interface ChunkStages<B, T> {
  begin(chunk: number): Promise<B>;
  finish(begun: B): Promise<T>;
}

export interface ChunkPlace {
  readonly chunk: number;
  /** Number of chunks of the push. */
  readonly chunks: number;
}

/**
 * Yields the chunks from this one to the last, in order, while those behind the current one are under way (L1, L2); ends
 * with the first failure.
 */
export async function* chunkPipeline<B, T>(
  { begin, finish }: ChunkStages<B, T>,
  { chunk: first, chunks }: ChunkPlace,
  chunksMax: number,
): AsyncGenerator<T, void> {
  const underWay: Promise<T>[] = [];
  let last: Promise<unknown> = Promise.resolve();
  let begunTo = first;
  for (let chunk = first; chunk < chunks; chunk += 1) {
    for (; begunTo < chunks && begunTo <= chunk + chunksMax; begunTo += 1) {
      const next = begunTo;
      const begun = last.then(() => begin(next));
      last = begun;
      // The next chunk starts before this one is finished: its leaves are read while this one's rows are signed.
      const made = begun.then((each) => each).then(finish);
      made.catch(() => {});
      underWay.push(made);
    }
    yield await (underWay.shift() as Promise<T>);
  }
}

export interface ChunkPipelines<T> {
  /** Returns the chunk as it was prefetched, or else makes it now. Prefetches the chunks behind it. */
  take<B>(push: string, place: ChunkPlace, stages: ChunkStages<B, T>): Promise<T>;
}

interface OpenPipeline<T> {
  readonly chunks: AsyncGenerator<T, void>;
  /** The chunk that it yields next. */
  next: number;
}

/** The pipelines of the pushes that are processed here; a push requests one chunk at a time. */
export function createChunkPipelines<T>({ chunksMax, pushesMax }: ChunkLimits): ChunkPipelines<T> {
  const open = new BoundedMap<string, OpenPipeline<T>>(pushesMax);
  const advance = async (push: string, pipeline: OpenPipeline<T>, place: ChunkPlace): Promise<T> => {
    pipeline.next += 1;
    if (pipeline.next < place.chunks) open.set(push, pipeline);
    else open.delete(push);
    const step = await pipeline.chunks.next();
    if (step.done === true) throw new Error("The pipeline ended with an earlier failure.");
    return step.value;
  };
  return {
    take: async (push, place, stages) => {
      const begun = open.get(push);
      if (begun?.next === place.chunk) {
        const early = await advance(push, begun, place).then(
          (made) => ({ made }),
          () => null,
        );
        if (early !== null) return early.made;
      }
      const chunks = chunkPipeline(stages, place, chunksMax);
      return advance(push, { chunks, next: place.chunk }, place);
    },
  };
}
