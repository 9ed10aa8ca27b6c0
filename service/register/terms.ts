// The terms of AI companies, current or by version (specification, «Retrieval API»), and what a company agreed to.
// Also the entitlement of a company, and its agreements.
//   T1. A version that was in force can always be read again: its text never changes, and its hash says which it is.
//   T2. What comes into force later is announced: it is listed, can be read by its number, and can be agreed to.
//   T3. An agreement is to one exact text: it names the version and the hash of what its company read.

import type { KeyFacts, PartyFacts } from "../../actors/messages/business.ts";
import type { TermsAgreement } from "../../actors/messages/company.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import type { Clock } from "../../crypto/port.ts";
import { hashOf, type Sha256, utf8 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { type Entitlement, entitlementKeysMax, entitlementLifeMaxMs } from "../../protocol/entitlement.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import type { PriceList } from "../../protocol/price-list.ts";
import type { EntitlementAnswer } from "../../protocol/wire/entitlement.ts";
import {
  type AgreementAnswer,
  type AgreementBody,
  agreementBody,
  type TermsAnswer,
  type TermsFacts,
} from "../../protocol/wire/terms.ts";
import {
  answerJson,
  type Caller,
  type CallersParty,
  isRefused,
  type Outcome,
  parseJsonBody,
  type Refused,
  refusedWith,
  wrongParameter,
} from "../answer.ts";
import { certificateOf, readEntry } from "./home-evidence.ts";
import { RegisterRefused } from "./parties.ts";
import type { Register } from "./register.ts";
import { type ServiceKeys, signEnvelope } from "./service-keys.ts";

/** A version as its operator wrote it. */
export interface TermsText {
  readonly version: number;
  readonly effective_from: string;
  readonly language: string;
  readonly text: string;
}

export interface TermsDeps {
  /** All versions, oldest first; none where the operator publishes no terms. */
  readonly terms: () => readonly TermsText[];
  readonly clock: Clock;
  readonly sha256: Sha256;
  readonly agreements: Agreements;
}

export type ReadTerms = (request: {
  readonly caller: CallersParty;
  readonly version: string | null;
}) => Promise<Outcome>;

const headers = Object.freeze({ "cache-control": "private, no-cache" });

/** GET /v1/terms. */
export function createReadTerms(deps: TermsDeps): ReadTerms {
  return async ({ caller, version: asked }) => {
    const all = deps.terms();
    const current = termsInForce(deps);
    const number = asked === null ? current?.version : parseVersion(asked);
    if (number === null) return wrongParameter("version", "version is the number of a version.");
    const wanted = all.find(({ version }) => version === number);
    if (wanted === undefined)
      return refusedWith("not_found", "There are no terms of this version, or none are in force.");
    const facts = ({ text, ...rest }: TermsText): TermsFacts => ({ ...rest, sha256: hashOfText(deps, text) });
    const answer: TermsAnswer = {
      ...facts(wanted),
      media_type: "text/markdown; charset=utf-8",
      text: wanted.text,
      current_version: current?.version ?? null,
      agreed: await deps.agreements.find(caller.party.uuid, wanted.version),
      versions: all.map(facts),
    };
    return answerJson(200, answer, headers);
  };
}

/** The version that is in force now. */
function termsInForce({ terms, clock }: Pick<TermsDeps, "terms" | "clock">): TermsText | undefined {
  const now = formatTimestamp(clock.now());
  return terms().findLast(({ effective_from }) => effective_from <= now);
}

function hashOfText({ sha256 }: Pick<TermsDeps, "sha256">, text: string): string {
  return hashOf(utf8(text), sha256);
}

export type AgreeToTerms = (request: {
  readonly caller: Caller;
  readonly body: Uint8Array;
}) => Promise<Outcome>;

/** POST /v1/terms/agreements: sent again, it gets the first answer, whatever came into force since. */
export function createAgreeToTerms(deps: TermsDeps): AgreeToTerms {
  return async ({ caller, body }) => {
    const parsed = parseJsonBody<AgreementBody>(agreementBody, body);
    if (isRefused(parsed)) return parsed;
    const { version, sha256 } = parsed.value;
    const { key, requestHash } = caller;
    const reason = `version ${version}, ${sha256}, by request ${requestHash}`;
    const act = { by: `key ${key.key_id}`, reason };
    return agreeTo(deps, { uuid: caller.party.uuid, ...parsed.value, act });
  };
}

/** An agreement of a company to exactly this text, by this act. */
export async function agreeTo(
  deps: TermsDeps,
  { uuid, version, sha256, act }: Parameters<Agreements["agree"]>[0],
): Promise<Outcome> {
  const wanted = deps.terms().find((each) => each.version === version);
  if (wanted === undefined) {
    const detail = `There are no terms of version ${version}.`;
    return refusedWith("not_found", detail, { pointer: "/version" });
  }
  if (sha256 !== hashOfText(deps, wanted.text)) {
    const detail = `This is not the hash of the text of version ${version}: read that text, and agree to it.`;
    return refusedWith("terms_mismatch", detail, { pointer: "/sha256" });
  }
  const current = termsInForce(deps);
  const isSuperseded = current !== undefined && current.version > version;
  if (isSuperseded && (await deps.agreements.find(uuid, version))?.sha256 !== sha256) {
    const detail = `Version ${current.version} is in force: agree to that one, or to one that comes later.`;
    return refusedWith("terms_superseded", detail, { pointer: "/version" });
  }
  const agreed = await deps.agreements.agree({ uuid, version, sha256, act });
  const answer: AgreementAnswer = { ai_company_uuid: uuid, ...agreed };
  return answerJson(200, answer, { "cache-control": "no-store" });
}

function parseVersion(text: string): number | null {
  return /^[1-9][0-9]{0,6}$/.test(text) ? Number(text) : null;
}

// GET /v1/entitlement: a short statement that the AI company may use the service, which it can show to others.
//   EI1. It is issued to a company whose certificate is active, and that agreed to the exact text of the terms in force.
//   EI2. It ends with the terms that it names: those who agreed to the next version get the next entitlement.

export interface EntitlementDeps {
  readonly register: Register;
  readonly keys: ServiceKeys;
  readonly clock: Clock;
  readonly terms: TermsDeps;
  /** Null where nothing is charged. */
  readonly prices: () => PriceList | null;
}

export type ReadEntitlement = (request: {
  readonly caller: Pick<Caller, "key" | "party">;
}) => Promise<Outcome>;

/** GET /v1/entitlement: what the caller may do here, signed. */
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
    const bytes = canonicalBytes(entitlement);
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
    return refusedWith("business_not_verified", detail);
  }
  return { legal_name: certificateOf(newest).legal_name, cert_id: newest.cert_id };
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
  return refusedWith("terms_not_agreed", detail);
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

