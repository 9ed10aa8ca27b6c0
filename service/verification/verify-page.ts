// GET /v1/verify/{record_id}: whether the business published a record with this id and these exact bytes, whether it was
// the one served at that time, and what the business's certificate is today. An unknown id and a hash that does not
// match give the same answer.
//   VP1. Whether the seal of the version still stands is decided by the verifier's rule (verifier/standing.ts) over the register of
//        this region, as in verify.ts: of the same bytes, page and verification say the same at any moment.
//   VP2. As there, what the register may only not have heard of is no reason until it was refreshed.
//   VP3. Of bytes that the register and the store of this region do not both have as served, the business's actor says whether they are:
//        of a takedown, the register and the store hear at different moments.

import type { CertificateFacts } from "../../actors/messages/business.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import type { RecordHeadFacts } from "../../actors/messages/removal.ts";
import { appliedAt, deletionOf, type Removal } from "../../actors/messages/removal.ts";
import type { TakedownFacts } from "../../actors/messages/serving.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { parseBase64, parseUtf8, toBase64, utf8 } from "../../protocol/bytes.ts";
import { type Envelope, openStored, payloadTypes } from "../../protocol/dsse.ts";
import {
  type CollectionName,
  formatTimestamp,
  isHash,
  isRecordId,
  parseDateTime,
} from "../../protocol/identifiers.ts";
import { canonicalBytes, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { certificateStatement } from "../../protocol/keys/certificate.ts";
import { openSeal } from "../../protocol/seal.ts";
import { formatSourceLine } from "../../protocol/source-line.ts";
import type { VerifyPageAnswer } from "../../protocol/wire/verification.ts";
import { parseWithdrawal } from "../../protocol/withdrawal.ts";
import { sealedWords } from "../../verifier/sealed-words.ts";
import type { AcceptedSeal, StandingFault } from "../../verifier/standing.ts";
import type { Trust } from "../../verifier/trust.ts";
import {
  type Answer,
  type Given,
  invalidAt,
  isRefused,
  type Outcome,
  type Refused,
  refusedWith,
} from "../answer.ts";
import { failureAnswer } from "../failure.ts";
import { certificateOf } from "../register/home-evidence.ts";
import { signEnvelope } from "../register/service-keys.ts";
import { acceptedFault, registerReasons, type Standing, statedSeal } from "../register/standing.ts";
import { allConfirmedAt, domainsIn, domainsShown, endpointsStatus } from "../retrieval/fetched-record.ts";
import { findPublished, type PublishedVersion } from "./published-version.ts";
import type { VerifyServices } from "./verify.ts";
import { mandatesThen } from "./verify-evidence.ts";

export interface VerifyPageServices extends VerifyServices {
  /** The public base of the verification surface, without trailing slash. */
  readonly verifyUrl: string;
}

export interface VerifyPageRequest extends Given<"origin" | "cert" | "servedAt"> {
  readonly recordId: string;
}

/** What the statement covers. */
export type Findings = Omit<VerifyPageAnswer, "statement">;

/** What the seals say in the words that the person who sealed was shown; null where there are no such words or no bytes. */
export interface SealedWords {
  readonly record: readonly string[] | null;
  readonly removal: readonly string[] | null;
}

export interface VerifyPage {
  find(request: VerifyPageRequest): Promise<Findings | Refused>;
  /** The findings as machines get them: signed. */
  answer(request: VerifyPageRequest): Promise<Outcome>;
  /** Of the record, where these bytes are served and their seal stands; and of what took the record out of serving. */
  words(findings: Findings): Promise<SealedWords>;
}

/** GET /v1/verify/{record_id}. */
export function createVerifyPage(deps: VerifyPageServices): VerifyPage {
  const find = (request: VerifyPageRequest) => findOrRefuse(deps, request);
  return {
    find,
    answer: async (request) => {
      const found = await find(request);
      return isRefused(found) ? found : signed(deps, found);
    },
    words: (findings) => wordsOf(deps, findings),
  };
}

async function wordsOf(
  { records, trust }: VerifyPageServices,
  { record_id, adl_origin, status, reason, removal }: Findings,
): Promise<SealedWords> {
  const served = status === "current" && reason === undefined ? await records.readServed(record_id) : null;
  const say = ({ payloadType, payload }: Envelope, document: Uint8Array): readonly string[] | null => {
    const words = sealedWords(trust(), payloadType, { payload: parseBase64(payload) ?? utf8(""), document });
    return words.ok ? words.value : null;
  };
  return {
    record:
      served?.version.hash === adl_origin
        ? say(JSON.parse(served.seal.envelope) as Envelope, served.version.bytes)
        : null,
    removal: removal === null ? null : say(removal.seal, parseBase64(removal.document_base64) ?? utf8("")),
  };
}

async function findOrRefuse(
  deps: VerifyPageServices,
  request: VerifyPageRequest,
): Promise<Findings | Refused> {
  const malformed = requestFault(request);
  if (malformed !== null) return malformed;
  const version = await findVersion(deps, request);
  const [certificate] = version === null ? [] : await deps.register.certificates(version.businessUuid);
  if (version === null || certificate === undefined) {
    const detail = "No record with this id and these exact bytes is known.";
    return refusedWith("not_found", detail, {}, { vary: "accept" });
  }
  const [fault = null, removalFault = null] = await faultsOf(deps, version);
  return describe(deps, request, { ...version, fault, removalFault }, certificate);
}

/** Of the version, and of the document that keeps the record out of serving (VP1, VP2). */
async function faultsOf(
  { register, standings, trust, clock }: VerifyPageServices,
  { businessUuid, published, removal }: Version,
): Promise<readonly (StandingFault | null)[]> {
  const version = statedSeal(published.sidecar);
  const judge = async () => {
    const standing = await standings.read(businessUuid, formatTimestamp(clock.now()));
    if (standing === null) return [];
    const seals = [version, ...(removal === null ? [] : [removalSeal(trust(), standing, removal)])];
    return seals.map((seal) => acceptedFault(standing, seal));
  };
  const first = await judge();
  if (first.every((fault) => fault === null || !registerReasons.includes(fault.code))) return first;
  await register.refresh();
  return judge();
}

/** No sidecar is about a removal, and so none names its mandate. */
function removalSeal(
  trust: Trust,
  standing: Standing,
  { record_id, seal, received_at }: Removal,
): AcceptedSeal {
  const opened = openStored(seal, openSeal);
  if (!opened.ok) throw new Error(`The stored seal of the removal of ${record_id} cannot be read.`);
  const { key_id, cert_id, sealed_at } = opened.value;
  const [mandate] = mandatesThen(trust, standing, { key_id, sealed_at, receivedAt: received_at });
  const sealed = { key_id, cert_id, sealed_at, received_at, isStated: false, mayBeEnded: true as const };
  return { ...sealed, mandate_id: mandate?.mandate_id ?? null };
}

async function signed(
  { keys: { statement: signer } }: VerifyPageServices,
  findings: Findings,
): Promise<Answer> {
  const statement = await signEnvelope(
    payloadTypes["verify-page.v1"],
    canonicalBytes(findings as JsonObject),
    [signer(findings.checked_at)],
  );
  const body: VerifyPageAnswer = { ...findings, statement };
  const headers = {
    "content-type": "application/json",
    "cache-control": "public, max-age=30",
    vary: "accept",
  };
  return { kind: "answer", status: 200, headers, body: JSON.stringify(body) };
}

function requestFault({ recordId, origin, cert, servedAt }: VerifyPageRequest): Refused | null {
  if (!isRecordId(recordId)) return invalidAt("/path/record_id", "This is not a valid record id.");
  if (origin === null || !isHash(origin))
    return invalidAt("/query/origin", "origin is required: sha256: and 64 lower-case hex digits.");
  if (cert !== null && !isHash(cert))
    return invalidAt("/query/cert", "cert must be sha256: and 64 lower-case hex digits.");
  if (servedAt !== null && parseDateTime(servedAt) === null)
    return invalidAt("/query/served_at", "served_at must be a date-time such as 2026-01-31T08:00:00.000Z.");
  return null;
}

interface JudgedVersion extends Version {
  /** Why its seal does not stand any more. */
  readonly fault: StandingFault | null;
  /** The same of the removal's. */
  readonly removalFault: StandingFault | null;
}

interface Version {
  readonly businessUuid: string;
  readonly type: Findings["record_type"];
  /** `current` if these are the bytes served now. */
  readonly status: Findings["status"];
  readonly certId: string;
  readonly published: PublishedVersion;
  /** What deleted this version, or keeps the record out of serving. */
  readonly removal: Removal | null;
  readonly takedown: TakedownFacts | null;
  readonly order: Findings["purge_order"];
  readonly endpoints: Findings["endpoints"];
}

async function findVersion(
  { records, actors, register }: VerifyPageServices,
  { recordId, origin, servedAt }: VerifyPageRequest,
): Promise<Version | null> {
  const hash = origin ?? "";
  const servedAtMs = servedAt === null ? null : parseDateTime(servedAt);
  const published = await findPublished(records, { recordId, hash, servedAtMs });
  if (published === null) return null;
  const { head } = published;
  const { business_uuid: businessUuid, record_type: type, cert_id: certId } = published.sidecar;
  const { generation } = published;
  const told = register.takenDown.of(businessUuid, recordId);
  const isServedHere = head.live && head.hash === hash && told === null;
  const now = isServedHere
    ? null
    : await readRecordNow(actors, businessUuid, { record_id: recordId, generation });
  const { removal = null, takedown = told } = now ?? {};
  const isCurrent = isServedHere || isServedByNow(now, generation);
  const order = isCurrent ? null : await readPurgeOrder(actors, businessUuid, { recordId, generation });
  const isOut = takedown !== null || now?.head?.unserved === true;
  return {
    businessUuid,
    type: type as CollectionName,
    status: isCurrent ? "current" : statusOf(published, { isOut, removal, order }),
    certId,
    published,
    removal,
    takedown,
    order,
    endpoints:
      isCurrent && type === "business_files"
        ? await readEndpoints({ records, register }, { recordId, hash, businessUuid })
        : null,
  };
}

/** See VP3. Serving is told of each version in turn, so one that is live and not kept out is served, or is about to be. */
function isServedByNow(now: RecordNow | null, generation: number): boolean {
  if (now === null || now.takedown !== null) return false;
  const { head } = now;
  return head !== null && head.generation === generation && head.live && head.unserved !== true;
}

/**
 * Why a version is not current. One that was deleted stays so, whatever came after; only the document tells that, and until it is at
 * hand, the version counts as withdrawn, or as superseded once the record is published again. What its business did itself counts
 * before a takedown. A record that is out of serving without a document fell with its newest version: an earlier one was superseded.
 */
function statusOf(
  { head, isPurged, generation }: PublishedVersion,
  { isOut, removal, order }: Pick<Version, "removal" | "order"> & { readonly isOut: boolean },
): Version["status"] {
  if (isPurged) return "purged";
  if (order !== null || removal?.action === "delete") return "deleted";
  if (removal === null && generation < head.generation) return "superseded";
  if (removal === null && isOut) return "taken_down";
  return head.live ? "superseded" : "withdrawn";
}

/** The endpoints of these bytes, with what is known of their domains; null once other bytes are served. */
async function readEndpoints(
  { records, register }: Pick<VerifyPageServices, "records" | "register">,
  file: { readonly recordId: string; readonly hash: string; readonly businessUuid: string },
): Promise<Findings["endpoints"]> {
  const served = await records.readServed(file.recordId);
  if (served?.version.hash !== file.hash) return null;
  const { bytes } = served.version;
  const items = exactMember(parseUtf8(bytes) ?? "", "endpoints");
  const domains = domainsShown(domainsIn(bytes), await register.party(file.businessUuid));
  return {
    status: endpointsStatus(domains),
    items: items === null ? [] : (JSON.parse(items) as JsonValue),
    domains,
    domains_confirmed_at: allConfirmedAt(domains),
  };
}

function describe(
  deps: VerifyPageServices,
  request: VerifyPageRequest,
  version: JudgedVersion,
  certificate: CertificateFacts,
): Findings {
  const nowMs = deps.clock.now();
  const now = formatTimestamp(nowMs);
  const { published, fault } = version;
  const checks = {
    cert: certCheck(request.cert, version),
    served_at: servedAtCheck(request.servedAt, version, nowMs),
  };
  const sourceLine = formatSourceLine({
    record_id: request.recordId,
    origin: request.origin ?? "",
    cert_id: version.certId,
    served_at: formatTimestamp(parseDateTime(request.servedAt ?? now) ?? 0),
    verify_url: deps.verifyUrl,
  });
  return {
    v: 1,
    record_id: request.recordId,
    adl_origin: request.origin ?? "",
    record_type: version.type,
    valid: fault === null && checks.cert !== "differs" && checks.served_at !== "outside",
    ...(fault === null ? {} : { reason: fault.code, detail: fault.detail }),
    status: shownStatus(version),
    business: businessOf(deps, version, certificate),
    version: {
      generation: published.generation,
      sealed_at: published.sidecar.sealed_at,
      published_at: formatTimestamp(published.published_at_ms),
      ended_at: published.endedAtMs === null ? null : formatTimestamp(published.endedAtMs),
      sealed_under_cert_id: version.certId,
    },
    removal: removalOf(version),
    purge_order: version.order,
    checks,
    // What fell is not served, also where the region's store still has it.
    endpoints: fault === null ? version.endpoints : null,
    source_line: sourceLine,
    full_check: `${deps.verifyUrl}/v1/verify`,
    checked_at: now,
  };
}

/** For a moment, the region's store may still serve what fell. */
function shownStatus({ fault, status, removal }: JudgedVersion): Version["status"] {
  const isOut = status === "current" || (status === "withdrawn" && removal === null);
  return fault !== null && isOut ? "invalidated" : status;
}

function businessOf(
  deps: VerifyPageServices,
  version: Version,
  facts: CertificateFacts,
): Findings["business"] {
  const certificate = certificateOf(facts);
  return {
    business_uuid: version.businessUuid,
    name: certificate.legal_name,
    certificate_url: `${deps.verifyUrl}/v1/certificates/${version.businessUuid}`,
    certificate: {
      cert_id: facts.cert_id,
      status: certificate.status,
      status_effective_from: certificate.status_effective_from,
      statement: certificateStatement(certificate),
    },
  };
}

function certCheck(cert: string | null, version: Version): "matches" | "differs" | "not_given" {
  if (cert === null) return "not_given";
  return cert === version.certId ? "matches" : "differs";
}

function removalOf({ removal, removalFault }: JudgedVersion): Findings["removal"] {
  if (removal === null) return null;
  const { action, document, received_at, applied_at, seal } = removal;
  const bytes = utf8(document);
  const opened = parseWithdrawal(bytes);
  if (!opened.ok) throw new Error(`The stored document of ${removal.record_id} cannot be read.`);
  return {
    action,
    at: opened.value.at,
    received_at,
    ...(applied_at === undefined ? {} : { applied_at }),
    document_base64: toBase64(bytes),
    seal: JSON.parse(seal) as Envelope,
    ...(removalFault === null ? {} : { reason: removalFault.code }),
  };
}

/**
 * `unknown` if a withdrawal, deletion or takedown ended the version and it may have been served for a moment longer, or if an earlier
 * document is in question whose time is not looked for.
 */
function servedAtCheck(
  servedAt: string | null,
  { published, removal, takedown, order, fault }: JudgedVersion,
  nowMs: number,
): "within" | "outside" | "unknown" | "not_given" {
  if (servedAt === null) return "not_given";
  const at = parseDateTime(servedAt) ?? 0;
  const { published_at_ms: since, endedAtMs, isServed, sidecar } = published;
  if (at < since || at > nowMs || (endedAtMs !== null && at >= endedAtMs)) return "outside";
  // A takedown that was lifted changed the head, and for some time the version was not served.
  const { head, generation } = published;
  const isUntouched = takedown === null && head.change === sidecar.change;
  if ((isServed && isUntouched) || endedAtMs !== null) return "within";
  // Nothing happened to the record between the version and this document.
  const removedAt = removal?.change === sidecar.change + 1 ? appliedAt(removal) : null;
  const isTakenDown = removal === null && order === null && fault === null && generation === head.generation;
  const endedAt = removedAt ?? (isTakenDown ? takedown?.taken_down_at : null) ?? null;
  const ended = endedAt === null ? null : Date.parse(endedAt);
  return ended !== null && at < ended ? "within" : "unknown";
}

// What ended a version of a record, keeps it out of serving or had its bytes purged, as the business's own actor has it.

/** The maximum time that a page waits for the business's actor, which may live in another region. */
const askMs = 2_000;

/** A record as its business's actor has it now, which may be ahead of the register and the store of every region. */
interface RecordNow {
  readonly head: RecordHeadFacts | null;
  /** The takedown in force of the record, or else of its whole business. */
  readonly takedown: TakedownFacts | null;
  /** The deletion that covers the version asked for, or else the document that keeps the record out of serving. */
  readonly removal: Removal | null;
}

/** Null if the actor cannot be reached in time. */
async function readRecordNow(
  actors: ActorSystem,
  businessUuid: string,
  { record_id, generation }: { readonly record_id: string; readonly generation: number },
): Promise<RecordNow | null> {
  const business = businessRef(businessUuid);
  const patience = { timeoutMs: askMs };
  const keys = [businessUuid, record_id].map((subject) => `takedown/${subject}`);
  try {
    const [{ head }, { entries }] = await Promise.all([
      actors.ask(business, { type: "record.read", record_id }, patience),
      actors.ask(business, { type: "register.read", keys }, patience),
    ]);
    const takedowns = entries.map(({ body }) => JSON.parse(body) as TakedownFacts);
    const takedown = takedowns.find(({ lifted_at }) => lifted_at === null) ?? null;
    const [, deletion] = (head && deletionOf(head, generation)) ?? [];
    const document_hash = deletion ?? head?.removed_by;
    if (document_hash === undefined) return { head, takedown, removal: null };
    const { removal } = await actors.ask(business, { type: "removal.read", document_hash }, patience);
    return { head, takedown, removal };
  } catch (error) {
    if (failureAnswer(error) === null) throw error;
    return null;
  }
}

/** The order of the law that concerns a version, with its proof; null without one, and if the actor cannot be reached in time. */
async function readPurgeOrder(
  actors: ActorSystem,
  businessUuid: string,
  { recordId, generation }: { readonly recordId: string; readonly generation: number },
): Promise<VerifyPageAnswer["purge_order"]> {
  const business = businessRef(businessUuid);
  const patience = { timeoutMs: askMs };
  try {
    const { orders } = await actors.ask(business, { type: "purge.orders", record_id: recordId }, patience);
    const order = orders.find((each) => each.generation >= generation);
    if (order === undefined) return null;
    const { document_hash, ground, ordered_at } = order;
    const { purged } = await actors.ask(business, { type: "removal.read", document_hash }, patience);
    const purged_at = purged === null ? null : formatTimestamp(purged.purged_at_ms);
    return { ground, ordered_at, purged_at, versions: purged?.versions ?? [] };
  } catch (error) {
    if (failureAnswer(error) === null) throw error;
    return null;
  }
}
