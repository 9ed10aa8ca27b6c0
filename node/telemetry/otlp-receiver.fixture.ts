// A collector of traces on loopback: it takes OTLP over HTTP as JSON and keeps the spans. For tests.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

export interface ReceivedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Null for the root of a trace. */
  readonly parentId: string | null;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** What the node says of itself. */
  readonly node: Readonly<Record<string, unknown>>;
  readonly failure: string | null;
  readonly startNs: bigint;
  readonly endNs: bigint;
}

export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** The names from the root of its trace to each span of the trace, each line once. */
  roads(traceId: string): readonly string[];
  /** How it answers from now on: takes spans, refuses them, or leaves the sender waiting. */
  behave(how: "takes" | "refuses" | "hangs"): void;
}

interface WrittenSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly WrittenAttribute[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface WrittenAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface WrittenTraces {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WrittenAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly WrittenSpan[] }[];
  }[];
}

export async function openOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  let how: "takes" | "refuses" | "hangs" = "takes";
  const server: Server = createServer(async (request, response) => {
    const body = (await json(request)) as WrittenTraces;
    if (how === "hangs") return;
    if (how === "takes" && request.method === "POST" && request.url === "/v1/traces")
      spans.push(...read(body));
    response.writeHead(how === "takes" ? 200 : 400, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    roads: (traceId) => roadsOf(spans.filter((span) => span.traceId === traceId)),
    behave: (next) => {
      how = next;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function read({ resourceSpans }: WrittenTraces): readonly ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        name: span.name,
        traceId: span.traceId,
        spanId: span.spanId,
        parentId: span.parentSpanId || null,
        attributes: valuesOf(span.attributes),
        node: valuesOf(resource.attributes),
        failure: span.status.code === 2 ? (span.status.message ?? "") : null,
        startNs: BigInt(span.startTimeUnixNano),
        endNs: BigInt(span.endTimeUnixNano),
      })),
    ),
  );
}

function valuesOf(attributes: readonly WrittenAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

/** A span whose parent was not received hangs on `?`; the caller's own span is outside. */
function roadsOf(spans: readonly ReceivedSpan[]): readonly string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const road = ({ name, parentId }: ReceivedSpan): string => {
    const above = parentId === null ? undefined : byId.get(parentId);
    if (above !== undefined) return `${road(above)} > ${name}`;
    return parentId === null || name.includes(" /") ? name : `? > ${name}`;
  };
  return [...new Set(spans.map(road))].sort();
}
