// The command of a key-limits actor. There is one for each key in each region, with the id `<keyid>@<region>`. It has no
// journal.

/** The limits that are leased, by the names of their policies. */
export type LeasedLimitName = "request_rate" | "query_cost";

export type LimitRule =
  /** At most `units` in a window, which begins with the first that are spent after the last window has ended. */
  | { readonly kind: "window"; readonly units: number; readonly window_ms: number }
  /** At most `units` at once; `per_second` of them drain in each second, steadily. */
  | { readonly kind: "bucket"; readonly units: number; readonly per_second: number };

export interface LimitLease {
  readonly limit: LeasedLimitName;
  /** As the node that asks is configured; all nodes of a region should be configured alike. */
  readonly rule: LimitRule;
  /** Units that the node has spent without a lease. They are charged even if they are more than was left. */
  readonly spent: number;
  /** Units that requests wait for at the node: as many of them are leased as are left. */
  readonly need: number;
  /** Units to have in advance: at most half of what is then left is leased for that. */
  readonly want: number;
}

export interface KeyLimitsProtocol {
  /** Leases a slice of one of the key's limits to a node. */
  "limit.lease"(command: LimitLease): LeaseReply;
}

export interface LeaseReply {
  /** The units of the lease; fewer than `need` if no more are left. */
  readonly granted: number;
  /** How long the units may be spent, from when the node asked. */
  readonly for_ms: number;
  /** The units that are left after the lease. */
  readonly free: number;
  /** When at least one unit is free again if nobody takes any, from when the node has the reply; 0 if one is free now. */
  readonly retry_ms: number;
}
