// What is fuzzed: something that reads bytes of strangers, and what must hold whatever they are.

export interface FuzzTarget {
  readonly name: string;
  /** Inputs to begin with; every one is also checked as it is. */
  readonly seeds: readonly Uint8Array[];
  /** Words of the input's grammar, put in here and there. */
  readonly words: readonly string[];
  /**
   * Reads the input and throws where something does not hold that must: a reader that throws, a document that is read as
   * something else than it says, a forgery that passes, two implementations that differ. Answers what became of the input in
   * a few words; an input whose words are new is kept and changed further, so that the search goes on where it got somewhere.
   */
  readonly check: (input: Uint8Array) => string | Promise<string>;
}

/** Throws with both values where they differ. */
export function mustEqual(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: ${a?.slice(0, 300)} is not ${b?.slice(0, 300)}`);
}

/** Throws where it does not hold. */
export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** What became of a result, without the words that are the input's own. */
export function outcomeOf(
  result: { readonly ok: true } | { readonly ok: false; readonly code: string; readonly detail?: string },
): string {
  if (result.ok) return "ok";
  return `${result.code} ${(result.detail ?? "").replaceAll(/"[^"]*"|[0-9]+/g, "#").slice(0, 60)}`;
}
