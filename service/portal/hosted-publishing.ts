// Hosted publishing: the service holds a key for the business, and seals by it what one of its people confirmed (specification, «Key
// custody statement»).
//   HP1. An owner or admin switches it on: a key is registered, of which owners and admins are told in that commit, and who holds it is
//        stated. Switched off, every such key is revoked for good; what is switched on again is the next one.
//   HP2. What the key seals was shown for its exact bytes, and confirmed by a passkey with which its person signs in, made for these bytes.
//        The person's journal has it, with the hash, before the key is asked. Nothing else asks the key.
//   HP3. The business's actor is asked whether the key stands and what the person may, before it is shown and again before it is sealed.

import type { KeyFacts } from "../../actors/messages/business.ts";
import { bindingRoles } from "../../actors/messages/members.ts";
import {
  type HostedKeyName,
  type HostedKeys,
  hostedGenerationsMax,
  signingUnavailable,
} from "../../crypto/port.ts";
import { parseBase64Url } from "../../protocol/bytes.ts";
import { type Envelope, parsePayload, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { algorithmOf, thumbprint } from "../../protocol/keys/jwk.ts";
import { ok, type Refusal, type Result, refuse } from "../../protocol/result.ts";
import { sealV2 } from "../../protocol/seal.ts";
import { BoundedMap, madeOnce } from "../../std/bounded-map.ts";
import { judgeVerified, readEntry } from "../register/home-evidence.ts";
import { accepted, actOf, type Owner, type OwnerDeps, type OwnerRefusal, sealingRoles } from "./owner.ts";
import type { Answered, People, PeopleRefusal, SignedIn } from "./people.ts";
import { stateCustodyOnce } from "./possession.ts";
import { type HostedSealer, type SealedHere, shownAct } from "./sealing.ts";

export interface HostedDeps extends Pick<OwnerDeps, "actors" | "register" | "parties" | "crypto" | "clock"> {
  readonly hostedKeys: HostedKeys;
  readonly owner: Pick<Owner, "may">;
  readonly people: Pick<People, "report" | "confirmOnce">;
}

type Outcome<T> = Promise<Result<T, OwnerRefusal>>;

export interface HostedPublishing {
  /** Switches it on or off. Repeatable. */
  choose(who: SignedIn, asked: { readonly uuid: string; readonly on: boolean }): Outcome<void>;
}

/** Switches hosted publishing on and off, for who binds the business (HP1). */
export function createHostedPublishing(deps: HostedDeps): HostedPublishing {
  return {
    choose: async (who, { uuid, on }) => {
      const allowed = await deps.owner.may(who, uuid, bindingRoles);
      if (!allowed.ok) return allowed;
      return accepted(() => (on ? begin(deps, who, uuid) : end(deps, who, uuid)));
    },
  };
}

async function begin(deps: HostedDeps, who: SignedIn, uuid: string): Outcome<void> {
  const verified = judgeVerified(await deps.parties.facts(uuid, ""));
  if (!verified.ok) return refuse("not_accepted", verified.detail);
  const key_id = await registeredKey(deps, who, uuid);
  await stateCustodyOnce(deps, { uuid, key_id, custody: "hosted" });
  return ok(undefined);
}

/** The key that stands, or the first that the business never had. */
async function registeredKey(deps: HostedDeps, who: SignedIn, uuid: string): Promise<string> {
  const [live] = await liveKeys(deps, uuid);
  if (live !== undefined) return live.key_id;
  for await (const { key_id, public_key, known } of generations(deps, uuid)) {
    if (known !== null && known.revoked_at !== null) continue;
    const key: KeyFacts = {
      key_id,
      party_uuid: uuid,
      role: "hosted",
      alg: algorithmOf(public_key),
      public_key,
      cose: null,
      valid_from: formatTimestamp(deps.clock.now()),
      valid_until: null,
      revoked_at: null,
      compromised_from: null,
    };
    const act = actOf(who, "Hosted publishing was switched on.");
    if (known === null) await deps.parties.registerKey(key, act);
    return key_id;
  }
  throw signingUnavailable("hosted_key", `The business ${uuid} had all keys that are held for one.`);
}

/** The keys of the business, with what its own actor knows of each; the last is the first that it never had. */
async function* generations({ actors, hostedKeys, crypto }: HostedDeps, uuid: string) {
  for (let generation = 0; generation <= hostedGenerationsMax; generation += 1) {
    const public_key = await hostedKeys.publicKey({ business_uuid: uuid, generation });
    const key_id = thumbprint(public_key, crypto.sha256);
    const known = await readEntry<KeyFacts>(actors, uuid, `key/${key_id}`);
    yield { key_id, public_key, known };
    if (known === null) return;
  }
}

async function end(deps: HostedDeps, who: SignedIn, uuid: string): Outcome<void> {
  const act = actOf(who, "Hosted publishing was switched off.");
  const revoked_at = formatTimestamp(deps.clock.now());
  const revoke = ({ key_id }: Pick<KeyFacts, "key_id">) =>
    deps.parties.revokeKey({ uuid, key_id, revoked_at, compromised_from: null, act });
  // Those that the region knows first: they end also while no key can be asked for.
  for (const key of await liveKeys(deps, uuid)) await revoke(key);
  for await (const { known } of generations(deps, uuid)) if (known?.revoked_at === null) await revoke(known);
  return ok(undefined);
}

/** The hosted keys that this region knows of the business and that stand now, by the business's own actor. */
async function liveKeys(
  { actors, register }: Pick<HostedDeps, "actors" | "register">,
  uuid: string,
): Promise<readonly KeyFacts[]> {
  const known = (await register.keys(uuid)).filter(({ role }) => role === "hosted");
  const now = await Promise.all(
    known.map(({ key_id }) => readEntry<KeyFacts>(actors, uuid, `key/${key_id}`)),
  );
  return now.filter((key) => key !== null).filter(({ revoked_at }) => revoked_at === null);
}

/** The key that seals for the business now, with which passkeys the person may confirm it; null where hosted publishing is off. */
export async function hostedSealerOf(
  deps: Pick<HostedDeps, "actors" | "register" | "people">,
  who: SignedIn,
  uuid: string,
): Promise<HostedSealer | null> {
  const [key] = await liveKeys(deps, uuid);
  const report = key === undefined ? null : await deps.people.report(who);
  if (key === undefined || report === null) return null;
  return { key_id: key.key_id, confirmed_by: report.passkeys.map(({ credential_id }) => credential_id) };
}

/** What was shown, with what gives its seal once the act is in the journal of its person. */
export interface Taken {
  readonly payload: Uint8Array;
  readonly document: Uint8Array;
  readonly key_id: string;
  readonly keep: (act: string, subject: string) => Outcome<Envelope>;
}

export type Given = SealedHere & Answered;

/** Takes what a passkey confirmed (HP2, HP3); null where it names no hosted key. */
export async function takeHosted(
  deps: HostedDeps,
  who: SignedIn,
  given: Given,
): Promise<Result<Taken, OwnerRefusal> | null> {
  const { uuid } = given;
  const allowed = await deps.owner.may(who, uuid, sealingRoles);
  if (!allowed.ok) return allowed;
  const [payload, document] = [parseBase64Url(given.payload), parseBase64Url(given.document)];
  const isSeal = given.payload_type === payloadTypes["seal.v2"];
  const claimed = payload === null || !isSeal ? null : parsePayload(payload, sealV2);
  if (payload === null || document === null || claimed?.ok !== true) return null;
  const { key_id, hash } = claimed.value;
  const key = await readEntry<KeyFacts>(deps.actors, uuid, `key/${key_id}`);
  if (key?.role !== "hosted") return null;
  if (key.revoked_at !== null) return refuse("not_accepted", "Hosted publishing was switched off.");
  const keep = async (act: string, subject: string): Outcome<Envelope> => {
    const kept = { act: `hosted.${act}`, subject: `${subject}, ${hash}` };
    const confirmation = await deps.people.confirmOnce(who, shownAct(given), given, kept);
    if (!confirmation.ok) return unconfirmed(confirmation);
    await stateCustodyOnce(deps, { uuid, key_id, custody: "hosted" });
    const of = await nameOf(deps, uuid, key_id);
    const sealed = await deps.hostedKeys.seal(of, { payload, confirmation: confirmation.value });
    return sealed.ok ? sealed : refuse("not_accepted", sealed.detail);
  };
  return ok({ payload, document, key_id, keep });
}

function unconfirmed({ code, detail }: Refusal<PeopleRefusal>): Result<never, OwnerRefusal> {
  return refuse(code === "challenge_expired" || code === "session_ended" ? code : "not_accepted", detail);
}

const generationsOf = madeOnce((_keys: HostedKeys) => new BoundedMap<string, number>(10_000));

async function nameOf(
  { hostedKeys, crypto }: HostedDeps,
  uuid: string,
  keyId: string,
): Promise<HostedKeyName> {
  const found = generationsOf(hostedKeys);
  const before = found.get(keyId);
  if (before !== undefined) return { business_uuid: uuid, generation: before };
  for (let generation = 0; generation <= hostedGenerationsMax; generation += 1) {
    const of = { business_uuid: uuid, generation };
    if (thumbprint(await hostedKeys.publicKey(of), crypto.sha256) !== keyId) continue;
    found.set(keyId, generation);
    return of;
  }
  throw signingUnavailable(
    "hosted_key",
    `The key ${keyId} does not follow from the secret that there is now.`,
  );
}
