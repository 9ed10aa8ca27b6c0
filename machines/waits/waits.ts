// Why an actor of any kind waits: its states, then its failing effects. Each state of each machine has an explanation, which a
// test checks against the machines.

import type { ActorProtocols, KindOf } from "../../actors/messages/kinds.ts";
import { counted } from "../../protocol/result.ts";
import type { AdCampaignContext } from "../ad-campaign.ts";
import type { AdPoolContext } from "../ad-pool.ts";
import type { ApplicationContext } from "../application.ts";
import type { BulkUploadContext } from "../bulk-upload.ts";
import type { BusinessContext } from "../business.ts";
import { leavesOf } from "../chart.ts";
import type { IntegrationKeyContext } from "../integration-key.ts";
import type { KeyLimitsContext } from "../key-limits.ts";
import type { LedgerContext } from "../ledger.ts";
import type { LogSequencerContext } from "../log-sequencer.ts";
import type { PersonContext } from "../person.ts";
import { chunkCount, type PushContext } from "../push.ts";
import type { RecoveryContext } from "../recovery.ts";
import type { RegionContext } from "../region.ts";
import type { WebhookContext } from "../webhook.ts";

// Why an actor waits, in words: what the explanations of the kinds are made of. They are pure functions of what operators see.

/** What an explanation looks at. The time is not part of it: an explanation is kept until the actor changes. */
interface WaitView<C = unknown> {
  readonly id: string;
  /** The machine's context. */
  readonly context: C;
  readonly timers: readonly { readonly id: string; readonly dueMs: number; readonly event: string }[];
}

/** What makes an actor worth a look before others. */
export type AttentionReason =
  | "quarantined"
  | "backing_off"
  | "unreadable"
  | "stalled"
  | "held"
  | "outbox_failing"
  | "index_lag"
  | "log_held"
  | "unwitnessed";

/**
 * What happens by itself at a moment: the work goes on, what failed is tried again, it fails, its time is over, or it counts as
 * stalled from then on, which changes nothing but who looks at it.
 */
export type Next = "goes_on" | "tries_again" | "fails" | "ends" | "stalls";

interface Wait {
  /** Stable: what it waits for, as a code. `nothing` where it has come to rest for good, and `calls` where it only answers. */
  readonly code: string;
  /** One or two sentences for a person. */
  readonly words: string;
  /** What happens next by itself, and when in Unix milliseconds; null where nothing does. */
  readonly next: { readonly what: Next; readonly atMs: number } | null;
  readonly attention: { readonly reason: AttentionReason; readonly sinceMs: number | null } | null;
}

/**
 * The explanations of one kind: one for each state in which its machine can rest, by the state's path. Null for a region of the machine
 * that waits for nothing, beside those that do. It is a method's type, so that a kind's explanations take the context that its own
 * machine keeps.
 */
type Waits<C> = Readonly<Record<string, { of(view: WaitView<C>): Wait | null }["of"]>>;

const quiet = (): null => null;

function wait(code: string, words: string, more: Partial<Wait> = {}): Wait {
  return { code, words, next: null, attention: null, ...more };
}

/** Null where the moment is not known. */
function at(what: Next, ms: number | null): Wait["next"] {
  return ms === null ? null : { what, atMs: ms };
}

/** It rests, and only answers what it is asked. */
function calls(words: string): () => Wait {
  return () => wait("calls", words);
}

function over(words: string): () => Wait {
  return () => wait("nothing", words);
}

/** When the first of its timers whose name contains `part` ends; null if there is none. */
function timerEnd({ timers }: Pick<WaitView, "timers">, ...parts: readonly string[]): number | null {
  const ends = timers.filter(({ id }) => parts.some((part) => id.includes(part))).map(({ dueMs }) => dueMs);
  return ends.length === 0 ? null : Math.min(...ends);
}

function atTime(ms: number | null): string {
  return ms === null || !Number.isFinite(ms) ? "an unknown time" : new Date(ms).toISOString();
}

