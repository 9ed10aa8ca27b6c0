// What is fuzzed: code that reads untrusted bytes, and what must hold for any input.

export interface FuzzTarget {
  readonly name: string;
  /** Initial inputs; each is also checked unchanged. */
  readonly seeds: readonly Uint8Array[];
  /** Words of the input's grammar, inserted in random places. */
  readonly words: readonly string[];
  /**
   * Reads the input and throws where a required property fails: a reader that throws, a document that is read as something
   * else than it says, a forgery that passes, two implementations that differ. Returns the outcome in a few words; an input
   * with a new outcome is kept and mutated further, so that the search continues where it made progress.
   */
  readonly check: (input: Uint8Array) => string | Promise<string>;
}

/** Throws with both values where they differ. */
export function mustEqual(actual: unknown, expected: unknown, what: string): void {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: ${a?.slice(0, 300)} is not ${b?.slice(0, 300)}`);
}

/** Throws where the condition is false. */
export function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/** Describes a result, without the parts that come from the input itself. */
export function outcomeOf(
  result: { readonly ok: true } | { readonly ok: false; readonly code: string; readonly detail?: string },
): string {
  if (result.ok) return "ok";
  return `${result.code} ${(result.detail ?? "").replaceAll(/"[^"]*"|[0-9]+/g, "#").slice(0, 60)}`;
}
