// A node whose clock the test sets, and businesses in it with a past: certificates, keys, mandates and AI policies, each
// registered at its moment, by the services that portals use. For tests.

import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BusinessCommand, KeyFacts, PublishingFacts } from "../../actors/messages/business.ts";
import type { PersonRole } from "../../actors/messages/party.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { type NodeServices, openNodeServices } from "../../node/composition/services.ts";
import { loadConfig } from "../../node/configuration/config.ts";
import { aiPolicyBytes } from "../../protocol/ai-policy.ts";
import { hashOf, toBase64 } from "../../protocol/bytes.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { CertificateStatus } from "../../protocol/keys/certificate.ts";
import { coseKeyOf } from "../../protocol/keys/jwk.ts";
import { type Mandate, mandatePayload } from "../../protocol/mandate.ts";
import { sealPayload } from "../../protocol/seal.ts";
import { createParties, type Parties } from "../../service/register/parties.ts";
import type { Environment } from "../../service/register/service-keys.ts";
import { policyRecord } from "../../verifier/business.fixture.ts";
import {
  makeKey,
  seal,
  sealWithPasskey,
  type TestKey,
  testOrigin,
  testRpId,
} from "../../verifier/signing.fixture.ts";
import type { Trust } from "../../verifier/trust.ts";

export const dayMs = 86_400_000;

export interface SealingWorld {
  readonly services: NodeServices;
  readonly time: { nowMs: number };
  /** The instant from which the node's own keys are valid. */
  readonly startedMs: number;
  trust(environment: Environment): Trust;
  /** Judges registrations as a deployment of that environment would. */
  parties(environment: Environment): Parties;
  close(): Promise<void>;
}

