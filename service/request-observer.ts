// Port: what the HTTP surfaces tell of each request they answered.

import type { ProblemCode } from "../protocol/problem.ts";

export interface AnsweredRequest {
  /** Surface name, for example `retrieval`. */
  readonly surface: string;
  readonly method: string;
  /** Route pattern, never the path itself; `unmatched` where no route was found. */
  readonly route: string;
  readonly status: number;
  /** Of a refusal; null for an answer. */
  readonly code: ProblemCode | null;
  readonly durationMs: number;
}

export interface RequestObserver {
  observe(request: AnsweredRequest): void;
}
