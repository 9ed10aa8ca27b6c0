// Changes of the public register: the party, its certificates, keys, mandates, AI policies, custody and blocks.
// Each change writes the whole entry with a higher `change` and requests its projection into every region.

import type { BusinessContext, BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import { transitionFault } from "../../protocol/keys/certificate.ts";
import type { PartitionRow, RowKey, RowSelection } from "../../storage/actor-store.ts";
import type {
  CustodyFacts,
  KeyFacts,
  MandateFacts,
  PartyFacts,
  PolicyFacts,
  RegisterCommand,
} from "../messages/business.ts";
import type { CompanyProtocol } from "../messages/company.ts";
import { personRole } from "../messages/party.ts";
import type { CommandOf, RegisterReply } from "../messages/protocol.ts";
import type { Decision } from "../system/definition.ts";
import { confirmBrand } from "./domains.ts";
import { mandateRows, refusalOf, selectMandatesOf } from "./mandates.ts";
import { type GivenNotice, noticesOf, oweReminder, selectForNotices, selectForReminder } from "./notices.ts";
import {
  type Answer,
  actRow,
  type BusinessView,
  type Change,
  done,
  factsIn,
  lastNumber,
  logChange,
  mandatePrefix,
  type RegisterRow,
  refusal,
  registerEntries,
  registerOf,
  selectRegister,
} from "./rows.ts";
import { inForceFrom, issuanceRows, mayEnd, policyKey } from "./standing.ts";
import { changeTakedown, selectForTakedown, type TakedownCommand, takedownKey } from "./takedowns.ts";

/** Maximum number of groups that one business may block; they are part of its context, which is bounded. */
export const blockedGroupsMax = 1_000;

/** Selects the rows that a command reads or writes. */
export function selectForChange(command: RegisterCommand, uuid: string): readonly RowSelection[] {
  return [
    ...selectRegister(registerKeysOf(command, uuid)),
    ...(command.type === "mandate.accept"
      ? [selectMandatesOf(command.mandate.key_id), selectForReminder()]
      : []),
    ...(isTakedown(command) ? [...selectForTakedown(command, uuid), ...selectForNotices()] : []),
    ...(endsCertificate(command) || hostedNotice(command) !== null ? selectForNotices() : []),
  ];
}

type Issuance = Extract<RegisterCommand, { type: "certificate.issue" }>;
type Registration = Extract<RegisterCommand, { type: "key.register" }>;

function endsCertificate(command: RegisterCommand): command is Issuance {
  return command.type === "certificate.issue" && command.certificate.status !== "active";
}

function isTakedown(command: RegisterCommand): command is TakedownCommand {
  return command.type === "takedown.impose" || command.type === "takedown.lift";
}

/** The register entries that a command reads, as `table/key`; the one that it writes comes first. */
function registerKeysOf(command: RegisterCommand, uuid: string): readonly string[] {
  switch (command.type) {
    case "party.open":
    case "group.block":
    case "group.unblock":
    case "group.join":
    case "brand.confirm":
    case "directory.choose":
    case "terms.agree":
      return [`party/${uuid}`];
    case "certificate.issue":
      return [`certificate/${command.certificate.cert_id}`];
    case "key.register":
      return [`key/${command.key.key_id}`];
    case "key.revoke":
      return [`key/${command.key_id}`];
    case "mandate.accept":
      return [`${mandatePrefix}${command.mandate.mandate_id}`, `key/${command.mandate.key_id}`];
    case "mandate.revoke":
      return [`${mandatePrefix}${command.mandate_id}`];
    case "policy.accept":
      return [policyKey(command.policy.business_uuid, command.policy.version)];
    case "custody.state":
      return [`custody/${command.custody.statement_id}`, `key/${command.custody.key_id}`];
    case "takedown.impose":
    case "takedown.lift":
      return [takedownKey(command.record_id, uuid)];
  }
}

/** Decides a change of the register, and keeps the entry that it leads to with who made it and why. `earlier` precede it in its decision. */
export function changeRegister(
  command: RegisterCommand,
  view: BusinessView,
  earlier = 0,
): Decision<RegisterReply, BusinessEvent> {
  const { context } = view.snapshot;
  const answer = decideChange(command, view, context);
  if ("status" in answer) return { reply: answer };
  const row: RegisterRow = {
    partition: context.uuid,
    change: lastNumber(view, context.change) + earlier + 1,
    body: JSON.stringify(answer.body),
  };
  const known = registerOf(view, answer.key);
  if (known?.body === row.body && (answer.events?.length ?? 0) === 0) return { reply: { status: "done" } };
  const expected = "expected" in command ? command.expected : undefined;
  if (expected !== undefined && expected !== (known?.change ?? 0))
    return { reply: refusal("state_changed", "It was changed meanwhile; look at it again.") };
  const { puts, deletes = answer.deletes } = rowsOf(answer, row, view);
  const act = "act" in command ? command.act : undefined;
  const kept = act && actRow(act, { act: command.type, entry: answer.key, change: row.change }, view.nowMs);
  const changed = { type: "register.changed", keys: [answer.key], change: row.change } as const;
  return {
    reply: { status: "done", changed: true },
    events: [
      ...(answer.events ?? []),
      act === undefined ? changed : { ...changed, act },
      ...(mayEnd(command, view) ? [{ type: "standing.ended" as const }] : []),
    ],
    puts: [
      ...puts,
      ...(answer.puts ?? []),
      ...issuanceRows(command, row.change),
      ...(kept === undefined ? [] : [kept]),
    ],
    effects: [...logChange(command, view), ...(answer.effects ?? [])],
    ...(deletes === undefined ? {} : { deletes }),
  };
}

function rowsOf(
  { key, mandate }: Change,
  row: RegisterRow,
  view: BusinessView,
): { readonly puts: readonly PartitionRow[]; readonly deletes?: readonly RowKey[] } {
  return mandate !== undefined
    ? mandateRows(mandate, row, registerOf(view, key))
    : { puts: [registerEntries.write(key, row)] };
}

/** A closed party opens nothing: no key, no mandate, no AI policy. It may still end what it has. */
function closedFault({ snapshot }: BusinessView): RegisterReply | null {
  return snapshot.matches({ standing: "closed" })
    ? refusal("certificate_not_in_force", "The party has closed, by its certificate; it opens nothing new.")
    : null;
}

function decideChange(command: RegisterCommand, view: BusinessView, context: BusinessContext): Answer {
  if (command.type !== "party.open" && context.party === null) {
    return refusal("party_unknown", "The party must be opened before anything is registered for it.");
  }
  if (partyOf(command, context.uuid) !== context.uuid)
    return refusal("party_unknown", "What is registered here is of this party and names it.");
  const [key = ""] = registerKeysOf(command, context.uuid);
  const known = registerOf(view, key);
  switch (command.type) {
    case "party.open":
      return openParty(command.party, key, context);
    case "group.block":
    case "group.unblock":
      return changeBlock(command, context, known);
    case "group.join":
      return joinGroup(command.group, context);
    case "brand.confirm":
      return confirmBrand(command, context, known);
    case "directory.choose":
      return chooseListing(command.listed, context);
    case "terms.agree":
      return agreeToTerms(command, view);
    case "certificate.issue":
      return known ? done : issueCertificate(command, key, view);
    case "key.register":
      return registerKey(command, key, { known, view });
    case "key.revoke":
      return known
        ? revokeKey(command, key, factsIn("key", known))
        : refusal("key_unknown", "This key is not registered here.");
    case "mandate.accept":
      return (
        refusalOf(command.mandate, known, view) ??
        closedFault(view) ?? { ...mandateChange(key, command.mandate), ...oweReminder(command.mandate, view) }
      );
    case "mandate.revoke":
      return known
        ? revokeMandate(command.revoked_at, key, factsIn("mandate", known))
        : refusal("mandate_unknown", "This mandate is not registered here.");
    case "policy.accept":
      return acceptPolicy(command, key, { known, view });
    case "custody.state":
      return known ? done : stateCustody(command.custody, key, view);
    case "takedown.impose":
    case "takedown.lift": {
      const change = changeTakedown(command, known, view);
      if (change === "same") return done;
      return change === "unknown"
        ? refusal("record_unknown", "The business has no record with this id.")
        : change;
    }
  }
}

/** The party that a command names, or `uuid` if it names none. */
function partyOf(command: RegisterCommand, uuid: string): string {
  switch (command.type) {
    case "party.open":
      return command.party.uuid;
    case "certificate.issue":
      return command.certificate.uuid;
    case "key.register":
      return command.key.party_uuid;
    case "mandate.accept":
      return command.mandate.business_uuid;
    case "policy.accept":
      return command.policy.business_uuid;
    case "custody.state":
      return command.custody.business_uuid;
    default:
      return uuid;
  }
}

function stateCustody(custody: CustodyFacts, key: string, view: BusinessView): Answer {
  return registerOf(view, `key/${custody.key_id}`)
    ? { key, body: custody }
    : refusal("key_unknown", "This key is not registered here.");
}

function openParty(party: PartyFacts, key: string, context: BusinessContext): Answer {
  if (context.party) return done;
  const { blocked_groups: _none, ...opened } = party;
  return {
    key,
    body: { ...party, blocked_groups: [] },
    events: [{ type: "party.opened", party: opened }],
  };
}

function changeBlock(
  command: { type: "group.block" | "group.unblock"; group: string },
  context: BusinessContext,
  known: RegisterRow | undefined,
): Answer {
  const isBlocked = context.blockedGroups.includes(command.group);
  const block = command.type === "group.block";
  if (isBlocked === block) return done;
  if (block && context.blockedGroups.length >= blockedGroupsMax) {
    return refusal("too_many_groups", `A business may block at most ${blockedGroupsMax} groups.`);
  }
  const groups = block
    ? [...context.blockedGroups, command.group]
    : context.blockedGroups.filter((group) => group !== command.group);
  return {
    key: `party/${context.uuid}`,
    // The rest of the entry stays as it is, its domains among it.
    body: { ...(known ? factsIn("party", known) : context.party), blocked_groups: groups },
    events: [{ type: block ? "group.blocked" : "group.unblocked", group: command.group }],
  };
}

/**
 * Issuances form one chain: one that follows another than the one in force would split the chain for every verifier. An end is never
 * taken back in part.
 */
function issueCertificate(command: Issuance, key: string, view: BusinessView): Answer {
  const { certificate, follows } = command;
  const { certificate: current } = view.snapshot.context;
  if (follows !== (current?.cert_id ?? null))
    return refusal("certificate_superseded", "Another certificate has been issued meanwhile.");
  const fault = current && transitionFault(current, certificate);
  if (fault !== null) return refusal("certificate_transition", fault);
  const { envelope: _envelope, uuid: _uuid, ...inForce } = certificate;
  return {
    key,
    body: certificate,
    events: [{ type: "certificate.issued", certificate: inForce }],
    ...(endsCertificate(command) ? noticesOf([endNotice(command)], view) : {}),
  };
}

function endNotice({ certificate }: Issuance): GivenNotice {
  const { cert_id, status, status_effective_from: from } = certificate;
  return { notice_id: `${cert_id}.ends`, facts: { kind: "certificate.ends", status, from } };
}

interface Known {
  readonly known: RegisterRow | undefined;
  readonly view: BusinessView;
}

/** That the service seals from now on by a key that somebody switched on; null for every other change. */
function hostedNotice(command: RegisterCommand): GivenNotice | null {
  if (command.type !== "key.register" || command.key.role !== "hosted" || !command.act) return null;
  const { key_id, party_uuid } = command.key;
  const facts = { kind: "sealer.added", key_id, by: command.act.by, hosted: true } as const;
  return { notice_id: `${party_uuid}.hosted.${key_id}`, facts };
}

function registerKey(command: Registration, key: string, { known, view }: Known): Answer {
  const { key: facts } = command;
  if (facts.person_role !== undefined && facts.role !== "sealing")
    return refusal("role_not_allowed", "Only a passkey may have a person's role.");
  if (!known) {
    const notice = hostedNotice(command);
    return closedFault(view) ?? { key, body: facts, ...(notice === null ? {} : noticesOf([notice], view)) };
  }
  const registered = factsIn("key", known);
  const isSame = registered.role === facts.role && personRole(registered) === personRole(facts);
  // A revoked key stays refused, no matter who registers it again.
  return registered.revoked_at === null && isSame
    ? done
    : refusal("key_unknown", "The key was revoked or has another role.");
}

function revokeKey(
  command: { revoked_at: string; compromised_from: string | null },
  key: string,
  facts: KeyFacts,
): Answer {
  const earliest = (a: string | null, b: string | null): string | null =>
    a === null ? b : b === null || a < b ? a : b;
  const wasLive = facts.revoked_at === null && facts.compromised_from === null;
  return {
    key,
    // Only an integration key has charges.
    ...(wasLive && facts.role === "integration"
      ? { events: [{ type: "key.revoked", key_id: facts.key_id }] }
      : {}),
    body: {
      ...facts,
      revoked_at: earliest(facts.revoked_at, command.revoked_at),
      compromised_from: earliest(facts.compromised_from, command.compromised_from),
    },
  };
}

function revokeMandate(revokedAt: string, key: string, facts: MandateFacts): Answer {
  return facts.revoked_at === null ? mandateChange(key, { ...facts, revoked_at: revokedAt }) : done;
}

function mandateChange(key: string, mandate: MandateFacts): Change {
  return { key, body: mandate, mandate };
}

function acceptPolicy(
  { policy, since }: { readonly policy: PolicyFacts; readonly since?: string },
  key: string,
  { known, view }: Known,
): Answer {
  const { nowMs } = view;
  const { context } = view.snapshot;
  const next = context.policyVersions + 1;
  if (known) {
    const { record_base64: accepted, fallen_at: fallenAt } = factsIn("policy", known);
    if (accepted !== policy.record_base64)
      return refusal("ai_policy_version_used", `AI policy version ${policy.version} is a different record.`);
    return fallenAt === undefined ? done : refusal("ai_policy_version_used", fellWithItsSeal(policy, next));
  }
  const closed = closedFault(view);
  if (closed !== null) return closed;
  if (policy.version !== next)
    return refusal("ai_policy_version_mismatch", `The next AI policy version is ${next}.`);
  const isEarlier = since !== undefined && since < formatTimestamp(nowMs);
  if (isEarlier && context.number > 0)
    return refusal("already_published", "The business has published under the previous AI policy.");
  const previous = context.policy.live_from;
  const live_from = isEarlier ? liveSince(since, previous) : inForceFrom(nowMs, previous);
  const inForce = { version: policy.version, record_id: policy.record_id, live_from };
  return {
    key,
    body: { ...policy, live_from },
    events: [{ type: "policy.accepted", policy: inForce }],
  };
}

/** What the refusal of an AI policy says that was accepted, and does not stand any more. */
function fellWithItsSeal({ version }: Pick<PolicyFacts, "version">, next: number): string {
  return `AI policy version ${version} does not stand any more, by its seal; seal the record again as version ${next}.`;
}

/** Nothing was published, so nothing named the previous version; the versions still follow one another. */
function liveSince(since: string, previous: string | null): string {
  if (previous === null || previous < since) return since;
  return formatTimestamp((parseTimestamp(previous) ?? 0) + 1);
}

// What an AI company decides for itself: its group, whether it is listed, and the terms that it agrees to.

/** Maximum number of former groups of one AI company, because they are part of its context, which is bounded; none is dropped, since its blocks follow the company. */
export const formerGroupsMax = 100;
/** Maximum number of agreements in the context of an AI company, for the same reason; the acts keep the older ones as well. */
export const agreementsMax = 100;

/** Whatever blocks the group that a company leaves blocks the company as well: a block cannot be shed by a change. */
function joinGroup(group: string, { uuid, party, blockedGroups }: BusinessContext): Answer {
  if (party?.kind !== "ai_company")
    return refusal("role_not_allowed", "Only an AI company belongs to a group.");
  if (party.group === group) return done;
  const left = (party.former_groups ?? []).filter((each) => each !== group);
  const former_groups = [...left, party.group];
  if (former_groups.length > formerGroupsMax)
    return refusal("too_many_groups", `An AI company may have at most ${formerGroupsMax} former groups.`);
  return {
    key: `party/${uuid}`,
    body: { ...party, blocked_groups: blockedGroups, group, former_groups },
    events: [{ type: "group.joined", group, former_groups }],
  };
}

function chooseListing(listed: boolean, { uuid, party, blockedGroups }: BusinessContext): Answer {
  if (party?.kind !== "ai_company")
    return refusal("role_not_allowed", "The key directory lists AI companies only.");
  if ((party.listed ?? false) === listed) return done;
  return {
    key: `party/${uuid}`,
    body: { ...party, blocked_groups: blockedGroups, listed },
    events: [{ type: "directory.chosen", listed }],
  };
}

/** The whole text is agreed to: another text under the same number is another agreement, which takes its place. */
function agreeToTerms(
  { version, sha256 }: CommandOf<CompanyProtocol, "terms.agree">,
  view: BusinessView,
): Answer {
  const { uuid, party, blockedGroups } = view.snapshot.context;
  if (party?.kind !== "ai_company")
    return refusal("role_not_allowed", "Only an AI company agrees to these terms.");
  const known = party.agreements ?? [];
  if (known.some((each) => each.version === version && each.sha256 === sha256)) return done;
  const agreement = { version, sha256, agreed_at: formatTimestamp(view.nowMs) };
  const agreements = [...known.filter((each) => each.version !== version), agreement]
    .sort((a, b) => a.version - b.version)
    .slice(-agreementsMax);
  return {
    key: `party/${uuid}`,
    body: { ...party, blocked_groups: blockedGroups, agreements },
    events: [{ type: "terms.agreed", agreements }],
  };
}