// Why the sequencer of the transparency log waits: one sentence for each of its three parts.

type LogView = WaitView<LogSequencerContext>;

const logWaits: Waits<LogSequencerContext> = {
  "sequencing.idle": () => wait("calls", "No leaf waits to be appended."),
  "sequencing.waiting": (view) =>
    wait("due", `${leaves(view)} until ${atTime(dueOf(view))}, so that they share a tree head.`, {
      next: at("goes_on", dueOf(view)),
    }),
  "sequencing.choosing": (view) => wait("batch", `${leaves(view)} for the choice of the next batch.`),
  "sequencing.writing": ({ context: { batch } }) =>
    wait(
      "tiles",
      `A batch of ${counted(batch?.count ?? 0, "leaf", "leaves")} waits for its tiles to be written.`,
    ),
  "sequencing.stopped": (view) =>
    wait("head", `${leaves(view)} until it is certain which tree head is the newest.`),
  "sequencing.resting": () => wait("calls", "A batch was finished."),
  "publication.current": () => wait("calls", "The newest tree head is published."),
  "publication.publishing": ({ context: { publishing } }) =>
    wait("publication", `The tree head of size ${publishing?.size ?? 0} waits to be cosigned and published.`),
  "publication.unwitnessed": (view) => unwitnessed(view),
  "publication.stopped": () => wait("head", "Nothing is published until the newest tree head is certain."),
  "head.known": () => wait("calls", "Its tree head is the newest."),
  "head.checking": () => wait("check", "It compares its tree head with what was published."),
  "head.held": (view) => held(view),
};

function leaves({ context: { pending, oldestMs } }: LogView): string {
  const since = oldestMs === null ? "" : `, the oldest since ${atTime(oldestMs)},`;
  return `${counted(pending, "leaf", "leaves")}${since} ${pending === 1 ? "waits" : "wait"}`;
}

function dueOf(view: LogView): number | null {
  return timerEnd(view, "after.due.") ?? view.context.dueMs;
}

function unwitnessed(view: LogView) {
  const failed = view.context.unwitnessed;
  const untilMs = timerEnd(view, "after.retry.");
  const words = `Too few witnesses cosigned the newest tree head (${counted(failed?.attempts ?? 0, "attempt")}; ${failed?.detail ?? ""}). It asks them again at ${atTime(untilMs)}; appending goes on.`;
  return wait("witnesses", words, {
    next: at("tries_again", untilMs),
    attention: { reason: "unwitnessed", sinceMs: failed?.sinceMs ?? null },
  });
}

function held(view: LogView) {
  const { held: fault } = view.context;
  const untilMs = timerEnd(view, "retryHead");
  const words = `Nothing is appended: its tree head may not be the newest (${fault?.reason ?? "unknown"}; ${fault?.detail ?? ""}). An operator supplies the newest checkpoint, or it looks again at ${atTime(untilMs)}.`;
  return wait("checkpoint", words, {
    next: at("tries_again", untilMs),
    attention: { reason: "log_held", sinceMs: fault?.sinceMs ?? null },
  });
}

// Why a push waits.

type PushView = WaitView<PushContext>;

const pushWaits: Waits<PushContext> = {
  received: () => wait("acceptance", "It was named but never accepted: nothing is published of it."),
  "working.step.queued": (view) => working(view, "its first chunk to be judged, signed and stored"),
  "working.step.preparing": () =>
    wait("preparation", "It waits until its whole file was read and it is known whether it is held."),
  "working.step.judging": () =>
    wait("judgement", "It is to be held, and waits until all its records are judged."),
  "working.step.processing": (view) => working(view, nextChunk(view)),
  "working.pace.moving": (view) =>
    wait("step", `Its last step was at ${atTime(view.context.updatedAtMs)}.`, { next: stalls(view) }),
  "working.pace.stalled": ({ context: { updatedAtMs: sinceMs } }) =>
    wait("step", `It made no step since ${atTime(sinceMs)}.`, { attention: { reason: "stalled", sinceMs } }),
  "indexing.moving": (view) => indexing(view, "index_lag", stalls(view)),
  "indexing.stalled": (view) => indexing(view, "stalled"),
  held: (view) => heldPush(view),
  complete: over("It is complete: all of it is published and searchable in every region."),
  failed: ({ context: { error } }) =>
    wait("nothing", `It failed: ${error?.code ?? "unknown"}. ${error?.detail ?? ""}`.trim()),
  // It is left as soon as it is entered.
  settled: () => wait("indexes", "All chunks are settled."),
};

