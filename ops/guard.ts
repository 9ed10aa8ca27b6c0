// Who may use the operators' surface, and for what: reading and acting are separate rights.
//   G1. A request names a host that this surface answers for, so that a page open in an operator's browser cannot reach it
//       under its own name (DNS rebinding).
//   G2. Every request that changes something needs the right to act, on every address; so does a read that shows more than this
//       surface shows otherwise, which its route says.
//   G3. On an address that others can reach, everything needs the right to read except the two reads that a load balancer makes
//       and the page for signing in.
//       On loopback reading needs nothing, unless a proxy is trusted: then a request from loopback may be anybody's.
//   G4. A request that a page of another origin caused is refused, whatever it carries, except that a link may be followed to a page.
//   G5. What a browser sends by itself (its session) acts only in a request that says that a page of this surface made it.
//   G6. The names that a proxy gives count only on connections from the addresses that are trusted for it, and only where each stands
//       once: a proxy that adds its own to what a caller sent would let the caller say who it is.

import { createHash, timingSafeEqual } from "node:crypto";
import { type AddressRange, contains, parseAddress } from "../std/ip-address.ts";
import type { OpsSessions } from "./sessions.ts";

export type OpsRight = "read" | "act";

/** A proxy that authenticates people by OIDC and says in headers who they are. */
export interface OpsProxy {
  readonly addresses: readonly AddressRange[];
  /** Names of headers, in lower case. */
  readonly userHeader: string;
  readonly groupsHeader: string;
  readonly readGroups: readonly string[];
  readonly actGroups: readonly string[];
}

export interface OpsAccess {
  /** The accepted values of Host, in lower case with the port. */
  readonly hosts: readonly string[];
  /** The token that an operator sends as `Authorization: Bearer …`, with the right to act and to read. */
  readonly token: string;
  /** The token that gives the right to read alone; null if there is none. */
  readonly readToken?: string | null;
  readonly proxy?: OpsProxy | null;
  /** Whether only this machine can reach the surface. */
  readonly isLoopback: boolean;
}

export interface OpsRequest {
  readonly method: string;
  /** The path of the request without its query. */
  readonly path: string;
  /** Whether the route needs the right to act, whatever its method (G2). */
  readonly needsAct?: boolean;
  readonly host: string | undefined;
  /** Address of the connection. */
  readonly peer: string | undefined;
  /** A header of the request; undefined where it is absent. */
  header(name: string): string | undefined;
  /** How often the header stands in the request. */
  count(name: string): number;
}

export type OpsRefusal = "host_not_allowed" | "origin_not_allowed" | "token_invalid" | "right_missing";

/** What a request may do, and how that was shown: for the audit log. */
export interface Admission {
  readonly right: OpsRight | null;
  readonly via: "nothing" | "token" | "read_token" | "session" | "proxy";
  /** Who the proxy says it is, or who opened the session; null where only a token was shown. */
  readonly user: string | null;
}

export type Judgement =
  | { readonly ok: true; readonly admission: Admission }
  | { readonly ok: false; readonly code: OpsRefusal };

const openPaths = ["/healthz", "/readyz"];
/** The page for signing in, and the assets of pages: they are the same for everybody and show nothing of the service. */
const openPages = /^\/ui\/(?:sign-in|assets\/[^/]+)$/;
/** Opening and ending a session are judged by what they present (sessions.ts). */
export const sessionPath = "/ops/session";
/** The value of WWW-Authenticate (RFC 9110 §11.6.1). */
export const challenge = 'Bearer realm="operations"';
const reads = ["GET", "HEAD"];
const userLengthMax = 200;

