// Metrics in the Prometheus text format (version 0.0.4): requests as they were observed, gauges as they are asked.

import type { AnsweredRequest, RequestObserver } from "../service/request-observer.ts";

/** Upper bounds of the duration buckets, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Bounds what a flood of odd requests can make of the labels. */
const seriesMax = 2_000;

export type GaugeKind = "gauge" | "counter";

export interface Gauge {
  readonly name: string;
  readonly help: string;
  readonly kind: GaugeKind;
  readonly value: number;
}

export interface Metrics extends RequestObserver {
  /** The text of /metrics, with the given gauges after the requests. */
  text(gauges: readonly Gauge[]): string;
}

interface Series {
  readonly labels: string;
  readonly surfaceRoute: string;
  count: number;
}

interface Histogram {
  readonly labels: string;
  readonly counts: number[];
  sum: number;
  count: number;
}

export function createMetrics(): Metrics {
  const requests = new Map<string, Series>();
  const durations = new Map<string, Histogram>();
  const refusals = new Map<string, number>();
  return {
    observe: (request) => {
      countRequest(requests, request);
      if (request.code !== null) countRefusal(refusals, request.surface, request.code);
      measureRequest(durations, request);
    },
    text: (gauges) =>
      `${requestText(requests)}${refusalText(refusals)}${durationText(durations)}${gauges.map(gaugeText).join("")}`,
  };
}

function countRequest(requests: Map<string, Series>, request: AnsweredRequest): void {
  const { surface, method, route, status } = request;
  const key = `${surface} ${method} ${route} ${status}`;
  const known = requests.get(key);
  if (known) known.count += 1;
  else if (requests.size < seriesMax) {
    const surfaceRoute = `surface="${surface}",method="${escapeLabel(method)}",route="${escapeLabel(route)}"`;
    requests.set(key, { labels: `${surfaceRoute},status="${status}"`, surfaceRoute, count: 1 });
  }
}

/** As many series as there are surfaces and codes. */
function countRefusal(refusals: Map<string, number>, surface: string, code: string): void {
  const labels = `surface="${surface}",code="${code}"`;
  refusals.set(labels, (refusals.get(labels) ?? 0) + 1);
}

function measureRequest(durations: Map<string, Histogram>, request: AnsweredRequest): void {
  const { surface, route, durationMs } = request;
  const key = `${surface} ${route}`;
  let histogram = durations.get(key);
  if (!histogram) {
    if (durations.size >= seriesMax) return;
    const labels = `surface="${surface}",route="${escapeLabel(route)}"`;
    histogram = { labels, counts: buckets.map(() => 0), sum: 0, count: 0 };
    durations.set(key, histogram);
  }
  const seconds = durationMs / 1_000;
  const bucket = buckets.findIndex((bound) => seconds <= bound);
  if (bucket >= 0) histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
  histogram.sum += seconds;
  histogram.count += 1;
}

function requestText(requests: ReadonlyMap<string, Series>): string {
  const lines = [...requests.values()].map(
    ({ labels, count }) => `svc_http_requests_total{${labels}} ${count}\n`,
  );
  return `# HELP svc_http_requests_total Requests answered.\n# TYPE svc_http_requests_total counter\n${lines.join("")}`;
}

function refusalText(refusals: ReadonlyMap<string, number>): string {
  const name = "svc_http_refusals_total";
  const lines = [...refusals].map(([labels, count]) => `${name}{${labels}} ${count}\n`);
  return `# HELP ${name} Requests refused, by the code of their problem.\n# TYPE ${name} counter\n${lines.join("")}`;
}

function durationText(durations: ReadonlyMap<string, Histogram>): string {
  const name = "svc_http_request_duration_seconds";
  let text = `# HELP ${name} Time from the head of a request to the end of its answer.\n# TYPE ${name} histogram\n`;
  for (const { labels, counts, sum, count } of durations.values()) {
    let total = 0;
    for (const [index, bound] of buckets.entries()) {
      total += counts[index] ?? 0;
      text += `${name}_bucket{${labels},le="${bound}"} ${total}\n`;
    }
    text += `${name}_bucket{${labels},le="+Inf"} ${count}\n${name}_sum{${labels}} ${sum}\n${name}_count{${labels}} ${count}\n`;
  }
  return text;
}

function gaugeText({ name, help, kind, value }: Gauge): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${name} ${value}\n`;
}

function escapeLabel(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
