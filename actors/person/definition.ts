// The actor of a person. Keyed rows: 16 what the person is called, 17 passkeys, 18 sessions, 19 used challenges, 20 acts by time, 21 the
// networks that they came from, 22 the businesses that the person applied for or works for, 23 where notices are mailed, 24 how many mails
// of a party and a kind there were.
//   PN1. A challenge is used once: what asserts it again is refused, whatever it is for. An act that has a source of its own
//        is kept once, so it may be asked for again by the same.
//   PN2. An act needs a session in force and a passkey that the person has when the act is decided. A removed passkey ends its sessions
//        in the same commit.
//   PN3. Of a session the actor has a hash alone. It ends by itself: twelve hours after it was opened, or two after it was used last.
//   PN4. Acts are added and never changed. Their networks are forgotten after 90 days, and the acts themselves after 400.
//   PN5. A signature counter that does not grow is refused, except where the authenticator has none and always says 0.
//   PN6. Notices are mailed to an address that the person confirmed, one mail for each; of one party and kind so many a day, and no more. The
//        address that was replaced or taken away gets one last mail that says so.

import { type PersonEvent, personMachine } from "../../machines/person.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import { type NoticeKind, noticeKinds, type SentNotice } from "../messages/notices.ts";
import {
  type Assertion,
  businessesMax,
  type Confirmation,
  type FormerAddress,
  type PersonAct,
  type PersonAddress,
  type PersonProtocol,
  type PersonRefusal,
  type PersonReply,
  type PersonReport,
  type PersonSession,
  type SignInPasskey,
  type UsedChallenge,
  type UsedSession,
} from "../messages/person.ts";
import type { CommandOf, Commands } from "../messages/protocol.ts";
import { type Decision, defineActor, type Effect, takenOf, type ViewOf } from "../system/definition.ts";
import { defineJsonTable, defineTable, newestFirst } from "../system/row-table.ts";

type View = ViewOf<typeof personMachine>;
type Asked<T extends keyof PersonProtocol> = CommandOf<PersonProtocol, T>;
type Decided = Decision<PersonReply, PersonEvent>;

const names = defineTable<string>({ name: "name", rt: 16, encode: String, decode: String });
const passkeys = defineJsonTable<SignInPasskey>("passkeys", 17);
const sessions = defineJsonTable<PersonSession>("sessions", 18);
const challenges = defineTable<string>({ name: "used challenges", rt: 19, encode: String, decode: String });
/** By the time that is left until the last instant (`k`), so that the newest come first, and the challenge or session that they came with. */
const acts = defineJsonTable<Omit<PersonAct, "network">>("acts", 20);
const networks = defineTable<string>({ name: "networks of acts", rt: 21, encode: String, decode: String });

/** With when each was noted, in Unix milliseconds. */
const businesses = defineTable<string>({ name: "businesses", rt: 22, encode: String, decode: String });

/** Absent where the person never gave an address. */
const mail = defineJsonTable<PersonAddress & { readonly asked: readonly number[] }>("mail", 23);
/** How many mails there were on the last day that had any, by the party and the kind. Those of a party go with it. */
const mails = defineJsonTable<{ readonly day: number; readonly count: number }>("mails of a day", 24);

export const passkeysMax = 20;
/** Maximum number of sessions of one person; one more ends the one that was used longest ago. */
const sessionsMax = 20;
const idleMs = 2 * 3_600_000;
/** How long a use of a session need not be noted. */
const noteEveryMs = 5 * 60_000;
/** Clocks of nodes differ; a challenge is remembered for longer than any of them takes it. */
const clockSpareMs = 60_000;
const dayMs = 86_400_000;
const actsKeptMs = 400 * dayMs;
const networksKeptMs = 90 * dayMs;
const actsShown = 100;
const linksPerDay = 5;
/** Of one party and kind: many of one leave every other its own. */
const mailsPerDay = 100;

const nobody = { reply: { status: "refused", code: "person_unknown" } } as const;

