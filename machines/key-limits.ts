// Key limits: what has been leased of each limit of a key in one region. It has no journal: what it forgets, it leases again.
// It is a reducer: it has one state, and takes what the actor decides.

import { assign, setup } from "xstate";

/**
 * What is spent of a limit, in thousandths of a unit: in the window that began at `at_ms`, or in the bucket as it was
 * then.
 */
export interface LimitAccount {
  readonly at_ms: number;
  readonly parts: number;
}

export interface KeyLimitsContext {
  /** By the names of the limits. */
  readonly accounts: Readonly<Record<string, LimitAccount>>;
}

export interface KeyLimitsEvent {
  readonly type: "limit.leased";
  readonly limit: string;
  readonly account: LimitAccount;
}

export const keyLimitsMachine = setup({
  types: { context: {} as KeyLimitsContext, events: {} as KeyLimitsEvent },
}).createMachine({
  id: "key-limits",
  context: { accounts: {} },
  initial: "leasing",
  states: {
    leasing: {
      on: {
        "limit.leased": {
          actions: assign({
            accounts: ({ context, event }) => ({ ...context.accounts, [event.limit]: event.account }),
          }),
        },
      },
    },
  },
});
