// Receipts: what was served, to whom and when, signed by the region's receipt key.
// Also the end of every search and fetch.
//   T1. A receipt is durable before the answer that carries it leaves.
//   T2. Its batch is named after the minute of serving and this incarnation of the node; a node that lost its lease
//       while writing does not answer, since its batch may be closed.
//   T3. A receipt that became durable so late that its batch may be closed without it is not handed out: it would be in no
//       root and no event stream. The caller asks again.
//   T4. A receipt that may be durable and is not handed out is taken back before the request is refused: a refusal is never
//       charged. Where that is not certain, the request gets no answer at all.

import type { Clock, CryptoPort, SignerAt } from "../../crypto/port.ts";
import { toBase64, toHex, utf8 } from "../../protocol/bytes.ts";
import { paeHead, payloadTypes } from "../../protocol/dsse.ts";
import { type CollectionName, formatTimestamp } from "../../protocol/identifiers.ts";
import type { Priced } from "../../protocol/price-list.ts";
import {
  type ReceiptRow,
  receiptEventText,
  receiptHashes,
  receiptMinute,
  receiptPayloadText,
} from "../../protocol/receipt.ts";
import { type CommitOutcome, StoreError } from "../../storage/actor-store.ts";
import {
  durableWithinMs,
  type ReceiptStore,
  retractedWithinMs,
  type ReceiptRow as StoredReceipt,
} from "../../storage/receipt-store.ts";
import type { VersionNumber } from "../../storage/record-store.ts";
import { type AnswerBody, type Caller, isRefused, type Outcome, type Refused } from "../answer.ts";
import type { Authenticated } from "../authentication/authenticate.ts";
import type { KeyBudget } from "../authentication/regional-limits.ts";
import { type Allowance, free, type Payment } from "../money/allowance.ts";
import type { Register } from "../register/register.ts";
import type { Environment } from "../register/service-keys.ts";
import type { Insight } from "./insight.ts";

/** What answers from the index and the records are made with. */
export interface RetrievalServices {
  readonly register: Register;
  readonly receipts: Receipts;
  readonly insight: Insight;
  /** Null if there is no limit. */
  readonly budget: KeyBudget | null;
  /** Null where nothing is charged. */
  readonly allowance: Allowance | null;
}

export interface ReceiptDeps {
  readonly environment: Environment;
  readonly region: string;
  readonly signer: SignerAt;
  readonly store: ReceiptStore;
  readonly crypto: CryptoPort;
  readonly clock: Clock;
  /**
   * The incarnation as which this node may write now, null if it has lost its lease. It distinguishes this start of the
   * node from every other: 1 to 64 characters of [A-Za-z0-9_-].
   */
  readonly incarnation: () => string | null;
}

/** Names one retrieval and its instant, before its answer is known. */
export interface Retrieval {
  readonly retrievalId: string;
  readonly servedAtMs: number;
  readonly servedAt: string;
}

export interface Served {
  readonly retrieval: Retrieval;
  readonly caller: Caller;
  readonly kind: "search" | "fetch" | "ad_pool";
  readonly collection: CollectionName | null;
  readonly country: string | null;
  /** The caller's reference; only the event stream repeats it. */
  readonly clientQueryId: string | null;
  readonly rows: readonly ServedRow[];
}

/** A row as its receipt names it, and the version that it is of. */
export interface ServedRow extends ReceiptRow {
  readonly generation: number;
}

/** A receipt that has not been handed out yet. */
export interface SignedReceipt {
  /** The JSON text of the envelope. */
  readonly envelope: string;
  readonly keyId: string;
  readonly signature: Uint8Array;
  readonly served: Served;
}

export interface Receipts {
  /**
   * See {@link ReceiptStore.sharesCommits}: if set, a nonce is claimed when its receipt is ready, because both cost a
   * single commit.
   */
  readonly sharesCommits: boolean;
  begin(): Retrieval;
  /** May run while it is still undecided whether there will be an answer: what is signed here exists nowhere else. */
  sign(served: Served): Promise<SignedReceipt>;
  /** Text as long as the envelope would be. It is not a statement of the service: nothing is signed. */
  unsigned(served: Served): string;
  /**
   * Makes the receipt durable; `after` is the commit without which it must not exist, if that is still in progress.
   * Throws {@link LeaseLost} or {@link StoreError} if there is no such receipt: the request is refused. Throws
   * {@link NotAnswered} if there may be one.
   */
  keep(receipt: SignedReceipt, after: Promise<CommitOutcome> | null): Promise<KeptReceipt>;
}

