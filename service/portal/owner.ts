// What people do for their business at the portal: the keys of its systems, and their mandates.
//   PO1. The business's actor is asked for the person's role at every act, when it is asked for and again when it is done.
//   PO2. What the passkey seals is shown before (sealing.ts), and judged as if it had been delivered (`POST /v1/mandates`).
//   PO3. What is acted on is the business's own: ids of others are unknown here.

import type { KeyFacts, MandateFacts, MandateScopeFacts } from "../../actors/messages/business.ts";
import { bindingRoles, type Member, type MemberRole } from "../../actors/messages/members.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { toHex } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp, isUuidV4 } from "../../protocol/identifiers.ts";
import { parsePublicJwk, thumbprint } from "../../protocol/keys/jwk.ts";
import { mandateDaysMax } from "../../protocol/limits.ts";
import { mandatePayload, parseMandate } from "../../protocol/mandate.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { RegisterStore } from "../../storage/register-store.ts";
import type { Enrolment, PartyState } from "../register/enrolment.ts";
import { type Registered, RegisterRefused } from "../register/parties.ts";
import { momentFault } from "../register/revocations.ts";
import type { Homes, People, SignedIn } from "./people.ts";
import { type ReadyToSeal, readyToSeal, type SealedHere, type SealingDeps, sealedHere } from "./sealing.ts";

export interface OwnerDeps extends Actors, Registered, SealingDeps, Pick<Platform, "clock"> {
  readonly homes: Homes;
  readonly enrolment: Pick<Enrolment, "party" | "registerKey">;
  readonly people: Pick<People, "keep">;
  readonly registerStore: RegisterStore;
}

/** A business as one of its people sees it. */
export interface OwnBusiness {
  readonly party: PartyState;
  readonly member: Member;
  /** Newest first. */
  readonly mandates: readonly MandateFacts[];
}

export type OwnerRefusal =
  /** There is no such business, or the person has no role in it. */
  | "not_there"
  | "role_too_low"
  /** What was sent cannot be used; the detail says why. */
  | "not_accepted"
  | "challenge_expired"
  | "session_ended";

type Outcome<T> = Promise<Result<T, OwnerRefusal>>;

export interface Owner {
  business(who: SignedIn, uuid: string): Promise<OwnBusiness | null>;
  /** Whether the person may do now what takes one of these roles. */
  may(who: SignedIn, uuid: string, roles: readonly MemberRole[]): Outcome<Member>;
  /** The key in what `svc prove-key` printed; it proves nothing yet. */
  keyIn(uuid: string, proven: string): Result<string, "not_accepted">;
  registerKey(
    who: SignedIn,
    key: { readonly uuid: string; readonly key_id: string; readonly proven: string },
  ): Outcome<void>;
  /** Since when a key was in other hands: as operators say it, not in the future; null for an empty text. */
  moment(text: string): Result<string | null, "not_accepted">;
  /** What the key sealed from `compromised_from` on, which {@link moment} took, stands no more. */
  revokeKey(
    who: SignedIn,
    key: { readonly uuid: string; readonly key_id: string; readonly compromised_from: string | null },
  ): Outcome<void>;
  mandate(
    who: SignedIn,
    asked: {
      readonly uuid: string;
      readonly key_id: string;
      readonly scope: MandateScopeFacts;
      readonly days: number;
    },
  ): Outcome<ReadyToSeal>;
  /** Accepts what the passkey sealed. Repeatable. */
  seal(
    who: SignedIn,
    sealed: Omit<SealedHere, "payload_type" | "document"> & { readonly network: string | null },
  ): Outcome<void>;
  revokeMandate(
    who: SignedIn,
    mandate: { readonly uuid: string; readonly mandate_id: string },
  ): Outcome<void>;
}

/** Who registers keys. */
export const keyRoles: readonly MemberRole[] = ["owner", "admin", "developer"];
/** Who seals what binds nobody but the record. */
export const sealingRoles: readonly MemberRole[] = ["owner", "admin", "developer"];

/** The key that the service holds for the business, as this region knows it; null for none that stands. */
export function hostedKeyOf({ party: { keys } }: OwnBusiness): string | null {
  return keys.find(({ role, revoked_at }) => role === "hosted" && revoked_at === null)?.key_id ?? null;
}

/** Whether a key is of a party's own system. */
export function isSystemKey({ role }: Pick<KeyFacts, "role">): boolean {
  return role === "integration" || role === "retrieval";
}
const dayMs = 86_400_000;