export const personActor = defineActor<"person", typeof personMachine>({
  kind: "person",
  schemaVersion: 1,
  machine: personMachine,
  durability: "journal",
  repeatable: ["business.add", "business.forget"],
  input: () => ({}),
  rows: rowsFor,
  decide: {
    "person.join": join,
    "passkey.read": ({ credential_id }, view) => ({ reply: passkeys.read(view, credential_id) ?? null }),
    "session.open": openSession,
    "session.use": useSession,
    "session.end": endSession,
    "act.confirm": confirmAct,
    "act.note": noteAct,
    "passkey.add": addPasskey,
    "passkey.remove": removePasskey,
    "business.note": noteBusiness,
    "business.add": ({ uuid }, view) =>
      view.snapshot.matches("active") && businesses.read(view, uuid) === undefined
        ? {
            reply: done,
            events: takenOf(view, { type: "business.noted" }),
            puts: [businesses.write(uuid, String(view.nowMs))],
          }
        : { reply: done },
    "business.forget": forgetBusiness,
    "person.leave": ({ by }, view) =>
      businesses.readAll(view).length > 0
        ? refused("has_business")
        : confirmed(by, view, { act: "person.leave", subject: "" }, { events: [{ type: "person.left" }] }),
    "person.read": (_command, view) => ({ reply: reportOf(view) }),
    "name.read": (_command, view) => ({ reply: names.read(view, "") ?? null }),
    "notice.send": sendNotice,
    "mail.give": giveMail,
    "mail.confirm": confirmMail,
    "mail.read": (_command, view) => ({ reply: addressOf(view) }),
  },
  absent: {
    "passkey.read": { reply: null },
    "session.open": nobody,
    "session.use": { reply: null },
    "session.end": nobody,
    "act.confirm": nobody,
    "act.note": nobody,
    "passkey.add": nobody,
    "passkey.remove": nobody,
    "business.note": nobody,
    "business.forget": nobody,
    "person.leave": nobody,
    "person.read": { reply: null },
    "name.read": { reply: null },
    "mail.give": nobody,
    "mail.confirm": nobody,
    "mail.read": { reply: { address: null, waiting: null } },
  },
  effects: {},
});

function rowsFor(command: Commands<PersonProtocol>): readonly RowSelection[] {
  // Sessions that are over stay on the page until the store forgets them, so those that a decision asks for are selected by their keys.
  const asked = [
    "by" in command && "session" in command.by ? command.by.session : null,
    "session" in command && typeof command.session === "string" ? command.session : null,
    "ended" in command ? command.ended : null,
  ].filter((each) => each !== null);
  const all = [
    passkeys.selectPage(passkeysMax + 1),
    sessions.selectPage(sessionsMax + 1),
    sessions.select(asked),
  ];
  const known = businesses.selectPage(businessesMax + 1);
  switch (command.type) {
    case "person.join":
      return [];
    case "passkey.read":
      return [passkeys.select([command.credential_id])];
    case "session.use":
      return [names.select([""]), ...all];
    case "session.end":
      return all;
    case "act.note":
      return [...all, acts.selectPage(actsShown), ...selectUsed(command.challenge)];
    case "passkey.add":
      return [...all, challenges.select([command.challenge.nonce])];
    case "person.read":
      return [
        names.select([""]),
        ...all,
        ...[acts, networks].map((table) => table.selectPage(actsShown)),
        known,
      ];
    case "business.add":
    case "business.forget":
      return [known];
    case "business.note":
      return [...all, known, ...selectUsed(command.challenge)];
    case "person.leave":
      return [...all, known, ...selectUsed(command.by.challenge)];
    case "name.read":
      return [names.select([""])];
    case "notice.send":
      return [mail.select([""]), mails.select([mailsKey(command.uuid, command.notice.kind)])];
    case "mail.read":
      return [mail.select([""])];
    case "mail.confirm":
      return [mail.select([""]), ...all];
    case "mail.give":
      return [mail.select([""]), challenges.select([command.by.challenge.nonce]), ...all];
    case "act.confirm":
    case "session.open":
    case "passkey.remove":
      return [
        ...all,
        challenges.select([command.by.challenge.nonce]),
        ...("business" in command ? [known] : []),
        ...("source" in command ? [acts.selectPage(actsShown)] : []),
      ];
  }
}

function selectUsed(challenge: UsedChallenge | undefined): readonly RowSelection[] {
  return challenge === undefined ? [] : [challenges.select([challenge.nonce])];
}

function join({ name, passkey, session, network }: Asked<"person.join">, view: View): Decided {
  if (view.snapshot.value !== "unknown") return refused("challenge_used");
  const added = { ...passkey, added_at_ms: view.nowMs, used_at_ms: view.nowMs };
  const opened = newSession({ ...session, network, credential_id: passkey.credential_id }, view);
  return {
    reply: done,
    events: [{ type: "person.joined", at_ms: view.nowMs }],
    puts: [
      names.write("", name),
      passkeys.write(passkey.credential_id, added),
      sessionRow(opened),
      ...actRows({ act: "person.join", subject: "", ...opened }, session.session, view),
    ],
  };
}

