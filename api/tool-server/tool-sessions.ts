// The sessions of the hosted tool server (specification, «Hosted public server»), which one node keeps in memory. They hold
// nothing but their own end: what a tool answers never depends on a session, so one that is lost is simply opened again.
//   T1. A session ends after `idleMs` without a request, or when it is ended, and never comes back.
//   T2. Its id is of no use without the credential that opened it, and nobody learns whether such an id exists.
//   T3. There are never more than `sessionsMax` sessions, nor more than `perAddressMax` of one address. Where all are taken, a
//       newcomer gets the place of the longest-idle session of the address that has most, as long as that one has more than
//       the newcomer's address then will.

import { hash, randomUUID } from "node:crypto";
import { type Refused, rateLimited, refusedWith } from "../../service/answer.ts";
import { addressBlock } from "../../std/ip-address.ts";

export interface ToolSessionLimits {
  readonly idleMs: number;
  readonly sessionsMax: number;
  readonly perAddressMax: number;
}

/** Specification, «Limits»: 30 minutes; the numbers are of one node. */
export const toolSessionLimits: ToolSessionLimits = Object.freeze({
  idleMs: 30 * 60_000,
  sessionsMax: 10_000,
  perAddressMax: 1_000,
});

export interface ToolSessions {
  /** The id of a new session; `credential` is the value of Authorization, null without one. */
  open(opener: { readonly credential: string | null; readonly source: string | null }): string | Refused;
  /** Whether the session is open, which then is no longer idle. */
  use(id: string, credential: string | null): boolean;
  /** Whether there was such a session. */
  end(id: string, credential: string | null): boolean;
  readonly count: number;
}

interface Session {
  /** Null without a credential; of one, only the hash is kept. */
  readonly credential: string | null;
  readonly address: string | null;
  readonly usedMs: number;
}

/** `elapsedMs` counts monotonic whole milliseconds since some instant. */
export function createToolSessions(
  elapsedMs: () => number,
  limits: ToolSessionLimits = toolSessionLimits,
): ToolSessions {
  return new MemorySessions(elapsedMs, limits);
}

class MemorySessions implements ToolSessions {
  readonly #elapsedMs: () => number;
  readonly #limits: ToolSessionLimits;
  /** In the order of their last use, so that the first to end are at the front. */
  readonly #sessions = new Map<string, Session>();
  /** The same of each address, in the same order; those whose address is not known are together. */
  readonly #ofAddress = new Map<string | null, Map<string, Session>>();

  constructor(elapsedMs: () => number, limits: ToolSessionLimits) {
    this.#elapsedMs = elapsedMs;
    this.#limits = limits;
  }

  get count(): number {
    this.#endIdle();
    return this.#sessions.size;
  }

  open({ credential, source }: Parameters<ToolSessions["open"]>[0]): string | Refused {
    this.#endIdle();
    const { sessionsMax, perAddressMax } = this.#limits;
    const address = source === null ? null : addressBlock(source);
    const own = this.#ofAddress.get(address)?.size ?? 0;
    if (address !== null && own >= perAddressMax) return tooManyOfAddress(perAddressMax);
    if (this.#sessions.size >= sessionsMax && !this.#endOfMost(own + 1)) return tooMany();
    const id = randomUUID();
    this.#keep(id, { credential: digestOf(credential), address, usedMs: this.#elapsedMs() });
    return id;
  }

  use(id: string, credential: string | null): boolean {
    const session = this.#find(id, credential);
    if (session === null) return false;
    this.#remove(id, session);
    this.#keep(id, { ...session, usedMs: this.#elapsedMs() });
    return true;
  }

  end(id: string, credential: string | null): boolean {
    const session = this.#find(id, credential);
    if (session !== null) this.#remove(id, session);
    return session !== null;
  }

  #find(id: string, credential: string | null): Session | null {
    this.#endIdle();
    const session = this.#sessions.get(id);
    return session !== undefined && session.credential === digestOf(credential) ? session : null;
  }

  #endIdle(): void {
    const endedMs = this.#elapsedMs() - this.#limits.idleMs;
    for (const [id, session] of this.#sessions) {
      if (session.usedMs > endedMs) return;
      this.#remove(id, session);
    }
  }

  /** Whether an address had more than so many, and its longest-idle session ended. */
  #endOfMost(than: number): boolean {
    let most: ReadonlyMap<string, Session> = new Map();
    for (const each of this.#ofAddress.values()) if (each.size > most.size) most = each;
    const [longest] = most.size > than ? most : [];
    if (longest === undefined) return false;
    this.#remove(...longest);
    return true;
  }

  #keep(id: string, session: Session): void {
    this.#sessions.set(id, session);
    const own = this.#ofAddress.get(session.address) ?? new Map<string, Session>();
    this.#ofAddress.set(session.address, own.set(id, session));
  }

  #remove(id: string, { address }: Session): void {
    this.#sessions.delete(id);
    const own = this.#ofAddress.get(address);
    own?.delete(id);
    if (own?.size === 0) this.#ofAddress.delete(address);
  }
}

function digestOf(credential: string | null): string | null {
  return credential === null ? null : hash("sha256", credential, "base64");
}

const retrySeconds = 60;
const stateless = "Revision 2026-07-28 of the protocol is served here without sessions.";

function tooMany(): Refused {
  const detail = `Too many sessions are open here; open one later. ${stateless}`;
  return refusedWith("unavailable", detail, { reason: "tool_sessions", retry_after_seconds: retrySeconds });
}

function tooManyOfAddress(max: number): Refused {
  const detail = `An address may have ${max} sessions open; end one with DELETE, or open one later. ${stateless}`;
  return rateLimited(detail, { reason: "tool_sessions", retry_after_seconds: retrySeconds });
}
