// The document of a withdrawal or deletion, and its seal: what every verifier judges, and what only their receiver can know.

import type { KeyFacts } from "../actors/messages/business.ts";
import { businessRef } from "../actors/messages/refs.ts";
import type { RemovalAction } from "../actors/messages/removal.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock, CryptoPort } from "../crypto/port.ts";
import { parseBase64, parseUtf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { hashOf } from "../protocol/hash.ts";
import { formatTimestamp, parseTimestamp } from "../protocol/identifiers.ts";
import { scopeAllows } from "../protocol/mandate.ts";
import { problem } from "../protocol/problem.ts";
import { requestProblem } from "../protocol/request-problem.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import { openSeal, type SealV2, sealedAtSkewMs } from "../protocol/seal.ts";
import type { Shape } from "../protocol/shape.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import type { RemovalBody } from "../protocol/wire/removal.ts";
import { parseWithdrawal, type Withdrawal } from "../protocol/withdrawal.ts";
import { verifySealer } from "../verifier/business-keys.ts";
import { verifySeal } from "../verifier/seal.ts";
import { isRefused, type Refused, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { type FindMandateDeps, findMandates, type Mandates } from "./find-mandate.ts";
import { readIssuances, readSigner, timelineOf } from "./home-evidence.ts";
import { ofType, sealedUnder } from "./mandate-scope.ts";
import type { RemovalGate } from "./publish-gate.ts";
import { namesWhatIsInForce, receivedInTime, standingRefused } from "./publish-standing.ts";
import { keysOf } from "./published-keys.ts";
import { type SealReason, sealRefused } from "./seal-refused.ts";
import { judgeLive } from "./sealing-key.ts";

export interface RemovalDeps extends FindMandateDeps {
  readonly actors: ActorSystem;
  readonly crypto: CryptoPort;
  readonly clock: Clock;
}

/** A document with the seal of one of the business's keys over exactly its bytes. */
export interface SealedDocument {
  readonly document: Withdrawal;
  readonly bytes: Uint8Array;
  readonly text: string;
  readonly hash: string;
  readonly seal: SealV2;
  readonly envelope: RemovalBody["seal"];
  /** The envelope as JSON text. */
  readonly sealText: string;
  readonly key: KeyFacts;
}

interface Asked {
  readonly caller: Caller;
  /** The type that the route is for; null for every one. */
  readonly collection: string | null;
  readonly action: RemovalAction;
}

/** Every key of the business may seal a removal. */
const sealers = ["passkey", "hosted", "system"] as const;

/** The body of a request in the form that its route wants. */
export function parseRemovalBody<T>(body: Uint8Array, shape: Shape<T>): { readonly value: T } | Refused {
  const json = parseStrictJson(body);
  if (!json.ok) return invalid(`The body is not strict JSON: ${json.detail}`, json.pointer ?? "");
  const fault = requestProblem(shape, json.value as JsonValue);
  return fault === null ? { value: json.value as T } : refused(fault);
}

/** Judges everything about a document and its seal that stays true for ever. */
export async function openRemoval(
  deps: RemovalDeps,
  request: Asked,
  { document_base64, seal: envelope }: RemovalBody,
): Promise<SealedDocument | Refused> {
  const bytes = parseBase64(document_base64) ?? new Uint8Array();
  const opened = openSeal(envelope);
  if (!opened.ok) return sealRefused(opened.code, opened.detail, { pointer: "/seal" });
  const seal = opened.value;
  if (seal.v !== 2) return sealRefused("version_unknown", "A document is sealed in format 2.");
  const hash = hashOf(bytes, deps.crypto.sha256);
  if (seal.hash !== hash) return sealRefused("hash_mismatch", "The seal covers other bytes.");
  const { uuid } = request.caller.party;
  const key = await readSigner(deps.actors, uuid, envelope);
  const rule = { keyId: seal.key_id, kinds: sealers };
  const sealer = verifySealer(deps.trust(), keysOf(uuid, [key]), envelope, rule);
  if (!sealer.ok) return sealRefused(sealer.code, sealer.detail);
  const document = parseWithdrawal(bytes);
  if (!document.ok) return sealRefused(document.code, document.detail, { pointer: "/document_base64" });
  if (document.value.action !== request.action) {
    const detail = `The document says ${document.value.action}, and the route is for ${request.action}.`;
    return invalid(detail, "/document_base64");
  }
  if (request.collection !== null && seal.record_type !== request.collection) {
    const detail = `The seal is for ${seal.record_type}, but the request is for ${request.collection}.`;
    return sealRefused("record_type_mismatch", detail);
  }
  const text = parseUtf8(bytes);
  if (text === null || key === null) throw new Error("A sealed document is UTF-8 and has a sealer.");
  return {
    ...{ document: document.value, bytes, text, hash, seal, envelope, key },
    sealText: JSON.stringify(envelope),
  };
}

/** Judges what is in force when the document is received. */
export async function judgeRemoval(
  deps: RemovalDeps,
  request: Asked,
  judged: RemovalGate & { readonly opened: SealedDocument },
): Promise<Refused | null> {
  const { opened, facts } = judged;
  const nowMs = deps.clock.now();
  const uuid = request.caller.party.uuid;
  const inForce = opened.key.role === "integration" ? await mandatesOf(deps, request, judged) : null;
  if (inForce !== null && isRefused(inForce)) return inForce;
  const mandates = inForce && ofType(inForce, opened.seal.record_type);
  if (mandates !== null && isRefused(mandates)) return mandates;
  const received = [receivedInTime(opened.seal, nowMs), writtenInTime(opened.document, nowMs)];
  const { seal, key } = opened;
  const verdict = verifySeal(deps.trust(), {
    document: "withdrawal",
    bytes: opened.bytes,
    seal: opened.envelope as unknown as JsonValue,
    certificates: await readIssuances(deps.actors, uuid, facts.certificate, seal.cert_id),
    keys: { ...keysOf(uuid, [key]), ...(facts.certificate ? { cert_id: facts.certificate.cert_id } : {}) },
    received: { at: formatTimestamp(nowMs) },
    policies: timelineOf(facts.policy),
  });
  const faults: readonly Result<unknown, SealReason>[] = [
    ...received,
    verdict.ok ? ok(undefined) : refuse(verdict.code, verdict.detail),
    judgeLive(key, nowMs),
    mandates === null ? ok(undefined) : allowedBy(sealedUnder(mandates, opened.seal), opened, uuid),
    namesWhatIsInForce(seal, facts),
  ];
  const fault = faults.find((each) => !each.ok);
  if (fault === undefined || fault.ok) return null;
  return standingRefused(fault, facts, "Seal the document again.");
}

/** The mandates of the integration key that sealed the document. */
async function mandatesOf(
  deps: RemovalDeps,
  { caller }: Asked,
  { opened, allowed }: Pick<RemovalGate, "allowed"> & { readonly opened: SealedDocument },
): Promise<Mandates | Refused> {
  const { key_id } = opened.key;
  if (key_id === caller.key.key_id && allowed !== null) return allowed.mandates;
  const { uuid } = caller.party;
  const facts = await deps.actors.ask(businessRef(uuid), { type: "publishing.facts", key_id });
  return findMandates(deps, uuid, { facts, nowMs: deps.clock.now() });
}

function allowedBy([{ sealed }]: Mandates, { seal }: SealedDocument, uuid: string) {
  return scopeAllows(sealed, {
    business_uuid: uuid,
    key_id: seal.key_id,
    record_type: seal.record_type,
    // A document names no country: a key that may publish a version without a country may also take it out.
    countries: [],
    at: seal.sealed_at,
  });
}

function writtenInTime({ at }: Withdrawal, nowMs: number): Result<void, "at_skew"> {
  const atMs = parseTimestamp(at);
  return atMs !== null && Math.abs(nowMs - atMs) <= sealedAtSkewMs
    ? ok(undefined)
    : refuse("at_skew", "The document's at must be within five minutes of receipt.");
}

function invalid(detail: string, pointer: string): Refused {
  return refused(problem("request_invalid", detail, { pointer }));
}
