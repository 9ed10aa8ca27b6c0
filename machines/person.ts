// Person: somebody who works at the portal.
//   PE1. A person joins once, with a passkey; the last passkey is never removed.
//   PE2. Who left is forgotten: the machine ends.
//   PE3. So is somebody who works for no business, has no application, and did not sign in for ninety days.
// Passkeys, sessions, used challenges and acts are keyed rows of the actor, and what a person is called is in none of the events.

import { assign, setup } from "xstate";

export interface PersonContext {
  readonly joinedAtMs: number | null;
  readonly passkeys: number;
}

export type PersonEvent =
  | { readonly type: "person.joined"; readonly at_ms: number }
  | { readonly type: "passkey.added" }
  | { readonly type: "passkey.removed" }
  /** They signed in. */
  | { readonly type: "person.seen" }
  /** They have a business or an application, or none any more. */
  | { readonly type: "business.noted" | "businesses.left" }
  | { readonly type: "person.left" };

const unseenMs = 90 * 86_400_000;

export const personMachine = setup({
  types: { context: {} as PersonContext, events: {} as PersonEvent, input: {} as object },
  delays: { unseen: unseenMs },
  guards: { hasMore: ({ context }) => context.passkeys > 1 },
  actions: {
    noteJoined: assign(({ event }) =>
      event.type === "person.joined" ? { joinedAtMs: event.at_ms, passkeys: 1 } : {},
    ),
    addPasskey: assign(({ context }) => ({ passkeys: context.passkeys + 1 })),
    removePasskey: assign(({ context }) => ({ passkeys: context.passkeys - 1 })),
  },
}).createMachine({
  id: "person",
  context: { joinedAtMs: null, passkeys: 0 },
  initial: "unknown",
  states: {
    unknown: { on: { "person.joined": { target: "active", actions: "noteJoined" } } },
    active: {
      initial: "idle",
      states: {
        idle: {
          after: { unseen: "#person.removed" },
          on: { "person.seen": { target: "idle", reenter: true }, "business.noted": "working" },
        },
        working: { on: { "businesses.left": "idle" } },
      },
      on: {
        "passkey.added": { actions: "addPasskey" },
        "passkey.removed": { guard: "hasMore", actions: "removePasskey" },
        "person.left": "removed",
      },
    },
    removed: { type: "final" },
  },
});
