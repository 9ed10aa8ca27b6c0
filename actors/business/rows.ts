// Keyed rows of a business actor: record heads (16), answers to chunks (17), register entries (18), admissions (19),
// mandates by id (20) and by key (21, mandates.ts), acts recorded with a name and a reason (22), the seals of pushes
// (23) and the issuances of the certificate (24; both standing.ts), decisions on holds (30, settle-hold.ts), cancelled
// pushes (40, cancel.ts), accepted withdrawals and deletions by the hash of their document (50) and in their order
// (51), the purges that deletions owe (52) and what is proved of them (53), own ids of rejected records (54) and the
// pushes that were held because of a record (55; both record-texts.ts), deletions that wait for an operator (56),
// ordered purges by record (57) and by their hash (58), pushes (60) and refused batches (61) by time (attempts.ts), the
// counts of fair use (70, admit.ts), the open uploads (80, definition.ts), the domains of endpoints (90), those and the
// brands of each business file (91 and 92; all three domains.ts), what files name that were taken down (93,
// serving.ts), the people who work for the business (95) and their invitations (96, members.ts), notices (97), who wants which (98),
// the networks of keys (99) and the ends of mandates (100; all four notices.ts), the webhooks (101, webhooks.ts), the owner who is to be
// replaced (102) and what became of earlier ones (103; both recoveries.ts).

import type { BusinessEvent, businessMachine } from "../../machines/business.ts";
import { sha256 } from "../../protocol/bytes.ts";
import { type CollectionName, formatTimestamp } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import {
  certificateEntry,
  contentHash,
  custodyEntry,
  keyAddedEntry,
  type LogEntry,
  sealEntry,
} from "../../protocol/log/leaves.ts";
import { eraOf, type PartitionRow, type RowKey, type RowSelection } from "../../storage/actor-store.ts";
import type { RegisterEntry, RegisterTable } from "../../storage/register-store.ts";
import type { KeptDecision } from "../messages/admission.ts";
import type {
  AssignReply,
  BusinessCommand,
  CertificateFacts,
  CustodyFacts,
  HeldReason,
  KeptAct,
  KeyFacts,
  LeafAssignment,
  ListedMandate,
  Listings,
  MandateFacts,
  PartyFacts,
  PolicyFacts,
  RegisterCommand,
} from "../messages/business.ts";
import { bindingRoles, type Member } from "../messages/members.ts";
import type { DoneReply, RegisterAct, RegisterReply } from "../messages/protocol.ts";
import { logRef } from "../messages/refs.ts";
import type {
  Deletion,
  HeldDeletion,
  Purge,
  Purged,
  PurgeOrder,
  RecordHeadFacts,
  Removal,
} from "../messages/removal.ts";
import type { TakedownFacts } from "../messages/serving.ts";
import { type ActorView, type Effect, tell, type ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineTable } from "../system/row-table.ts";

export type HeadRow = RecordHeadFacts;

/** Maximum number of pushes of one business that may wait at once, and so of admissions; any more are asked to retry. */
export const pendingMax = 256;
/**
 * Maximum number of them that may be held when another push is admitted that would be: so many decisions of people that
 * are due leave all other places to pushes that need none.
 */
export const heldMax = 32;

export interface Admission {
  readonly number: number;
  readonly held_reasons: readonly HeldReason[];
  /** Under which time the push is listed; absent if it is not listed. */
  readonly received_at_ms?: number;
}

export interface RegisterRow {
  readonly partition: string;
  readonly change: number;
  readonly body: string;
}

/** The content of a register entry, by the table with which its name begins. */
interface RegisterFacts {
  readonly party: PartyFacts;
  readonly certificate: CertificateFacts;
  readonly key: KeyFacts;
  readonly mandate: MandateFacts;
  readonly policy: PolicyFacts;
  readonly custody: CustodyFacts;
  readonly takedown: TakedownFacts;
}

/** The facts in an entry of that table, as a command of the protocol delivered them. */
export function factsIn<T extends keyof RegisterFacts>(_table: T, { body }: RegisterRow): RegisterFacts[T] {
  return JSON.parse(body) as RegisterFacts[T];
}

