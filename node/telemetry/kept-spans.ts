// The spans of the newest pushes that this node recorded, in memory, for the page of a push. They are what the collector gets as well.
//   KS1. There are never more than a fixed number of traces and of spans: the oldest traces are forgotten first.
//   KS2. Only what belongs to a push is kept: searches and fetches, which are many, do not displace it. Neither do requests that failed
//        before any work was done for a push: anybody can send them, and while a node is overloaded many do.
//   KS3. A trace is found by the push that one of its spans names, or by its own id; which pushes a trace has is not bounded by
//        anything but its spans.

import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import type { TimerPort } from "../../actors/system/ports.ts";

export interface KeptSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | null;
  readonly name: string;
  /** Unix milliseconds. */
  readonly startMs: number;
  readonly tookUs: number;
  readonly failure: string | null;
}

export interface SpanQuestion {
  /** The id of a push's actor. */
  readonly push: string;
  /** Traces that are known to be of this push. */
  readonly traces: readonly string[];
}

export interface FoundSpans {
  readonly traces: readonly string[];
  readonly spans: readonly KeptSpan[];
}

interface KeptTrace {
  readonly spans: KeptSpan[];
  readonly pushes: Set<string>;
}

const tracesMax = 512;
const spansMax = 8_192;
/** A push of 100,000 records has about seven spans for each of its 500 chunks. */
const spansPerTraceMax = 4_096;

/** The work of a push that no actor of its own kind does. */
const namesOfPush =
  /^(?:POST \/v1\/publish|business (?:push|chunk)\.|integration-key push\.|region rows\.|region (?:applyRows|indexRows)|sign versions|store versions|bulk-upload import\.)/;

export class KeptSpans implements SpanProcessor {
  readonly #traces = new Map<string, KeptTrace>();
  #count = 0;

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    const isPush = span.attributes["svc.actor.kind"] === "push";
    if (!isPush && !namesOfPush.test(span.name)) return;
    if (hasFailed(span) && !this.#traces.has(span.spanContext().traceId)) return;
    const kept = keptOf(span);
    const trace = this.#traceOf(kept.traceId);
    if (trace.spans.length >= spansPerTraceMax) return;
    trace.spans.push(kept);
    this.#count += 1;
    if (isPush) trace.pushes.add(String(span.attributes["svc.actor.id"]));
    this.#forget();
  }

