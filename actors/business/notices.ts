// The notices of a party to the people who bind it.
//   NB1. A notice is kept, and sent to each who wants its kind, in the commit that made it true. Given again, it changes nothing.
//   NB2. Of each kind the newest are kept, for ninety days: many of one kind push out no other. A party that nobody binds keeps none.
//   NB3. Of a changed role those are told who bound the party before, so also the person who loses one.
//   NB4. The first network of a key is no news, and that it signed is not forgotten: after a long silence any network is news. Of each key
//        so many are known, and then no further one is.
//   NB5. A mandate is spoken of once, a while before it ends: one durable timer of the party ends when the first one is due.
//   NB6. Of what nobody may miss all of them are told, whatever they chose: that an owner is to be replaced.

import type { BusinessEvent } from "../../machines/business.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type { MandateFacts } from "../messages/business.ts";
import { bindingRoles } from "../messages/members.ts";
import type { NoticeFacts, NoticeKind, NoticesProtocol, PersonNotice } from "../messages/notices.ts";
import { chosenKinds, noticeKinds } from "../messages/notices.ts";
import type { CommandOf, DoneReply, RegisterReply, ReplyOf } from "../messages/protocol.ts";
import { personRef } from "../messages/refs.ts";
import type { WebhooksProtocol } from "../messages/webhooks.ts";
import { type Decision, type Effect, takenOf, tell, workAt } from "../system/definition.ts";
import { defineJsonTable, defineTable, newestFirst } from "../system/row-table.ts";
import {
  type BusinessView,
  done,
  factsIn,
  isBinding,
  mandatePrefix,
  members,
  membersMax,
  refusal,
  registerOf,
  selectPeople,
  selectRegister,
} from "./rows.ts";
import { selectEndpoints, switchOff, toEndpoints } from "./webhooks.ts";

type Asked<T extends keyof NoticesProtocol> = CommandOf<NoticesProtocol, T>;
type Told = Decision<DoneReply, BusinessEvent>;

/** By the time that is left until the last instant (`k`), so that the newest come first. */
const notices = defineJsonTable<PersonNotice>("notices", 97);
/** By the person. */
const unwantedKinds = defineJsonTable<readonly NoticeKind[]>("unwanted notices", 98);
/**
 * By the key: the networks with when each was seen last, in Unix milliseconds; and under the number `hasSigned` nothing but that
 * there was one.
 */
const networks = defineJsonTable<Readonly<Record<string, number>>>("networks of keys", 99);
const hasSigned = 1;
/** By when they are due (`k`) and the mandate. */
const reminders = defineTable<string>({ name: "ends of mandates", rt: 100, encode: String, decode: String });

const dayMs = 86_400_000;
const keptMs = 90 * dayMs;
const keptOfKind = 25;
const noticesMax = keptOfKind * noticeKinds.length;

/** Selects what {@link noticesOf} reads. */
export function selectForNotices(): readonly RowSelection[] {
  return [
    selectPeople(),
    notices.selectPage(noticesMax),
    unwantedKinds.selectPage(membersMax),
    selectEndpoints(),
  ];
}

export interface GivenNotice {
  readonly notice_id: string;
  readonly facts: NoticeFacts;
}

