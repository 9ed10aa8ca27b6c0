// Port: what the HTTP surfaces tell of each request they answered.

export interface AnsweredRequest {
  /** Surface name, for example `retrieval`. */
  readonly surface: string;
  readonly method: string;
  /** Route pattern, never the path itself; `unmatched` where no route was found. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
}

export interface RequestObserver {
  observe(request: AnsweredRequest): void;
}
