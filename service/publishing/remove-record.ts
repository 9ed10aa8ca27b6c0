// POST /v1/publish/{type}/withdraw and …/delete: a sealed document takes a record out of serving. POST /v1/withdrawals takes several.
//   V1. The checks are those of publishing, by the same functions and in the same order (publish.ts): Idempotency-Key, key
//       and mandate, source, caps, verified business, body, seal, and, for a document that was not accepted before, what
//       is in force. Only what the mandate covers is judged behind the seal, because it depends on who sealed (V2).
//   V2. The request is signed by an integration key with a mandate in force. The document is sealed by any live key of the
//       business; only where an integration key seals it, that key's mandate must cover the type.
//   V5. A business whose certificate has ended still removes, by a key that stands, and names that certificate. Its request needs no
//       mandate where a person or the hosted key sealed the document. After a revocation for compromise a deletion is held until
//       an operator decides: a thief of the keys must not destroy what shows what was done with them.
//   V3. A document is accepted once (X1 in actors/business/remove.ts). Sent again, however late, it is answered again and
//       changes nothing; nothing but its seal is judged then, as with a batch (W3 in publish.ts).
//   V6. Several documents in one request are several removals: each is judged, charged and answered as if it had come alone, and what is
//       refused of one changes nothing of the others. One key and one signature stand for all of them, and one Idempotency-Key.
//   V7. A person at the portal delivers what their own passkey, or on their word the hosted key, sealed: no system asks, so there is neither mandate nor cap nor Idempotency-Key.
//   V4. A record that the business does not have is not found, no matter who else has it: its own actor is asked, and no other.
//
// Publishing may refuse a seal that has no room left in the caps; a removal is charged as one record, so a stolen key cannot
// empty a catalogue faster than it could overwrite it.

import type { KeyFacts } from "../../actors/messages/business.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import { businessRef, keyRef, regionRef } from "../../actors/messages/refs.ts";
import {
  type RemovalAction,
  type RemovedRecord,
  removedHead,
  removedRow,
} from "../../actors/messages/removal.ts";
import { hashOf, parseBase64, parseUtf8 } from "../../protocol/bytes.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import { sealedAtSkewMs } from "../../protocol/limits.ts";
import { scopeAllows } from "../../protocol/mandate.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { openSeal, type SealV2 } from "../../protocol/seal.ts";
import {
  confirmedWithinMs,
  type RemovalAnswer,
  type RemovalBody,
  removalBody,
  type WithdrawalsAnswer,
  withdrawalsBody,
} from "../../protocol/wire/removal.ts";
import { parseWithdrawal, type Withdrawal } from "../../protocol/withdrawal.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { verifySealer } from "../../verifier/business-keys.ts";
import { verifySeal } from "../../verifier/seal.ts";
import {
  answerJson,
  bodyText,
  type Caller,
  invalidAt,
  isRefused,
  type Outcome,
  parseJsonBody,
  type Refused,
  refusedAs,
  refusedWith,
  type SealReason,
  type SentRequest,
  sealRefused,
} from "../answer.ts";
import { findMandates, keyRevoked, type Mandates, ofType, sealedUnder } from "../register/find-mandate.ts";
import {
  judgeCertified,
  judgeLive,
  keysOf,
  namesWhatIsInForce,
  readIssuances,
  readSigner,
  receivedInTime,
  standingRefused,
  timelineOf,
} from "../register/home-evidence.ts";
import { answerOnce, claimFor } from "./idempotency.ts";
import type { PublishServices } from "./publish-batch.ts";
import { capRefused, passRemovalGate, type RemovalGate } from "./publish-batch.ts";

export interface RemovalRequest extends SentRequest {
  /** The collection named in the path, already mapped; null where it names none. */
  readonly collection: string | null;
  readonly action: RemovalAction;
}

/** POST /v1/publish/{type}/withdraw and …/delete. Throws {@link StoreError}. */
export async function removeRecord(deps: PublishServices, request: RemovalRequest): Promise<Outcome> {
  const { party, key } = request.caller;
  const own = keyRef(party.uuid, key.key_id);
  const route = `${request.action}/${request.collection}`;
  const claim = claimFor(request, { key: own, route, replayed: () => {} });
  if (isRefused(claim)) return claim;
  return answerOnce(deps, claim, async () => {
    const gate = await passRemovalGate(deps, request);
    if (isRefused(gate)) return gate;
    const read = parseJsonBody(removalBody, request.body);
    return isRefused(read)
      ? read
      : removeOne(deps, request, { ...gate, body: read.value, bytes: request.body.length });
  });
}