export interface KeptReceipt {
  /** Takes the receipt back, because the request is refused after all. Throws {@link NotAnswered} (T4). */
  retract(): Promise<void>;
}

/**
 * Nobody knows whether a receipt of the answer exists. A refusal would say that nothing is charged, so the connection is closed
 * without one, as if the answer had been lost on its way.
 */
export class NotAnswered extends Error {
  constructor(options?: ErrorOptions) {
    super("A receipt may have been kept, and could not be taken back.", options);
    this.name = "NotAnswered";
  }
}

/** The node may no longer answer as this incarnation; the caller retries and reaches another. */
export class LeaseLost extends Error {
  constructor() {
    super("The node lost its lease.");
    this.name = "LeaseLost";
  }
}

const payloadType = payloadTypes["receipt.v3"];
const minuteMs = 60_000;

/** Signs receipts and stores them in the batch of their minute. */
export function createReceipts(deps: ReceiptDeps): Receipts {
  const draw = drawer(deps.crypto);
  return {
    sharesCommits: deps.store.sharesCommits,
    begin: () => beginRetrieval(deps, draw),
    sign: (served) => signReceipt(deps, served),
    unsigned: (served) => {
      const { keyId } = deps.signer(served.retrieval.servedAt);
      return envelopeText(keyId, receiptMessage(deps, served), new Uint8Array(signatureBytes));
    },
    keep: (receipt, after) => keepReceipt(deps, receipt, after),
  };
}

/** `ret_`, 12 hex digits of the instant in milliseconds, 20 random ones: ids sort by time and cannot be guessed. */
function beginRetrieval(deps: ReceiptDeps, draw: () => string): Retrieval {
  const servedAtMs = deps.clock.now();
  const random = draw();
  const retrievalId = `ret_${servedAtMs.toString(16).padStart(12, "0")}${random}`;
  return { retrievalId, servedAtMs, servedAt: formatTimestamp(servedAtMs) };
}

const drawnBytes = 10;
const drawsAtOnce = 64;

/**
 * Returns ten random bytes per call, as hex; the platform is asked for many at once, since a call costs more than its
 * bytes.
 */
function drawer(crypto: CryptoPort): () => string {
  let hex = "";
  return () => {
    if (hex === "") hex = toHex(crypto.randomBytes(drawnBytes * drawsAtOnce));
    const drawn = hex.slice(0, 2 * drawnBytes);
    hex = hex.slice(2 * drawnBytes);
    return drawn;
  };
}

/** Receipts are Ed25519 only. */
const signatureBytes = 64;

async function signReceipt(deps: ReceiptDeps, served: Served): Promise<SignedReceipt> {
  const message = receiptMessage(deps, served);
  const signer = deps.signer(served.retrieval.servedAt);
  const signature = await signer.sign(message.bytes);
  const { keyId } = signer;
  return { envelope: envelopeText(keyId, message, signature), keyId, signature, served };
}

/** The bytes that are signed: the pre-authentication encoding (DSSE) of a payload, which follows its head. */
interface ReceiptMessage {
  readonly bytes: Uint8Array;
  readonly headLength: number;
}

function receiptMessage(deps: ReceiptDeps, served: Served): ReceiptMessage {
  const payload = payloadText(deps, served, served.rows);
  // Encoded in one go: a receipt is ASCII, so its characters are its bytes.
  const head = paeHead(payloadType, payload.length);
  return { bytes: utf8(head + payload), headLength: head.length };
}

function payloadText({ region }: ReceiptDeps, served: Served, rows: readonly ReceiptRow[]): string {
  const { caller, retrieval } = served;
  return receiptPayloadText({
    ai_company_uuid: caller.party.uuid,
    collection: served.collection,
    country: served.country,
    key_id: caller.key.key_id,
    kind: served.kind,
    region,
    request_hash: caller.requestHash,
    retrieval_id: retrieval.retrievalId,
    rows,
    served_at: retrieval.servedAt,
  });
}

function envelopeText(keyId: string, { bytes, headLength }: ReceiptMessage, signature: Uint8Array): string {
  return (
    `{"payloadType":"${payloadType}","payload":"${toBase64(bytes.subarray(headLength))}",` +
    `"signatures":[{"keyid":"${keyId}","sig":"${toBase64(signature)}"}]}`
  );
}