function openSession({ by, session }: Asked<"session.open">, view: View): Decided {
  const fault = assertionFault(by, view);
  if (fault !== null) return refused(fault);
  const { credential_id, network } = by;
  const opened = newSession({ ...session, credential_id, network }, view);
  // Those that were idle for too long go as well: what ends sessions looks at one page of them (PN2).
  const kept = liveSessions(view).sort((a, b) => b.used_at_ms - a.used_at_ms);
  const stay = new Set(kept.slice(0, sessionsMax - 1).map((each) => each.session));
  const ended = sessions.readAll(view).filter(({ k2 }) => !stay.has(k2));
  return {
    reply: done,
    events: takenOf(view, { type: "person.seen" }),
    puts: [
      ...assertedRows(by, view),
      sessionRow(opened),
      ...actRows({ act: "session.open", subject: "", ...opened }, by.challenge.nonce, view),
    ],
    deletes: ended.map(({ k2 }) => sessions.key(k2)),
  };
}

function newSession(
  { session, ends_at_ms, credential_id, network }: Omit<PersonSession, "opened_at_ms" | "used_at_ms">,
  { nowMs }: View,
): PersonSession {
  return { session, ends_at_ms, credential_id, network, opened_at_ms: nowMs, used_at_ms: nowMs };
}

function useSession({ session }: Asked<"session.use">, view: View): Decision<UsedSession | null, never> {
  const known = liveSession(session, view);
  if (known === null) return { reply: null };
  const reply = { name: names.read(view, "") ?? "", session: known };
  if (view.nowMs - known.used_at_ms < noteEveryMs) return { reply };
  return { reply, puts: [sessionRow({ ...known, used_at_ms: view.nowMs })] };
}

function endSession({ session, ended }: Asked<"session.end">, view: View): Decided {
  const own = liveSession(session, view);
  if (own === null) return refused("session_ended");
  if (sessions.read(view, ended) === undefined) return { reply: done };
  return {
    reply: done,
    puts: actRows({ act: "session.end", subject: "", ...own }, ended, view),
    deletes: [sessions.key(ended)],
  };
}

function addPasskey(command: Asked<"passkey.add">, view: View): Decided {
  const { session, passkey, challenge, network } = command;
  const own = liveSession(session, view);
  if (own === null) return refused("session_ended");
  if (isUsed(challenge, view)) return refused("challenge_used");
  if (passkeys.readAll(view).length >= passkeysMax) return refused("too_many_passkeys");
  if (passkeys.read(view, passkey.credential_id) !== undefined) return refused("challenge_used");
  const added = { ...passkey, added_at_ms: view.nowMs, used_at_ms: null };
  const act = { act: "passkey.add", subject: passkey.name, credential_id: own.credential_id, network };
  return {
    reply: done,
    events: [{ type: "passkey.added" }],
    puts: [
      passkeys.write(passkey.credential_id, added),
      usedRow(challenge),
      ...actRows(act, challenge.nonce, view),
    ],
  };
}

function removePasskey({ by, credential_id }: Asked<"passkey.remove">, view: View): Decided {
  const known = passkeys.read(view, credential_id);
  if (known === undefined) return refused("passkey_unknown");
  if (view.snapshot.context.passkeys < 2) return refused("passkey_last");
  const its = sessions.readAll(view).filter(({ value }) => value.credential_id === credential_id);
  const rest = {
    events: [{ type: "passkey.removed" } as const],
    deletes: [passkeys.key(credential_id), ...its.map(({ k2 }) => sessions.key(k2))],
  };
  return confirmed(by, view, { act: "passkey.remove", subject: known.name }, rest);
}

function noteAct(
  { session, act, subject, source, network, challenge }: Asked<"act.note">,
  view: View,
): Decided {
  const own = liveSession(session, view);
  if (own === null) return refused("session_ended");
  if (isKept(source, view)) return { reply: done };
  if (challenge !== undefined && isUsed(challenge, view)) return refused("challenge_used");
  const { credential_id } = own;
  return {
    reply: done,
    puts: [...usedRows(challenge), ...actRows({ act, subject, credential_id, network }, source, view)],
  };
}

function isKept(source: string, view: View): boolean {
  return acts.readAll(view).some(({ k2 }) => k2 === source);
}

function noteBusiness(
  { session, uuid, name, network, challenge, act: kept = "business.apply" }: Asked<"business.note">,
  view: View,
): Decided {
  const own = liveSession(session, view);
  if (own === null) return refused("session_ended");
  if (businesses.read(view, uuid) !== undefined) return { reply: done };
  if (challenge !== undefined && isUsed(challenge, view)) return refused("challenge_used");
  if (businesses.readAll(view).length >= businessesMax) return refused("too_many_businesses");
  const { credential_id } = own;
  const act = { act: kept, subject: name, credential_id, network };
  return {
    reply: done,
    events: takenOf(view, { type: "business.noted" }),
    puts: [businesses.write(uuid, String(view.nowMs)), ...usedRows(challenge), ...actRows(act, uuid, view)],
  };
}