function nextChunk({ context: { facts, chunksSettled } }: PushView): string {
  return `chunk ${chunksSettled + 1} of ${chunkCount(facts?.records ?? 0)} to be judged, signed and stored`;
}

function working(view: PushView, what: string): Wait {
  const { chunksSettled, unindexed } = view.context;
  const behind = regionsOf(unindexed);
  const more = behind.length === 0 ? "" : ` The indexes of ${behind.join(", ")} are behind.`;
  return wait("chunk", `It waits for ${what}; ${counted(chunksSettled, "chunk")} settled.${more}`);
}

function indexing({ context }: PushView, reason: "index_lag" | "stalled", next: Wait["next"] = null): Wait {
  const { unindexed, updatedAtMs: sinceMs } = context;
  const regions = regionsOf(unindexed);
  const words = `All of it is stored. It waits until the index of ${regions.join(" and of ")} confirms ${counted(unindexed.length, "chunk")}; it is told again until then. The last step was at ${atTime(sinceMs)}.`;
  return wait("indexes", words, { next, attention: { reason, sinceMs } });
}

function heldPush(view: PushView): Wait {
  const { heldReasons, holdEndsAtMs: endsMs = null, updatedAtMs } = view.context;
  const why = [...new Set(heldReasons.map(({ code }) => code))].join(", ");
  const words = `It is held (${why}) until an owner or admin of the business decides; it fails as expired at ${atTime(endsMs)}.`;
  return wait("decision", words, {
    next: at("fails", endsMs),
    attention: { reason: "held", sinceMs: updatedAtMs },
  });
}

/** When it counts as stalled. */
function stalls(view: PushView): Wait["next"] {
  return at("stalls", timerEnd(view, "stall"));
}

function regionsOf(unindexed: PushContext["unindexed"]): readonly string[] {
  return [...new Set(unindexed.map(([, region]) => region))].sort();
}

// Why the actors of money, of keys, of served ads and of regions wait.

const ledgerWaits: Waits<LedgerContext> = {
  "account.unopened": () => wait("money", "Nothing was paid in yet."),
  "account.funded": calls("The account has money; nodes may borrow of it."),
  "account.exhausted": () =>
    wait("money", "The balance is spent: answers that cost something wait for a payment."),
  "slices.none": calls("No node has borrowed of the account."),
  "slices.lent": (view) => {
    const { holders, collecting } = view.context;
    const untilMs = timerEnd(view, "collect");
    const from = collecting.length === 0 ? "" : ` It waits for the receipts of ${collecting.join(", ")}.`;
    const words = `${counted(Object.keys(holders).length, "node")} borrowed of the account.${from} The next charges are collected at ${atTime(untilMs)}.`;
    return wait("charges", words, { next: at("goes_on", untilMs) });
  },
};

const integrationKeyWaits: Waits<IntegrationKeyContext> = {
  live: calls("It waits for nothing but the next request with the key."),
  retired: over("The key was revoked and is charged no more."),
};

const keyLimitsWaits: Waits<KeyLimitsContext> = {
  leasing: calls("It waits for nothing but the next node that leases a part of the limits."),
};

