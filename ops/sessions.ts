// Sessions of browsers: an operator sends a token once, and the browser keeps a name of the session that no script can read.
//   SE1. A session has the rights of its token, or those of them alone that were asked for.
//   SE2. It ends eight hours after it was opened, an hour after it was used last, when it is ended, and with the node.
//   SE3. There are never more than a fixed number; a new one ends the one that was used longest ago.
//   SE4. Away from loopback the cookie has a name that only this host can set, over HTTPS (RFC 6265bis §4.1.3.2): a page of another
//        name of its domain cannot give a browser a session.
//   SE5. The node keeps a hash of the name, so its memory does not show what a browser would have to send.

import { createHash, randomBytes } from "node:crypto";
import { BoundedMap } from "../std/bounded-map.ts";
import type { OpsRight } from "./guard.ts";

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
