// Who may use the operators' surface.
//   G1. A request names a host that this surface answers for, so that a page open in an operator's browser cannot reach it
//       under its own name (DNS rebinding).
//   G2. Every request that changes something needs the token, on every address.
//   G3. On an address that others can reach, everything needs the token except the two reads that a load balancer makes.

import { createHash, timingSafeEqual } from "node:crypto";

export interface OpsAccess {
  /** The accepted values of Host, in lower case with the port. */
  readonly hosts: readonly string[];
  /** The token that an operator sends as `Authorization: Bearer …`. */
  readonly token: string;
  /** Whether only this machine can reach the surface. */
  readonly isLoopback: boolean;
}

export interface OpsRequest {
  readonly method: string;
  /** The path of the request without its query. */
  readonly path: string;
  readonly host: string | undefined;
  readonly authorization: string | undefined;
}

const openPaths = ["/healthz", "/readyz"];
const reads = ["GET", "HEAD"];

/** The error code with which a request is refused; null if it may proceed. */
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

/** Compares in the same time for any text: both sides are hashed first. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHash("sha256").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