const regionWaits: Waits<RegionContext> = {
  "index.serving": ({ context }) => {
    const open = openWork(context);
    if (open === 0)
      return wait("calls", "The region's index is up to date with everything that it was told.");
    return wait("index", `The region's index is working on ${counted(open, "piece")} of work.`);
  },
  "index.catching_up": ({ context }) =>
    wait(
      "index",
      `The region's index failed at its last work: ${context.lastFailure ?? "unknown"}. Callers try again.`,
      {
        attention: { reason: "index_lag", sinceMs: null },
      },
    ),
  "receipts.open": (view) => {
    const untilMs = timerEnd(view, "receiptBatch");
    const closed = counted(view.context.batchesClosed, "batch", "batches");
    const words = `It closed ${closed} of receipts since it was started here; what is due is closed next at ${atTime(untilMs)}.`;
    return wait("receipts", words, { next: at("goes_on", untilMs) });
  },
};

function openWork({ work }: RegionContext): number {
  return Object.values(work).filter((result) => result === null).length;
}

const adPoolWaits: Waits<AdPoolContext> = {
  unknown: () => wait("pool", "It was named but never served."),
  served: (view) => pool(view, "renders", "renderable", "rendered"),
  clickable: (view) => pool(view, "clicks", "clickable", "clicked"),
  ended: over("Its ads can be neither rendered nor clicked any more."),
};

function pool(view: WaitView<AdPoolContext>, code: string, timer: string, done: string) {
  const untilMs = timerEnd(view, timer);
  const { items } = view.context;
  const words = `${counted(items.length, "ad")} may be ${done} until ${atTime(untilMs)}.`;
  return wait(code, words, { next: at("ends", untilMs) });
}

const adSessionWaits: Waits<unknown> = {
  empty: calls("Nothing was shown in the conversation."),
  shown: calls("It remembers for an hour what the conversation was shown."),
  over: over("Nothing was shown for an hour: it is forgotten."),
};

// Why a business, and what belongs to one, waits.

const businessWaits: Waits<BusinessContext> = {
  "standing.unverified": () => wait("certificate", "It has no certificate yet, so it publishes nothing."),
  "standing.active": calls("Its certificate is active: it may publish."),
  "standing.revoked": (view) => ended(view, "revoked"),
  "standing.closed": (view) => ended(view, "closed"),
  "standing.withdrawn": (view) => ended(view, "withdrawn"),
  "pushes.none": quiet,
  "pushes.under_way": ({ context: { pending } }) =>
    wait("pushes", `It has ${counted(pending.length, "push", "pushes")} under way.`),
  "holds.none": quiet,
  "holds.waiting": ({ context: { held } }) =>
    wait(
      "decision",
      `Its people have to decide on ${counted(held.length, "held push", "held pushes")}.`,
      isHeld,
    ),
  "deletions.none": quiet,
  "deletions.waiting": ({ context: { heldDeletions } }) =>
    wait("decision", `An operator has to decide on ${counted(heldDeletions, "deletion")}.`, isHeld),
  "serving.served": quiet,
  "serving.taken_down": () =>
    wait("lifting", "Operators took all of it out of serving, until they let it back."),
  "purges.none": quiet,
  "purges.scheduled": (view) => due(view, "purge", "purges", "The next purge is due"),
  "purges.purging": () => wait("purge", "Records are being purged."),
  "reminders.none": quiet,
  "reminders.scheduled": (view) =>
    due(view, "reminder", "reminders", "Its people are told of a mandate that ends"),
  "reminders.giving": () => wait("reminder", "Its people are being told of mandates that end."),
  "domains.none": quiet,
  "domains.scheduled": (view) => due(view, "domains", "domains", "Its domains are looked at again"),
  "domains.probing": () => wait("domains", "Its domains are being looked at."),
};

const isHeld = { attention: { reason: "held", sinceMs: null } } as const;

function ended({ context: { certificate } }: WaitView<BusinessContext>, standing: string): Wait {
  const since = certificate?.status_effective_from ?? "an unknown time";
  const why = certificate?.status_reason ?? null;
  const reason = why === null ? "" : ` (${why})`;
  return wait("certificate", `Its certificate is ${standing} since ${since}${reason}; it publishes nothing.`);
}

