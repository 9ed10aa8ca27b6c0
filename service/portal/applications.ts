// How a business or an AI company comes in: a person applies for it, for a business with a passkey made for it alone, and an operator decides.
//   BA1. The passkey that is to seal for the business signs the application as it was shown, by its proof of possession (possession.ts).
//   BA2. An operator decides about the owner and the passkey that applied, and names neither: an operator alone makes nobody an owner.
//   BA3. An application opens a business of its own. Where its uuid was opened under another name it is not approved, and can be refused
//        even if it was approved before that.
//   BA4. What follows from an approval are repeatable steps (party, passkey, certificate, owner), and the application is open after the
//        last. A crash between any two is repaired by approving it again. A passkey that another business has is refused before the first.
//   BA5. A person's journal has the application before it is filed. After a crash in between, the same form files it; the person's list
//        keeps it for as long as one may.

import type { ApplicationFacts, ApplicationReport } from "../../actors/messages/application.ts";
import type { PersonRefusal, UsedChallenge } from "../../actors/messages/person.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import type { RecoveryState } from "../../actors/messages/recovery.ts";
import { applicationRef, businessRef, partsOf, personRef, recoveryRef } from "../../actors/messages/refs.ts";
import { isUuidV4 } from "../../protocol/identifiers.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { Enrolment } from "../register/enrolment.ts";
import { type Registered, RegisterRefused } from "../register/parties.ts";
import type { Challenges, IssuedChallenge } from "./challenges.ts";
import { createEvidence, type Evidence, type EvidenceDeps } from "./evidence.ts";
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

export interface ApplicationDeps extends PossessionDeps, Registered, EvidenceDeps {
  readonly homes: Homes;
  readonly enrolment: Pick<Enrolment, "certify">;
  /** The applications that this region knows, by uuid after the given one. */
  readonly list: (after: string, limit: number) => Promise<readonly string[]>;
}

/** What is applied for, as it is shown and confirmed. */
export interface Asked extends SealerAct {
  readonly act: "business.apply";
  /** Drawn for this application; the uuid of the business if it is let in. */
  readonly uuid: string;
  readonly legal_name: string;
  readonly country: string;
}

export type ApplyRefusal =
  | "challenge_expired"
  | "challenge_used"
  | "not_verified"
  | "too_many_businesses"
  | "session_ended";

/** An application with its uuid, as operators see it. */
export interface ListedApplication extends ApplicationReport {
  readonly uuid: string;
  /** The thumbprint of the passkey that is to seal; null for an AI company. */
  readonly key_id: string | null;
}

/** A business or an AI company of a person: one that they applied for, or work for, or ask to come back to as an owner. */
export interface OwnApplication
  extends Pick<ListedApplication, "uuid" | "legal_name" | "country" | "statement"> {
  readonly kind: ListedApplication["kind"] | "recovery";
  readonly state: ListedApplication["state"] | RecoveryState;
  /** Whether they may take it back. */
  readonly isOpen: boolean;
  /** When they are its owner, if nobody stops it; null for anything else. */
  readonly due_at_ms: number | null;
}

type Decision<C extends string = "unknown" | "refused"> = Promise<
  Result<{ readonly changed: boolean; readonly application: ListedApplication }, C>
>;

