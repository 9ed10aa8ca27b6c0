// The list of mutants. Every one must be caught: a survivor is a gap in the checkers or in what the worlds do.

import { answers } from "../../actors/business/rows.ts";
import type { LedgerProtocol } from "../../actors/messages/ledger.ts";
import type { CommandOf } from "../../actors/messages/protocol.ts";
import type { PushProtocol } from "../../actors/messages/push.ts";
import type { ActivityContext, ActorView, Message } from "../../actors/system/definition.ts";
import type { LedgerContext, LedgerHolder } from "../../machines/ledger.ts";
import type { AllowanceDeps } from "../../service/money/allowance.ts";
import { mayCostMoney } from "../world/money.ts";
import { mayHaveNight } from "../world/paces.ts";
import { actorMutants } from "./actor-mutants.ts";
import { keyMutants } from "./key-mutants.ts";
import { logMutants } from "./log-mutants.ts";
import {
  bound,
  commanding,
  deciding,
  forgetting,
  type Mutant,
  mutant,
  omitting,
  redeciding,
  type Search,
  viewing,
  withMembers,
} from "./mutant.ts";
import { portMutants } from "./port-mutants.ts";

// Mutants of uploads and imports, each with one guard removed.

const bulkMutants: readonly Mutant[] = [
  mutant("importedFileStays", "the file of a finished import is not removed", omitting("removeStagedFile")),
  mutant(
    "fileGoesAtItsImport",
    "a file is removed when its import begins",
    redeciding("bulk-upload", "import.begin", (decision) =>
      decision.events?.length === 1
        ? { ...decision, events: [...decision.events, { type: "import.ended" }] }
        : decision,
    ),
  ),
  mutant(
    "twoFilesAreTaken",
    "two senders at once both have their file taken",
    deciding("bulk-upload", (truly, command, view) => {
      const decision = truly(command, view);
      const { upload } = view.snapshot.context;
      const { status } = decision.reply as { readonly status?: string };
      if (status !== "refused" || upload === null) return decision;
      // The sender goes on with these: without them its key is refused, whatever became of the claim.
      const { record_type, key_id } = upload;
      if (command.type === "upload.begin") return { reply: { status: "begun", record_type, key_id } };
      return command.type === "upload.finish" ? { reply: { status: "uploaded" } } : decision;
    }),
  ),
];

// Mutants of what is counted of answers, and of the events that follow from receipts, each with one guard removed.

const insightMutants: readonly Mutant[] = [
  mutant("flushedTwice", "a count that is written again is counted again", (changed) => {
    let writes = 0;
    return {
      insight: (store) => ({
        ...bound(store),
        put: async (kind, counts) => {
          changed();
          writes += 1;
          await store.put(
            kind,
            counts.map((count) => ({ ...count, writer: `${count.writer}.${writes}` })),
          );
        },
      }),
    };
  }),
  mutant("firstCountStands", "a count is not replaced by a higher one", (changed) => ({
    insight: (store) => {
      const first = new Map<string, Parameters<typeof store.put>[1][number]>();
      return {
        ...bound(store),
        put: (kind, counts) =>
          store.put(
            kind,
            counts.map((count) => {
              const name = JSON.stringify([kind, count.writer, count.name, count.country, count.company]);
              const known = first.get(name);
              if (known !== undefined) changed();
              first.set(name, known ?? count);
              return known ?? count;
            }),
          ),
      };
    },
  })),
  mutant("eventIsLeftOut", "the last event of a batch is not stored", (changed) => ({
    events: (store) => ({
      ...bound(store),
      put: (region, events) => {
        if (events.length > 1) changed();
        return store.put(region, events.length > 1 ? events.slice(0, -1) : events);
      },
    }),
  })),
];

// Mutants of holds: what is held is published, what changed meanwhile is not judged, the second decision counts, or nothing
// ever ends.