async function keepReceipt(
  deps: ReceiptDeps,
  { envelope, keyId, signature, served }: SignedReceipt,
  after: Promise<CommitOutcome> | null,
): Promise<KeptReceipt> {
  const { caller, retrieval } = served;
  const incarnation = deps.incarnation();
  if (incarnation === null) throw new LeaseLost();
  const row = {
    region: deps.region,
    batch: batchName(retrieval.servedAt, incarnation),
    retrieval_id: retrieval.retrievalId,
    company: caller.party.uuid,
    key_id: caller.key.key_id,
    nonce: caller.nonce,
    // Specification, «Billing»: a search with a row and a fetch with a record.
    billable: deps.environment === "production" && served.kind !== "ad_pool" && served.rows.length > 0,
    served_at_ms: retrieval.servedAtMs,
    envelope,
    ...receiptHashes(envelope, deps.crypto.sha256),
    event: receiptEventText({
      company: caller.party.uuid,
      type: served.kind,
      collection: served.collection,
      country: served.country,
      rows: served.rows.length,
      client_query_id: served.clientQueryId,
    }),
    reference: {
      payloadType,
      keyId,
      signature,
      payload: payloadText(deps, served, []),
      versions: served.rows,
    },
  };
  const retract = (): Promise<void> => retractReceipt(deps, row);
  try {
    await deps.store.append(row, after);
    // Another incarnation's lease says nothing about the batch that this one wrote to.
    if (deps.incarnation() !== incarnation) throw new LeaseLost();
    if (deps.clock.now() > endOfMinute(retrieval.servedAtMs) + durableWithinMs)
      throw new StoreError("unknown", "The receipt was written too late for its batch.");
  } catch (error) {
    if (!(error instanceof StoreError && error.effect === "not_applied")) await retract();
    throw error;
  }
  return { retract };
}

/** See T4. */
async function retractReceipt({ store, clock }: ReceiptDeps, row: StoredReceipt): Promise<void> {
  const lastMs = endOfMinute(row.served_at_ms) + retractedWithinMs;
  let isRetracted = false;
  let cause: unknown = "It is too late for that.";
  try {
    isRetracted = clock.now() <= lastMs && (await store.retract(row));
  } catch (error) {
    cause = error;
  }
  if (!isRetracted || clock.now() > lastMs) throw new NotAnswered({ cause });
}

function endOfMinute(ms: number): number {
  return (Math.floor(ms / minuteMs) + 1) * minuteMs;
}

/** `YYYYMMDDHHMM-<incarnation>` for a timestamp. */
export function batchName(servedAt: string, incarnation: string): string {
  return `${receiptMinute(servedAt)}-${incarnation}`;
}

