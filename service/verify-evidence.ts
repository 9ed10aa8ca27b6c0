// The evidence that the service adds to what the caller of a verification holds: whose seal it is, and everything that
// the register knows about that business.

import type { MandateFacts } from "../actors/messages/business.ts";
import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import type { Verdict } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import { type BatchSeal, parseRecordSeal, type Seal } from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/sidecar.ts";
import { parseWithdrawal } from "../protocol/withdrawal.ts";
import { verifyMandate } from "../verifier/mandate.ts";
import { verifyRowSignature } from "../verifier/row.ts";
import { openRecordSeal, type SealEvidence } from "../verifier/seal.ts";
import { adRecordType, aiPolicyRecordType, type SealedDocument } from "../verifier/sealed-document.ts";
import { sidecarFault, verifySidecar } from "../verifier/sidecar.ts";
import type { AcceptedSeal } from "../verifier/standing.ts";
import type { Trust } from "../verifier/trust.ts";
import type { LoggedSeal } from "./logged-seal.ts";
import { type FindingRecords, findPublished } from "./published-version.ts";
import type { Register } from "./register.ts";
import type { SealReceipt } from "./seal-receipt.ts";
import { type Standing, type Standings, statedSeal } from "./standing.ts";

/** A withdrawal document has about 120 bytes. */
const withdrawalBytesMax = 1_024;

export interface VerifyInput {
  readonly bytes: Uint8Array;
  /** The hash of the bytes. */
  readonly hash: string;
  readonly seal: JsonValue | null;
  readonly sidecar: JsonValue | null;
  readonly row: JsonObject | null;
  readonly policyBits: JsonObject | null;
  readonly keyEvents: "warn" | "require";
}

/**
 * What the caller's documents say. For a seal it is what was read; a sidecar and a row are here only if the service
 * signed them, and each may be about anything.
 */
export interface Claimed {
  readonly seal: Seal | BatchSeal | null;
  readonly sidecar: Verdict<Sidecar> | null;
  readonly row: Verdict<IndexRow> | null;
}

export function readClaims(trust: Trust, input: VerifyInput): Claimed {
  return {
    seal: input.seal === null ? null : readSeal(input.seal),
    sidecar: input.sidecar === null ? null : verifySidecar(trust, input.sidecar),
    row: input.row === null ? null : verifyRowSignature(trust, input.row),
  };
}

function readSeal(value: JsonValue): Seal | BatchSeal | null {
  const parsed = parseRecordSeal(value);
  const opened = parsed.ok ? openRecordSeal(parsed.value) : parsed;
  return opened.ok ? opened.value.payload : null;
}

/**
 * The business that the documents are about: the one to which the sealing key is registered. The caller's other
 * documents say nothing about who sealed; they count if there is no seal.
 */
export async function findStanding(
  deps: { readonly register: Register; readonly standings: Standings },
  { seal, sidecar, row }: Claimed,
  at: string,
): Promise<Standing | null> {
  if (seal !== null) {
    const key = await deps.register.key(seal.key_id);
    return key === null ? null : deps.standings.read(key.party_uuid, at);
  }
  const uuid = heldOf(sidecar)?.business_uuid ?? heldOf(row)?.business_uuid;
  return uuid === undefined ? null : deps.standings.read(uuid, at);
}

/**
 * The evidence for {@link verifySeal}; the mandates are the one that the sidecar names, or those in force at the
 * sealing. `at` is when the verdict is given.
 */
export function sealEvidence(
  trust: Trust,
  input: VerifyInput,
  {
    claimed,
    standing,
    logged,
    at,
  }: {
    readonly claimed: Claimed;
    readonly standing: Standing;
    readonly logged: LoggedSeal;
    readonly at: string;
  },
  receipt?: SealReceipt | null,
): SealEvidence {
  const receivedAt = receipt?.received_at ?? null;
  const mandates = findMandates(trust, standing, claimed, { hash: input.hash, receivedAt });
  return {
    document: documentOf(claimed.seal, input.bytes),
    bytes: input.bytes,
    seal: input.seal,
    certificates: standing.certificates,
    keys: standing.keys,
    policies: standing.policies,
    ...(input.sidecar === null ? {} : { sidecar: input.sidecar }),
    ...(receipt === undefined ? {} : { received: { at: receivedAt } }),
    mandates: mandates.map(({ envelope, revoked_at }) => {
      return { envelope: JSON.parse(envelope) as JsonValue, revoked_at };
    }),
    keyEvent: { found: logged.keyEvent.kind === "proven", isRequired: input.keyEvents === "require" },
    judgedAt: at,
  };
}

