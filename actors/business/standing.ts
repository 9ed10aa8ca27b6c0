// What does not stand any more: the seal of a push under way, records that are served, and the AI policy in force
// (verifier/standing.ts has the rule).
//   S1. A chunk gets no generations once the seal of its push does not stand. What it got before is taken out of serving by the
//       review, which begins with the commit of whatever ended, and is repeated until it is through.
//   S2. A record falls with the push that published it last; what was published again since is left as it is. A head that fell
//       has a change of its own, so a store or an index that learns of the version later keeps it out.
//   S3. What fell stays fallen: the register takes no end back. It is served again once it is published again.
//   S4. An AI policy that fell was in force until the moment of its fall. From then on the newest earlier one that stands is in force,
//       and without any, version 0.

import type { BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp, parseTimestamp, recordIdPrefix } from "../../protocol/identifiers.ts";
import { sealedAtSkewMs } from "../../protocol/limits.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import {
  type AcceptedSeal,
  type StandingFacts,
  type StandingFault,
  standingFault,
} from "../../verifier/standing.ts";
import type { BusinessProtocol, LeafClaim, PolicyFacts, RegisterCommand } from "../messages/business.ts";
import type { CertificateInForce, PolicyInForce } from "../messages/party.ts";
import type { CommandOf, Commands, DoneReply } from "../messages/protocol.ts";
import type { RemovedRecord } from "../messages/removal.ts";
import type { LivePage, PushSeal, SealMandate, StandingPage, StandingProtocol } from "../messages/serving.ts";
import type { Decision, Message } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import {
  type BusinessView,
  countListings,
  factsIn,
  heads,
  lastNumber,
  mandatePrefix,
  registerEntries,
  registerOf,
  selectRegister,
} from "./rows.ts";
import { nameInFiles, selectNamed, unserved } from "./serving.ts";

/** Maximum number of rows of one question, and of records that fall in one commit. */
export const reviewedAtOnce = 100;
/** There is one issuance for each change of a party's standing. */
const issuancesMax = 1_000;

/** By the number of their push as text, so that the store need not look for numbered rows whenever it reads others by name. */
const pushSeals = defineJsonTable<PushSeal>("seals of pushes", 23);
/** By the change of the register with which they were issued (`k`) and their id. */
const issuances = defineJsonTable<CertificateInForce>("issuances", 24);

type Asked<T extends keyof BusinessProtocol> = CommandOf<BusinessProtocol, T>;

/** The row of an issuance that was just accepted; nothing for any other command. */
export function issuanceRows(command: RegisterCommand, change: number): readonly PartitionRow[] {
  if (command.type !== "certificate.issue") return [];
  const { cert_id, status, status_effective_from, status_reason, issued_at } = command.certificate;
  const standing = { cert_id, status, status_effective_from, status_reason, issued_at };
  return [issuances.write(cert_id, standing, { k: change })];
}

/** Whether something that was sealed before may not stand any more because of the change. */
export function mayEnd({ type }: RegisterCommand, { snapshot: { context } }: BusinessView): boolean {
  if (context.party?.kind !== "business") return false;
  if (type === "certificate.issue") return context.certificate !== null;
  return type === "key.revoke" || type === "mandate.revoke";
}

/** The row of the seal, written with the first chunk of a push: until something ended, nothing else is read or written for it. */
export function sealRows({ chunk, number, seal }: Asked<"chunk.assign">): readonly PartitionRow[] {
  return chunk === 0 ? [pushSeals.write(numberKey(number), seal)] : [];
}

/** Sorts as the numbers do, of which none is larger than the platform's integers. */
function numberKey(number: number): string {
  return String(number).padStart(16, "0");
}

/** What {@link pushFault} reads: nothing for a business of which nothing ever ended. */
export function selectForFault(
  seal: PushSeal,
  leaves: readonly Pick<LeafClaim, "mandate">[],
  { context }: Pick<BusinessView["snapshot"], "context">,
): readonly RowSelection[] {
  if (context.endings === 0) return [];
  const used = usedMandates(seal, leaves).filter((each) => each !== null);
  const names = [
    `key/${seal.key_id}`,
    ...used.flatMap(({ mandate_id, sealed_by }) => [`key/${sealed_by}`, `${mandatePrefix}${mandate_id}`]),
  ];
  return [...selectRegister([...new Set(names)]), issuances.selectPage(issuancesMax)];
}