  find({ push, traces }: SpanQuestion): FoundSpans {
    const found = new Set(traces);
    for (const [id, { pushes }] of this.#traces) if (pushes.has(push)) found.add(id);
    return { traces: [...found], spans: [...found].flatMap((id) => this.#traces.get(id)?.spans ?? []) };
  }

  async forceFlush(): Promise<void> {}

  async shutdown(): Promise<void> {
    this.#traces.clear();
    this.#count = 0;
  }

  #traceOf(id: string): KeptTrace {
    const known = this.#traces.get(id);
    if (known !== undefined) return known;
    const made: KeptTrace = { spans: [], pushes: new Set() };
    this.#traces.set(id, made);
    return made;
  }

  /** KS1. A map lists its entries in the order in which they came. */
  #forget(): void {
    for (const [id, { spans }] of this.#traces) {
      if (this.#traces.size <= tracesMax && this.#count <= spansMax) return;
      this.#traces.delete(id);
      this.#count -= spans.length;
    }
  }
}

/** Whether it is of a request that was not answered with what it asked for. */
function hasFailed({ attributes }: ReadableSpan): boolean {
  return Number(attributes["http.response.status_code"] ?? 0) >= 400;
}

function keptOf(span: ReadableSpan): KeptSpan {
  const { traceId, spanId } = span.spanContext();
  const [seconds, nanoseconds] = span.startTime;
  const [tookSeconds, tookNanoseconds] = span.duration;
  return {
    ...{ traceId, spanId, parentId: span.parentSpanContext?.spanId ?? null, name: span.name },
    startMs: seconds * 1_000 + nanoseconds / 1_000_000,
    tookUs: Math.max(0, Math.round(tookSeconds * 1_000_000 + tookNanoseconds / 1_000)),
    // A failure is a word (TR3 in std/tracing.ts).
    failure: span.status.message ?? null,
  };
}

// The spans that wait for the collector.
//   SQ1. The one that ends a span never waits: the span is queued, or dropped and counted while the queue is full.
//   SQ2. One batch is under way at a time. A batch that the collector does not take is dropped and counted: old spans are worth less
//        than new ones.
//   SQ3. A node that stops sends what it has for a moment, and then leaves.

export interface SpanFigures {
  readonly sent: number;
  /** Dropped because the queue was full, and because the collector did not take them. */
  readonly overflowed: number;
  readonly refused: number;
  readonly waiting: number;
}

export interface SpanQueueOptions {
  readonly exporter: Pick<SpanExporter, "export" | "shutdown">;
  readonly timers: TimerPort;
  readonly spansMax?: number;
  /** Called when the collector stops taking spans, and when it takes them again. */
  readonly onChange: (isTaken: boolean, detail: string) => void;
}

const spansMaxDefault = 8_192;
const batchMax = 512;
/** How long spans gather before they are sent. */
const gatherMs = 1_000;
/** How long a node that stops goes on sending. */
const closeMs = 2_000;

export class SpanQueue implements SpanProcessor {
  readonly #options: SpanQueueOptions;
  readonly #spansMax: number;
  readonly #figures = { sent: 0, overflowed: 0, refused: 0 };
  #queue: ReadableSpan[] = [];
  #cancel: (() => void) | null = null;
  #underWay: Promise<void> | null = null;
  #isTaken = true;
  #isClosed = false;

  constructor(options: SpanQueueOptions) {
    this.#options = options;
    this.#spansMax = options.spansMax ?? spansMaxDefault;
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if (this.#queue.length >= this.#spansMax || this.#isClosed) {
      this.#figures.overflowed += 1;
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length >= batchMax) this.#send();
    else this.#arm();
  }

  figures(): SpanFigures {
    return { ...this.#figures, waiting: this.#queue.length };
  }

  /** Sends what waits now (SQ2). */
  async forceFlush(): Promise<void> {
    while (this.#queue.length > 0 || this.#underWay !== null) {
      this.#send();
      await this.#underWay;
    }
  }

  async shutdown(): Promise<void> {
    this.#cancel?.();
    const late = Promise.withResolvers<void>();
    const cancel = this.#options.timers.schedule(closeMs, late.resolve);
    await Promise.race([this.forceFlush(), late.promise]);
    this.#isClosed = true;
    this.#figures.refused += this.#queue.length;
    this.#queue = [];
    // The exporter waits for what it is sending; nobody waits for the exporter.
    await Promise.race([this.#options.exporter.shutdown().catch(() => {}), late.promise]);
    cancel();
  }

  #arm(): void {
    if (this.#cancel !== null || this.#underWay !== null) return;
    this.#cancel = this.#options.timers.schedule(gatherMs, () => {
      this.#cancel = null;
      this.#send();
    });
  }

  #send(): void {
    if (this.#underWay !== null || this.#queue.length === 0) return;
    this.#cancel?.();
    this.#cancel = null;
    const batch = this.#queue.splice(0, batchMax);
    this.#underWay = this.#export(batch).then(() => {
      this.#underWay = null;
      if (this.#queue.length >= batchMax) this.#send();
      else if (this.#queue.length > 0) this.#arm();
    });
  }

  /** Never rejects (SQ2). */
  async #export(batch: ReadableSpan[]): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<string | null>();
    try {
      this.#options.exporter.export(batch, ({ code, error }) =>
        resolve(code === 0 ? null : (error?.message ?? "refused")),
      );
    } catch (error) {
      resolve(String(error));
    }
    const fault = await promise;
    if (fault === null) this.#figures.sent += batch.length;
    else this.#figures.refused += batch.length;
    const isTaken = fault === null;
    if (isTaken !== this.#isTaken) this.#options.onChange(isTaken, fault ?? "");
    this.#isTaken = isTaken;
  }
}
