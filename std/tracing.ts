// Port: traces, which follow one request over actors, nodes and regions. Where nothing is recorded there is no tracer, and a trace
// costs nothing.
//   TR1. A trace travels as the text of a `traceparent` (W3C Trace Context, version 00). Only what is recorded travels: without a
//        text there is nothing to record.
//   TR2. Recording never fails, delays or refuses what it records.
//   TR3. Attributes are names, counts and public ids: never a key's secret, a grant, a token or the text of a record.

export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** One piece of work that is under way. A span that is never ended is not recorded. */
export interface Span {
  /** The trace, with this span as the parent of what it causes. */
  readonly traceparent: string;
  readonly traceId: string;
  /** `failure` says in a word why it failed. */
  end(outcome?: { readonly failure?: string | undefined; readonly attributes?: SpanAttributes }): void;
}

export type SpanKind = "internal" | "server" | "consumer";

export interface Tracer {
  /** The trace within which the caller runs; null outside every recorded one. */
  current(): string | null;
  /** Begins a span under a parent; `traceparent` is one that {@link parseTraceparent} accepted. */
  start(
    name: string,
    traceparent: string,
    more?: { readonly kind?: SpanKind; readonly attributes?: SpanAttributes },
  ): Span;
  /** Runs `run`, and what it awaits, within a trace. */
  within<T>(traceparent: string, run: () => T): T;
}

/** Requests from outside, each of which may be the beginning of what is recorded. */
export interface RequestTraces {
  readonly tracer: Tracer;
  /** Begins the span of a request; null if it is not recorded. `traceparent` is what the caller sent, whatever it is. */
  receive(name: string, traceparent: unknown, attributes: SpanAttributes): Span | null;
}

const pattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

export interface TraceParent {
  readonly traceId: string;
  readonly spanId: string;
}

/** Null for what is not a valid `traceparent` of version 00. Anybody may have written it. */
export function parseTraceparent(text: unknown): TraceParent | null {
  if (typeof text !== "string" || text.length !== 55) return null;
  const [, traceId = "", spanId = ""] = pattern.exec(text) ?? [];
  return /[^0]/.test(traceId) && /[^0]/.test(spanId) ? { traceId, spanId } : null;
}

/** The text of a trace that is recorded. */
export function formatTraceparent({ traceId, spanId }: TraceParent): string {
  return `00-${traceId}-${spanId}-01`;
}

/** The text, if it is one; anything else is no trace. */
export function traceparentOf(text: unknown): string | null {
  const parsed = text === undefined ? null : parseTraceparent(text);
  return parsed === null ? null : formatTraceparent(parsed);
}

/** Does `work` in a span of the trace in which the caller runs, or without one where nothing is recorded. */
export function inSpan<T>(tracer: Tracer | undefined, name: string, work: () => Promise<T>): Promise<T> {
  const parent = tracer?.current() ?? null;
  return tracer === undefined || parent === null
    ? work()
    : recorded(tracer, tracer.start(name, parent), work);
}

async function recorded<T>(tracer: Tracer, span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const result = await tracer.within(span.traceparent, work);
    span.end();
    return result;
  } catch (error) {
    span.end({ failure: failureName(error) });
    throw error;
  }
}

/** A word for a span: the message of an error may quote what it is about (TR3). */
export function failureName(error: unknown): string {
  if (!(error instanceof Error)) return "failed";
  return "reason" in error && typeof error.reason === "string" ? error.reason : error.name;
}