/** The mandates of a push under which these leaves are published; null where none is needed. */
function usedMandates(
  { mandates }: PushSeal,
  leaves: readonly Pick<LeafClaim, "mandate">[],
): readonly (SealMandate | null)[] {
  const used = [...new Set(leaves.map(({ mandate = 0 }) => mandate))].flatMap((at) => mandates[at] ?? []);
  return used.length === 0 ? [null] : used;
}

/** Why the seal of a push does not stand for these leaves, by the rows that were selected; null while it stands. */
export function pushFault(
  seal: PushSeal,
  leaves: readonly Pick<LeafClaim, "mandate">[],
  view: BusinessView,
): StandingFault | null {
  const faults = usedMandates(seal, leaves).map((mandate) => faultUnder(seal, mandate, view));
  return faults.find((fault) => fault !== null) ?? null;
}

function faultUnder(seal: PushSeal, used: SealMandate | null, view: BusinessView): StandingFault | null {
  const { key_id, cert_id } = seal;
  const certificates = certificatesOf(issuancesNewestFirst(view));
  // Where something ended for the first time in this very turn, nothing was selected: the review of that judges this push as well.
  if (certificates.issuances.every(({ certId }) => certId !== cert_id)) return null;
  const key = registerOf(view, `key/${key_id}`);
  if (key === undefined) return null;
  const mandate = used === null ? undefined : registerOf(view, `${mandatePrefix}${used.mandate_id}`);
  const sealer = used === null ? undefined : registerOf(view, `key/${used.sealed_by}`);
  const facts: StandingFacts = {
    key: factsIn("key", key),
    certificates,
    mandate:
      mandate === undefined || sealer === undefined
        ? null
        : { ...factsIn("mandate", mandate), sealer: factsIn("key", sealer) },
  };
  return standingFault(statedSeal(seal, used), facts);
}

/** The seal of a push as the rule judges it for what was published under one of its mandates. */
export function statedSeal({ mandates: _, ...seal }: PushSeal, used: SealMandate | null): AcceptedSeal {
  return { ...seal, mandate_id: used?.mandate_id ?? null, isStated: true };
}

/** The issuances in the form in which the rule judges them. */
export function certificatesOf(newestFirst: readonly CertificateInForce[]): StandingFacts["certificates"] {
  return {
    issuances: newestFirst.map(({ cert_id: certId, status_reason: reason, ...standing }) => ({
      certId,
      certificate: { ...standing, ...(reason === null ? {} : { status_reason: reason }) },
    })),
  };
}

function issuancesNewestFirst(view: BusinessView): readonly CertificateInForce[] {
  return issuances
    .readAll(view)
    .map(({ value }) => value)
    .reverse();
}

type ReviewCommand = Commands<StandingProtocol>;

/** Whether a command is a part of a review. */
export function isReview(command: Message): command is ReviewCommand {
  return reviewing.has(command.type);
}

const reviewing: ReadonlySet<string> = new Set<keyof StandingProtocol>([
  ...(["standing.read", "live.list", "records.fall", "policies.fall"] as const),
]);

/** The rows that the commands of a review need. */
export function selectForReview(command: ReviewCommand, uuid: string): readonly RowSelection[] {
  switch (command.type) {
    case "standing.read": {
      const after = { k: 0, k2: numberKey(command.after) };
      return [pushSeals.selectPage(command.limit, after), issuances.selectPage(issuancesMax)];
    }
    case "live.list":
      return [heads.selectPage(command.limit, { k: 0, k2: command.after })];
    case "records.fall": {
      const ids = command.records.map(({ record_id }) => record_id);
      const files = ids.filter((id) => id.startsWith(recordIdPrefix("business_files")));
      return [heads.select(ids), ...selectNamed(files, uuid)];
    }
    case "policies.fall": {
      const { fallen, in_force } = command;
      const versions = in_force === 0 ? fallen : [...fallen, in_force];
      return selectRegister(versions.map((version) => policyKey(uuid, version)));
    }
  }
}

/** A page of the seals of pushes, with the issuances and the policy in force. */
export function readStanding({ limit }: Asked<"standing.read">, view: BusinessView): StandingPage {
  const seals = pushSeals.readAll(view).map(({ k2, value }) => ({ number: Number(k2), seal: value }));
  const { policy } = view.snapshot.context;
  return {
    seals,
    more: seals.length === limit,
    issuances: issuancesNewestFirst(view),
    policy_version: policy.version,
  };
}

