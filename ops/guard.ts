// Who may use the operators' surface, and for what: reading, acting on actors and nodes, the accounts, the parties, takedowns and the
// cluster are separate rights.
//   G1. A request names a host that this surface answers for, so that a page open in an operator's browser cannot reach it
//       under its own name (DNS rebinding).
//   G2. Every request that changes something needs the right that its route names, on every address; so does a read that shows more
//       than this surface shows otherwise. It also needs the name of the person who asks, which comes with what was shown at the door, never
//       with the request's body, so that an act has the name of the person who signed in.
//   G3. On an address that others can reach, everything needs the right to read except the two reads that a load balancer makes
//       and the page for signing in.
//       On loopback reading needs nothing, unless a proxy is trusted: then a request from loopback may be anybody's.
//   G4. A request that a page of another origin caused is refused, whatever it carries, except that a link may be followed to a page.
//   G5. What a browser sends by itself (its session) acts only in a request that says that a page of this surface made it.
//   G6. The names that a proxy gives count only on connections from the addresses that are trusted for it, and only where each stands
//       once: a proxy that adds its own to what a caller sent would let the caller say who it is.

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { BoundedMap } from "../std/bounded-map.ts";
import { type AddressRange, contains, parseAddress } from "../std/ip-address.ts";

/** What each right allows. Any of them includes reading. */
export const opsRights = {
  read: "To read",
  act: "To act on actors and nodes, and to take a journal",
  money: "To pay in, to correct accounts, to reverse renders, and to set prices",
  parties:
    "To let parties in, to revoke keys, mandates, certificates and grants, to block, to change groups, and to set terms and the AS table",
  takedowns:
    "To take records and businesses out of serving, to set content and URL lists, and to decide on deletions and purges",
  cluster: "To move homes, to declare regions dead and bring them back, and to rebuild indexes",
} as const;
export type OpsRight = keyof typeof opsRights;
export const opsRightNames = Object.keys(opsRights) as readonly OpsRight[];