/** A business as its people see and change it (PO1 to PO3). Its methods throw {@link StoreError}. */
export function createOwner(deps: OwnerDeps): Owner {
  return {
    business: (who, uuid) => business(deps, who, uuid),
    may: (who, uuid, roles) => may(deps, who, { uuid, roles }),
    keyIn: (uuid, proven) => {
      const read = provenIn(deps, uuid, proven);
      return read.ok ? ok(read.value.key_id) : read;
    },
    registerKey: async (who, { uuid, key_id, proven }) => {
      const allowed = await may(deps, who, { uuid, roles: keyRoles });
      if (!allowed.ok) return allowed;
      const read = provenIn(deps, uuid, proven);
      if (!read.ok) return read;
      if (read.value.key_id !== key_id)
        return refuse("not_accepted", "The proof is of another key than was shown.");
      const { public_key, proof } = read.value;
      const asked = {
        uuid,
        public_key,
        proof,
        valid_until: null,
        act: actOf(who, "Registered at the portal."),
      };
      return accepted(async () => {
        const registered = await deps.enrolment.registerKey(asked);
        return registered.ok ? known(deps, uuid, `key/${key_id}`) : refuse("not_accepted", registered.detail);
      });
    },
    moment: (text) => {
      const at = text === "" ? null : text;
      const fault = momentFault("compromised_from", at, deps);
      return fault === null ? ok(at) : refuse("not_accepted", fault.detail);
    },
    revokeKey: async (who, { uuid, key_id, compromised_from }) => {
      const allowed = await may(deps, who, { uuid, roles: keyRoles });
      if (!allowed.ok) return allowed;
      const key = await ownKey(deps, uuid, key_id);
      if (key === null) return notThere;
      const revoked_at = formatTimestamp(deps.clock.now());
      const since = compromised_from === null ? "" : ` It was in other hands since ${compromised_from}.`;
      const act = actOf(who, `Revoked at the portal.${since}`);
      return accepted(async () => {
        await deps.parties.revokeKey({ uuid, key_id, revoked_at, compromised_from, act });
        return known(deps, uuid, `key/${key_id}`);
      });
    },
    mandate: (who, asked) => readyMandate(deps, who, asked),
    seal: (who, sealed) => seal(deps, who, sealed),
    revokeMandate: async (who, { uuid, mandate_id }) => {
      const allowed = await may(deps, who, { uuid, roles: bindingRoles });
      if (!allowed.ok) return allowed;
      const revoked_at = formatTimestamp(deps.clock.now());
      const act = actOf(who, "Revoked at the portal.");
      return accepted(async () => {
        await deps.parties.revokeMandate({ uuid, mandate_id, revoked_at, act });
        return known(deps, uuid, `mandate/${mandate_id}`);
      });
    },
  };
}

export const notThere = refuse("not_there", "There is no such business, or you do not work for it.");

/** Who did something here, as the register notes it. */
export function actOf({ person_id, name }: SignedIn, reason: string) {
  return { by: `${name} (person ${person_id})`, reason };
}

/** What the register refuses is said to the person. */
export async function accepted<T>(work: () => Outcome<T>): Outcome<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof RegisterRefused) return refuse("not_accepted", error.detail);
    throw error;
  }
}

/**
 * Has this region's register know at once what the business's actor took, so that the page that follows shows it. The actor writes the
 * same entry itself, also where this fails (G1 in storage/register-store.ts).
 */
async function known(
  { actors, register, registerStore }: OwnerDeps,
  uuid: string,
  key: string,
): Outcome<void> {
  try {
    const { entries } = await actors.ask(businessRef(uuid), { type: "register.read", keys: [key] });
    await registerStore.put(entries);
    await register.refresh();
  } catch {
    // The page shows it a little later.
  }
  return ok(undefined);
}

/** Null for somebody who has no role in the business, and where there is no such business: after the same work (PP1 in people.ts). */
export async function memberOf(
  { register, homes, actors }: Pick<OwnerDeps, "register" | "homes" | "actors">,
  { person_id }: SignedIn,
  uuid: string,
): Promise<Member | null> {
  if (!isUuidV4(uuid)) return null;
  const party = await register.party(uuid);
  const asked = businessRef(await homes.orNobody(uuid));
  const member = await actors.ask(asked, { type: "member.read", person_id });
  return party && member;
}

