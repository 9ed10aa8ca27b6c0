// The traces of a node: spans as OpenTelemetry has them, sent to a collector by OTLP over HTTP. Nothing of it is loaded where no
// collector is configured. Invariants TR1 to TR3 are in std/tracing.ts.
//   NT1. A caller's `traceparent` says to which trace a request belongs, and nothing else: whether it is recorded is decided here,
//        by chance, however the caller sets the flag and chooses the id.

import { AsyncLocalStorage } from "node:async_hooks";
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { AlwaysOnSampler, TracerProvider } from "@opentelemetry/sdk-trace";
import type { LogEntry } from "../../actors/system/ports.ts";
import packageFile from "../../package.json" with { type: "json" };
import {
  formatTraceparent,
  type SpanKind as Kind,
  parseTraceparent,
  type RequestTraces,
  type Span,
  type SpanAttributes,
  type TraceParent,
  type Tracer,
} from "../../std/tracing.ts";
import type { NodeConfig } from "../configuration/config.ts";
import { nodeTimers } from "../keeping/node-timers.ts";
import { type SpanFigures, SpanQueue } from "./span-queue.ts";

const kinds: Readonly<Record<Kind, SpanKind>> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  consumer: SpanKind.CONSUMER,
};

/** Time-out of one batch. */
const exportTimeoutMs = 5_000;
/** An attribute is a name or a number; the longest is the id of an actor. */
const attributeLengthMax = 256;

export function openTracing(
  endpoint: string,
  {
    config,
    incarnation,
    log,
    random = Math.random,
  }: {
    readonly config: Pick<NodeConfig, "region" | "environment" | "tracing">;
    readonly incarnation: string;
    readonly log: (entry: LogEntry) => void;
    readonly random?: () => number;
  },
): Tracing {
  const queue = new SpanQueue({
    exporter: new OTLPTraceExporter({ url: endpoint, timeoutMillis: exportTimeoutMs }),
    timers: nodeTimers,
    onChange: (isTaken, detail) =>
      log(
        isTaken
          ? { level: "info", event: "traces.taken", actor: "", detail: "The collector takes spans again." }
          : { level: "warn", event: "traces.not_taken", actor: "", detail },
      ),
  });
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    spanProcessors: [queue],
    spanLimits: { attributeValueLengthLimit: attributeLengthMax },
    resource: resourceFromAttributes({
      "service.name": "svc",
      "service.version": packageFile.version,
      "service.instance.id": incarnation,
      "deployment.environment.name": config.environment,
      "svc.region": config.region,
    }),
  });
  const spans = provider.getTracer("svc", packageFile.version);
  const current = new AsyncLocalStorage<string>();
  const begin = (name: string, parent: TraceParent | null, more: SpanMore): Span => {
    const context =
      parent === null
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, { ...parent, traceFlags: 1, isRemote: true });
    const { kind = "internal", attributes = {} } = more;
    return spanOf(spans.startSpan(name, { kind: kinds[kind], attributes }, context));
  };
  return {
    tracer: {
      current: () => current.getStore() ?? null,
      start: (name, traceparent, more = {}) => begin(name, parseTraceparent(traceparent), more),
      within: (traceparent, run) => current.run(traceparent, run),
    },
    receive: (name, traceparent, attributes) =>
      random() < config.tracing.ratio
        ? begin(name, parseTraceparent(traceparent), { kind: "server", attributes })
        : null,
    figures: () => queue.figures(),
    [Symbol.asyncDispose]: () => queue.shutdown(),
  };
}

type SpanMore = NonNullable<Parameters<Tracer["start"]>[2]>;

function spanOf(span: ReturnType<ReturnType<TracerProvider["getTracer"]>["startSpan"]>): Span {
  const { traceId, spanId } = span.spanContext();
  return {
    traceId,
    traceparent: formatTraceparent({ traceId, spanId }),
    end: ({
      failure,
      attributes = {},
    }: {
      failure?: string | undefined;
      attributes?: SpanAttributes;
    } = {}) => {
      span.setAttributes(attributes);
      if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure });
      span.end();
    },
  };
}

export interface Tracing extends RequestTraces, AsyncDisposable {
  figures(): SpanFigures;
}