/** By the pattern of the route, which a caller cannot write in another way. */
const actsByRight: readonly (readonly [RegExp, OpsRight])[] = [
  [/^\/ops\/(?:ledgers|campaigns|lists\/prices)\//, "money"],
  [
    /^\/ops\/(?:applications|recoveries|parties|keys|mandates|certificates|grants|blocks|brands|groups|lists\/(?:as-table|terms))\//,
    "parties",
  ],
  [/^\/ops\/(?:takedowns|deletions|purge-orders|lists\/(?:content-lists|blocked-urls))\//, "takedowns"],
  [/^\/ops\/(?:cluster|nodes)\//, "cluster"],
];
const reads = ["GET", "HEAD"];

/** The right that a route needs: to read for a read, except for one that takes a journal as it is, or what an applicant sent. */
export function neededRight(method: string, route: string): OpsRight {
  if (reads.includes(method) && !route.endsWith("/download"))
    return route.endsWith("/export") ? "act" : "read";
  return actsByRight.find(([pattern]) => pattern.test(route))?.[1] ?? "act";
}

/** A proxy that authenticates people by OIDC and says in headers who they are. */
export interface OpsProxy {
  readonly addresses: readonly AddressRange[];
  /** Names of headers, in lower case. */
  readonly userHeader: string;
  readonly groupsHeader: string;
  /** The groups that have each right. */
  readonly groups: Readonly<Record<OpsRight, readonly string[]>>;
}

export interface OpsAccess {
  /** The accepted values of Host, in lower case with the port. */
  readonly hosts: readonly string[];
  /**
   * The token with every right. An operator sends it with a name, as `Authorization: Basic …` (RFC 7617), or without one to read,
   * as `Authorization: Bearer …`.
   */
  readonly token: string;
  /** The token that gives the right to read alone; null if there is none. */
  readonly readToken?: string | null;
  readonly proxy?: OpsProxy | null;
  /** Whether only this machine can reach the surface. */
  readonly isLoopback: boolean;
}

export interface OpsRequest {
  /** The path of the request without its query. */
  readonly path: string;
  /** The right that the route needs, whatever its method (G2). */
  readonly needs: OpsRight;
  readonly host: string | undefined;
  /** Address of the connection. */
  readonly peer: string | undefined;
  /** A header of the request; undefined where it is absent. */
  header(name: string): string | undefined;
  /** How often the header stands in the request. */
  count(name: string): number;
}

export type OpsRefusal =
  | "host_not_allowed"
  | "origin_not_allowed"
  | "token_invalid"
  | "right_missing"
  | "name_missing";

/** What a request may do, and how that was shown: for the audit log. */
export interface Admission {
  readonly rights: readonly OpsRight[];
  readonly via: "nothing" | "token" | "read_token" | "session" | "proxy";
  /** Who the proxy says it is, who opened the session, or the name beside the token; null where only a token was shown. */
  readonly user: string | null;
}

export type Judgement =
  | { readonly ok: true; readonly admission: Admission }
  | { readonly ok: false; readonly code: OpsRefusal };

const openPaths = ["/healthz", "/readyz"];
/** The page for signing in, the assets of pages and the documentation: they are the same for everybody and show nothing of the service. */
const openPages = /^\/(?:ui\/(?:sign-in|assets\/[^/]+)|docs(?:\/.*)?|llms\.txt)$/;
/** Opening and ending a session are judged by what they present. */
export const sessionPath = "/ops/session";
/** The value of WWW-Authenticate (RFC 9110 §11.6.1). */
export const challenge = 'Bearer realm="operations"';
const userLengthMax = 200;

/** Judges a request before anything of it is read. */
export function judgeOpsRequest(access: OpsAccess, sessions: OpsSessions, request: OpsRequest): Judgement {
  const { path, needs, host } = request;
  if (host === undefined || !access.hosts.includes(host.toLowerCase())) return refused("host_not_allowed");
  if (isFromElsewhere(access, request)) return refused("origin_not_allowed");
  const admission = admit(access, sessions, request);
  if (path === sessionPath) return { ok: true, admission };
  if (needs !== "read") {
    if (admission.rights.length === 0) return refused("token_invalid");
    if (!admission.rights.includes(needs)) return refused("right_missing");
    if (admission.user === null) return refused("name_missing");
    if (admission.via === "session" && !isOwnPage(access, request)) return refused("origin_not_allowed");
    return { ok: true, admission };
  }
  const isFree =
    openPaths.includes(path) ||
    openPages.test(path) ||
    (access.isLoopback && (access.proxy ?? null) === null);
  return isFree || admission.rights.length > 0 ? { ok: true, admission } : refused("token_invalid");
}

function refused(code: OpsRefusal): Judgement {
  return { ok: false, code };
}

function admit(access: OpsAccess, sessions: OpsSessions, request: OpsRequest): Admission {
  const { user, token } = credentialsIn(request.header("authorization") ?? "");
  const rights = rightsOfToken(access, token);
  if (rights.length > 0) return { rights, via: rights.length > 1 ? "token" : "read_token", user };
  const session = sessions.find(request.header("cookie"));
  if (session !== null) return { rights: session.rights, via: "session", user: session.user };
  const named = access.proxy ? namedByProxy(access.proxy, request) : null;
  return named ?? { rights: [], via: "nothing", user: null };
}

/** A token alone, or a name and a token; a name that cannot be shown is none. */
function credentialsIn(authorization: string): { readonly user: string | null; readonly token: string } {
  const [, bearer, basic = ""] = /^(?:Bearer ([\x21-\x7e]+)|Basic ([\w+/=-]+))$/i.exec(authorization) ?? [];
  if (bearer !== undefined) return { user: null, token: bearer };
  const [, name = "", token = ""] = /^([^:]*):(.*)$/s.exec(Buffer.from(basic, "base64").toString()) ?? [];
  return { user: nameFrom(name), token };
}

/** Who it is; null for a text that is no name, or that could not be shown as it is. */
function nameFrom(text: string): string | null {
  const name = text.trim();
  return name.length <= userLengthMax && /^[^\p{Cc}\p{Bidi_Control}\u2028\u2029]+$/u.test(name) ? name : null;
}

/** The rights that a token gives; none for any other text. */
export function rightsOfToken({ token, readToken = null }: OpsAccess, given: string): readonly OpsRight[] {
  // Both are compared, so that the time says nothing about which exists.
  const isAct = isSame(given, token);
  const isRead = isSame(given, readToken ?? "") && (readToken ?? "") !== "";
  return isAct && token !== "" ? opsRightNames : isRead ? ["read"] : [];
}

/** G6: the name and the groups by a trusted proxy; null for anybody else. */
function namedByProxy(proxy: OpsProxy, request: OpsRequest): Admission | null {
  const bits = parseAddress(request.peer ?? "");
  if (bits === null || !proxy.addresses.some((range) => contains(range, bits))) return null;
  if ([proxy.userHeader, proxy.groupsHeader].some((name) => request.count(name) > 1)) return null;
  const user = nameFrom(request.header(proxy.userHeader) ?? "");
  if (user === null) return null;
  const groups = (request.header(proxy.groupsHeader) ?? "").split(",").map((each) => each.trim());
  const isIn = (allowed: readonly string[]): boolean => allowed.some((each) => groups.includes(each));
  const given = opsRightNames.filter((right) => isIn(proxy.groups[right]));
  return given.length === 0 ? null : { rights: withReading(given), via: "proxy", user };
}

/** Any right includes reading. */
export function withReading(rights: readonly OpsRight[]): readonly OpsRight[] {
  return opsRightNames.filter((right) => right === "read" || rights.includes(right));
}

/** G4: browsers say which page caused a request, and no page can change what they say. */
function isFromElsewhere({ hosts }: OpsAccess, request: OpsRequest): boolean {
  const origin = request.header("origin");
  if (origin !== undefined && !isOwnOrigin(hosts, origin)) return true;
  const site = request.header("sec-fetch-site");
  if (site === undefined || site === "same-origin" || site === "none") return false;
  const isLink =
    request.header("sec-fetch-mode") === "navigate" && request.header("sec-fetch-dest") === "document";
  return !(isLink && request.needs === "read");
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

// Sessions of browsers: an operator sends a token once, and the browser keeps a name of the session that no script can read.
//   SE1. A session has the rights of its token, or those of them alone that were asked for.
//   SE2. It ends eight hours after it was opened, an hour after it was used last, when it is ended, and with the node.
//   SE3. There are never more than a fixed number; a new one ends the one that was used longest ago.
//   SE4. Away from loopback the cookie has a name that only this host can set, over HTTPS (RFC 6265bis §4.1.3.2): a page of another
//        name of its domain cannot give a browser a session.
//   SE5. The node keeps a hash of the name, so its memory does not show what a browser would have to send.

export interface OpsSession {
  readonly rights: readonly OpsRight[];
  /** Who opened it, as they said themselves; null if they did not. */
  readonly user: string | null;
  /** When it ends at the latest, in Unix milliseconds. */
  readonly endsAtMs: number;
}

export interface OpsSessions {
  /** Opens a session and returns it with the cookie that names it. */
  open(session: Omit<OpsSession, "endsAtMs">): { readonly session: OpsSession; readonly cookie: string };
  /** The session that the cookies of a request name; null if none is in force. */
  find(cookies: string | undefined): OpsSession | null;
  /** Ends the session, if there is one; returns the cookie that has the browser forget it. */
  end(cookies: string | undefined): string;
}

const sessionsMax = 256;
const lastsMs = 8 * 3_600_000;
const idleMs = 3_600_000;
const plainName = "svc_ops";
export const hostCookieName = `__Host-${plainName}`;

interface Kept extends OpsSession {
  usedAtMs: number;
}

/** `isSecure` has browsers send the cookie over HTTPS alone. */
export function createOpsSessions(options: {
  readonly nowMs: () => number;
  readonly isSecure: boolean;
}): OpsSessions {
  const { nowMs, isSecure } = options;
  const cookieName = isSecure ? hostCookieName : plainName;
  const kept = new BoundedMap<string, Kept>(sessionsMax);
  const cookie = (name: string, seconds: number): string =>
    `${cookieName}=${name}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
  return {
    open: ({ rights, user }) => {
      const name = randomBytes(32).toString("base64url");
      const session: Kept = { rights, user, endsAtMs: nowMs() + lastsMs, usedAtMs: nowMs() };
      kept.set(hashOf(name), session);
      return { session, cookie: cookie(name, lastsMs / 1_000) };
    },
    find: (cookies) => {
      const name = nameIn(cookies, cookieName);
      const session = name === null ? undefined : kept.get(hashOf(name));
      if (name === null || session === undefined) return null;
      if (nowMs() >= session.endsAtMs || nowMs() - session.usedAtMs >= idleMs) {
        kept.delete(hashOf(name));
        return null;
      }
      session.usedAtMs = nowMs();
      return session;
    },
    end: (cookies) => {
      const name = nameIn(cookies, cookieName);
      if (name !== null) kept.delete(hashOf(name));
      return cookie("", 0);
    },
  };
}

function nameIn(cookies: string | undefined, cookieName: string): string | null {
  for (const each of (cookies ?? "").split(";")) {
    const [name, value] = each.trim().split("=", 2);
    if (name === cookieName && value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value)) return value;
  }
  return null;
}

function hashOf(name: string): string {
  return createHash("sha256").update(name).digest("base64url");
}