function confirmAct({ by, act, subject, business, source }: Asked<"act.confirm">, view: View): Decided {
  if (source !== undefined && liveSession(by.session, view) !== null && isKept(source, view))
    return { reply: done };
  if (business === undefined || businesses.read(view, business) !== undefined)
    return confirmed(by, view, { act, subject, ...(source === undefined ? {} : { source }) });
  if (businesses.readAll(view).length >= businessesMax) return refused("too_many_businesses");
  const rest = {
    events: takenOf(view, { type: "business.noted" }),
    puts: [businesses.write(business, String(view.nowMs))],
  };
  return confirmed(by, view, { act, subject }, rest);
}

function forgetBusiness({ uuid, noted_before_ms }: Asked<"business.forget">, view: View): Decided {
  const noted = businesses.read(view, uuid);
  const isLate = noted_before_ms !== undefined && Number(noted) >= noted_before_ms;
  if (noted === undefined || isLate) return { reply: done };
  const isLast = businesses.readAll(view).length === 1;
  const events = isLast ? takenOf(view, { type: "businesses.left" }) : [];
  const counted = noticeKinds.map((kind) => mails.key(mailsKey(uuid, kind)));
  return { reply: done, events, deletes: [businesses.key(uuid), ...counted] };
}

/** See PN6. Somebody who left gets nothing. */
function sendNotice({ uuid, legal_name, notice }: Asked<"notice.send">, view: View): Decided {
  if (!view.snapshot.matches("active") || addressOf(view).address === null) return { reply: done };
  const effects = [
    { kind: "activity", name: "mailPerson", params: { uuid, legal_name, notice } satisfies SentNotice },
  ] as const;
  const [key, day] = [mailsKey(uuid, notice.kind), Math.floor(view.nowMs / dayMs)];
  const last = mails.read(view, key);
  const count = last?.day === day ? last.count : 0;
  if (count >= mailsPerDay) return { reply: done };
  return { reply: done, effects, puts: [mails.write(key, { day, count: count + 1 })] };
}

function mailsKey(uuid: string, kind: NoticeKind): string {
  return `${uuid}/${kind}`;
}

function giveMail({ by, address: waiting }: Asked<"mail.give">, view: View): Decided {
  const known = mail.read(view, "");
  const asked = (known?.asked ?? []).filter((at_ms) => view.nowMs - at_ms < dayMs);
  if (waiting === null) {
    const puts = known === undefined ? [] : [mail.write("", { address: null, waiting: null, asked })];
    const effects = toFormer(known?.address ?? null, "removed", view);
    return confirmed(by, view, { act: "mail.remove", subject: "" }, { puts, effects });
  }
  if (asked.length >= linksPerDay) return refused("too_many_mails");
  const next = { address: known?.address ?? null, waiting, asked: [...asked, view.nowMs] };
  return confirmed(by, view, { act: "mail.set", subject: "" }, { puts: [mail.write("", next)] });
}

function confirmMail({ session, address, network }: Asked<"mail.confirm">, view: View): Decided {
  const own = liveSession(session, view);
  if (own === null) return refused("session_ended");
  const known = mail.read(view, "");
  if (known?.address === address) return { reply: done };
  if (known?.waiting !== address) return refused("address_changed");
  const act = { act: "mail.confirm", subject: "", credential_id: own.credential_id, network };
  return {
    reply: done,
    puts: [mail.write("", { ...known, address, waiting: null }), ...actRows(act, `mail ${view.nowMs}`, view)],
    effects: toFormer(known.address, "replaced", view),
  };
}

/** What tells a confirmed address that nothing more is mailed to it (PN6). */
function toFormer(to: string | null, change: FormerAddress["change"], view: View): readonly Effect[] {
  if (to === null) return [];
  const params: FormerAddress = { to, change, at_ms: view.nowMs };
  return [{ kind: "activity", name: "mailFormer", params }];
}

function addressOf(view: View): PersonAddress {
  const { address, waiting } = mail.read(view, "") ?? { address: null, waiting: null };
  return view.snapshot.matches("active") ? { address, waiting } : { address: null, waiting: null };
}