/** What notices add to a decision (NB1, NB2). */
export function noticesOf(given: readonly GivenNotice[], view: BusinessView) {
  const people = members.readAll(view).filter(({ value: { role } }) => bindingRoles.includes(role));
  const known = notices.readAll(view);
  const fresh = given
    .filter(({ notice_id }) => !known.some(({ k2 }) => k2 === notice_id))
    .map(({ notice_id, facts }): PersonNotice => ({ ...facts, notice_id, at_ms: view.nowMs }));
  if (people.length === 0 || fresh.length === 0) return { puts: [], deletes: [], effects: [] };
  const deletes = noticeKinds.flatMap((kind): readonly RowKey[] => {
    const more = fresh.filter((each) => each.kind === kind).length;
    const older = more === 0 ? [] : known.filter(({ value }) => value.kind === kind);
    return older.slice(Math.max(0, keptOfKind - more)).map(({ k, k2 }) => notices.key(k2, k));
  });
  const { uuid, party } = view.snapshot.context;
  const legal_name = party?.legal_name ?? uuid;
  return {
    puts: fresh.map(
      (each): PartitionRow =>
        notices.write(each.notice_id, each, {
          k: newestFirst(each.at_ms),
          expiresAtMs: each.at_ms + keptMs,
        }),
    ),
    deletes,
    effects: [
      ...people.flatMap(({ k2: person_id }): readonly Effect[] => {
        const unwanted = unwantedBy(person_id, view);
        return fresh
          .filter(({ kind }) => !unwanted.includes(kind))
          .map((notice) => tell(personRef(person_id), { type: "notice.send", uuid, legal_name, notice }));
      }),
      ...toEndpoints(fresh, view),
    ],
  };
}

/** Switches an endpoint off that failed for too long. */
export function failWebhook(command: CommandOf<WebhooksProtocol, "webhook.fail">, view: BusinessView): Told {
  const off = switchOff(command, view);
  if (off === null) return { reply: done };
  const told = noticesOf([off.given], view);
  return { reply: done, ...told, puts: [off.put, ...told.puts] };
}

/** Keeps a notice and sends it (NB1). */
export function giveNotice(given: Asked<"notice.give">, view: BusinessView): Told {
  return { reply: done, ...noticesOf([given], view) };
}

/** Sets the kinds that a person does not want. Refused with `role_too_low` for somebody who does not bind the party. */
export function chooseNotices(
  { person_id, unwanted }: Asked<"notices.choose">,
  view: BusinessView,
): Decision<RegisterReply, BusinessEvent> {
  if (!isBinding(person_id, view))
    return { reply: refusal("role_too_low", "Notices are for owners and admins.") };
  return {
    reply: { status: "done", changed: true },
    ...(unwanted.length === 0
      ? { deletes: [unwantedKinds.key(person_id)] }
      : { puts: [unwantedKinds.write(person_id, unwanted)] }),
  };
}

/** Of somebody who does not bind the party any more. */
export function forgetChoice(personId: string): RowKey {
  return unwantedKinds.key(personId);
}

/** The notices that a person wants, and the kinds that they do not; null for somebody who does not bind the party. */
export function readNotices(
  { person_id }: Asked<"notices.read">,
  view: BusinessView,
): ReplyOf<NoticesProtocol, "notices.read"> {
  if (!isBinding(person_id, view)) return null;
  const unwanted = unwantedBy(person_id, view);
  const all = notices.readAll(view).map(({ value }) => value);
  return { notices: all.filter(({ kind }) => !unwanted.includes(kind)), unwanted };
}

/** See NB6. */
function unwantedBy(personId: string, view: BusinessView): readonly NoticeKind[] {
  return (unwantedKinds.read(view, personId) ?? []).filter((each) =>
    chosenKinds.some((kind) => kind === each),
  );
}

// The networks from which a party's keys sign (NB4).

const networksMax = 64;

/** The rows that {@link seeNetwork} decides by. */
export function selectNetworks({ key_id }: Asked<"network.seen">): readonly RowSelection[] {
  return [...selectForNotices(), networks.select([key_id])];
}

/** Notes that a key signed from a network, at most once a day for each, and gives a notice of a new one (NB4). */
export function seeNetwork({ key_id, network }: Asked<"network.seen">, view: BusinessView): Told {
  if (members.readAll(view).length === 0) return { reply: done };
  const { nowMs } = view;
  const known = new Map(
    Object.entries(networks.read(view, key_id) ?? {}).filter(([, seen]) => nowMs - seen < keptMs),
  );
  const seenMs = known.get(network);
  if (seenMs === undefined ? known.size >= networksMax : nowMs - seenMs < dayMs) return { reply: done };
  const next = Object.fromEntries(known.set(network, nowMs));
  const row = networks.write(key_id, next, { expiresAtMs: nowMs + keptMs });
  if (seenMs !== undefined) return { reply: done, puts: [row] };
  if (networks.read(view, key_id, hasSigned) === undefined)
    return { reply: done, puts: [row, networks.write(key_id, {}, { k: hasSigned })] };
  // Without the network: it would be found from the id of a webhook by trying all that there are (WB3).
  const notice_id = `${key_id}.network.${known.size}.${nowMs}`;
  const told = noticesOf([{ notice_id, facts: { kind: "key.network", key_id, network } }], view);
  return { reply: done, ...told, puts: [row, ...told.puts] };
}

