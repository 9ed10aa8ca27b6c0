import { nearestName } from "../protocol/nearest.ts";
import type { Refusal } from "../protocol/result.ts";

/** Why a search is refused (specification, «Retrieval API» and «Errors», search codes). */
export type SearchCode =
  | "request_invalid"
  | "sort_required"
  | "unknown_field"
  | "operator_not_allowed"
  | "sort_not_allowed";

export interface SearchRefusal extends Refusal<SearchCode> {
  readonly pointer: string;
  /** The nearest valid name when a name was wrong. */
  readonly suggestion?: string;
  /** All valid names when a name was wrong or missing. */
  readonly allowed?: readonly string[];
}

export type SearchResult<T> = { readonly ok: true; readonly value: T } | SearchRefusal;

export function refuseSearch(code: SearchCode, pointer: string, detail: string): SearchRefusal {
  return { ok: false, code, pointer, detail };
}

/** Refuses a name that is not one of `allowed`. `detail` is one sentence. */
export function refuseName(
  code: SearchCode,
  pointer: string,
  name: { readonly given: string; readonly allowed: readonly string[]; readonly detail: string },
): SearchRefusal {
  const nearest = nearestName(name.given, name.allowed);
  const hint = nearest === null ? "" : ` Did you mean ${nearest}?`;
  const refusal = { ok: false, code, pointer, detail: name.detail + hint, allowed: name.allowed } as const;
  return nearest === null ? refusal : { ...refusal, suggestion: nearest };
}

/** A caller's text in a form suitable for a detail message. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text);
}