/** Seals by passkeys of the verifier's fixtures are valid there. */
export async function openSealingWorld(): Promise<SealingWorld> {
  const home = await mkdtemp(join(tmpdir(), "svc-sealing-"));
  const env = { SVC_PASSKEY_ORIGINS: testOrigin, SVC_PASSKEY_RP_IDS: testRpId };
  const startedMs = Date.now();
  const time = { nowMs: startedMs };
  const clock = { now: () => time.nowMs };
  const services = await openNodeServices(loadConfig({ home, environment: "sandbox" }, env), () => {}, {
    clock,
  });
  await services.actors.start();
  const trust = (environment: Environment): Trust => ({
    ...services.trust(),
    anchors: { ...services.trust().anchors, environment },
  });
  return {
    services,
    time,
    startedMs,
    trust,
    parties: (environment) =>
      createParties({
        ...services,
        crypto: nativeCrypto,
        trust: () => trust(environment),
        recordIdKey: new Uint8Array(32),
        settleHome: () => Promise.resolve(),
        claimKey: (keyId, party) => services.registerStore.claimKey(keyId, party),
      }),
    close: async () => {
      await services[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** Milliseconds before (negative) or after the moment at which something is sent to the service. */
export type Offset = number;

export type KeyKind = "passkey" | "hosted" | "system";

export interface KeyPlan {
  readonly kind: KeyKind;
  readonly role: PersonRole;
  readonly fromMs: Offset;
  readonly untilMs: Offset | null;
  /** Stated before anything is sent. */
  readonly revoked: { readonly atMs: Offset; readonly compromisedMs: Offset | null } | null;
}

export interface CertificatePlan {
  readonly status: CertificateStatus;
  /** When it is issued; the first one is active. */
  readonly atMs: Offset;
  readonly effectiveMs: Offset;
}

export interface MandatePlan {
  readonly sealer: "passkey" | "hosted";
  readonly sealerCompromisedMs: Offset | null;
  readonly fromMs: Offset;
  readonly untilMs: Offset;
  readonly revokedMs: Offset | null;
  readonly countries: readonly string[];
}

export interface Past {
  /** The key whose seal is sent. */
  readonly key: KeyPlan;
  readonly certificates: readonly CertificatePlan[];
  /** When each AI policy version is accepted. */
  readonly policiesMs: readonly Offset[];
  readonly mandate: MandatePlan;
}

export interface PastBusiness {
  readonly uuid: string;
  /** When something is sent, in Unix milliseconds. */
  readonly atMs: number;
  readonly key: TestKey;
  readonly kind: KeyKind;
  /** The integration key that signs requests: `key` if that is a system's, otherwise another. */
  readonly caller: TestKey;
  /** Another integration key. */
  readonly other: TestKey;
  readonly owner: TestKey;
  readonly mandateId: string;
  /** Sorted with the newest first. */
  readonly certIds: readonly string[];
  readonly facts: PublishingFacts;
}

/** A business with that past; the clock then stands at the moment for which it was created. */
export async function makePast(world: SealingWorld, past: Past): Promise<PastBusiness> {
  const uuid = randomUUID();
  const atMs = world.startedMs + 10 * dayMs;
  const key = makeKey(past.key.kind === "passkey" ? "ES256" : "Ed25519");
  const business = {
    uuid,
    atMs,
    key,
    kind: past.key.kind,
    caller: past.key.kind === "system" ? key : makeKey("Ed25519"),
    other: makeKey("Ed25519"),
    owner: makeKey("ES256"),
    mandateSealer: makeKey(past.mandate.sealer === "passkey" ? "ES256" : "Ed25519"),
    mandateId: `mdt_${uuid}`,
    certIds: [] as string[],
  };
  const steps = [...registering(world, past, business), ...standing(world, past, business)];
  for (const step of steps.toSorted((a, b) => a.atMs - b.atMs)) {
    world.time.nowMs = atMs + step.atMs;
    await step.run();
  }
  world.time.nowMs = atMs;
  const facts = await world.services.parties.facts(uuid, business.caller.keyId);
  return { ...business, certIds: business.certIds.toReversed(), facts };
}

interface Step {
  readonly atMs: Offset;
  readonly run: () => Promise<unknown>;
}

type Growing = Omit<PastBusiness, "facts" | "certIds"> & {
  readonly mandateSealer: TestKey;
  readonly certIds: string[];
};

function registering({ services }: SealingWorld, past: Past, business: Growing): readonly Step[] {
  const { parties } = services;
  const { uuid, atMs } = business;
  const always = { fromMs: -3 * dayMs, untilMs: null } as const;
  const register = (key: TestKey, kind: KeyKind, plan: Partial<KeyPlan> = {}): Step => ({
    atMs: -3 * dayMs,
    run: () => parties.registerKey(keyFacts(uuid, key, kind, { atMs, ...always, ...plan })),
  });
  const revoke = (key: TestKey, revokedMs: Offset, compromisedMs: Offset | null): Step => ({
    atMs: Math.min(revokedMs, 0),
    run: () =>
      parties.revokeKey({
        uuid,
        key_id: key.keyId,
        revoked_at: formatTimestamp(atMs + revokedMs),
        compromised_from: compromisedMs === null ? null : formatTimestamp(atMs + compromisedMs),
      }),
  });
  const { revoked } = past.key;
  const { sealerCompromisedMs: fallen } = past.mandate;
  return [
    { atMs: -3 * dayMs - 1, run: () => parties.open(party(uuid)) },
    register(business.key, past.key.kind, past.key),
    ...(business.caller === business.key ? [] : [register(business.caller, "system")]),
    register(business.other, "system"),
    register(business.owner, "passkey"),
    register(business.mandateSealer, past.mandate.sealer),
    ...(revoked === null ? [] : [revoke(business.key, revoked.atMs, revoked.compromisedMs)]),
    ...(fallen === null ? [] : [revoke(business.mandateSealer, -30_000, fallen)]),
  ];
}

function standing(world: SealingWorld, past: Past, business: Growing): readonly Step[] {
  const { services } = world;
  const { uuid, atMs, certIds, mandateId } = business;
  const { revokedMs } = past.mandate;
  const certificates = past.certificates.map(({ status, atMs: issuedMs, effectiveMs }) => ({
    atMs: issuedMs,
    run: async () => {
      const status_effective_from = formatTimestamp(atMs + effectiveMs);
      const status_reason = status === "active" ? null : "for_a_test";
      const verified_since = formatTimestamp(atMs - 3 * dayMs);
      const { legal_name, country } = party(uuid);
      const said = { status, status_effective_from, status_reason, verified_since, legal_name, country };
      certIds.push(await services.parties.issueCertificate({ uuid, kind: "business", ...said }));
    },
  }));
  const policies = past.policiesMs.map((acceptedMs) => ({
    atMs: acceptedMs,
    run: () => acceptPolicy(world, business, atMs + acceptedMs),
  }));
  const revoke = (revoked_at: string): Promise<unknown> => {
    const command: BusinessCommand = { type: "mandate.revoke", mandate_id: mandateId, revoked_at };
    return services.actors.ask(businessRef(uuid), command);
  };
  return [
    ...certificates,
    ...policies,
    {
      atMs: -2 * dayMs,
      run: () => services.parties.acceptMandate(mandateEnvelope(business, past.mandate)),
    },
    ...(revokedMs === null
      ? []
      : [{ atMs: Math.min(revokedMs, 0), run: () => revoke(formatTimestamp(atMs + revokedMs)) }]),
  ];
}

/** The owner seals the next AI policy version; a business without an active certificate has none. */
export async function acceptPolicy(
  { services }: SealingWorld,
  { uuid, owner }: Pick<PastBusiness, "uuid" | "owner">,
  sealedAtMs: number,
): Promise<void> {
  const { certificate, policy } = await services.parties.facts(uuid, "");
  if (certificate?.status !== "active") return;
  const record = aiPolicyBytes(policyRecord());
  const payload = sealPayload({
    v: 2,
    key_id: owner.keyId,
    cert_id: certificate.cert_id,
    hash: hashOf(record),
    sealed_at: formatTimestamp(sealedAtMs),
    record_type: "ai_policy",
    ai_policy_version: policy.version + 1,
  });
  const envelope = sealWithPasskey(payloadTypes["seal.v2"], payload, owner);
  await services.parties.acceptPolicy({ uuid, record, seal: envelope });
}

function mandateEnvelope(business: Growing, plan: MandatePlan): Envelope {
  const payload = mandatePayload(mandateOf(business, plan));
  const type = payloadTypes["mandate.v1"];
  return plan.sealer === "passkey"
    ? sealWithPasskey(type, payload, business.mandateSealer)
    : seal(type, payload, business.mandateSealer);
}

export function mandateOf(
  { uuid, atMs, caller, mandateId }: Pick<PastBusiness, "uuid" | "atMs" | "caller" | "mandateId">,
  plan: Pick<MandatePlan, "fromMs" | "untilMs" | "countries">,
): Mandate {
  return {
    v: 1,
    mandate_id: mandateId,
    business_uuid: uuid,
    key_id: caller.keyId,
    scope: {
      record_types: ["products"],
      countries: plan.countries,
      directions: ["publish"],
      caps: { records_per_hour: 1_000_000, bytes_per_day: 1_000_000_000 },
      source_ip_allow_list: null,
    },
    valid_from: formatTimestamp(atMs + plan.fromMs),
    valid_until: formatTimestamp(atMs + plan.untilMs),
  };
}

function party(uuid: string) {
  const names = { legal_name: "Harrier Sports Ltd", country: "GB" };
  return { uuid, kind: "business", ...names, group: uuid, blocked_groups: [] } as const;
}

const roleOf = { passkey: "sealing", hosted: "hosted", system: "integration" } as const;

function keyFacts(
  party_uuid: string,
  key: TestKey,
  kind: KeyKind,
  plan: Pick<KeyPlan, "fromMs" | "untilMs"> & Partial<KeyPlan> & { readonly atMs: number },
): KeyFacts {
  const cose = kind === "passkey" ? coseKeyOf(key.jwk) : null;
  return {
    key_id: key.keyId,
    party_uuid,
    role: roleOf[kind],
    alg: key.alg,
    public_key: { ...key.jwk },
    cose: cose && toBase64(cose),
    ...(kind === "passkey" ? { person_role: plan.role ?? "owner" } : {}),
    valid_from: formatTimestamp(plan.atMs + plan.fromMs),
    valid_until: plan.untilMs === null ? null : formatTimestamp(plan.atMs + plan.untilMs),
    revoked_at: null,
    compromised_from: null,
  };
}