export interface Applications {
  /** What the new passkey has to sign, and the ticket that comes back with it; null if its key is of no kind that seals. */
  asking(challenges: Challenges, who: SignedIn, asked: Asked): IssuedChallenge | null;
  /** Files the application by what the new passkey signed; repeatable. */
  file(
    challenges: Challenges,
    who: SignedIn,
    asked: Asked,
    answered: { readonly ticket: string; readonly credential: unknown; readonly network: string | null },
  ): Promise<Result<void, ApplyRefusal>>;
  /** Files an application for an AI company, which the person has confirmed; repeatable. */
  fileCompany(
    who: SignedIn,
    asked: Pick<Asked, "uuid" | "legal_name" | "country">,
    network: string | null,
  ): Promise<Result<void, ApplyRefusal>>;
  /** What the person applied for or works for. What they do neither is forgotten. */
  own(who: SignedIn): Promise<readonly OwnApplication[]>;
  /** Takes back what the person applied for and nobody decided; false if there is no such application any more. */
  withdraw(who: SignedIn, uuid: string): Promise<boolean>;
  /** Forgets what was refused, so that somebody who has nothing else may leave. */
  forgetRefused(who: SignedIn): Promise<void>;
  /** The person's own application that nobody decided; null for any other, as for one that does not exist. */
  waiting(who: SignedIn, uuid: string): Promise<ListedApplication | null>;
  readonly evidence: Evidence;
  read(uuid: string): Promise<ListedApplication | null>;
  list(after: string): Promise<{
    readonly applications: readonly ListedApplication[];
    readonly next_after: string | null;
  }>;
  approve(uuid: string, act: RegisterAct): Decision;
  /** The applicant is told `statement`; the reason stays with the operators. */
  refuse(uuid: string, act: RegisterAct, statement: string): Decision;
}

/** The part of it that operators use. */
export type OperatorApplications = Pick<Applications, "read" | "list" | "approve" | "refuse"> & {
  readonly evidence: Pick<Evidence, "view">;
};

const pageMax = 50;
/** How long a business that was noted may be without an application: challenges are taken for a shorter time (BA5). */
const filingMs = 10 * 60_000;

/** Applications: what an applicant asks and files, and what operators decide. Its methods throw {@link StoreError}. */
export function createApplications(deps: ApplicationDeps): Applications {
  return {
    asking: (challenges, who, asked) => askingPossession(deps, challenges, who, asked),
    file: (challenges, who, asked, answered) => file(deps, challenges, { who, asked, ...answered }),
    fileCompany: async (who, { uuid, legal_name, country }, network) => {
      if (!isUuidV4(uuid)) return notVerified;
      const application = {
        ...applicantOf(who),
        kind: "ai_company",
        legal_name,
        country,
        sealing: null,
      } as const;
      return fileFor(deps, who, { uuid, application, network });
    },
    own: (who) => own(deps, who),
    withdraw: async (who, uuid) => {
      if ((await read(deps, uuid)) === null) return false;
      const command = { type: "application.withdraw", applicant: who.person_id } as const;
      return (await deps.actors.ask(applicationRef(uuid), command)).status === "done";
    },
    forgetRefused: async (who) => {
      for (const { uuid, kind, state } of await own(deps, who))
        if (state === "refused" || state === "stopped")
          await forget(deps, who, { uuid: kind === "recovery" ? recoveryRef(who.person_id, uuid).id : uuid });
    },
    waiting: async (who, uuid) => {
      const found = await reportOf(deps, uuid);
      // What is made of the report is made for its applicant alone (PP1 in people.ts).
      const isOwn = found?.applicant === who.person_id && found.state === "waiting";
      return isOwn ? listed(deps, uuid, found) : null;
    },
    evidence: createEvidence(deps),
    read: (uuid) => read(deps, uuid),
    list: async (after) => {
      const { found, next_after } = await readPage(after, pageMax, deps.list, (uuid) => read(deps, uuid));
      return { applications: found, next_after };
    },
    approve: (uuid, act) => approve(deps, uuid, act),
    refuse: async (uuid, act, statement) => {
      const application = await read(deps, uuid);
      if (application === null) return unknown;
      const taken = (await isTaken(deps, application)) ? { is_taken: true as const } : {};
      const command = { type: "application.refuse", act, statement, ...taken } as const;
      const reply = await deps.actors.ask(applicationRef(uuid), command);
      return reply.status === "done" ? decided(deps, uuid, reply.changed) : otherwise(reply.state);
    },
  };
}

const unknown = refuse("unknown", "Nobody applied under this uuid, or it was decided more than a month ago.");

function otherwise(state: string) {
  return refuse("refused", `The application is ${state}.`);
}

interface Filing {
  readonly who: SignedIn;
  readonly asked: Asked;
  readonly ticket: string;
  readonly credential: unknown;
  readonly network: string | null;
}