/** How many documents of a request are judged at a time: the business's actor commits together what arrives together. */
const atOnce = 10;

/** See V6. */
export async function withdrawRecords(
  deps: PublishServices,
  call: Omit<RemovalRequest, "action" | "collection">,
): Promise<Outcome> {
  const request = { ...call, action: "withdraw", collection: null } as const;
  const key = keyRef(call.caller.party.uuid, call.caller.key.key_id);
  const claim = claimFor(request, { key, route: "withdrawals", replayed: () => {} });
  if (isRefused(claim)) return claim;
  return answerOnce(deps, claim, async () => {
    const gate = await passRemovalGate(deps, request);
    if (isRefused(gate)) return gate;
    const read = parseJsonBody(withdrawalsBody, request.body);
    if (isRefused(read)) return read;
    const { withdrawals } = read.value;
    const bytes = Math.ceil(request.body.length / withdrawals.length);
    const results = await new Semaphore(atOnce).all(
      withdrawals.map(
        (body) => async () => resultOf(await removeOne(deps, request, { ...gate, body, bytes })),
      ),
    );
    return answerJson(200, { results } satisfies WithdrawalsAnswer);
  });
}

function resultOf(outcome: Outcome): WithdrawalsAnswer["results"][number] {
  return isRefused(outcome)
    ? { problem: outcome.problem }
    : (JSON.parse(bodyText(outcome.body)) as RemovalAnswer);
}

/** Takes a record out as the sealed document says (V7). Throws {@link StoreError}. */
export async function removeByPerson(
  deps: PublishServices,
  {
    businessUuid: uuid,
    action,
    body,
    act,
  }: {
    readonly businessUuid: string;
    readonly action: RemovalAction;
    readonly body: RemovalBody;
    readonly act: RegisterAct;
  },
): Promise<Outcome> {
  const asked: Asked = { caller: { party: { uuid } }, collection: null, action };
  const opened = await openRemoval(deps, asked, body);
  if (isRefused(opened)) return opened;
  const { role } = opened.key;
  if (role !== "sealing" && role !== "hosted")
    return sealRefused("key_unknown", "A person's passkey or a hosted key must seal it.");
  const question = { type: "publishing.facts", key_id: opened.key.key_id } as const;
  const facts = await deps.actors.ask(businessRef(uuid), question);
  const certified = judgeCertified(facts);
  if (!certified.ok) return refusedAs(certified);
  const fallen = (await isAccepted(deps, uuid, opened))
    ? null
    : await judgeRemoval(deps, asked, { opened, facts, allowed: null });
  return fallen ?? apply(deps, asked, { opened, receivedAtMs: facts.at_ms, act });
}

type Judged = RemovalGate & {
  /** What of the request's body is charged. */
  readonly bytes: number;
};

async function removeOne(
  deps: PublishServices,
  request: RemovalRequest,
  { body, ...judged }: Judged & { readonly body: RemovalBody },
): Promise<Outcome> {
  const opened = await openRemoval(deps, request, body);
  if (isRefused(opened)) return opened;
  if (!(await isAccepted(deps, request.caller.party.uuid, opened))) {
    const fallen = await admitNew(deps, request, { opened, ...judged });
    if (fallen) return fallen;
  }
  return apply(deps, request, { opened, receivedAtMs: judged.facts.at_ms });
}

/** Whether the document was accepted before (V3). */
async function isAccepted(
  { actors }: PublishServices,
  uuid: string,
  { hash }: SealedDocument,
): Promise<boolean> {
  const read = { type: "removal.read", document_hash: hash } as const;
  const { removal, held } = await actors.ask(businessRef(uuid), read);
  return removal !== null || held !== null;
}

/** What is judged only of a document that was not accepted before: what is in force, and the charge. */
async function admitNew(
  deps: PublishServices,
  request: RemovalRequest,
  judged: Judged & { readonly opened: SealedDocument },
): Promise<Refused | null> {
  const fallen = await judgeRemoval(deps, request, judged);
  if (fallen) return fallen;
  if (judged.allowed === null) return null;
  const { party, key } = request.caller;
  const charge = { bytes: judged.bytes, caps: judged.allowed.caps };
  const charged = await deps.actors.ask(keyRef(party.uuid, key.key_id), {
    type: "removal.charge",
    document_hash: judged.opened.hash,
    digest: request.contentDigest,
    ...charge,
  });
  if (charged.status === "retired") return keyRevoked;
  return charged.status === "over" ? capRefused(charged, charge) : null;
}

