// Port: what the HTTP surfaces report about each request they answered.

import type { ProblemCode } from "../protocol/problem.ts";

export interface AnsweredRequest {
  /** The name of the surface, for example `retrieval`. */
  readonly surface: string;
  readonly method: string;
  /** The route pattern, never the path itself; `unmatched` if no route was found. */
  readonly route: string;
  readonly status: number;
  /** The code of a refusal; null for an answer. */
  readonly code: ProblemCode | null;
  readonly durationMs: number;
  /** The registered or granted key that the request names, whatever became of it; null if it names none. */
  readonly key_id: string | null;
  /** The address that it came from; null if it is not known. */
  readonly from: string | null;
}

export interface RequestObserver {
  observe(request: AnsweredRequest): void;
}