async function file(
  deps: ApplicationDeps,
  challenges: Challenges,
  { who, asked, ticket, credential, network }: Filing,
): Promise<Result<void, ApplyRefusal>> {
  const proven = await provenSealer(deps, challenges, who, { asked, role: "owner", ticket, credential });
  if (!proven.ok) return proven;
  const { uuid, legal_name, country, credential_id } = asked;
  const sealing = keptPasskey(proven.value, credential_id);
  const application = { ...applicantOf(who), kind: "business", legal_name, country, sealing } as const;
  return fileFor(deps, who, { uuid, application, network, challenge: proven.value.used });
}

function applicantOf({ person_id, name }: SignedIn) {
  return { applicant: person_id, applicant_name: name };
}

async function fileFor(
  deps: ApplicationDeps,
  who: SignedIn,
  {
    uuid,
    application,
    ...given
  }: {
    readonly uuid: string;
    readonly application: ApplicationFacts;
    readonly network: string | null;
    readonly challenge?: UsedChallenge;
  },
): Promise<Result<void, ApplyRefusal>> {
  const { actors } = deps;
  // See BA5.
  const noted = await actors.ask(personRef(who.person_id), {
    type: "business.note",
    session: who.session.session,
    uuid,
    name: application.legal_name,
    ...given,
  });
  if (noted.status !== "done") return notNoted(noted.code);
  await deps.homes.settle(uuid);
  const filed = await actors.ask(applicationRef(uuid), { type: "application.file", application });
  return filed.status === "done" ? ok(undefined) : notVerified;
}

/** Why a person's journal does not note what they ask for. */
export function notNoted(code: PersonRefusal) {
  return code === "too_many_businesses" || code === "challenge_used"
    ? refuse(code, "It was asked for before, or enough was.")
    : refuse("session_ended", "The session is over.");
}

const notVerified = refuse("not_verified", "The passkey's answer does not verify.");

async function read(deps: ApplicationDeps, uuid: string): Promise<ListedApplication | null> {
  const report = await reportOf(deps, uuid);
  return report && listed(deps, uuid, report);
}

async function reportOf({ actors, homes }: ApplicationDeps, uuid: string): Promise<ApplicationReport | null> {
  if (!isUuidV4(uuid)) return null;
  const asked = applicationRef(await homes.orNobody(uuid));
  return actors.ask(asked, { type: "application.read" });
}

function listed({ crypto }: ApplicationDeps, uuid: string, report: ApplicationReport): ListedApplication {
  const { sealing } = report;
  const key_id = sealing === null ? null : thumbprint(sealing.public_key, crypto.sha256);
  return { uuid, key_id, ...report };
}

async function own(deps: ApplicationDeps, who: SignedIn): Promise<readonly OwnApplication[]> {
  const report = await deps.actors.ask(personRef(who.person_id), { type: "person.read" });
  const found = await Promise.all((report?.businesses ?? []).map((uuid) => ownOf(deps, who, uuid)));
  return found.filter((each) => each !== null);
}

/** A business outlasts its application, which is kept for thirty days only. */
async function ownOf(deps: ApplicationDeps, who: SignedIn, uuid: string): Promise<OwnApplication | null> {
  const { person_id } = who;
  const { party: asking, own: lost } = partsOf(uuid);
  if (asking !== "") return ownRecovery(deps, who, lost);
  const none = { isOpen: false, due_at_ms: null };
  const application = await read(deps, uuid);
  if (application?.applicant === person_id && application.state !== "opened")
    return { ...none, ...application, isOpen: application.state === "waiting" };
  // After a crash in BA5 the party that was noted may have no home.
  const member = (await deps.homes.isKnown(uuid))
    ? await deps.actors.ask(businessRef(uuid), { type: "member.read", person_id })
    : null;
  const party = member === null ? null : await deps.parties.party(uuid);
  if (party !== null) return { ...none, ...party, state: "opened", statement: null };
  await forget(deps, who, { uuid, noted_before_ms: deps.clock.now() - filingMs });
  return null;
}

