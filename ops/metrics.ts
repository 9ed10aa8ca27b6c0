// Metrics in the Prometheus text format: observed requests, readings taken at scrape time, and the resource use of the
// process itself.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { AnsweredRequest, RequestObserver } from "../service/request-observer.ts";

/** The upper bounds of the duration buckets, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Limits how many label combinations a flood of odd requests can create. */
const seriesMax = 2_000;

/** A value that another component counts or measures; a counter never decreases while the process runs. */
export interface Reading {
  readonly name: string;
  readonly help: string;
  readonly kind: "gauge" | "counter";
  readonly value: number;
  /** The same names for every reading of the metric; their values are few at once and never come from callers. */
  readonly labels?: Readonly<Record<string, string>>;
}

type Labels = Reading["labels"];

export function gauge(name: string, help: string, value: number, labels?: Labels): Reading {
  return { name, help, kind: "gauge", value, ...(labels && { labels }) };
}

export function counter(name: string, help: string, value: number, labels?: Labels): Reading {
  return { name, help, kind: "counter", value, ...(labels && { labels }) };
}

export interface Metrics extends RequestObserver {
  /** The media type of the text. */
  readonly contentType: string;
  /** The text of /metrics: requests, the given readings, the process. */
  text(readings: readonly Reading[]): Promise<string>;
}

let ofThisProcess: Registry | null = null;

/**
 * CPU, memory, open files, event loop and garbage collection, under the names that prom-client uses everywhere. They belong
 * to the process: all nodes of one process report the same values, and they are observed once.
 */
export function processMetrics(): Registry {
  if (ofThisProcess === null) {
    ofThisProcess = new Registry();
    collectDefaultMetrics({ register: ofThisProcess });
  }
  return ofThisProcess;
}

/** Appends the metrics of the `others` to its own. */
export function createMetrics(others: readonly Registry[] = []): Metrics {
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
      const all = [registry, ...(readings.length === 0 ? [] : [registryOf(readings)]), ...others];
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
  for (const [name, all] of Map.groupBy(readings, (reading) => reading.name)) {
    const [{ help, kind, labels = {} }] = all as [Reading, ...Reading[]];
    const named = { name, help, labelNames: Object.keys(labels), registers };
    const gauge = kind === "gauge" ? new Gauge(named) : null;
    const counter = gauge === null ? new Counter(named) : null;
    for (const reading of all) {
      gauge?.set(reading.labels ?? {}, reading.value);
      counter?.inc(reading.labels ?? {}, reading.value);
    }
  }
  return registry;
}
