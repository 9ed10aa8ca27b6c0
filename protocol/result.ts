// The two forms of an expected outcome. Infrastructure failures and bugs are thrown, never returned this way
// (CONTRIBUTING.md, «Three kinds of errors, which are never mixed»).

/** The outcome of reading something untrusted or of requesting something that may be refused. */
export type Result<T, C extends string = string> = Ok<T> | Refusal<C>;

export interface Ok<T> {
  readonly ok: true;
  readonly value: T;
}

export interface Refusal<C extends string = string> {
  readonly ok: false;
  /** A stable, documented code. */
  readonly code: C;
  /** One sentence for a person: what is wrong and, where it helps, what to do. */
  readonly detail: string;
  /** RFC 6901 pointer to the offending place, if there is one. */
  readonly pointer?: string;
}

/** The result when the operation succeeded. */
export function ok<T>(value: T): Ok<T> {
  return { ok: true, value };
}

/** The result of an expected refusal: `detail` is for a person, callers decide by `code` alone. Both texts are bounded. */
export function refuse<C extends string>(code: C, detail: string, pointer?: string): Refusal<C> {
  const bounded = boundedText(detail);
  return pointer === undefined
    ? { ok: false, code, detail: bounded }
    : { ok: false, code, detail: bounded, pointer: boundedPointer(pointer) };
}

/** Maximum length, in UTF-16 code units, of a sentence or pointer shown to someone who may have supplied its words. */
export const detailLengthMax = 512;
export const pointerLengthMax = 512;

/** The text, truncated if it is longer than {@link detailLengthMax}. */
export function boundedText(text: string): string {
  return text.length <= detailLengthMax ? text : `${text.slice(0, detailLengthMax - 2).toWellFormed()} …`;
}

/** A number with the word for what it counts. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/**
 * The pointer, or that of the nearest container whose pointer is short enough, so that the result is still a valid pointer.
 */
export function boundedPointer(pointer: string): string {
  if (pointer.length <= pointerLengthMax) return pointer;
  return pointer.slice(0, pointer.lastIndexOf("/", pointerLengthMax));
}
