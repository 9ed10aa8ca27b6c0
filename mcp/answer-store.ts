// The newest answers, as exact text, so that `verify` can check one without the model repeating it.
//   A1. At most `answersMax` answers are kept, each of at most `answerLengthMax` characters.

import { BoundedMap } from "../std/bounded-map.ts";

export interface KeptAnswer {
  readonly kind: "search" | "fetched";
  /** The exact body. */
  readonly text: string;
  /** Hash of the signature base that was answered. */
  readonly requestHash: string | null;
}

const answersMax = 64;
const answerLengthMax = 1_048_576;

export class AnswerStore {
  readonly #answers = new BoundedMap<string, KeptAnswer>(answersMax);

  /** Keeps an answer under its retrieval id and, if it is a fetched record, under the record's id. */
  keep(names: readonly string[], answer: KeptAnswer): void {
    if (answer.text.length > answerLengthMax) return;
    for (const name of names) this.#answers.set(name, answer);
  }

  find(name: string): KeptAnswer | null {
    return this.#answers.get(name) ?? null;
  }
}
