// The newest answers, as exact text, so that `verify` can check one without the model repeating it.
//   A1. At most `answersMax` answers are kept, whatever number of names each has, and each of at most `answerLengthMax` characters.

export interface KeptAnswer {
  readonly kind: "search" | "fetched" | "pool";
  /** The exact body. */
  readonly text: string;
  /** Hash of the signature base that was answered. */
  readonly requestHash: string | null;
}

interface NamedAnswer {
  readonly names: readonly string[];
  readonly answer: KeptAnswer;
}

export const answersMax = 64;
export const answerLengthMax = 1_048_576;

export class AnswerStore {
  /** The oldest first. */
  readonly #kept: NamedAnswer[] = [];
  readonly #byName = new Map<string, NamedAnswer>();

  /** Keeps an answer under its retrieval id and, if it is a fetched record, under the record's id. */
  keep(names: readonly string[], answer: KeptAnswer): void {
    if (answer.text.length > answerLengthMax) return;
    const named = { names, answer };
    this.#kept.push(named);
    for (const name of names) this.#byName.set(name, named);
    if (this.#kept.length > answersMax) this.#dropOldest();
  }

  find(name: string): KeptAnswer | null {
    return this.#byName.get(name)?.answer ?? null;
  }

  #dropOldest(): void {
    const oldest = this.#kept.shift();
    // A record that was fetched again since has the newer answer under its id.
    for (const name of oldest?.names ?? []) if (this.#byName.get(name) === oldest) this.#byName.delete(name);
  }
}