/** The start of a signed row: the values are texts in which nothing is escaped. */
const rowHead =
  /^\{"adl_key_id":"[^"]*","adl_origin":"(sha256:[0-9a-f]{64})","adl_origin_cert":"[^"]*","adl_proj":"([^"]*)","adl_row_sig":"([^"]*)"/;
const policyVersion = /,"ai_policy_version":([0-9]{1,10})[,}]/g;

/** The members of a signed row that a receipt and an answer name. */
export interface SignedRowFacts {
  readonly origin: string;
  readonly projection: string;
  readonly signature: string;
  readonly aiPolicyVersion: number;
}

/** Reads the members of a signed row that come first in its canonical form, without parsing the row. */
export function signedRowFacts(row: string): SignedRowFacts {
  const head = rowHead.exec(row);
  policyVersion.lastIndex = head?.[0].length ?? 0;
  const version = policyVersion.exec(row);
  if (head === null || version === null)
    throw new Error("A stored row begins with the members that every signed row has.");
  const [, origin = "", projection = "", signature = ""] = head;
  return { origin, projection, signature, aiPolicyVersion: Number(version[1]) };
}

/** A row as its receipt names it. */
export function receiptRow(
  { record_id, generation }: VersionNumber,
  row: Pick<SignedRowFacts, "origin" | "signature" | "aiPolicyVersion">,
): ServedRow {
  return {
    record_id,
    generation,
    adl_origin: row.origin,
    adl_row_sig: row.signature,
    ai_policy_version: row.aiPolicyVersion,
  };
}

// The end of every search and fetch: what was prepared becomes an answer only once its receipt and the claim of its
// request's nonce are durable, in a single commit if the store supports it (specification, «Authentication», check 7).
//   R1. No receipt is kept without the claim, and none after a replay.
//   R2. Nothing is answered before the claim is durable. A replay is refused with `nonce_reused`, whatever else there
//       was to say.
//   R3. If both share a commit, the claim waits until the answer is prepared; otherwise it runs in parallel.
//   R4. What was paid for an answer is put back unless its receipt may be kept: what is refused, has no row or fails is free.
//   R5. What fails after the receipt was kept is refused only once the receipt is taken back.

/** Everything in an answer; it is not handed out before its receipt is kept. */
export interface Prepared {
  readonly body: AnswerBody;
  readonly receipt: SignedReceipt;
  /** What was paid for it; absent if nothing was. */
  readonly payment?: Payment;
  /** What else has to be durable before it is handed out, if it has begun; a failure refuses the answer. */
  readonly kept?: Promise<void>;
  /** Called once nothing can keep the answer back any more. */
  readonly answered: () => void;
}

const headers = Object.freeze({ "content-type": "application/json", "cache-control": "no-store" });

/** If `prepare` refuses, that refusal is returned once the nonce is claimed. */
export async function answerWithReceipt(
  receipts: Receipts,
  claimNonce: Authenticated["claimNonce"],
  prepare: () => Promise<Prepared | Refused>,
): Promise<Outcome> {
  if (!receipts.sharesCommits) claimNonce();
  const prepared = await prepare();
  const { claimed, decided } = claimNonce();
  // It is awaited below; if the answer is refused before, nobody handles its failure.
  if ("kept" in prepared) prepared.kept?.catch(() => {});
  if ("kind" in prepared) return (await claimed) ?? prepared;
  const { refused, commit } = await decided.catch((error: unknown) => {
    prepared.payment?.putBack();
    throw error;
  });
  if (refused !== null) {
    prepared.payment?.putBack();
    return (await claimed) ?? refused;
  }
  try {
    const reused = await keep(receipts, prepared, { commit, claimed });
    if (reused !== null) {
      prepared.payment?.putBack();
      return reused;
    }
  } catch (error) {
    // Otherwise nobody knows whether the receipt is there; if it is, it is charged.
    if (!(error instanceof NotAnswered)) prepared.payment?.putBack();
    throw error;
  }
  prepared.answered();
  return { kind: "answer", status: 200, headers, body: prepared.body };
}

async function keep(
  receipts: Receipts,
  { receipt, kept }: Prepared,
  {
    commit,
    claimed,
  }: { readonly commit: Parameters<Receipts["keep"]>[1]; readonly claimed: Promise<Refused | null> },
): Promise<Refused | null> {
  const { retract } = await receipts.keep(receipt, commit);
  try {
    const reused = await claimed;
    if (reused === null) {
      await kept;
      return null;
    }
    await retract();
    return reused;
  } catch (error) {
    if (!(error instanceof NotAnswered)) await retract();
    throw error;
  }
}

/** Pays for an answer before it is prepared (R4). */
export async function preparePaid(
  {
    allowance,
    company,
    ...priced
  }: Omit<Priced, "atMs"> & {
    /** Null where nothing is charged. */
    readonly allowance: Allowance | null;
    readonly company: string;
  },
  prepare: () => Promise<Prepared | Refused>,
): Promise<Prepared | Refused> {
  const paying = allowance?.pay(company, priced) ?? free;
  if (paying === free) return prepare();
  const payment = await paying;
  if (isRefused(payment)) return payment;
  const prepared = await prepare().catch((error: unknown) => {
    payment.putBack();
    throw error;
  });
  if (!isRefused(prepared) && prepared.receipt.served.rows.length > 0) return { ...prepared, payment };
  payment.putBack();
  return prepared;
}

/** The same without a body, with the length that it would have: nothing is delivered, so there is no receipt to keep. */
export async function answerWithoutBody(
  claimNonce: Authenticated["claimNonce"],
  measure: () => Promise<number | Refused>,
): Promise<Outcome> {
  const { claimed } = claimNonce();
  const measured = await measure();
  const reused = await claimed;
  if (reused !== null || typeof measured !== "number") return reused ?? (measured as Refused);
  return {
    kind: "answer",
    status: 200,
    headers: { ...headers, "content-length": String(measured) },
    body: "",
  };
}
