// GET /v1/entitlement: a short statement that the AI company may use the service, which it can show to others.
//   EI1. It is issued to a company whose certificate is active, and that agreed to the exact text of the terms in force.
//   EI2. It ends with the terms that it names: those who agreed to the next version get the next entitlement.

import type { KeyFacts } from "../actors/messages/business.ts";
import type { Clock } from "../crypto/port.ts";
import { canonicalBytes, type JsonValue } from "../protocol/canonical-json.ts";
import { openCertificate } from "../protocol/certificate.ts";
import { parseEnvelope, payloadTypes } from "../protocol/dsse.ts";
import { type Entitlement, entitlementKeysMax, entitlementLifeMaxMs } from "../protocol/entitlement.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { PriceList } from "../protocol/price-list.ts";
import { problem } from "../protocol/problem.ts";
import type { EntitlementAnswer } from "../protocol/wire/entitlement.ts";
import { answerJson, isRefused, type Outcome, type Refused, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import type { Register } from "./register.ts";
import type { ServiceKeys } from "./service-keys.ts";
import { signEnvelope } from "./sign-envelope.ts";
import { hashOfText, type TermsDeps, termsInForce } from "./terms.ts";

export interface EntitlementDeps {
  readonly register: Pick<Register, "certificates" | "keys">;
  readonly keys: Pick<ServiceKeys, "environment" | "statement">;
  readonly clock: Clock;
  readonly terms: TermsDeps;
  /** Null where nothing is charged. */
  readonly prices: () => PriceList | null;
}

export type ReadEntitlement = (request: {
  readonly caller: Pick<Caller, "key" | "party">;
}) => Promise<Outcome>;

export function createReadEntitlement(deps: EntitlementDeps): ReadEntitlement {
  return async ({ caller }) => {
    const { uuid } = caller.party;
    const certified = await certifiedName(deps, uuid);
    if (isRefused(certified)) return certified;
    const agreed = await agreedTerms(deps, uuid);
    if (isRefused(agreed)) return agreed;
    const nowMs = deps.clock.now();
    const issuedAt = formatTimestamp(nowMs);
    const members: Omit<EntitlementAnswer, "statement"> = {
      ai_company_uuid: uuid,
      ...certified,
      key_ids: keyIdsOf(caller.key.key_id, await deps.register.keys(uuid), issuedAt),
      terms: agreed.terms,
      billing: deps.prices() === null ? "none" : "prepaid",
      valid_from: issuedAt,
      valid_until: endOf(deps.terms, issuedAt, formatTimestamp(nowMs + entitlementLifeMaxMs)),
    };
    const mark = deps.keys.environment === "sandbox" ? ({ sandbox: true } as const) : {};
    const entitlement: Entitlement = { v: 1, ...members, ...mark };
    const bytes = canonicalBytes(entitlement as unknown as JsonValue);
    const statement = await signEnvelope(payloadTypes["entitlement.v1"], bytes, [
      deps.keys.statement(issuedAt),
    ]);
    const answer: EntitlementAnswer = { ...members, statement };
    return answerJson(200, answer, { "cache-control": "no-store" });
  };
}

type Certified = Pick<Entitlement, "legal_name" | "cert_id">;

async function certifiedName({ register }: EntitlementDeps, uuid: string): Promise<Certified | Refused> {
  const [newest] = await register.certificates(uuid);
  if (newest?.status !== "active") {
    const standing = newest === undefined ? "It has none." : `It is ${newest.status}.`;
    const detail = `Only a company whose certificate is active is entitled. ${standing}`;
    return refused(problem("business_not_verified", detail));
  }
  const envelope = parseEnvelope(JSON.parse(newest.envelope) as JsonValue);
  const opened = envelope.ok ? openCertificate(envelope.value) : envelope;
  if (!opened.ok) throw new Error(`The stored certificate ${newest.cert_id} cannot be read.`);
  return { legal_name: opened.value.certificate.legal_name, cert_id: newest.cert_id };
}

/** See EI1. */
async function agreedTerms(
  { terms }: EntitlementDeps,
  uuid: string,
): Promise<Pick<Entitlement, "terms"> | Refused> {
  const inForce = termsInForce(terms);
  if (inForce === undefined) return { terms: null };
  const agreement = await terms.agreements.find(uuid, inForce.version);
  if (agreement !== null && agreement.sha256 === hashOfText(terms, inForce.text)) return { terms: agreement };
  const detail = `Your company has not agreed to version ${inForce.version} of the terms: POST /v1/terms/agreements.`;
  return refused(problem("terms_not_agreed", detail));
}

function keyIdsOf(own: string, keys: readonly KeyFacts[], now: string): readonly string[] {
  const others = keys
    .filter((key) => key.key_id !== own && isLive(key, now))
    .sort((a, b) => (a.valid_from < b.valid_from ? 1 : -1))
    .map(({ key_id }) => key_id);
  return [own, ...others].slice(0, entitlementKeysMax).sort();
}

function isLive({ valid_from, valid_until, revoked_at, compromised_from }: KeyFacts, now: string): boolean {
  const isOver = [valid_until, revoked_at, compromised_from].some((end) => end !== null && end <= now);
  return valid_from <= now && !isOver;
}

/** See EI2. */
function endOf({ terms }: TermsDeps, now: string, latest: string): string {
  const next = terms().find(({ effective_from }) => effective_from > now)?.effective_from;
  return next !== undefined && next < latest ? next : latest;
}