/** No record has the form of a withdrawal document: every record names its schema. */
function documentOf(seal: Claimed["seal"], bytes: Uint8Array): SealedDocument {
  if (seal?.record_type === aiPolicyRecordType) return "ai_policy";
  if (seal?.record_type === adRecordType) return "ad";
  return bytes.length <= withdrawalBytesMax && parseWithdrawal(bytes).ok ? "withdrawal" : "record";
}

/** A hash other than that of the bytes, if every hash named by the caller's service-signed documents differs from it. */
export function otherHash({ sidecar, row }: Claimed, hash: string): string | null {
  const named = [heldOf(sidecar)?.sha256, heldOf(row)?.adl_origin].filter((each) => each !== undefined);
  return named.includes(hash) ? null : (named[0] ?? null);
}

/**
 * The seal of the version of these bytes that a sidecar or a row of the service is about, where the caller gives no seal; null for none.
 */
export async function findUnsealed(
  records: FindingRecords,
  { seal, hash }: Pick<VerifyInput, "seal" | "hash">,
  { sidecar, row }: Claimed,
): Promise<AcceptedSeal | null> {
  if (seal !== null) return null;
  const stated = heldOf(sidecar);
  if (stated?.sha256 === hash) return statedSeal(stated);
  const signed = heldOf(row);
  if (signed?.adl_origin !== hash) return null;
  const published = await findPublished(records, { recordId: signed.record_id, hash, servedAtMs: null });
  return published === null ? null : statedSeal(published.sidecar);
}

function heldOf<T>(verdict: Verdict<T> | null): T | null {
  return verdict?.ok === true ? verdict.value : null;
}

function findMandates(
  trust: Trust,
  { mandates, keys }: Standing,
  { seal, sidecar }: Claimed,
  { hash, receivedAt }: { readonly hash: string; readonly receivedAt: string | null },
): readonly MandateFacts[] {
  if (seal === null) return [];
  const ofKey = mandates.filter((mandate) => mandate.key_id === seal.key_id);
  const stated = heldOf(sidecar);
  if (stated !== null && sidecarFault(stated, { hash, seal }) === null) {
    // If this register has not heard of that mandate, its authority is what the sidecar states.
    return ofKey.filter((mandate) => mandate.mandate_id === stated.scope.mandate_id);
  }
  return mandatesThen(trust, { mandates, keys }, { ...seal, receivedAt });
}

/**
 * The mandates under which a system may have sealed, where no sidecar names one: those that publishing went by then, the newest first.
 * None for a key without any.
 */
export function mandatesThen(
  trust: Trust,
  { mandates, keys }: Pick<Standing, "mandates" | "keys">,
  {
    receivedAt,
    ...seal
  }: Pick<Seal | BatchSeal, "key_id" | "sealed_at"> & { readonly receivedAt: string | null },
): readonly MandateFacts[] {
  const ofKey = mandates.filter((mandate) => mandate.key_id === seal.key_id);
  const covers = ({ valid_from: from, valid_until: until, revoked_at: revoked }: MandateFacts): boolean =>
    from <= seal.sealed_at && seal.sealed_at < until && (revoked === null || seal.sealed_at < revoked);
  // Any that covered the sealing and stands may allow it (F1 in find-mandate.ts).
  const stands = ({ envelope }: MandateFacts): boolean =>
    verifyMandate(trust, keys, JSON.parse(envelope) as JsonValue).ok;
  const newestFirst = ofKey.toSorted((a, b) => (a.valid_from < b.valid_from ? 1 : -1));
  // A mandate that the register accepted later, whenever it starts, was not the one that publishing used.
  const wasKnown = ({ accepted_at: at }: MandateFacts): boolean => at <= (receivedAt ?? seal.sealed_at);
  const [known, later] = [newestFirst.filter(wasKnown), newestFirst.filter((each) => !wasKnown(each))];
  const covering = [...known, ...later].filter(covers);
  if (covering.length < 2) return covering.length === 0 ? newestFirst.slice(0, 1) : covering;
  // What is said of a record that none allows is the reason of the first.
  return [...covering.filter(stands), ...covering.filter((each) => !stands(each))];
}
