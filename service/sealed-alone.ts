// A document about ads, sealed alone by a key of its business: a campaign, a creative, a sponsored product, a withdrawal or a deletion. It
// is judged by the verifier's own functions, and by what only its receiver can know (publish-standing.ts, J1 and J2).

import type { AdSeal } from "../actors/messages/ads.ts";
import type { KeyFacts, PublishingFacts } from "../actors/messages/business.ts";
import { businessRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock, CryptoPort } from "../crypto/port.ts";
import { parseBase64 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import type { Envelope } from "../protocol/dsse.ts";
import { formatTimestamp, pushIdOf } from "../protocol/identifiers.ts";
import { openSeal, type SealV2 } from "../protocol/seal.ts";
import type { RecordStore } from "../storage/record-store.ts";
import { verifySeal } from "../verifier/seal.ts";
import type { Trust } from "../verifier/trust.ts";
import { type Refused, refusedAs } from "./answer.ts";
import { readIssuances, readSigner, timelineOf } from "./home-evidence.ts";
import { judgeKnown } from "./known-seal.ts";
import { judgeVerified, namesWhatIsInForce, receivedInTime } from "./publish-standing.ts";
import { keysOf } from "./published-keys.ts";
import { sealRefused } from "./seal-refused.ts";
import { judgeLive } from "./sealing-key.ts";

export interface SealedAloneDeps {
  readonly actors: ActorSystem;
  readonly records: Pick<RecordStore, "readSeal" | "putSeal">;
  readonly crypto: CryptoPort;
  readonly clock: Clock;
  readonly trust: () => Trust;
}

/** What a campaign or an ad keeps of its seal. `receivedAtMs` is of a sidecar, if it has one. */
export function adSealOf(
  { key_id, cert_id, sealed_at }: SealV2,
  receivedAtMs: number,
  is_stated: boolean,
): AdSeal {
  return { key_id, cert_id, sealed_at, received_at: formatTimestamp(receivedAtMs), is_stated };
}

export interface SealedAlone {
  readonly bytes: Uint8Array;
  readonly envelope: Envelope;
  readonly seal: SealV2;
  /** Names the seal: the same document that was sealed once has one. */
  readonly sealId: string;
  readonly key: KeyFacts;
  readonly facts: PublishingFacts;
  /** Whether the document was accepted before. */
  readonly isKnown: boolean;
  /** To be called once the document is accepted. */
  readonly keepSeal: () => Promise<void>;
}

/**
 * Judges a document whose seal names the record type `ads`. One that was accepted before is only compared with its seal, so that
 * a lost answer is repaired by sending it again, however late; one that was refused is judged like any other.
 */
export async function judgeSealedAlone(
  deps: SealedAloneDeps,
  {
    businessUuid,
    bytes,
    envelope,
    document,
  }: Pick<Question, "businessUuid" | "bytes" | "envelope" | "document">,
): Promise<SealedAlone | Refused> {
  const opened = openSeal(envelope);
  if (!opened.ok) return sealRefused(opened.code, opened.detail);
  const seal = opened.value;
  if (seal.v !== 2) return sealRefused("version_unknown", "A document about ads is sealed in format 2.");
  const sealId = pushIdOf(
    businessUuid,
    parseBase64(envelope.payload) ?? new Uint8Array(),
    deps.crypto.sha256,
  );
  const key = await readSigner(deps.actors, businessUuid, envelope);
  const facts = await deps.actors.ask(businessRef(businessUuid), {
    type: "publishing.facts",
    key_id: seal.key_id,
  });
  const isKnown = (await deps.records.readSeal(sealId)) !== null;
  const question = { businessUuid, bytes, envelope, document, seal, key, facts };
  const refusal = isKnown ? judgeAgain(deps, question) : await judgeNew(deps, question);
  if (refusal !== null) return refusal;
  if (key === null) return sealRefused("key_unknown", "The seal's key is not one of the business.");
  if (seal.record_type !== "ads")
    return sealRefused("record_type_mismatch", "The seal is for a different record type; use ads.");
  const keepSeal = async (): Promise<void> => {
    if (isKnown) return;
    await deps.records.putSeal({ seal_id: sealId, envelope: JSON.stringify(envelope), tree_size: null });
  };
  return { bytes, envelope, seal, sealId, key, facts, isKnown, keepSeal };
}

interface Question {
  readonly businessUuid: string;
  readonly bytes: Uint8Array;
  readonly envelope: Envelope;
  readonly document: "ad" | "campaign" | "ad_product" | "withdrawal";
  readonly seal: SealV2;
  readonly key: KeyFacts | null;
  readonly facts: PublishingFacts;
}

function judgeAgain(
  deps: SealedAloneDeps,
  { businessUuid: uuid, bytes, envelope, seal, key }: Question,
): Refused | null {
  const known = judgeKnown(deps, { uuid, record: bytes, envelope }, { seal, key });
  return known.ok ? null : sealRefused(known.code, known.detail);
}

async function judgeNew(
  deps: SealedAloneDeps,
  { businessUuid: uuid, bytes, envelope, document, seal, key, facts }: Question,
): Promise<Refused | null> {
  const verified = judgeVerified(facts);
  if (!verified.ok) return refusedAs(verified);
  if (facts.certificate === null) return null;
  const nowMs = deps.clock.now();
  const verdict = verifySeal(deps.trust(), {
    ...{ bytes, document },
    seal: envelope as unknown as JsonValue,
    certificates: await readIssuances(deps.actors, uuid, facts.certificate, seal.cert_id),
    keys: { ...keysOf(uuid, [key]), cert_id: facts.certificate.cert_id },
    received: { at: formatTimestamp(nowMs) },
    policies: timelineOf(facts.policy),
  });
  if (!verdict.ok) return sealRefused(verdict.code, verdict.detail);
  const live = key === null ? [] : [judgeLive(key, nowMs)];
  const judged = [receivedInTime(seal, nowMs), ...live, namesWhatIsInForce(seal, facts)];
  const fault = judged.find((each) => !each.ok);
  return fault === undefined || fault.ok ? null : sealRefused(fault.code, fault.detail);
}