async function apply(
  deps: PublishServices,
  { caller, action }: Asked,
  {
    opened,
    receivedAtMs,
    act,
  }: { readonly opened: SealedDocument; readonly receivedAtMs: number; readonly act?: RegisterAct },
): Promise<Outcome> {
  const { party } = caller;
  const { record_id, at } = opened.document;
  const { text: document, hash: document_hash } = opened;
  const sealed = { document, seal: opened.sealText, received_at: formatTimestamp(receivedAtMs) };
  const command = {
    ...({ type: "record.remove", record_id, action, at, document_hash, sealed } as const),
    ...(action === "delete" ? { purge_at_ms: receivedAtMs + deps.purgeAfterMs } : {}),
    ...(act === undefined ? {} : { act }),
  };
  const reply = await deps.actors.ask(businessRef(party.uuid), command);
  switch (reply.status) {
    case "unknown_record":
      return notFound;
    case "not_later": {
      const sealedAt = formatTimestamp(reply.sealed_at_ms);
      const detail = `at must be later than ${sealedAt}, when the version that is served was sealed or received, whichever came first.`;
      return sealRefused("at_not_later", detail, { pointer: "/document_base64" });
    }
    case "held": {
      const live_in = reply.live ? deps.regions() : [];
      return answerJson(202, { record_id, action, live_in, held: true } satisfies RemovalAnswer);
    }
    case "rejected":
      return deletionRejected;
    case "removed": {
      const live_in = reply.live
        ? deps.regions()
        : await unconfirmedRegions(deps, party.uuid, { record_id, ...reply });
      return answerJson(200, { record_id, action, live_in } satisfies RemovalAnswer);
    }
  }
}

const deletionRejected = refusedWith(
  "deletion_rejected",
  "An operator rejected this deletion, which was received after the certificate was revoked for compromise.",
);
const notFound = refusedWith("not_found", "This business has no record with this id.");

/**
 * Takes the record out of serving in every region, and returns those that have not confirmed in time. The business's actor does
 * the same on its own, until every region has confirmed: what is done here is only not waiting for it blindly.
 */
async function unconfirmedRegions(
  { actors, records, regions }: PublishServices,
  businessUuid: string,
  removed: RemovedRecord,
): Promise<readonly string[]> {
  await records.putHeads([removedHead(businessUuid, removed)]);
  const command = removedRow(removed);
  const told = regions().map(async (region): Promise<readonly string[]> => {
    try {
      const reply = await actors.ask(regionRef(region), command, { timeoutMs: confirmedWithinMs });
      return reply.status === "applied" ? [] : [region];
    } catch {
      return [region];
    }
  });
  return (await Promise.all(told)).flat();
}

// The document of a withdrawal or deletion, and its seal: what every verifier judges, and what only their receiver can know.

/** A document with the seal of one of the business's keys over exactly its bytes. */
interface SealedDocument {
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
  /** Without a key where a person asks (V7). */
  readonly caller: {
    readonly party: Pick<Caller["party"], "uuid">;
    readonly key?: Pick<Caller["key"], "key_id">;
  };
  /** The type that the route is for; null for every one. */
  readonly collection: string | null;
  readonly action: RemovalAction;
}

/** Every key of the business may seal a removal. */
const sealers = ["passkey", "hosted", "system"] as const;

/** Judges everything about a document and its seal that stays true for ever. */
async function openRemoval(
  deps: PublishServices,
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
    return invalidAt("/document_base64", detail);
  }
  if (request.collection !== null && seal.record_type !== request.collection) {
    const detail = `The seal is for ${seal.record_type}, but the request is for ${request.collection}.`;
    return sealRefused("record_type_mismatch", detail);
  }
  const text = parseUtf8(bytes);
  if (text === null || key === null) throw new Error("A sealed document is UTF-8 and has a sealer.");
  return {
    document: document.value,
    bytes,
    text,
    hash,
    seal,
    envelope,
    key,
    sealText: JSON.stringify(envelope),
  };
}

/** Judges what is in force when the document is received. */
async function judgeRemoval(
  deps: PublishServices,
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
    seal: opened.envelope,
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
  deps: PublishServices,
  { caller }: Asked,
  { opened, allowed }: Pick<RemovalGate, "allowed"> & { readonly opened: SealedDocument },
): Promise<Mandates | Refused> {
  const { key_id } = opened.key;
  if (key_id === caller.key?.key_id && allowed !== null) return allowed.mandates;
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
