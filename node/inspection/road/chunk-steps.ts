// The chunks of a push as steps of its road.

import type { RoadChunk } from "./chunk-road.ts";
import type { Step } from "./journal-steps.ts";

/** What a chunk's steps are, in the order in which they are made. */
export function stepsOfChunk(actor: string, chunk: RoadChunk): readonly Step[] {
  const name = `Chunk ${chunk.chunk + 1}`;
  const { region, node } = chunk;
  const step = (at: string | null, what: string, words: string, where = region): readonly Step[] =>
    at === null ? [] : [{ at, what, words, actor, node, region: where, chunk: chunk.chunk }];
  const waiting = chunk.indexes.filter(({ state }) => state === "waiting");
  return [
    ...step(
      chunk.judged_at,
      "judged",
      `${name} was judged: every fault of its ${chunk.records === 1 ? "record" : `${chunk.records} records`} is known.`,
    ),
    ...step(
      chunk.numbered_at,
      "chunk_numbered",
      `The business gave the records of chunk ${chunk.chunk + 1} their generations.`,
    ),
    ...step(chunk.signed_at, "signed", `${name} was signed: its rows and sidecars.`),
    ...step(chunk.stored_at, "stored", `${name} was stored: its versions can be read.`),
    ...chunk.indexes.flatMap(({ region: where, at }) =>
      step(at, "indexed", `The index of ${where} confirmed chunk ${chunk.chunk + 1}.`, where),
    ),
    ...(chunk.state === "given_up"
      ? step(chunk.settled_at, "given_up", `${name} was given up: its records are rejected.`)
      : step(chunk.settled_at, "settled", `${name} was settled: its outcomes are committed.`)),
    ...waiting.flatMap(({ region: where }) =>
      step(
        chunk.settled_at,
        "index_behind",
        `The index of ${where} has yet to confirm chunk ${chunk.chunk + 1}.`,
        where,
      ),
    ),
  ];
}
