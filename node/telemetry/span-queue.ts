// The spans that wait for the collector.
//   SQ1. The one that ends a span never waits: the span is queued, or dropped and counted while the queue is full.
//   SQ2. One batch is under way at a time. A batch that the collector does not take is dropped and counted: old spans are worth less
//        than new ones.
//   SQ3. A node that stops sends what it has for a moment, and then leaves.

import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import type { TimerPort } from "../../actors/system/ports.ts";

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
