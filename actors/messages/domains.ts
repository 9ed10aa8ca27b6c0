// The domains at which a business has endpoints: whether it controls them, and what its actor is told of each look at them.

import type { DoneReply, RegisterAct, RegisterReply, Seen } from "./protocol.ts";

/** `suspended`: control was confirmed once, and is lost. */
export type DomainStatus = "unconfirmed" | "confirmed" | "suspended";

/** What is published of a domain. */
export interface DomainFacts {
  readonly domain: string;
  readonly status: DomainStatus;
  /** Since when it has this status. */
  readonly since: string;
  /** When control was confirmed last; null if it never was. */
  readonly confirmed_at: string | null;
}

export type ProbeKind = "confirmed" | "absent" | "unanswered";

/** What the business itself also learns of a domain. */
export interface WatchedDomain extends DomainFacts {
  readonly probed: {
    readonly at: string;
    readonly outcome: ProbeKind;
    /** Where it was found, or what was found instead. */
    readonly detail: string;
  } | null;
  /** Not before this time. */
  readonly next_probe_at: string;
}

export interface ProbeSchedule {
  /** From one confirmation to the next look. */
  readonly interval_ms: number;
  /** How long control may be unconfirmed, while both places answer, until it counts as lost. */
  readonly grace_ms: number;
}

export interface ProbedDomain {
  readonly domain: string;
  readonly outcome: ProbeKind;
  readonly detail: string;
  /** When the look began. */
  readonly at_ms: number;
}

/** The commands of a business actor that concern its domains. */
export interface DomainsProtocol {
  /** Read-only: the domains that are to be looked at now. */
  "domains.due"(command: object): { readonly domains: readonly string[] };
  /** Has the business's domains looked at as soon as they may be. Nothing while they are. */
  "domains.look"(command: object): DoneReply;
  /** What was found; repeatable. Nothing, where nobody looks. */
  "domains.probed"(command: {
    readonly probed: readonly ProbedDomain[];
    readonly schedule: ProbeSchedule;
  }): DoneReply;
  /** Read-only: the domains of the endpoints in the business files that are served, in order. */
  "domains.read"(command: object): { readonly domains: readonly WatchedDomain[] };
}

// The brands of a business: what its files declare, and what operators confirm.

/** The brands of a business, each name once. */
export interface BrandFacts {
  /** Those that its served business files name in `brands_owned`. */
  readonly owned: readonly string[];
  /** Those that its served business files name in `brands_sold`. */
  readonly sold: readonly string[];
  /** Those that an operator confirmed as its own, whether a file names them or not. */
  readonly confirmed: readonly string[];
}

export interface BrandsProtocol {
  /** Confirms a brand as this business's own, or takes the confirmation back. */
  "brand.confirm"(
    command: { readonly name: string; readonly confirmed: boolean; readonly act?: RegisterAct } & Seen,
  ): RegisterReply;
}