// The ends of mandates (NB5).

const noticeBeforeMs = 14 * dayMs;
/** Maximum number of mandates of one decision, each of which is told to as many people as a party may have. */
const remindersMax = 10;

/** What an accepted mandate adds to its decision. */
export function oweReminder(
  { mandate_id, valid_from, valid_until }: MandateFacts,
  view: BusinessView,
): { readonly puts: readonly PartitionRow[]; readonly events: readonly BusinessEvent[] } {
  if (members.readAll(view).length === 0) return { puts: [], events: [] };
  const untilMs = Date.parse(valid_until);
  const before = Math.min(noticeBeforeMs, (untilMs - Date.parse(valid_from)) / 4);
  const dueMs = Math.max(view.nowMs, Math.floor(untilMs - before));
  const puts = [reminders.write(mandate_id, valid_until, { k: dueMs })];
  const { remindAtMs } = view.snapshot.context;
  const isFirst = remindAtMs === null || dueMs < remindAtMs;
  return {
    puts,
    events: isFirst ? takenOf(view, { type: "reminder.owed", timer: workAt(dueMs, view) }) : [],
  };
}

/** Whether there is somebody to remind. */
export function selectForReminder(): RowSelection {
  return members.selectPage(1);
}

/** The rows that {@link dueReminders} and {@link giveReminders} decide by: one reminder more than are given at once. */
export function selectReminders(
  command: Asked<"reminders.due"> | Asked<"reminders.give">,
): readonly RowSelection[] {
  const page = reminders.selectPage(remindersMax + 1);
  if (command.type === "reminders.due") return [page];
  const entries = command.mandate_ids.map((id) => `${mandatePrefix}${id}`);
  return [page, ...selectRegister(entries), ...selectForNotices()];
}

/** The mandates of which a reminder is due, at most as many as are given at once. */
export function dueReminders(view: BusinessView): ReplyOf<NoticesProtocol, "reminders.due"> {
  const due = reminders.readAll(view).filter(({ k }) => k <= view.nowMs);
  return { mandate_ids: due.slice(0, remindersMax).map(({ k2 }) => k2) };
}

/** Gives these reminders, and sets the timer for the next one (NB5). A mandate that was revoked or is over has none. */
export function giveReminders({ mandate_ids }: Asked<"reminders.give">, view: BusinessView): Told {
  const owed = reminders.readAll(view);
  const given = owed.filter(({ k2 }) => mandate_ids.includes(k2));
  const ending = given.flatMap(({ k2 }): readonly GivenNotice[] => {
    const entry = registerOf(view, `${mandatePrefix}${k2}`);
    const facts = entry === undefined ? null : factsIn("mandate", entry);
    // What was revoked meanwhile, or is over already, is no news.
    if (facts === null || facts.revoked_at !== null || Date.parse(facts.valid_until) <= view.nowMs) return [];
    const { mandate_id, key_id, valid_until: until } = facts;
    const notice_id = `${mandate_id}.ends`;
    return [{ notice_id, facts: { kind: "mandate.ends", mandate_id, key_id, until } }];
  });
  const next = owed.find((each) => !given.includes(each));
  const timer = next === undefined ? null : workAt(next.k, view);
  const events = takenOf(view, { type: "reminders.given", timer });
  if (events.length === 0) return { reply: done };
  const told = noticesOf(ending, view);
  return {
    reply: done,
    events,
    ...told,
    deletes: [...told.deletes, ...given.map(({ k, k2 }) => reminders.key(k2, k))],
  };
}
