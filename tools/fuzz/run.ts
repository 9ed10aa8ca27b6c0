// Fuzzing of one target: first its seeds and earlier findings unchanged, then mutations of inputs that led somewhere new.
//   F1. A seed gives the same inputs on any machine, as far as the time allows.
//   F2. A failing input is shrunk while it still fails, and printed so that one command reproduces it.

import { mutate, type Random } from "./mutate.ts";
import type { FuzzTarget } from "./target.ts";

export interface FuzzReport {
  readonly target: string;
  readonly inputs: number;
  /** Number of different outcomes that were seen. */
  readonly outcomes: number;
  readonly failure: { readonly input: Uint8Array; readonly error: string } | null;
}

export interface FuzzOptions {
  readonly seed: number;
  /** It ends at the first limit reached, but not before so many inputs; 0 if it is not given. */
  readonly inputsMin?: number;
  readonly inputsMax: number;
  readonly msMax: number;
  /** Inputs that failed once. */
  readonly regressions: readonly Uint8Array[];
}

const corpusMax = 2_000;
const shrinkTriesMax = 3_000;

/** Uniform numbers that depend on the seed alone (SplitMix32). */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return (end) => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return Math.floor((((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32) * end);
  };
}

export async function fuzz(target: FuzzTarget, options: FuzzOptions): Promise<FuzzReport> {
  const random = randomFrom(options.seed);
  const endsAtMs = performance.now() + options.msMax;
  const outcomes = new Set<string>();
  const corpus: Uint8Array[] = [];
  let inputs = 0;
  const tryOne = async (input: Uint8Array): Promise<FuzzReport["failure"]> => {
    inputs += 1;
    const { outcome, error } = await outcomeFor(target, input);
    if (error !== null) return { input: await shrunk(target, input), error };
    if (!outcomes.has(outcome) && corpus.length < corpusMax) corpus.push(input);
    outcomes.add(outcome);
    return null;
  };
  const report = (failure: FuzzReport["failure"]): FuzzReport => ({
    target: target.name,
    inputs,
    outcomes: outcomes.size,
    failure,
  });
  for (const input of [...target.seeds, ...options.regressions]) {
    const failure = await tryOne(input);
    if (failure !== null) return report(failure);
  }
  const starts = [...target.seeds, ...corpus];
  const { inputsMin = 0, inputsMax } = options;
  while (inputs < inputsMin || (inputs < inputsMax && performance.now() < endsAtMs)) {
    const pool = random(2) === 0 || corpus.length === 0 ? starts : corpus;
    const input = mutate(
      pool[random(pool.length)] ?? new Uint8Array(),
      { others: starts, words: target.words },
      random,
    );
    const failure = await tryOne(input);
    if (failure !== null) return report(failure);
  }
  return report(null);
}

async function outcomeFor(
  target: FuzzTarget,
  input: Uint8Array,
): Promise<{ readonly outcome: string; readonly error: string | null }> {
  try {
    // A copy: a reader that modifies its input is detected by the next check of the same input.
    const outcome = await target.check(input.slice());
    return { outcome, error: null };
  } catch (error) {
    return { outcome: "", error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** Cuts parts out while the rest still fails. */
async function shrunk(target: FuzzTarget, input: Uint8Array): Promise<Uint8Array> {
  let smallest = input;
  let tries = 0;
  for (let size = smallest.length >> 1; size > 0; size >>= 1) {
    for (let at = 0; at + size <= smallest.length && tries < shrinkTriesMax; ) {
      tries += 1;
      const less = Uint8Array.from([...smallest.subarray(0, at), ...smallest.subarray(at + size)]);
      if ((await outcomeFor(target, less)).error === null) at += size;
      else smallest = less;
    }
  }
  return smallest;
}