type PackedHead = readonly [
  collection: CollectionName,
  generation: number,
  change: number,
  live: 0 | 1,
  number: number,
  hash: string,
  bpid: string | null,
  listings: Listings,
  sealedAtMs: number,
  removedBy?: string | null,
  deletions?: readonly Deletion[] | null,
  former?: Listings | null,
  /** 1 for taken down, 2 for unserved. */
  out?: number | null,
  mandate?: number,
];

/** Encodes a head without member names: one commit carries the heads of a whole chunk, and names would be half their size. */
export function headText(head: HeadRow): string {
  const { collection, generation, change, number, hash, bpid, listings, sealed_at_ms: sealedAtMs } = head;
  const { removed_by: removedBy, deletions, former } = head;
  const live = head.live ? 1 : 0;
  const packed = [collection, generation, change, live, number, hash, bpid, listings, sealedAtMs] as const;
  const out = (head.taken_down ? 1 : 0) + (head.unserved ? 2 : 0);
  const rest = [
    removedBy ?? null,
    deletions ?? null,
    former ?? null,
    out === 0 ? null : out,
    head.mandate ?? null,
  ] as const;
  return JSON.stringify([...packed, ...rest.slice(0, rest.findLastIndex((each) => each !== null) + 1)]);
}

/** A head as it is stored, by position. */
export function parseHead(text: string): HeadRow {
  const stored = JSON.parse(text) as PackedHead;
  const [collection, generation, change, live, number, hash, bpid, listings, sealed_at_ms] = stored;
  const [, , , , , , , , , removedBy = null, deletions = null, former = null, out = null, mandate] = stored;
  return {
    collection,
    generation,
    change,
    live: live === 1,
    number,
    hash,
    bpid,
    listings,
    sealed_at_ms,
    ...(removedBy === null ? {} : { removed_by: removedBy }),
    ...(deletions === null ? {} : { deletions }),
    ...(former === null ? {} : { former }),
    ...(((out ?? 0) & 1) === 0 ? {} : { taken_down: true }),
    ...(((out ?? 0) & 2) === 0 ? {} : { unserved: true }),
    ...(mandate === undefined ? {} : { mandate }),
  };
}

/** The last prices of a record's listings, whether they are there now or not. */
export function lastPrices(head: Pick<HeadRow, "listings" | "former"> | undefined): Listings {
  return head === undefined ? {} : { ...head.former, ...head.listings };
}

/** The number of countries in which a record is listed. */
export function countListings(listings: Readonly<Record<string, unknown>>): number {
  return Object.keys(listings).length;
}

/** Each chunk has a key of its own, so that it never loads another chunk's answer. */
export function answerKey(pushId: string, chunk: number): string {
  return `${pushId}/${chunk}`;
}

const outcomes = ["accepted", "updated", "superseded", "duplicate"] as const;

type PackedAssignment = readonly [
  leafIndex: number,
  recordId: string,
  outcome: number,
  generation: number,
  change: number,
];

/** Without member names, like {@link headText}. */
export function answerText({ assigned_at_ms, assignments }: AssignReply): string {
  const packed = assignments.map(
    (each): PackedAssignment => [
      each.leaf_index,
      each.record_id,
      outcomes.indexOf(each.outcome),
      each.generation,
      each.change,
    ],
  );
  return JSON.stringify({ assigned_at_ms, assignments: packed });
}

/** The answer to a chunk as it is stored, by position. */
export function parseAnswer(text: string): AssignReply {
  const { assigned_at_ms, assignments } = JSON.parse(text) as {
    readonly assigned_at_ms: number;
    readonly assignments: readonly PackedAssignment[];
  };
  return { assigned_at_ms, assignments: assignments.map(unpackAssignment) };
}

function unpackAssignment([
  leaf_index,
  record_id,
  place,
  generation,
  change,
]: PackedAssignment): LeafAssignment {
  const outcome = outcomes[place];
  if (outcome === undefined) throw new Error("An answer to a chunk was not written by this actor.");
  return { leaf_index, record_id, outcome, generation, change };
}

export const heads = defineTable<HeadRow>({
  name: "heads of records",
  rt: 16,
  encode: headText,
  decode: parseHead,
});
export const answers = defineTable<AssignReply>({
  name: "answers to chunks",
  rt: 17,
  encode: answerText,
  decode: parseAnswer,
});
export const registerEntries = defineJsonTable<RegisterRow>("register entries", 18);
export const admissions = defineJsonTable<Admission>("admissions", 19);
/**
 * The numbers of the pushes that wait, of those that {@link selectAdmissions} selected. One that was admitted by an earlier command of the
 * same turn is not among them, and has a number after theirs.
 */