const holdMutants: readonly Mutant[] = [
  mutant(
    "heldIsPublished",
    "a held push does not wait for its confirmation",
    commanding("push", "push.accept", (command) => withMembers(command, { held_reasons: [] })),
  ),
  mutant(
    "heldIsNotJudged",
    "what is faulty in a push that is held waits for the hold like the rest",
    commanding("push", "chunk.judge", (command) => {
      const { outcomes } = command as CommandOf<PushProtocol, "chunk.judge">;
      const held = outcomes.map((each) => ({ ...each, outcome: "held", errors: [] }));
      return withMembers(command, { outcomes: held });
    }),
    { seedsMax: 1_500 },
  ),
  mutant(
    "confirmationIsNotJudged",
    "a confirmed push is published whatever was revoked meanwhile",
    redeciding("business", "hold.settle", (decision) =>
      decision.events === undefined ? decision : { ...decision, events: decision.events.map(withoutError) },
    ),
    { seedsMax: 1_500 },
  ),
  mutant(
    "otherDecisionIsTaken",
    "a second person who decides the other way is told that it was done",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      const isOther = (decision.reply as { code?: string } | undefined)?.code === "hold_decided";
      return isOther ? { ...decision, reply: { status: "done" } } : decision;
    }),
    { seedsMax: 1_500 },
  ),
  mutant(
    "holdNeverEnds",
    "a hold waits for ever",
    deciding("push", (truly, command, view) =>
      truly("hold_ms" in command ? withMembers(command, { hold_ms: 1e11 }) : command, view),
    ),
    { seedsMax: 1_500 },
  ),
];

/** The event as it would be if nothing had changed while the push was held. */
function withoutError(event: Message): Message {
  if (!("error" in event)) return event;
  const { error: _error, ...settled } = event;
  return withMembers(settled, { confirmed: true });
}

// Mutants of what a business reads of its own data, each with one guard removed.

/** Keyed rows of a business, by its own numbering. */
const business = { heads: 16, pushes: 60, refusals: 61 } as const;

const ownReadsMutants: readonly Mutant[] = [
  mutant(
    "takenDownStaysServed",
    "no region is told of what operators take down",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      if (decision.events === undefined) return decision;
      return { ...decision, events: decision.events.filter(({ type }) => type !== "serving.changed") };
    }),
  ),
  mutant(
    "pushIsNotListed",
    "a push is numbered and not listed",
    redeciding("business", "push.admit", (decision) => ({
      ...decision,
      puts: decision.puts?.filter(({ rt }) => rt !== business.pushes) ?? [],
    })),
  ),
  mutant(
    "refusalIsForgotten",
    "a refused batch is not kept",
    redeciding("business", "refusal.keep", (decision) => ({ ...decision, puts: [] })),
  ),
  mutant(
    "ownIdsAreMixedUp",
    "the own ids of records are answered in another order",
    redeciding("business", "own_ids.read", (decision) => {
      const { own_ids } = decision.reply as { readonly own_ids: readonly (string | null)[] };
      return { ...decision, reply: { own_ids: own_ids.toReversed() } };
    }),
  ),
  mutant(
    "purgedKeepsItsName",
    "the own id of a record stays when the record is purged",
    redeciding("business", "purges.forget", (decision) => ({
      ...decision,
      puts: decision.puts?.filter(({ rt }) => rt !== business.heads) ?? [],
    })),
    { seedsMax: 1_500 },
  ),
  mutant(
    "purgedKeepsItsReasons",
    "a push says the prices of a record that was purged as reasons of its hold",
    deciding("push", (truly, command, view) =>
      command.type === "push.forget" ? { reply: { status: "done" } } : truly(command, view),
    ),
    { seedsMax: 1_500 },
  ),
  mutant("catalogueKeepsRemoved", "a removed record stays in the catalogue", (changed) => ({
    records: (records) => ({
      ...bound(records),
      listCatalogue: async (uuid, cursor, limit, type) => {
        const page = await records.listCatalogue(uuid, cursor, limit, type);
        if (page.heads.some(({ live }) => !live)) changed();
        return { ...page, heads: page.heads.map((head) => ({ ...head, live: true })) };
      },
    }),
  })),
  mutant("cataloguePagesOverlap", "a page of the catalogue ends before its last record", (changed) => ({
    records: (records) => ({
      ...bound(records),
      listCatalogue: async (uuid, cursor, limit, type) => {
        const page = await records.listCatalogue(uuid, cursor, limit, type);
        const before = page.heads.at(-2);
        if (page.cursor === null || before === undefined) return page;
        changed();
        return { ...page, cursor: page.cursor.replace(page.heads.at(-1)?.record_id ?? "", before.record_id) };
      },
    }),
  })),
];

// Mutants of what happens to a push besides its publication: cancellation, validation, giving up, notices.

/** The number of the business actor's table of cancelled pushes. */
const cancelledRows = 40;