/** The decision on an act: what `rest` has, together with the rows that every confirmed act leaves. */
function confirmed(
  by: Confirmation,
  view: View,
  { source = by.challenge.nonce, ...act }: Pick<PersonAct, "act" | "subject"> & { readonly source?: string },
  { puts: more = [], ...rest }: Pick<Decided, "events" | "puts" | "deletes" | "effects"> = {},
): Decided {
  const own = liveSession(by.session, view);
  const fault = own === null ? "session_ended" : assertionFault(by, view);
  if (fault !== null) return refused(fault);
  const removed = rest.deletes ?? [];
  const asserted = assertedRows(by, view).filter(
    ({ rt, k2 }) => !removed.some((each) => each.rt === rt && each.k2 === k2),
  );
  const puts = [...asserted, ...more, ...actRows({ ...act, ...by }, source, view)];
  return { reply: done, puts, ...rest };
}

/** Why an assertion counts for nothing; null if it counts (PN1, PN2, PN5). */
function assertionFault({ credential_id, counter, challenge }: Assertion, view: View): PersonRefusal | null {
  if (isUsed(challenge, view)) return "challenge_used";
  const known = passkeys.read(view, credential_id);
  if (known === undefined) return "passkey_unknown";
  return (counter > 0 || known.counter > 0) && counter <= known.counter ? "counter_stale" : null;
}

function isUsed({ nonce, until_ms }: UsedChallenge, view: View): boolean {
  return challenges.read(view, nonce) !== undefined || until_ms + clockSpareMs <= view.nowMs;
}

function assertedRows({ credential_id, counter, challenge }: Assertion, view: View): readonly PartitionRow[] {
  const known = passkeys.read(view, credential_id);
  const used = known && { ...known, counter, used_at_ms: view.nowMs };
  return [usedRow(challenge), ...(used === undefined ? [] : [passkeys.write(credential_id, used)])];
}

function usedRow({ nonce, until_ms }: UsedChallenge): PartitionRow {
  return challenges.write(nonce, "", { expiresAtMs: until_ms + 2 * clockSpareMs });
}

function usedRows(challenge: UsedChallenge | undefined): readonly PartitionRow[] {
  return challenge === undefined ? [] : [usedRow(challenge)];
}

/** `source` tells two acts of one millisecond apart. */
function actRows(
  { act, subject, credential_id, network }: Omit<PersonAct, "at_ms">,
  source: string,
  { nowMs }: View,
): readonly PartitionRow[] {
  const [k, k2] = [newestFirst(nowMs), source];
  const row = acts.write(
    k2,
    { at_ms: nowMs, act, subject, credential_id },
    { k, expiresAtMs: nowMs + actsKeptMs },
  );
  return network === null
    ? [row]
    : [row, networks.write(k2, network, { k, expiresAtMs: nowMs + networksKeptMs })];
}

function sessionRow(session: PersonSession): PartitionRow {
  const { ends_at_ms, used_at_ms } = session;
  // The use is noted every few minutes only, and the row must not be gone before.
  const expiresAtMs = Math.min(ends_at_ms, used_at_ms + idleMs + noteEveryMs);
  return sessions.write(session.session, session, { expiresAtMs });
}

function liveSessions(view: View): PersonSession[] {
  return sessions.readAll(view).flatMap(({ value }) => (isLive(value, view) ? [value] : []));
}

function liveSession(session: string, view: View): PersonSession | null {
  const known = sessions.read(view, session);
  return known !== undefined && isLive(known, view) ? known : null;
}

/** One whose passkey was removed is over, also where its row was on no page then (PN2). */
function isLive({ ends_at_ms, used_at_ms, credential_id }: PersonSession, view: View): boolean {
  const hasPasskey = passkeys.read(view, credential_id) !== undefined;
  return hasPasskey && view.nowMs < Math.min(ends_at_ms, used_at_ms + idleMs);
}

function reportOf(view: View): PersonReport | null {
  const { joinedAtMs } = view.snapshot.context;
  if (joinedAtMs === null) return null;
  const from = new Map(networks.readAll(view).map(({ k, k2, value }) => [`${k}/${k2}`, value]));
  return {
    name: names.read(view, "") ?? "",
    joined_at_ms: joinedAtMs,
    passkeys: passkeys.readAll(view).map(({ value }) => value),
    sessions: liveSessions(view),
    businesses: businesses.readAll(view).map(({ k2 }) => k2),
    acts: acts
      .readAll(view)
      .map(({ k, k2, value }) => ({ ...value, network: from.get(`${k}/${k2}`) ?? null })),
  };
}

const done: PersonReply = { status: "done" };

function refused(code: PersonRefusal): Decided {
  return { reply: { status: "refused", code } };
}
