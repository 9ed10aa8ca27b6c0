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
}

export interface RequestObserver {
  observe(request: AnsweredRequest): void;
}
