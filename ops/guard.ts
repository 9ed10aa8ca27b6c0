// Who may use the operators' surface.
//   G1. A request names a host that this surface answers for, so that a page which an operator looks at cannot reach it under
//       a name of its own (DNS rebinding).
//   G2. Whatever changes something needs the token, on every address.
//   G3. On an address that others can reach everything needs it, but the two reads that a load balancer makes.

import { createHash, timingSafeEqual } from "node:crypto";

export interface OpsAccess {
  /** Values of Host that are answered, lower case with the port. */
  readonly hosts: readonly string[];
  /** What an operator sends as `Authorization: Bearer …`. */
  readonly token: string;
  /** Whether only this machine reaches the surface. */
  readonly isLoopback: boolean;
}

export interface OpsRequest {
  readonly method: string;
  /** Without its query. */
  readonly path: string;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
}

const openPaths = ["/healthz", "/readyz"];
const reads = ["GET", "HEAD"];

/** Null for a request that may go on; else the code that it is refused with. */
export function judgeOpsRequest(
  { hosts, token, isLoopback }: OpsAccess,
  { method, path, host, authorization }: OpsRequest,
): "host_not_allowed" | "token_invalid" | null {
  if (host === undefined || !hosts.includes(host.toLowerCase())) return "host_not_allowed";
  const isRead = reads.includes(method);
  if (isRead && (isLoopback || openPaths.includes(path))) return null;
  const [, given = ""] = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization ?? "") ?? [];
  return isSame(given, token) ? null : "token_invalid";
}

/** Takes as long for any text: both are hashed first. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHash("sha256").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
