// Issuance: what the service states about others under the issuance key. The same checks guard the key wherever it is
// kept: in this process, as in the sandbox, or in a process of its own.
//   I1. Nothing is signed that was not parsed completely as a certificate or a custody statement.
//   I2. What is signed carries the environment's mark and the current time: nothing is backdated.

import type { Clock, Issuance, Signer } from "../../crypto/port.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { parseTimestamp } from "../../protocol/identifiers.ts";
import { parseCertificate } from "../../protocol/keys/certificate.ts";
import { parseKeyCustody } from "../../protocol/keys/key-directory.ts";
import type { Verdict } from "../../protocol/reason-codes.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { type Environment, signEnvelope } from "./service-keys.ts";

/** What an issuable document is about. */
export interface Issuable {
  readonly kind: "certificate" | "key_custody";
  /** The uuid of the party. */
  readonly subject: string;
  /** What it says about the subject, in one word: the status, or who holds the key. */
  readonly says: string;
  readonly issued_at: string;
}

/** The maximum skew between the clock of the requesting node and that of the signing process. */
const clockSkewMs = 300_000;

/** Parses a document that the issuance key is asked to sign; refuses everything but what this service currently issues. */
export function judgeIssuable(
  document: { readonly payloadType: string; readonly payload: Uint8Array },
  at: { readonly environment: Environment; readonly nowMs: number },
): Result<Issuable, "issuance_refused"> {
  const read = readIssuable(document.payloadType, document.payload);
  if (read === null)
    return refused(
      `The issuance key does not sign documents of type ${JSON.stringify(document.payloadType)}.`,
    );
  if (!read.ok) return refused(`The document cannot be read: ${read.detail} (${read.code})`);
  const { sandbox, ...issuable } = read.value;
  if (sandbox !== (at.environment === "sandbox"))
    return refused(`The document is not marked as belonging to the ${at.environment} environment.`);
  const issuedMs = parseTimestamp(issuable.issued_at) ?? Number.NaN;
  if (!(Math.abs(issuedMs - at.nowMs) <= clockSkewMs))
    return refused(`issued_at is ${issuable.issued_at}; it must be now. Compare the clocks.`);
  return ok(issuable);
}

/** Signs in this process. */
export function createIssuance(
  pair: readonly [classical: Signer, postQuantum: Signer],
  context: { readonly environment: Environment; readonly clock: Clock },
): Issuance {
  const { environment, clock } = context;
  return {
    issue: async (payloadType, payload) => {
      const judged = judgeIssuable({ payloadType, payload }, { environment, nowMs: clock.now() });
      return judged.ok ? ok(await signEnvelope(payloadType, payload, pair)) : judged;
    },
  };
}

type ReadDocument = Issuable & { readonly sandbox: boolean };

function readIssuable(payloadType: string, payload: Uint8Array): Verdict<ReadDocument> | null {
  if (payloadType === payloadTypes["certificate.v1"]) {
    const read = parseCertificate(payload);
    if (!read.ok) return read;
    const { subject, status, issued_at, sandbox = false } = read.value;
    return ok({ kind: "certificate", subject: subject.uuid, says: status, issued_at, sandbox });
  }
  if (payloadType !== payloadTypes["key-custody.v1"]) return null;
  const read = parseKeyCustody(payload);
  if (!read.ok) return read;
  const { business_uuid: subject, custody, issued_at, sandbox = false } = read.value;
  return ok({ kind: "key_custody", subject, says: custody, issued_at, sandbox });
}

function refused(detail: string) {
  return refuse("issuance_refused", detail);
}