/** What its own timer begins. */
function due(view: WaitView, code: string, timer: string, words: string): Wait {
  const ms = timerEnd(view, timer);
  return wait(code, `${words} at ${atTime(ms)}.`, { next: at("goes_on", ms) });
}

const bulkUploadWaits: Waits<BulkUploadContext> = {
  unknown: () => wait("upload", "It was named but never issued."),
  issued: (view) => {
    const endsMs = timerEnd(view, "open") ?? view.context.upload?.expires_at_ms ?? null;
    const what = view.context.attempt === null ? "its file" : "the file that is being sent to arrive";
    return wait("file", `It waits for ${what}; it is forgotten at ${atTime(endsMs)}.`, {
      next: at("ends", endsMs),
    });
  },
  "stored.uploaded": (view) => {
    const endsMs = timerEnd(view, "keep");
    const claim = view.context.claim ?? null;
    const what = claim === null ? "an import" : `push ${claim.push_id} to be accepted`;
    return wait(
      "import",
      `Its file is here. It waits for ${what}; the file is removed at ${atTime(endsMs)}.`,
      {
        next: at("ends", endsMs),
      },
    );
  },
  "stored.importing": (view) =>
    wait(
      "push",
      `Its records are published by push ${view.context.pushId ?? ""}; it waits for the end of it.`,
      {
        next: at("ends", timerEnd(view, "keep")),
      },
    ),
  imported: over("Its file was imported and is removed."),
  deleted: over("Its time is over; nothing of it is kept."),
};

const applicationWaits: Waits<ApplicationContext> = {
  unknown: () => wait("application", "It was named, and nobody applied under it."),
  waiting: (view) =>
    wait(
      "decision",
      `An operator has to approve or refuse it; undecided, it ends at ${atTime(timerEnd(view, "undecided"))}.`,
      isHeld,
    ),
  approved: () =>
    wait("opening", "It was approved, and its business is not open yet: approving it again opens it."),
  opened: (view) => decided(view, "Its business is open"),
  refused: (view) => decided(view, "It was refused"),
  over: over("It was decided a month ago, taken back or never decided: it is forgotten."),
};

function decided(view: WaitView, words: string): Wait {
  const ms = timerEnd(view, "keep");
  return wait("kept", `${words}; it is forgotten at ${atTime(ms)}.`, { next: at("ends", ms) });
}

const recoveryWaits: Waits<RecoveryContext> = {
  unknown: () => wait("application", "It was named, and nobody asked under it."),
  "undecided.waiting": (view) =>
    wait(
      "decision",
      `Two operators have to approve it; undecided, it ends at ${atTime(timerEnd(view, "undecided"))}.`,
      isHeld,
    ),
  "undecided.approved": (view) =>
    wait(
      "decision",
      `A second operator has to approve it; otherwise it ends at ${atTime(timerEnd(view, "undecided"))}.`,
      isHeld,
    ),
  announcing: () => wait("business", "The people who bind the business are being told."),
  announced: (view) => {
    const ms = timerEnd(view, "wait");
    const words = `The owner is replaced at ${atTime(ms)}, unless somebody who binds the business stops it.`;
    return wait("stop", words, { next: at("goes_on", ms) });
  },
  replacing: () => wait("business", "The owner is being replaced."),
  done: (view) => decided(view, "The owner was replaced"),
  refused: (view) => decided(view, "It was refused"),
  stopped: (view) => decided(view, "The business stopped it"),
  over: over("It ended a month ago, was taken back or never approved: it is forgotten."),
};

const personWaits: Waits<PersonContext> = {
  unknown: () => wait("person", "It was named, and nobody joined under it."),
  "active.idle": (view) => {
    const ms = timerEnd(view, "unseen");
    const words = `The person may sign in. Without a business, they are forgotten at ${atTime(ms)} unless they do.`;
    return wait("calls", words, { next: at("ends", ms) });
  },
  "active.working": calls("The person may sign in."),
  removed: over("The person left, or never came back: everything of them is forgotten."),
};