/** Judges a request before anything of it is read. */
export function judgeOpsRequest(access: OpsAccess, sessions: OpsSessions, request: OpsRequest): Judgement {
  const { method, path, needsAct = false, host } = request;
  if (host === undefined || !access.hosts.includes(host.toLowerCase())) return refused("host_not_allowed");
  if (isFromElsewhere(access, request)) return refused("origin_not_allowed");
  const admission = admit(access, sessions, request);
  if (path === sessionPath) return { ok: true, admission };
  if (needsAct || !reads.includes(method)) {
    if (admission.right === null) return refused("token_invalid");
    if (admission.right !== "act") return refused("right_missing");
    if (admission.via === "session" && !isOwnPage(access, request)) return refused("origin_not_allowed");
    return { ok: true, admission };
  }
  const isFree =
    openPaths.includes(path) ||
    openPages.test(path) ||
    (access.isLoopback && (access.proxy ?? null) === null);
  return isFree || admission.right !== null ? { ok: true, admission } : refused("token_invalid");
}

function refused(code: OpsRefusal): Judgement {
  return { ok: false, code };
}

function admit(access: OpsAccess, sessions: OpsSessions, request: OpsRequest): Admission {
  const [, given = ""] = /^Bearer ([\x21-\x7e]+)$/i.exec(request.header("authorization") ?? "") ?? [];
  const right = rightOfToken(access, given);
  if (right !== null) return { right, via: right === "act" ? "token" : "read_token", user: null };
  const session = sessions.find(request.header("cookie"));
  if (session !== null) return { right: session.right, via: "session", user: session.user };
  const named = access.proxy ? namedByProxy(access.proxy, request) : null;
  return named ?? { right: null, via: "nothing", user: null };
}

/** The right that a token gives; null for any other text. */
export function rightOfToken({ token, readToken = null }: OpsAccess, given: string): OpsRight | null {
  // Both are compared, so that the time says nothing about which exists.
  const isAct = isSame(given, token);
  const isRead = isSame(given, readToken ?? "") && (readToken ?? "") !== "";
  return isAct && token !== "" ? "act" : isRead ? "read" : null;
}

/** G6: the name and the groups by a trusted proxy; null for anybody else. */
function namedByProxy(proxy: OpsProxy, request: OpsRequest): Admission | null {
  const bits = parseAddress(request.peer ?? "");
  if (bits === null || !proxy.addresses.some((range) => contains(range, bits))) return null;
  if ([proxy.userHeader, proxy.groupsHeader].some((name) => request.count(name) > 1)) return null;
  const user = request.header(proxy.userHeader)?.trim() ?? "";
  if (user === "" || user.length > userLengthMax || !/^[^\p{Cc}\p{Bidi_Control}]+$/u.test(user)) return null;
  const groups = (request.header(proxy.groupsHeader) ?? "").split(",").map((each) => each.trim());
  const isIn = (allowed: readonly string[]): boolean => allowed.some((each) => groups.includes(each));
  if (isIn(proxy.actGroups)) return { right: "act", via: "proxy", user };
  return isIn(proxy.readGroups) ? { right: "read", via: "proxy", user } : null;
}

/** G4: browsers say which page caused a request, and no page can change what they say. */
function isFromElsewhere({ hosts }: OpsAccess, request: OpsRequest): boolean {
  const origin = request.header("origin");
  if (origin !== undefined && !isOwnOrigin(hosts, origin)) return true;
  const site = request.header("sec-fetch-site");
  if (site === undefined || site === "same-origin" || site === "none") return false;
  const isLink =
    request.header("sec-fetch-mode") === "navigate" && request.header("sec-fetch-dest") === "document";
  return !(isLink && reads.includes(request.method) && request.needsAct !== true);
}

function isOwnPage({ hosts }: OpsAccess, request: OpsRequest): boolean {
  const origin = request.header("origin");
  return origin !== undefined
    ? isOwnOrigin(hosts, origin)
    : request.header("sec-fetch-site") === "same-origin";
}

function isOwnOrigin(hosts: readonly string[], origin: string): boolean {
  const [, host = ""] = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? [];
  // A browser leaves out the default port of the scheme, and so does a Host without one.
  return hosts.includes(host) || hosts.includes(`${host}:443`) || hosts.includes(`${host}:80`);
}

/** Compares in the same time for any text: both sides are hashed first. */
function isSame(given: string, wanted: string): boolean {
  const [a, b] = [given, wanted].map((text) => createHash("sha256").update(text).digest());
  return a !== undefined && b !== undefined && timingSafeEqual(a, b);
}
