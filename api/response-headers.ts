// The header fields of answers, as OpenAPI names them.

import type { JsonObject } from "../protocol/canonical-json.ts";

const text: JsonObject = { type: "string", minLength: 1 };

export const responseHeaders = {
  "Request-Id": { description: "Names the request in the logs of the service.", schema: text },
  "Cache-Control": { description: "How long the answer may be kept, and by whom.", schema: text },
  "Retry-After": {
    description: "Seconds, as in `retry_after_seconds`.",
    schema: { type: "integer", minimum: 1 },
  },
  "WWW-Authenticate": { description: "The challenge of a 401 (RFC 9110 §15.5.2).", schema: text },
  "Content-Security-Policy": { description: "What the answer may do if it is shown.", schema: text },
  Location: { description: "Where to ask for the status.", schema: { type: "string", pattern: "^/v1/" } },
  ETag: { description: "For If-None-Match.", schema: { type: "string", pattern: '^"[^"]+"$' } },
  Vary: { description: "Header fields of the request that the answer depends on.", schema: text },
  "Access-Control-Allow-Origin": { description: "Any origin may read the answer.", schema: { const: "*" } },
  "Content-Disposition": { description: "A name for the file.", schema: text },
  "RateLimit-Policy": { description: "Limits of the key, where there are any.", schema: text },
  RateLimit: { description: "What is left of them.", schema: text },
} as const satisfies Readonly<Record<string, { readonly description: string; readonly schema: JsonObject }>>;

export type HeaderName = keyof typeof responseHeaders;

/** References to the fields, as members of a response; `required` lists those that every such answer has. */
export function headerFields(
  required: readonly HeaderName[],
  optional: readonly HeaderName[] = [],
): JsonObject {
  const field = (isRequired: boolean) => (name: HeaderName) =>
    [name, { ...responseHeaders[name], required: isRequired }] as const;
  return Object.fromEntries([...required.map(field(true)), ...optional.map(field(false))]);
}