const webhookWaits: Waits<WebhookContext> = {
  idle: calls("Nothing waits to be delivered."),
  scheduled: (view) => {
    const { waiting, failingSinceMs } = view.context;
    const failing = failingSinceMs === null ? "" : ` It failed since ${atTime(failingSinceMs)}.`;
    const ms = timerEnd(view, "nextCall");
    return wait("delivery", `${waiting} deliveries wait; the next is tried at ${atTime(ms)}.${failing}`, {
      next: at("goes_on", ms),
    });
  },
  calling: () => wait("answer", "It waits for the answer of its receiver."),
  ended: over("Its business removed it: nothing of it is kept."),
};

const adCampaignWaits: Waits<AdCampaignContext> = {
  unknown: () => wait("terms", "It was named but has no terms."),
  running: calls("It runs: its ads may be served."),
  paused: () => wait("terms", "Its advertiser paused it; new terms let it go on."),
  spent: () => wait("terms", "Its budget does not cover one more render; new terms let it go on."),
  stopped: () =>
    wait("operator", "Operators stopped it, and let it go on themselves; its advertiser was told why."),
};

// Why an actor of any kind waits.

export type { Wait };

// The context of an actor is what its machine keeps: a journal has no more precise type for it.
type AnyWaits = Waits<unknown>;

export const waitsOfKinds: Readonly<Record<KindOf<ActorProtocols>, AnyWaits>> = {
  "ad-campaign": adCampaignWaits,
  "ad-pool": adPoolWaits,
  "ad-session": adSessionWaits,
  application: applicationWaits,
  "bulk-upload": bulkUploadWaits,
  business: businessWaits,
  "integration-key": integrationKeyWaits,
  "key-limits": keyLimitsWaits,
  ledger: ledgerWaits,
  "log-sequencer": logWaits,
  person: personWaits,
  push: pushWaits,
  recovery: recoveryWaits,
  region: regionWaits,
  webhook: webhookWaits,
};

/** An effect that is not settled, as far as an explanation goes. */
export interface WaitingEffect {
  readonly to: string;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly sinceMs: number | null;
}

export interface WaitingActor extends WaitView {
  readonly kind: string;
  /** The machine's state value; null where the state is unknown. */
  readonly state: unknown;
  readonly outbox: readonly WaitingEffect[];
}

/** Failures of an effect from which on it is worth a look. */
const failuresWorthALook = 3;
/** Maximum number of effects that are explained one by one. */
const effectsShown = 5;

export function explainWaits(actor: WaitingActor): readonly Wait[] {
  const known = new Map(Object.entries<AnyWaits>(waitsOfKinds)).get(actor.kind);
  const states = leavesOf(actor.state).flatMap((path): readonly Wait[] => {
    const explain = known?.[path];
    if (explain === undefined) return [wait("unexplained", `This release does not know the state ${path}.`)];
    const found = explain(actor);
    return found === null ? [] : [found];
  });
  return [...states, ...explainEffects(actor.outbox)];
}

function explainEffects(outbox: readonly WaitingEffect[]): readonly Wait[] {
  const failing = outbox.filter(({ attempts }) => attempts > 0).sort((a, b) => b.attempts - a.attempts);
  const waits = failing.slice(0, effectsShown).map(({ to, attempts, lastError, sinceMs }) => {
    const since = sinceMs === null ? "" : ` since ${atTime(sinceMs)}`;
    const words = `Its effect for ${to} failed ${counted(attempts, "time")}${since} (${lastError ?? "unknown"}) and is tried again.`;
    const isLong = attempts >= failuresWorthALook;
    return wait("effect", words, { attention: isLong ? { reason: "outbox_failing", sinceMs } : null });
  });
  const others = outbox.length - waits.length;
  if (others === 0) return waits;
  const more = waits.length === 0 ? "" : " more";
  return [...waits, wait("effects", `${counted(others, "effect")}${more} wait to be done and acknowledged.`)];
}
