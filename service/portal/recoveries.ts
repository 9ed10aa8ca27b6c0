// How somebody who lost all passkeys comes back to a business as an owner: as a new person, by two operators together, and not before its
// people had 72 hours to stop it.
//   OR1. The applicant names the business, and a passkey made for it alone signs that. Whether there is such a business, and who owns it,
//        they learn from nothing here: it is filed in the same way, and the operators see it.
//   OR2. Operators name the owner who is replaced, and nobody who comes: that is who asked, by their own passkey. An operator alone makes
//        nobody an owner.
//   OR3. What follows from the second approval are steps of the recovery's actor, which repeats them (actors/recovery/activities.ts).

import type { KeyFacts } from "../../actors/messages/business.ts";
import { bindingRoles } from "../../actors/messages/members.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import type {
  AnnouncedRecovery,
  RecoveryFacts,
  RecoveryReply,
  RecoveryReport,
} from "../../actors/messages/recovery.ts";
import { businessRef, partsOf, personRef, recoveryRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { isUuidV4 } from "../../protocol/identifiers.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { type Registered, RegisterRefused } from "../register/parties.ts";
import { type ApplyRefusal, notNoted, readPage } from "./applications.ts";
import type { Challenges, IssuedChallenge } from "./challenges.ts";
import { actOf, memberOf, notThere, type OwnerRefusal } from "./owner.ts";
import type { Homes, SignedIn } from "./people.ts";
import {
  askingPossession,
  keptPasskey,
  type PossessionDeps,
  provenOwner,
  provenSealer,
  type SealerAct,
  stateCustodyOnce,
} from "./possession.ts";

export interface RecoveryDeps extends PossessionDeps, Pick<Registered, "register"> {
  readonly homes: Homes;
  /** The recoveries that this region knows, by their ids after the given one. */
  readonly list: (after: string, limit: number) => Promise<readonly string[]>;
}

/** What is asked for, as it is shown and confirmed. */
export interface AskedRecovery extends SealerAct {
  readonly act: "recovery.file";
}

/** A recovery as operators see it. */
export interface ListedRecovery extends RecoveryReport {
  /** The person who asks and the business. */
  readonly recovery_id: string;
  /** The thumbprint of the passkey that is to seal. */
  readonly key_id: string;
  /** Null where there is no such business. */
  readonly legal_name: string | null;
  /** Who may be named as the one who is replaced; none once two operators have named one. */
  readonly owners: readonly {
    readonly person_id: string;
    readonly name: string;
    readonly since_ms: number;
  }[];
}

/** What waits in a business, as its people see it. */
export interface OwnRecovery extends AnnouncedRecovery {
  /** What the owner who is replaced is called. */
  readonly name: string;
}

type Decision = Promise<
  Result<
    { readonly changed: boolean; readonly recovery: ListedRecovery },
    /** `changed` where it is no longer what the operator saw. */
    "unknown" | "refused" | "changed"
  >
>;

/** What an operator approves: in whose place, and which passkey is to seal. */
export interface SeenRecovery {
  readonly replaces: string;
  readonly key_id: string;
}

export interface Recoveries {
  /** What the new passkey has to sign; null if its key is of no kind that seals. */
  asking(challenges: Challenges, who: SignedIn, asked: AskedRecovery): IssuedChallenge | null;
  /** Files what the new passkey signed; repeatable. */
  file(
    challenges: Challenges,
    who: SignedIn,
    asked: AskedRecovery,
    answered: { readonly ticket: string; readonly credential: unknown; readonly network: string | null },
  ): Promise<Result<void, ApplyRefusal | "member_known" | "recovery_known">>;
  /** Takes back what the person asked for, or forgets what did not come about; false if there is nothing of it. */
  withdraw(who: SignedIn, uuid: string): Promise<boolean>;
  /** What waits in a business; null for somebody who does not bind it, and where nothing waits. */
  announced(who: SignedIn, uuid: string): Promise<OwnRecovery | null>;
  stop(
    who: SignedIn,
    asked: { readonly uuid: string; readonly recovery: string },
  ): Promise<Result<void, OwnerRefusal>>;
  read(recoveryId: string): Promise<ListedRecovery | null>;
  list(after: string): Promise<{
    readonly recoveries: readonly ListedRecovery[];
    readonly next_after: string | null;
  }>;
  /** By the first operator, or by a second one who names the same owner, and the passkey as they saw it. */
  approve(recoveryId: string, act: RegisterAct, seen: SeenRecovery): Decision;
  /** The applicant is told `statement`; the reason stays with the operators. */
  refuse(
    recoveryId: string,
    act: RegisterAct,
    seen: Pick<SeenRecovery, "key_id"> & { readonly statement: string },
  ): Decision;
}

/** The part of it that operators use. */
export type OperatorRecoveries = Pick<Recoveries, "read" | "list" | "approve" | "refuse">;

const pageMax = 20;

/**
 * Recoveries: what an applicant asks and files, what the business sees, and what operators decide. Its methods throw {@link
 * StoreError}.
 */
export function createRecoveries(deps: RecoveryDeps): Recoveries {
  const { actors } = deps;
  return {
    asking: (challenges, who, asked) => askingPossession(deps, challenges, who, asked),
    file: (challenges, who, asked, answered) => file(deps, challenges, { who, asked, ...answered }),
    withdraw: async ({ person_id }, uuid) =>
      (await actors.ask(recoveryRef(person_id, uuid), { type: "recovery.withdraw" })).status === "done",
    announced: async (who, uuid) => {
      if (!(await mayStop(deps, who, uuid))) return null;
      const { open } = await actors.ask(businessRef(uuid), { type: "recovery.find" });
      return open && { ...open, name: await nameOf(deps, open.person_id) };
    },
    stop: async (who, { uuid, recovery }) => {
      if (!(await mayStop(deps, who, uuid))) return notThere;
      const act = actOf(who, "Stopped at the portal.");
      const command = { type: "recovery.end", recovery, by_person: who.person_id, act } as const;
      const reply = await actors.ask(businessRef(uuid), command);
      return reply.status === "done" ? ok(undefined) : refuse("not_accepted", reply.detail);
    },
    read: (id) => read(deps, id),
    list: async (after) => {
      const { found, next_after } = await readPage(after, pageMax, deps.list, (id) => read(deps, id));
      return { recoveries: found, next_after };
    },
    approve: async (id, act, { replaces, key_id }) => {
      const known = await read(deps, id);
      if (known === null) return unknown;
      if (known.key_id !== key_id) return otherKey;
      const fault = await approvalFault(deps, known, replaces);
      if (fault !== null) return refuse("refused", fault);
      const ref = recoveryRef(known.applicant, known.uuid);
      const { public_key } = known.sealing;
      const approval = { type: "recovery.approve", act, replaces, public_key } as const;
      return decided(deps, id, await actors.ask(ref, approval));
    },
    refuse: async (id, act, { statement, key_id }) => {
      const known = await read(deps, id);
      if (known === null) return unknown;
      if (known.key_id !== key_id) return otherKey;
      const ref = recoveryRef(known.applicant, known.uuid);
      const { public_key } = known.sealing;
      const refusal = { type: "recovery.refuse", act, statement, public_key } as const;
      return decided(deps, id, await actors.ask(ref, refusal));
    },
  };
}

const unknown = refuse("unknown", "Nobody asked under this id, or it ended more than a month ago.");

interface Filing {
  readonly who: SignedIn;
  readonly asked: AskedRecovery;
  readonly ticket: string;
  readonly credential: unknown;
  readonly network: string | null;
}

/** See OR1. */
async function file(
  deps: RecoveryDeps,
  challenges: Challenges,
  { who, asked, ticket, credential, network }: Filing,
): ReturnType<Recoveries["file"]> {
  const { actors } = deps;
  const { person_id, name } = who;
  const { uuid, credential_id } = asked;
  const proven = await provenSealer(deps, challenges, who, { asked, role: "owner", ticket, credential });
  if (!proven.ok) return proven;
  if (await worksFor(deps, who, uuid)) return refuse("member_known", "The person works for the business.");
  const ref = recoveryRef(person_id, uuid);
  const noted = await actors.ask(personRef(person_id), {
    type: "business.note",
    session: who.session.session,
    uuid: ref.id,
    name: uuid,
    network,
    act: "recovery.file",
    challenge: proven.value.used,
  });
  if (noted.status !== "done") return notNoted(noted.code);
  const sealing = keptPasskey(proven.value, credential_id);
  const recovery = { applicant: person_id, applicant_name: name, uuid, sealing };
  const filed = await actors.ask(ref, { type: "recovery.file", recovery });
  return filed.status === "done" ? ok(undefined) : refuse("recovery_known", "It was asked for before.");
}

/** Asked only about a business that the person has noted: about any other nothing is read. */
async function worksFor({ actors, homes }: RecoveryDeps, { person_id }: SignedIn, uuid: string) {
  const report = await actors.ask(personRef(person_id), { type: "person.read" });
  if (!report?.businesses.includes(uuid) || !(await homes.isKnown(uuid))) return false;
  return (await actors.ask(businessRef(uuid), { type: "member.read", person_id })) !== null;
}

async function mayStop(deps: RecoveryDeps, who: SignedIn, uuid: string): Promise<boolean> {
  const member = await memberOf(deps, who, uuid);
  return member !== null && bindingRoles.includes(member.role);
}

async function read(deps: RecoveryDeps, id: string): Promise<ListedRecovery | null> {
  const { actors, homes, register, crypto } = deps;
  const { party: applicant, own: uuid } = partsOf(id);
  if (!isUuidV4(applicant) || !isUuidV4(uuid) || !(await homes.isKnown(applicant))) return null;
  const report = await actors.ask(recoveryRef(applicant, uuid), { type: "recovery.read" });
  if (report === null) return null;
  const party = await register.party(uuid);
  const isOpen = report.state === "waiting" || report.state === "approved";
  const owners = isOpen && party !== null ? (await find(deps, uuid)).owners : [];
  return {
    ...report,
    recovery_id: id,
    key_id: thumbprint(report.sealing.public_key, crypto.sha256),
    legal_name: party?.legal_name ?? null,
    owners: await Promise.all(
      owners.map(async ({ person_id, since_ms }) => ({
        person_id,
        name: await nameOf(deps, person_id),
        since_ms,
      })),
    ),
  };
}

async function find({ actors, homes }: RecoveryDeps, uuid: string) {
  return (await homes.isKnown(uuid))
    ? actors.ask(businessRef(uuid), { type: "recovery.find" })
    : { owners: [], open: null };
}

async function nameOf({ actors, homes }: RecoveryDeps, personId: string): Promise<string> {
  const isKnown = await homes.isKnown(personId);
  const name = isKnown ? await actors.ask(personRef(personId), { type: "name.read" }) : null;
  return name ?? personId;
}

/** What operators are told before anything is decided; the business's actor judges all of it again. */
async function approvalFault(deps: RecoveryDeps, known: ListedRecovery, replaces: string) {
  const { uuid, applicant } = known;
  const party = await deps.register.party(uuid);
  if (party?.kind !== "business") return "There is no business of this uuid. Refuse it.";
  const { owners, open } = await find(deps, uuid);
  if (!owners.some(({ person_id }) => person_id === replaces))
    return "The person who is to be replaced is no owner of the business.";
  if (open !== null && open.applicant !== applicant)
    return "Another owner of the business is being replaced already.";
  const command = { type: "member.read", person_id: applicant } as const;
  const member = await deps.actors.ask(businessRef(uuid), command);
  return member === null ? null : "The applicant works for the business already. Refuse it.";
}

async function decided(deps: RecoveryDeps, id: string, reply: RecoveryReply): Decision {
  if (reply.status === "refused") return refusalOf(reply);
  const recovery = await read(deps, id);
  return recovery === null ? unknown : ok({ changed: reply.changed, recovery });
}

const otherKey = refuse(
  "changed",
  "It is asked for with another passkey than the one of this key_id. Look at it again.",
);

function refusalOf({ code, state }: Extract<RecoveryReply, { status: "refused" }>) {
  switch (code) {
    case "same_operator":
      return refuse("refused", "You approved it before. Another operator has to approve it as well.");
    case "other_owner":
      return refuse("refused", "The other operator named another owner. If one of you is wrong, refuse it.");
    case "other_key":
      return otherKey;
    case "state":
      return refuse("refused", `The recovery is ${state}.`);
  }
}

/** The register, for the steps that the recovery's actor takes (OR3). */
export function recoveryPorts(deps: Actors & Registered & Pick<Platform, "crypto" | "clock">) {
  return {
    claim: async ({ uuid, sealing }: RecoveryFacts): Promise<Result<void>> => {
      try {
        await deps.parties.claimProvenKey(provenOwner(deps, uuid, sealing));
        return ok(undefined);
      } catch (error) {
        if (error instanceof RegisterRefused) return refuse(error.code, error.detail);
        throw error;
      }
    },
    keyOf: ({ uuid, sealing }: RecoveryFacts): KeyFacts => provenOwner(deps, uuid, sealing).key,
    stateCustody: (uuid: string, keyId: string): Promise<void> =>
      stateCustodyOnce(deps, { uuid, key_id: keyId, custody: "self" }),
  };
}
