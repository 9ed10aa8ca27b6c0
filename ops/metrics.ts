// Metrics in the Prometheus text format: requests as they were observed, readings as they are asked, and what the
// process itself takes up.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { AnsweredRequest, RequestObserver } from "../service/request-observer.ts";

/** Upper bounds of the duration buckets, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Bounds what a flood of odd requests can make of the labels. */
const seriesMax = 2_000;

/** A value that something else counts or measures; a counter never falls while the process runs. */
export interface Reading {
  readonly name: string;
  readonly help: string;
  readonly kind: "gauge" | "counter";
  readonly value: number;
}

export interface Metrics extends RequestObserver {
  /** Media type of the text. */
  readonly contentType: string;
  /** The text of /metrics: requests, the given readings, the process. */
  text(readings: readonly Reading[]): Promise<string>;
}

let ofThisProcess: Registry | null = null;

/**
 * CPU, memory, open files, event loop and garbage collection, under the names that prom-client gives them everywhere.
 * They are the process's: the nodes of one process show the same, and they are observed once.
 */
export function processMetrics(): Registry {
  if (ofThisProcess === null) {
    ofThisProcess = new Registry();
    collectDefaultMetrics({ register: ofThisProcess });
  }
  return ofThisProcess;
}

/** Shows what `ofProcess` has after its own, if there is one. */
export function createMetrics(ofProcess: Registry | null = null): Metrics {
  const registry = new Registry();
  const { requests, refusals, durations } = requestMetrics(registry);
  const isCounted = boundedSeries();
  const isTimed = boundedSeries();
  return {
    contentType: registry.contentType,
    observe: ({ surface, method, route, status, code, durationMs }: AnsweredRequest) => {
      if (isCounted(`${surface} ${method} ${route} ${status}`))
        requests.inc({ surface, method, route, status });
      // There are as many series as there are surfaces and codes.
      if (code !== null) refusals.inc({ surface, code });
      if (isTimed(`${surface} ${route}`)) durations.observe({ surface, route }, durationMs / 1_000);
    },
    text: async (readings) => {
      const all = [
        registry,
        ...(readings.length === 0 ? [] : [registryOf(readings)]),
        ...(ofProcess === null ? [] : [ofProcess]),
      ];
      return (await Promise.all(all.map((each) => each.metrics()))).join("");
    },
  };
}

function requestMetrics(registry: Registry) {
  const registers = [registry];
  return {
    requests: new Counter({
      name: "svc_http_requests_total",
      help: "Requests answered.",
      labelNames: ["surface", "method", "route", "status"],
      registers,
    }),
    refusals: new Counter({
      name: "svc_http_refusals_total",
      help: "Requests refused, by the code of their problem.",
      labelNames: ["surface", "code"],
      registers,
    }),
    durations: new Histogram({
      name: "svc_http_request_duration_seconds",
      help: "Time from the head of a request to the end of its answer.",
      labelNames: ["surface", "route"],
      buckets,
      registers,
    }),
  };
}

/** Whether a series is one of the first `seriesMax`. */
function boundedSeries(): (key: string) => boolean {
  const known = new Set<string>();
  return (key) => {
    if (known.size < seriesMax) known.add(key);
    return known.has(key);
  };
}

function registryOf(readings: readonly Reading[]): Registry {
  const registry = new Registry();
  const registers = [registry];
  for (const { name, help, kind, value } of readings) {
    if (kind === "gauge") new Gauge({ name, help, registers }).set(value);
    else new Counter({ name, help, registers }).inc(value);
  }
  return registry;
}
