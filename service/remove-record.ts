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
//   V4. A record that the business does not have is not found, no matter who else has it: its own actor is asked, and no other.
//
// Publishing may refuse a seal that has no room left in the caps; a removal is charged as one record, so a stolen key cannot
// empty a catalogue faster than it could overwrite it.

import { businessRef, keyRef, regionRef } from "../actors/messages/refs.ts";
import {
  type RemovalAction,
  type RemovedRecord,
  removedHead,
  removedRow,
} from "../actors/messages/removal.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock, CryptoPort } from "../crypto/port.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import { confirmedWithinMs } from "../protocol/wire/live-in.ts";
import {
  type RemovalAnswer,
  type RemovalBody,
  removalBody,
  type WithdrawalsAnswer,
  withdrawalsBody,
} from "../protocol/wire/removal.ts";
import { Semaphore } from "../std/semaphore.ts";
import type { RecordStore } from "../storage/record-store.ts";
import { answerJson, bodyText, isRefused, type Outcome, type Refused, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { capRefused } from "./charge-refused.ts";
import { keyRevoked } from "./find-mandate.ts";
import { answerOnce, type IdempotencyDeps } from "./idempotency.ts";
import { claimFor } from "./publish-claim.ts";
import { passRemovalGate, type RemovalGate } from "./publish-gate.ts";
import {
  judgeRemoval,
  openRemoval,
  parseRemovalBody,
  type RemovalDeps,
  type SealedDocument,
} from "./removal-document.ts";
import { sealRefused } from "./seal-refused.ts";

export interface RemoveRecordDeps extends RemovalDeps, Pick<IdempotencyDeps, "timers"> {
  readonly actors: ActorSystem;
  readonly crypto: CryptoPort;
  readonly clock: Clock;
  readonly records: Pick<RecordStore, "putHeads">;
  /** The regions whose indexes are currently notified. */
  readonly regions: () => readonly string[];
  /** How long after a deletion its bytes are purged. */
  readonly purgeAfterMs: number;
}

export interface RemovalRequest {
  readonly caller: Caller;
  /** The collection named in the path, already mapped; null where it names none. */
  readonly collection: string | null;
  readonly action: RemovalAction;
  readonly idempotencyKey: string | null;
  /** The value of the verified Content-Digest header. */
  readonly contentDigest: string;
  readonly body: Uint8Array;
  /** The address that the request comes from; null if it cannot be determined. */
  readonly sourceIp: string | null;
}

export async function removeRecord(deps: RemoveRecordDeps, request: RemovalRequest): Promise<Outcome> {
  const { party, key } = request.caller;
  const own = keyRef(party.uuid, key.key_id);
  const route = `${request.action}/${request.collection}`;
  const claim = claimFor(request, { key: own, route, replayed: () => {} });
  if (isRefused(claim)) return claim;
  return answerOnce(deps, claim, async () => {
    const gate = await passRemovalGate(deps, request);
    if (isRefused(gate)) return gate;
    const read = parseRemovalBody(request.body, removalBody);
    return isRefused(read)
      ? read
      : removeOne(deps, request, { ...gate, body: read.value, bytes: request.body.length });
  });
}

/** How many documents of a request are judged at a time: the business's actor commits together what arrives together. */
const atOnce = 10;

/** See V6. */
export async function withdrawRecords(
  deps: RemoveRecordDeps,
  call: Omit<RemovalRequest, "action" | "collection">,
): Promise<Outcome> {
  const request = { ...call, action: "withdraw", collection: null } as const;
  const key = keyRef(call.caller.party.uuid, call.caller.key.key_id);
  const claim = claimFor(request, { key, route: "withdrawals", replayed: () => {} });
  if (isRefused(claim)) return claim;
  return answerOnce(deps, claim, async () => {
    const gate = await passRemovalGate(deps, request);
    if (isRefused(gate)) return gate;
    const read = parseRemovalBody(request.body, withdrawalsBody);
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

type Judged = RemovalGate & {
  /** What of the request's body is charged. */
  readonly bytes: number;
};

async function removeOne(
  deps: RemoveRecordDeps,
  request: RemovalRequest,
  { body, ...judged }: Judged & { readonly body: RemovalBody },
): Promise<Outcome> {
  const opened = await openRemoval(deps, request, body);
  if (isRefused(opened)) return opened;
  const { removal: known, held } = await deps.actors.ask(businessRef(request.caller.party.uuid), {
    type: "removal.read",
    document_hash: opened.hash,
  });
  if (known === null && held === null) {
    const fallen = await admitNew(deps, request, { opened, ...judged });
    if (fallen) return fallen;
  }
  return apply(deps, request, { opened, receivedAtMs: judged.facts.at_ms });
}

/** What is judged only of a document that was not accepted before: what is in force, and the charge. */
async function admitNew(
  deps: RemoveRecordDeps,
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
  deps: RemoveRecordDeps,
  { caller, action }: RemovalRequest,
  { opened, receivedAtMs }: { readonly opened: SealedDocument; readonly receivedAtMs: number },
): Promise<Outcome> {
  const { party } = caller;
  const { record_id, at } = opened.document;
  const { text: document, hash: document_hash } = opened;
  const sealed = { document, seal: opened.sealText, received_at: formatTimestamp(receivedAtMs) };
  const command = {
    ...({ type: "record.remove", record_id, action, at, document_hash, sealed } as const),
    ...(action === "delete" ? { purge_at_ms: receivedAtMs + deps.purgeAfterMs } : {}),
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

const deletionRejected = refused(
  problem(
    "deletion_rejected",
    "An operator rejected this deletion, which was received after the certificate was revoked for compromise.",
  ),
);
const notFound = refused(problem("not_found", "This business has no record with this id."));

/**
 * Takes the record out of serving in every region, and returns those that have not confirmed in time. The business's actor does
 * the same on its own, until every region has confirmed: what is done here is only not waiting for it blindly.
 */
async function unconfirmedRegions(
  { actors, records, regions }: RemoveRecordDeps,
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