/** What the business is called is not said: it need not exist. */
async function ownRecovery(
  deps: ApplicationDeps,
  who: SignedIn,
  uuid: string,
): Promise<OwnApplication | null> {
  const ref = recoveryRef(who.person_id, uuid);
  const report = await deps.actors.ask(ref, { type: "recovery.read" });
  if (report === null) {
    await forget(deps, who, { uuid: ref.id, noted_before_ms: deps.clock.now() - filingMs });
    return null;
  }
  const { state, statement, due_at_ms } = report;
  const isOpen = ["waiting", "approved", "announced", "refused", "stopped"].includes(state);
  return { uuid, kind: "recovery", legal_name: uuid, country: "", state, statement, isOpen, due_at_ms };
}

async function forget(
  { actors }: ApplicationDeps,
  { person_id }: SignedIn,
  noted: { readonly uuid: string; readonly noted_before_ms?: number },
): Promise<void> {
  await actors.ask(personRef(person_id), { type: "business.forget", ...noted });
}

/** A page of what is listed by its ids, each read; `next_after` is null on the last. */
export async function readPage<T>(
  after: string,
  pageMax: number,
  list: (after: string, limit: number) => Promise<readonly string[]>,
  read: (id: string) => Promise<T | null>,
): Promise<{ readonly found: readonly T[]; readonly next_after: string | null }> {
  const ids = await list(after, pageMax + 1);
  const page = ids.slice(0, pageMax);
  const found = (await Promise.all(page.map(read))).filter((each) => each !== null);
  return { found, next_after: ids.length > pageMax ? (page.at(-1) ?? null) : null };
}

async function decided(deps: ApplicationDeps, uuid: string, changed: boolean): Decision<"unknown"> {
  const application = await read(deps, uuid);
  return application === null ? unknown : ok({ changed, application });
}

/** See BA4. */
async function approve(deps: ApplicationDeps, uuid: string, act: RegisterAct): Decision {
  const { actors, parties, enrolment } = deps;
  const application = await read(deps, uuid);
  if (application === null) return unknown;
  if (application.state === "opened") return ok({ changed: false, application });
  const { sealing } = application;
  const proven = sealing === null ? null : provenOwner(deps, uuid, sealing);
  // Before anything is decided: what was approved can only be opened, and must not hang on a passkey that another business has.
  if (await isTaken(deps, application))
    return refuse(
      "refused",
      "Another party was opened under its uuid. Refuse it; a new application has another uuid.",
    );
  if (application.state === "waiting" && proven !== null) await parties.claimProvenKey(proven);
  const approved = await actors.ask(applicationRef(uuid), { type: "application.approve", act });
  if (approved.status !== "done") return otherwise(approved.state);
  // What was decided first counts, also where somebody else goes on.
  const by = (await read(deps, uuid))?.decided ?? act;
  const { kind, legal_name, country, applicant } = application;
  const party = { uuid, kind, legal_name, country } as const;
  await parties.open({ ...party, group: uuid, blocked_groups: [] }, by);
  if (proven !== null) await parties.registerProvenKey({ ...proven, act: by });
  // One that was issued may have been ended since: that is not for a repetition to take back.
  const { certificate } = await parties.facts(uuid, "");
  const certified = certificate === null ? await enrolment.certify({ ...party, act: by }) : ok(undefined);
  if (!certified.ok) return refuse("refused", certified.detail);
  if (proven !== null) await stateCustodyOnce(deps, { uuid, key_id: proven.key.key_id, custody: "self" });
  const seals =
    proven === null || sealing === null
      ? {}
      : { sealing: { key_id: proven.key.key_id, credential_id: sealing.credential_id } };
  const owner = { type: "member.set", person_id: applicant, role: "owner", ...seals, act: by } as const;
  const member = await actors.ask(businessRef(uuid), owner);
  if (member.status === "refused") throw new RegisterRefused(member.code, member.detail);
  await actors.ask(applicationRef(uuid), { type: "application.open" });
  return decided(deps, uuid, true);
}

/** Whether its uuid was opened as something else, by an operator who certified it by hand. */
async function isTaken({ parties }: ApplicationDeps, application: ListedApplication): Promise<boolean> {
  const party = await parties.party(application.uuid);
  const { kind, legal_name, country } = application;
  return (
    party !== null && !(party.kind === kind && party.legal_name === legal_name && party.country === country)
  );
}
