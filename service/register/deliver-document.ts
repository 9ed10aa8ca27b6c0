// Documents about a business that a person sealed, delivered by its own system (specification, «Business publishing authority»).
//   DD1. Any live key of the business delivers them, and no mandate is asked for: the passkey's seal is the authority.
//   DD2. They are judged by the keys of the business that delivers them, so that no other business's document passes.
//   DD3. Sent again, a document is answered again and changes nothing; so none needs an Idempotency-Key.

import type { CustodyFacts, KeyFacts } from "../../actors/messages/business.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import type { CustodyRequest } from "../../protocol/keys/key-directory.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import {
  type AcceptedMandate,
  sealedCustodyRequest,
  sealedMandateRequest,
} from "../../protocol/wire/sealed-documents.ts";
import type { CustodyStatement } from "../../protocol/wire/verification.ts";
import { verifyCustodyRequest } from "../../verifier/service-statements.ts";
import {
  answerJson,
  type Caller,
  isRefused,
  type Outcome,
  parseJsonBody,
  type Refused,
  refusedAs,
  type SealReason,
  sealRefused,
} from "../answer.ts";
import type { RegisteringServices } from "./accept-policy.ts";
import { keysOf, mayBind, readEntry, readSigner, receivedInTime } from "./home-evidence.ts";
import { type Parties, type Registered, RegisterRefused } from "./parties.ts";

/** A document that a business delivers, as the body of a request. */
export interface SealedDelivery {
  readonly caller: Pick<Caller, "party">;
  readonly body: Uint8Array;
}

/** `POST /v1/mandates`: the mandate, and those that it stands beside, or why its seal is not accepted. */
export async function deliverMandate(
  { parties }: { readonly parties: Parties },
  { caller, body }: SealedDelivery,
): Promise<Outcome> {
  const read = parseJsonBody(sealedMandateRequest, body);
  if (isRefused(read)) return read;
  return registered("/mandate", async () => {
    const { mandate, beside } = await parties.acceptMandate(read.value.mandate, caller.party.uuid);
    const { mandate_id, key_id, valid_from, valid_until } = mandate;
    const accepted: AcceptedMandate = {
      mandate_id,
      key_id,
      valid_from,
      valid_until,
      beside: beside.map((each) => ({
        mandate_id: each.mandate_id,
        scope: each.scope,
        valid_from: each.valid_from,
        valid_until: each.valid_until,
      })),
    };
    return answerJson(200, accepted);
  });
}

type Judging = Pick<RegisteringServices, "actors" | "clock" | "trust">;

/**
 * `POST /v1/key-custody`: the statement that an owner or admin asked for, or why there is none. The service states what it knows itself:
 * `hosted` of a key that it holds, and `self` of every other.
 */
export async function deliverCustody(
  deps: Judging & Registered,
  { caller, body }: SealedDelivery,
): Promise<Outcome> {
  const read = parseJsonBody(sealedCustodyRequest, body);
  if (isRefused(read)) return read;
  const { uuid } = caller.party;
  const asked = await judgeCustody(deps, uuid, read.value.request);
  if (!asked.ok) return documentRefusal(asked, "/request");
  return registered("/request", async () => {
    const { key_id, custody, effective_from } = asked.value;
    const isSame = (each: CustodyFacts): boolean =>
      each.key_id === key_id && each.custody === custody && each.effective_from === effective_from;
    // A register that lags makes the statement once more, which says the same (DD3).
    const stated =
      (await deps.register.custody(uuid)).find(isSame) ??
      (await deps.parties.stateCustody({ uuid, key_id, custody, effective_from }));
    const { statement_id, issued_at, envelope } = stated;
    const facts = { key_id, custody, effective_from, issued_at, statement_id };
    const answer: CustodyStatement = { ...facts, statement: JSON.parse(envelope) as Envelope };
    return answerJson(200, answer);
  });
}

async function judgeCustody(
  { actors, clock, trust }: Judging,
  uuid: string,
  envelope: Envelope,
): Promise<Result<CustodyRequest>> {
  const signer = await readSigner(actors, uuid, envelope);
  const verified = verifyCustodyRequest(trust(), keysOf(uuid, [signer]), envelope as unknown as JsonValue);
  if (!verified.ok) return verified;
  const request = verified.value;
  const nowMs = clock.now();
  const allowed = signer === null ? ok(undefined) : mayBind(signer, nowMs);
  if (!allowed.ok) return allowed;
  const inTime = receivedInTime({ sealed_at: request.at }, nowMs);
  if (!inTime.ok) return refuse(inTime.code, "A request must be sealed within five minutes of its receipt.");
  const key = await readEntry<KeyFacts>(actors, uuid, `key/${request.key_id}`);
  if (key === null)
    return refuse("stated_key_unknown", "A statement must be about a registered key of the business.");
  const { role, valid_from } = key;
  if ((role === "hosted") !== (request.custody === "hosted")) {
    const who = role === "hosted" ? "The service holds this key" : "The service does not hold this key";
    return refuse("custody_mismatch", `${who}, and states nothing else.`);
  }
  return request.effective_from < valid_from
    ? refuse(
        "stated_key_not_valid",
        `The key is valid from ${valid_from} on; a statement takes effect then or later.`,
      )
    : ok(request);
}

/** What `accept` answers, or why the register did not accept the document that the request has at `pointer`. */
export async function registered(pointer: string, accept: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await accept();
  } catch (error) {
    if (error instanceof RegisterRefused) return documentRefusal(error, pointer);
    throw error;
  }
}

/** The answer to a refusal of a document that a person sealed. */
export function documentRefusal(
  { code, detail }: { readonly code: string; readonly detail: string },
  pointer: string,
): Refused {
  if (code === "business_not_verified" || code === "role_not_allowed") return refusedAs({ code, detail });
  return sealRefused(code as SealReason, detail, { pointer });
}