async function may(
  deps: OwnerDeps,
  who: SignedIn,
  { uuid, roles }: { readonly uuid: string; readonly roles: readonly MemberRole[] },
): Outcome<Member> {
  const member = await memberOf(deps, who, uuid);
  if (member === null) return notThere;
  return roles.includes(member.role)
    ? ok(member)
    : refuse("role_too_low", `A ${member.role} does not do this.`);
}

async function business(deps: OwnerDeps, who: SignedIn, uuid: string): Promise<OwnBusiness | null> {
  const member = await memberOf(deps, who, uuid);
  const party = member === null ? null : await deps.enrolment.party(uuid);
  if (member === null || party === null || !party.ok) return null;
  const mandates = [...(await deps.register.mandates(uuid))];
  return {
    member,
    party: party.value,
    mandates: mandates.sort((a, b) => (a.accepted_at < b.accepted_at ? 1 : -1)),
  };
}

/** A key of the business's own system that has not ended. */
async function ownKey({ register }: OwnerDeps, uuid: string, keyId: string): Promise<KeyFacts | null> {
  const keys = await register.keys(uuid);
  return keys.find((key) => key.key_id === keyId && isSystemKey(key) && key.revoked_at === null) ?? null;
}

function provenIn({ crypto }: OwnerDeps, uuid: string, proven: string) {
  const malformed = refuse("not_accepted", "This is not what svc prove-key prints for this business.");
  try {
    const read = JSON.parse(proven) as Readonly<Record<string, unknown>> | null;
    const { party_uuid, public_key, proof } = { ...read };
    const jwk = parsePublicJwk(public_key);
    if (party_uuid !== uuid || !jwk.ok || proof === undefined) return malformed;
    return ok({ key_id: thumbprint(jwk.value, crypto.sha256), public_key, proof });
  } catch {
    return malformed;
  }
}

async function readyMandate(
  deps: OwnerDeps,
  who: SignedIn,
  { uuid, key_id, scope, days }: Parameters<Owner["mandate"]>[1],
): Outcome<ReadyToSeal> {
  const allowed = await may(deps, who, { uuid, roles: bindingRoles });
  if (!allowed.ok) return allowed;
  const { sealing } = allowed.value;
  if (sealing === null) return refuse("role_too_low", "You have no passkey that seals for this business.");
  if ((await ownKey(deps, uuid, key_id)) === null) return notThere;
  const nowMs = deps.clock.now();
  const payload = mandatePayload({
    v: 1,
    mandate_id: `m-${formatTimestamp(nowMs).slice(0, 10)}-${toHex(deps.crypto.randomBytes(6))}`,
    business_uuid: uuid,
    key_id,
    scope: { ...scope, directions: ["publish"] },
    valid_from: formatTimestamp(nowMs),
    // One day too many is refused by the reader, in its words; many more would be no instant.
    valid_until: formatTimestamp(nowMs + Math.min(days, mandateDaysMax + 1) * dayMs),
  });
  const parsed = parseMandate(payload);
  if (!parsed.ok) return refuse("not_accepted", `${parsed.pointer ?? ""} ${parsed.detail}`.trim());
  return readyToSeal(deps, who, { uuid, payloadType: mandateType, payload, document: null }, sealing);
}

const mandateType = payloadTypes["mandate.v1"];

async function seal(deps: OwnerDeps, who: SignedIn, given: Parameters<Owner["seal"]>[1]): Outcome<void> {
  const { uuid, network } = given;
  const allowed = await may(deps, who, { uuid, roles: bindingRoles });
  if (!allowed.ok) return allowed;
  const { sealing } = allowed.value;
  if (sealing === null) return notThere;
  const sealed = sealedHere(deps, who, { ...given, payload_type: mandateType, document: "" }, sealing);
  if (!sealed.ok) return sealed;
  return accepted(async () => {
    const { envelope } = sealed.value;
    const { mandate_id } = await deps.parties.judgeMandate(envelope, uuid);
    // Its journal has it before it binds the business.
    const act = { act: "mandate.seal", subject: mandate_id, source: mandate_id, network };
    const kept = await deps.people.keep(who, act);
    if (!kept.ok) return refuse("session_ended", kept.detail);
    await deps.parties.acceptMandate(envelope, uuid, actOf(who, "Sealed at the portal."));
    return known(deps, uuid, `mandate/${mandate_id}`);
  });
}