// Which terms an AI company agreed to: its party's actor decides, and the register carries it into every region.

export interface AgreementsDeps {
  readonly actors: ActorSystem;
  readonly register: Register;
}

export interface Agreements {
  /** The company's agreement to the version, as soon as it has been made anywhere; null without one. */
  find(uuid: string, version: number): Promise<TermsAgreement | null>;
  /** Repeated, it returns the first agreement. Throws {@link RegisterRefused} for a party that is no AI company. */
  agree(request: {
    readonly uuid: string;
    readonly version: number;
    readonly sha256: string;
    readonly act: RegisterAct;
  }): Promise<TermsAgreement>;
}

/** The agreements of companies, as their own actors keep them. */
export function createAgreements({ actors, register }: AgreementsDeps): Agreements {
  const atHome = async (uuid: string, version: number): Promise<TermsAgreement | null> => {
    const party = await readEntry<PartyFacts>(actors, uuid, `party/${uuid}`);
    return party && agreementIn(party, version);
  };
  return {
    find: async (uuid, version) => {
      // An agreement is never taken back, so one that this region has heard of counts; only its home knows that there is none.
      const known = await register.party(uuid);
      if (known === null) return null;
      return agreementIn(known, version) ?? atHome(uuid, version);
    },
    agree: async ({ uuid, ...agreed }) => {
      const reply = await actors.ask(businessRef(uuid), { type: "terms.agree", ...agreed });
      if (reply.status === "refused") throw new RegisterRefused(reply.code, reply.detail);
      const agreement = await atHome(uuid, agreed.version);
      if (agreement === null) throw new Error(`Party ${uuid} agreed to terms, and does not know it.`);
      return agreement;
    },
  };
}

function agreementIn({ agreements = [] }: PartyFacts, version: number): TermsAgreement | null {
  return agreements.find((each) => each.version === version) ?? null;
}