/** The live records of a page, each with the push and the mandate that it came by. */
export function listLive({ limit }: Asked<"live.list">, view: BusinessView): LivePage {
  const known = heads.readAll(view);
  const live = known.filter(({ value }) => value.live);
  return {
    records: live.map(({ k2, value: { number, mandate } }) => ({
      record_id: k2,
      number,
      ...(mandate === undefined ? {} : { mandate }),
    })),
    next: known.length === limit ? (known.at(-1)?.k2 ?? null) : null,
  };
}

/** See S2. */
export function fallRecords(
  { records }: Asked<"records.fall">,
  view: BusinessView,
): Decision<DoneReply, BusinessEvent> {
  const fallen: RemovedRecord[] = [];
  const puts: PartitionRow[] = [];
  let listings = 0;
  for (const { record_id, number } of records) {
    const head = heads.read(view, record_id);
    if (head === undefined || !head.live || head.number !== number) continue;
    const change = lastNumber(view, head.change) + 1;
    const { collection, generation, hash } = head;
    puts.push(heads.write(record_id, { ...head, live: false, change }));
    fallen.push({ record_id, collection, change, generation, hash });
    listings += countListings(head.listings);
  }
  if (fallen.length === 0) return { reply: { status: "done" } };
  const files = fallen.filter(({ collection }) => collection === "business_files");
  const named = nameInFiles(new Map(files.map(({ record_id }) => [record_id, unserved])), view);
  return {
    reply: { status: "done" },
    events: [
      { type: "records.fell", records: fallen.length, listings: -listings, live: -fallen.length },
      ...named.events,
    ],
    puts: [...puts, ...named.puts],
    deletes: named.deletes,
    effects: [{ kind: "activity", name: "removeRecords", params: { records: fallen } }],
  };
}

/** The name of the register entry of an AI policy. */
export function policyKey(uuid: string, version: number): string {
  return `policy/${uuid}/${version}`;
}

/** See S4. */
export function fallPolicies(
  { fallen, in_force }: Asked<"policies.fall">,
  view: BusinessView,
): Decision<DoneReply, BusinessEvent> {
  const { context } = view.snapshot;
  // Another one came into force in the meantime, or this is a repetition.
  if (fallen.length === 0 || context.policy.version !== fallen[0]) return { reply: { status: "done" } };
  const at = inForceFrom(view.nowMs, context.policy.live_from);
  const again = in_force === 0 ? null : policyOf(in_force, view);
  // One that fell before was in force until then, and not until now.
  const falling = fallen
    .map((version) => policyOf(version, view))
    .filter((each) => each.fallen_at === undefined);
  const changed: readonly PolicyFacts[] = [
    ...falling.map((each) => ({ ...each, fallen_at: at })),
    ...(again === null ? [] : [{ ...again, again_from: at }]),
  ];
  let { change } = context;
  const puts = changed.map((policy) => {
    change = lastNumber(view, change) + 1;
    const row = { partition: context.uuid, change, body: JSON.stringify(policy) };
    return registerEntries.write(policyKey(context.uuid, policy.version), row);
  });
  const policy: PolicyInForce = { version: in_force, record_id: again?.record_id ?? null, live_from: at };
  const keys = changed.map(({ version }) => policyKey(context.uuid, version));
  return {
    reply: { status: "done" },
    events: [
      { type: "policy.fell", policy },
      { type: "register.changed", keys, change },
    ],
    puts,
  };
}

/**
 * An AI policy is in force from now on, not from when it was sealed: whatever named the previous version and was received until
 * now stays valid, and nothing waits. It starts in the next millisecond, because something received in this one may have named
 * the previous version, and it starts after that version did, even if the clock was set back.
 */
export function inForceFrom(nowMs: number, previous: string | null): string {
  const previousMs = previous === null ? null : parseTimestamp(previous);
  const isAhead = previousMs !== null && previousMs >= nowMs && previousMs <= nowMs + sealedAtSkewMs;
  return formatTimestamp(isAhead ? previousMs + 1 : nowMs + 1);
}

function policyOf(version: number, view: BusinessView): PolicyFacts {
  const row = registerOf(view, policyKey(view.snapshot.context.uuid, version));
  if (row === undefined) throw new Error(`AI policy ${version} was accepted, and the register has none.`);
  return factsIn("policy", row);
}
