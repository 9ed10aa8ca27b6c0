// 429 with Retry-After, in the document as well as in the header (specification, «Errors»).

import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";

export function rateLimited(
  detail: string,
  extras: { readonly retry_after_seconds: number; readonly reason?: string },
): Refused {
  const headers = { "retry-after": String(extras.retry_after_seconds) };
  return refused(problem("rate_limited", detail, extras), headers);
}
