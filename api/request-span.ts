// The span of a request: from its route to the end of its answer. It names the route, never the path, and the request id that the
// answer and the log have.

import type { ProblemCode } from "../protocol/problem.ts";
import type { Span } from "../std/tracing.ts";
import type { HttpDeps, Surface } from "./http-server.ts";
import type { Route } from "./route.ts";

/** The route, with what it does in the span of its request, if that is recorded. */
export function traced(route: Route, { traces }: Pick<HttpDeps, "traces">, { name }: Surface): Route {
  if (traces === undefined || traces === null) return route;
  const about = {
    "svc.surface": name,
    "http.request.method": route.method,
    "http.route": route.path,
  };
  return {
    ...route,
    handle: (request, reply) => {
      // Several fields of this name are joined by a comma, and so are none.
      const { traceparent } = request.headers;
      const attributes = { ...about, "svc.request_id": request.id };
      const span = traces.receive(`${route.method} ${route.path}`, traceparent, attributes);
      if (span === null) return route.handle(request, reply);
      reply.span = span;
      return traces.tracer.within(span.traceparent, () => route.handle(request, reply));
    },
  };
}

export function endSpan(
  span: Span | null,
  { status, code }: { readonly status: number; readonly code: ProblemCode | null },
): void {
  if (span === null) return;
  const attributes = {
    "http.response.status_code": status,
    ...(code === null ? {} : { "svc.problem.code": code }),
  };
  // A refusal is an answer like any other; only what the service could not do is a failure.
  span.end({ attributes, failure: status >= 500 ? (code ?? String(status)) : undefined });
}
