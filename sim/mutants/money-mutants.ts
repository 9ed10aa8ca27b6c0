// Mutants of what ledgers lend and charge, and of how nodes spend it, each with one guard removed. Only worlds in which answers
// cost money can show them.

import type { LedgerProtocol } from "../../actors/messages/ledger.ts";
import type { CommandOf } from "../../actors/messages/protocol.ts";
import type { ActorView, Message } from "../../actors/system/definition.ts";
import type { LedgerContext, LedgerHolder } from "../../machines/ledger.ts";
import type { AllowanceDeps } from "../../service/allowance.ts";
import { mayHaveNight } from "../world/long-pause.ts";
import { mayCostMoney } from "../world/money.ts";
import { deciding, type Mutant, mutant, type Search, viewing, withMembers } from "./mutant.ts";

const search: Search = {
  seedsMax: 150,
  canShow: (seed) => mayCostMoney(seed) && !mayHaveNight(seed),
};

/** Far longer than a world lasts. */
const everMs = 86_400_000;

export const moneyMutants: readonly Mutant[] = [
  mutant(
    "chargedInEachRegion",
    "a request that two regions answered is charged in both",
    deciding("ledger", (truly, command, view) =>
      truly(command.type === "charges.collected" ? withMembers(command, { shared: false }) : command, view),
    ),
    search,
  ),
  mutant(
    "pageIsBookedTwice",
    "a page of charges is booked whatever was booked before",
    deciding("ledger", (truly, command, view) => {
      if (command.type !== "charges.collected") return truly(command, view);
      const { region } = command as CommandOf<LedgerProtocol, "charges.collected">;
      return truly(withMembers(command, { after: contextOf(view).regions[region]?.up_to ?? "" }), view);
    }),
    search,
  ),
  mutant(
    "holderIsForgottenEarly",
    "a holder is forgotten before what it serves is booked",
    deciding("ledger", (truly, command, view) => {
      const decision = truly(command, view);
      if (command.type !== "charges.collected") return decision;
      const events = decision.events?.map((event) =>
        "more" in event && event.more === false ? { ...event, settled_ms: view.nowMs + everMs } : event,
      );
      return events === undefined ? decision : { ...decision, events };
    }),
    search,
  ),
  mutant(
    "repeatedLeaseLendsAgain",
    "the repetition of a request for a slice is a request of its own",
    deciding("ledger", (truly, command, view) =>
      truly(command, command.type === "slice.lease" ? withoutNumber(command, view) : view),
    ),
    search,
  ),
  mutant(
    "exhaustedTooEarly",
    "a ledger lends nothing while it has less than several answers cost",
    deciding("ledger", (truly, command, view) => {
      if (command.type !== "slice.lease") return truly(command, view);
      const { price } = command as CommandOf<LedgerProtocol, "slice.lease">;
      return truly(withMembers(command, { price: 4 * price }), view);
    }),
    search,
  ),
  mutant(
    "moreThanWasLent",
    "a node spends more than its ledger lent",
    (changed) => ({ allowance: (deps) => replying(deps, changed, (amount) => ({ amount: 3 * amount })) }),
    search,
  ),
  mutant(
    "spentAfterItsLease",
    "a slice is spent after its lease",
    (changed) => ({ allowance: (deps) => replying(deps, changed, () => ({ lease_ms: everMs })) }),
    search,
  ),
];

function contextOf(view: ActorView): LedgerContext {
  return view.snapshot.context as LedgerContext;
}

/** The view of a ledger that does not know that it answered this request of the holder. */
function withoutNumber(command: Message, view: ActorView): ActorView {
  const { holder, n } = command as CommandOf<LedgerProtocol, "slice.lease">;
  const context = contextOf(view);
  const known: LedgerHolder | undefined = context.holders[holder];
  if (known?.n !== n) return view;
  const holders = { ...context.holders, [holder]: { ...known, n: n - 1 } };
  const snapshot = { ...view.snapshot, context: { ...context, holders } };
  return { ...viewing(view, (row) => row), snapshot };
}

/** A node that hears something else of each slice. */
function replying(
  deps: AllowanceDeps,
  changed: () => void,
  heard: (amount: number) => object,
): AllowanceDeps {
  return {
    ...deps,
    actors: {
      ask: async (to, command, options) => {
        const reply = await deps.actors.ask(to, command, options);
        if (typeof reply !== "object" || reply === null || !("amount" in reply)) return reply;
        changed();
        return { ...reply, ...heard(Number(reply.amount)) };
      },
    },
  };
}