const pushLifeMutants: readonly Mutant[] = [
  // It is caught because the system fails a turn that decides such an event (T1 of turn.ts); otherwise it would leave no trace.
  mutant(
    "machineIsNotAsked",
    "a push decides what its machine does not take",
    deciding("push", (truly, command, view) => truly(command, withoutRefusals(view))),
    { seedsMax: 1_500 },
  ),
  mutant(
    "cancelledThoughAssigned",
    "a push is cancelled although its records have their generations",
    forgetting("business", "push.cancel", [answers.rt]),
  ),
  mutant(
    "cancellationIsForgotten",
    "a cancelled push gets generations",
    forgetting("business", "chunk.assign", [cancelledRows]),
    { seedsMax: 1_500 },
  ),
  mutant(
    "validationAdmits",
    "a batch that is only validated is numbered",
    redeciding("business", "push.preview", (decision, command, view) => {
      const { context } = view.snapshot;
      const { push_id } = command as { readonly push_id?: string };
      if (context.pending.includes(push_id)) return decision;
      const number = context.number + 1;
      return { ...decision, events: [{ type: "push.admitted", push_id, number, held: false }] };
    }),
  ),
  mutant(
    "chunkIsNeverGivenUp",
    "a chunk that keeps failing is tried for ever",
    (changed) => ({
      activities: (given) => {
        const insisting = (name: string) => async (params: unknown, context: ActivityContext) => {
          const command = await given[name]?.(params, context);
          if (command === undefined || command === null || !("failed" in command)) return command ?? null;
          changed();
          throw new Error("tried again");
        };
        const names = ["processChunk", "processInlineChunk"];
        return { ...given, ...Object.fromEntries(names.map((name) => [name, insisting(name)])) };
      },
    }),
    { seedsMax: 1_500 },
  ),
  mutant("noticeIsDropped", "a finished push gives no notice", omitting("recordNotice")),
];

/** The view of a machine that would take everything. */
function withoutRefusals(view: ActorView): ActorView {
  return {
    ...viewing(view, (row) => row),
    snapshot: Object.create(view.snapshot, { can: { value: () => true } }),
  };
}

// Mutants of what ledgers lend and charge, and of how nodes spend it, each with one guard removed. Only worlds in which answers
// cost money can show them.

const search: Search = {
  seedsMax: 150,
  canShow: (seed) => mayCostMoney(seed) && !mayHaveNight(seed),
};

/** Far longer than a world lasts. */
const everMs = 86_400_000;

const moneyMutants: readonly Mutant[] = [
  mutant(
    "chargedInEachRegion",
    "a request that two regions answered is charged in both",
    commanding("ledger", "charges.collected", (command) => withMembers(command, { shared: false })),
    search,
  ),
  mutant(
    "pageIsBookedTwice",
    "a page of charges is booked whatever was booked before",
    commanding("ledger", "charges.collected", (command, view) => {
      const { region } = command as CommandOf<LedgerProtocol, "charges.collected">;
      return withMembers(command, { after: contextOf(view).regions[region]?.up_to ?? "" });
    }),
    search,
  ),
  mutant(
    "holderIsForgottenEarly",
    "a holder is forgotten before what it serves is booked",
    redeciding("ledger", "charges.collected", (decision, _command, view) => {
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
    commanding("ledger", "slice.lease", (command) => {
      const { price } = command as CommandOf<LedgerProtocol, "slice.lease">;
      return withMembers(command, { price: 4 * price });
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
      ...deps.actors,
      ask: async (to, command, options) => {
        const reply = await deps.actors.ask(to, command, options);
        if (typeof reply !== "object" || reply === null || !("amount" in reply)) return reply;
        changed();
        return { ...reply, ...heard(Number(reply.amount)) };
      },
    },
  };
}

export const mutants: readonly Mutant[] = [
  ...portMutants,
  ...actorMutants,
  ...holdMutants,
  ...keyMutants,
  ...insightMutants,
  ...bulkMutants,
  ...logMutants,
  ...moneyMutants,
  ...ownReadsMutants,
  ...pushLifeMutants,
];

/** Throws a RangeError for a name that is not in the list. */
export function mutantNamed(name: string): Mutant {
  const found = mutants.find((mutant) => mutant.name === name);
  if (found !== undefined) return found;
  throw new RangeError(
    `There is no mutant ${name}; there are ${mutants.map((each) => each.name).join(", ")}.`,
  );
}

/** The mutants whose name contains one of these parts. Throws a RangeError for a part that no name contains. */
export function mutantsWith(parts: readonly string[]): readonly Mutant[] {
  for (const part of parts) {
    if (!mutants.some(({ name }) => name.includes(part)))
      throw new RangeError(`No mutant's name contains ${JSON.stringify(part)}.`);
  }
  return mutants.filter(({ name }) => parts.some((part) => name.includes(part)));
}