export function admittedNumbers(view: BusinessView): ReadonlyMap<string, number> {
  return new Map(admissions.readAll(view).map(({ k2, value }) => [k2, value.number]));
}

/** The admissions of all pushes that wait, by name: rows of those that ended were deleted, and a page would pass over them. */
export function selectAdmissions({ context }: BusinessView["snapshot"]): RowSelection {
  return admissions.select([...context.pending, ...context.held]);
}

export const mandateEntries = defineJsonTable<RegisterRow>("mandates", 20);
export const mandatesByKey = defineJsonTable<ListedMandate>("mandates by key", 21);
const acts = defineJsonTable<KeptAct>("acts", 22);
export const holdDecisions = defineJsonTable<KeptDecision>("decisions on holds", 30);
export const removals = defineJsonTable<Removal>("withdrawals and deletions", 50);
/** By when they are due (`k`) and the hash of their document. */
export const purges = defineJsonTable<Purge>("purges that are owed", 52);
/** By the hash of their document. */
export const heldDeletions = defineJsonTable<HeldDeletion>("held deletions", 56);
/** By the newest generation that they concern (`k`) and their record. */
export const purgeOrders = defineJsonTable<PurgeOrder>("purges that the law ordered", 57);
/** The same, by the hash of the order. */
export const purgeOrdersByHash = defineJsonTable<PurgeOrder>("purges that the law ordered, by hash", 58);
export const purged = defineJsonTable<Purged>("proofs of purges", 53);
/** The hashes of the documents and of ordered purges, by number (`k`). */
export const removalOrder = defineJsonTable<string>("order of withdrawals and deletions", 51);

/** With who gave the role and why. */
export interface KeptMember extends Member, RegisterAct {
  readonly since_ms: number;
}

export const members = defineJsonTable<KeptMember>("people", 95);
/** Maximum number of people of one business: all of them are looked at for each of them. */
export const membersMax = 200;

/** Whether the person is somebody who binds the business. */
export function isBinding(personId: string, view: BusinessView): boolean {
  const member = members.read(view, personId);
  return member !== undefined && bindingRoles.includes(member.role);
}

/** Selects all people, and that there is nobody else: with one more, a stranger is read as well. */
export function selectPeople(): RowSelection {
  return members.selectPage(membersMax + 1);
}

/** The prefix of mandate names among the names of register entries. */
export const mandatePrefix = "mandate/";

/** Selects register entries by `table/key`, wherever they are stored. */
export function selectRegister(keys: readonly string[]): readonly RowSelection[] {
  const ids = keys.flatMap((key) => mandateIdOf(key) ?? []);
  const others = keys.filter((key) => mandateIdOf(key) === null);
  return [
    ...(others.length === 0 ? [] : [registerEntries.select(others)]),
    ...(ids.length === 0 ? [] : [mandateEntries.select(ids)]),
  ];
}

/** Reads a register entry that {@link selectRegister} selected. */
export function registerOf(view: ActorView, key: string): RegisterRow | undefined {
  const id = mandateIdOf(key);
  return id === null ? registerEntries.read(view, key) : mandateEntries.read(view, id);
}

/** The id of the mandate that an entry of the register is of; null for any other entry. */
export function mandateIdOf(key: string): string | null {
  return key.startsWith(mandatePrefix) ? key.slice(mandatePrefix.length) : null;
}

/** The public register shares its names between all parties, while a mandate_id is unique only within its business. */
export function publicName(key: string, party: string): Pick<RegisterEntry, "table" | "key"> {
  const slash = key.indexOf("/");
  const [table, name] = [key.slice(0, slash) as RegisterTable, key.slice(slash + 1)];
  return { table, key: mandateIdOf(key) === null ? name : `${party}/${name}` };
}

// The view that a decision of the business actor gets.

export type BusinessView = ViewOf<typeof businessMachine>;

// The numbers that a business assigns, kept apart by the era of its actor (storage/actor-store.ts, `eraOf`).
//   H1. Within an era each number is its predecessor plus one. The first of a later era is above every number that may have been
//       assigned in earlier eras, including by commits that were lost and left traces elsewhere: rows, versions, messages.
//   H2. So a generation or a change is never assigned twice to different versions, at the price of a gap after each takeover.

/** Range of changes, pushes and removals in one era: more than there will ever be. */
const numbersPerEra = 2 ** 32;
/** Range of versions of one record in one era. People read generations: the first after a takeover is 10,000,001. */
const generationsPerEra = 10_000_000;

/** The highest change or number that may have been assigned if `known` is the highest known one. */
export function lastNumber(view: Pick<ActorView, "epoch">, known: number): number {
  return Math.max(known, eraOf(view.epoch) * numbersPerEra);
}

/** The highest generation of a record that may have been assigned if `known` is the highest known one. */
export function lastGeneration(view: Pick<ActorView, "epoch">, known: number): number {
  return Math.max(known, eraOf(view.epoch) * generationsPerEra);
}

// What a decision about the register says: a refusal, that nothing changed, or the entry that changes.

export interface Change {
  readonly key: string;
  readonly body: unknown;
  /** Set for a mandate, which has rows of its own. */
  readonly mandate?: MandateFacts;
  readonly events?: readonly BusinessEvent[];
  /** Rows besides that of the entry. */
  readonly puts?: readonly PartitionRow[];
  readonly deletes?: readonly RowKey[];
  readonly effects?: readonly Effect[];
}

export type Answer = Change | RegisterReply;

export const done: DoneReply = { status: "done" };

/** The reply to a change of the register that is not accepted: its stable code, and what is wrong in words. */
export function refusal(code: string, detail: string): RegisterReply {
  return { status: "refused", code, detail };
}

// What a business's changes put into the transparency log: every certificate, every key of its register, every custody statement,
// and the seals of its AI policies and removals. Its pushes append their own.

/** The effect of a change of the register that was just decided. */
export function logChange(command: RegisterCommand, view: BusinessView): readonly Effect[] {
  const entry = entryOf(command, view);
  return entry === null ? [] : [append(entry)];
}

/** The effect of a removal, whose seal is JSON text. */
export function logSeal(seal: string, { id }: BusinessView): Effect {
  return append(sealEntry(id, textHash(seal)));
}

function append(entry: LogEntry): Effect {
  return tell(logRef(), { type: "log.append", entries: [entry] });
}

function entryOf(command: RegisterCommand, view: BusinessView): LogEntry | null {
  const { id } = view;
  switch (command.type) {
    case "certificate.issue":
      return certificateEntry(id, textHash(command.certificate.envelope));
    case "key.register":
      // An AI company's keys sign requests; they are no business's.
      return view.snapshot.context.party?.kind === "business"
        ? keyAddedEntry(id, command.key.key_id, sha256)
        : null;
    case "custody.state":
      return custodyEntry(id, textHash(command.custody.envelope));
    case "policy.accept":
      return sealEntry(id, textHash(command.policy.seal));
    default:
      return null;
  }
}

/** The hash of JSON text that the service wrote itself. */
function textHash(text: string): string {
  return contentHash(JSON.parse(text) as JsonValue, sha256);
}

// Register changes for which somebody is accountable with a name and a reason, usually an operator. An event in the journal
// records this as well, but snapshots prune events; these rows stay.

type ActsCommand = Extract<BusinessCommand, { type: "acts.read" }>;

/** Maximum number of acts read at once. */
const actsMax = 100;

/** What an operator did, as it is kept: who, when and why. */
export function actRow(
  { by, reason }: RegisterAct,
  done: Pick<KeptAct, "act" | "entry" | "change">,
  nowMs: number,
): PartitionRow {
  const kept: KeptAct = { ...done, at: formatTimestamp(nowMs), by, reason };
  return acts.write(done.entry, kept, { k: done.change });
}

/** The rows of what operators did to the party after an act, as many as one page has. */
export function selectActs({ after, limit }: ActsCommand): readonly RowSelection[] {
  return [acts.selectPage(Math.min(limit, actsMax), { k: after, k2: "\uffff" })];
}

/** Returns the oldest first. */
export function actsAfter({ after, limit }: ActsCommand, view: ActorView): readonly KeptAct[] {
  const kept = acts.readAll(view).filter(({ k }) => k > after);
  return kept.slice(0, Math.min(limit, actsMax)).map(({ value }) => value);
}
