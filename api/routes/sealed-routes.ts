// The routes by which a business's system delivers what persons of the business sealed, or the key that the service holds for it: records of
// every type, AI policies, mandates, and requests for custody statements.

import { collections } from "../../collections/collections.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { requestBytesMax, verifyBytesMax } from "../../protocol/limits.ts";
import type { ProblemCode } from "../../protocol/problem.ts";
import { acceptedPolicy, publishOutcome, sealedRecordRequest } from "../../protocol/wire/push.ts";
import {
  acceptedMandate,
  sealedCustodyRequest,
  sealedMandateRequest,
} from "../../protocol/wire/sealed-documents.ts";
import { custodyStatement } from "../../protocol/wire/verification.ts";
import type { Outcome } from "../../service/answer.ts";
import type { SealedDelivery } from "../../service/register/deliver-document.ts";
import { answeredWith, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { businessPush, type Callers } from "../signed.ts";

/** What the routes call; each function checks its input beyond authentication. */
export interface Delivering {
  deliverRecord(request: SealedDelivery & { readonly collection: CollectionName }): Promise<Outcome>;
  deliverPolicy(request: SealedDelivery): Promise<Outcome>;
  deliverMandate(request: SealedDelivery): Promise<Outcome>;
  deliverCustody(request: SealedDelivery): Promise<Outcome>;
}

/** The routes of records, AI policies, mandates and custody requests that were sealed alone. */
export function sealedRoutes(callers: Callers, delivering: Delivering): readonly Route[] {
  return [
    ...collectionNames.map((name) => recordRoute(callers, delivering, name)),
    policyRoute(callers, delivering),
    mandateRoute(callers, delivering),
    custodyRoute(callers, delivering),
  ];
}

const problems: readonly ProblemCode[] = ["request_invalid", "media_type_unsupported", "seal_invalid"];

function recordRoute(callers: Callers, delivering: Delivering, collection: CollectionName): Route {
  const { path, title } = collections[collection];
  const doc: RouteDoc = {
    summary: `Publish one of your ${title}, sealed alone`,
    description:
      "The exact bytes of one record, with a seal over them alone by a person's passkey or a hosted key of the business. Any live integration key may deliver it: the seal is the authority, so no mandate is asked for, and none covers what an integration key seals. Sent again, the same seal is answered with its outcome again.",
    parameters: [sandboxKey],
    body: sealedRecordRequest,
    answers: answeredWith("The outcome of the record, also if it was rejected", publishOutcome),
    problems: [...problems, "business_not_verified"],
  };
  return businessPush(callers, `/v1/publish/${path}/record`, doc, {
    bytesMax: verifyBytesMax,
    answer: ({ authenticated: { caller }, body }) => delivering.deliverRecord({ caller, body, collection }),
  });
}

function policyRoute(callers: Callers, delivering: Delivering): Route {
  const doc: RouteDoc = {
    summary: "Put a sealed AI policy into force",
    description:
      "The exact bytes of an AI policy (`svc/ai_policy/1`), with a seal that names the version that it creates: the next one. It is in force from its acceptance on. Any live integration key may deliver it. The same record is answered again; another one under an accepted version is `seal_invalid` with reason `ai_policy_version_used`.",
    parameters: [sandboxKey],
    body: sealedRecordRequest,
    answers: answeredWith("The policy is in force", acceptedPolicy),
    problems: [...problems, "business_not_verified", "role_not_allowed"],
  };
  return businessPush(callers, "/v1/ai-policies", doc, {
    bytesMax: verifyBytesMax,
    answer: ({ authenticated: { caller }, body }) => delivering.deliverPolicy({ caller, body }),
  });
}

function mandateRoute(callers: Callers, delivering: Delivering): Route {
  const doc: RouteDoc = {
    summary: "Register a sealed mandate",
    description:
      "A mandate that an owner or admin sealed with a passkey, for an integration key of the business. Any live integration key may deliver it, also the one that it is for: the seal is the authority. It is in force between its instants and stands beside the key's other mandates, which the answer lists. The same mandate is answered again; another one with its `mandate_id` is `seal_invalid` with reason `mandate_id_taken`. Further reasons are those of every verifier for the seal, and for the key that it is for `mandated_key_unknown` (not an integration key of the business), `mandated_key_not_valid` (revoked or ended) and `too_many_mandates`.",
    parameters: [sandboxKey],
    body: sealedMandateRequest,
    answers: answeredWith("The mandate is registered", acceptedMandate),
    problems: [...problems, "role_not_allowed"],
  };
  return businessPush(callers, "/v1/mandates", doc, {
    bytesMax: requestBytesMax,
    answer: ({ authenticated: { caller }, body }) => delivering.deliverMandate({ caller, body }),
  });
}

function custodyRoute(callers: Callers, delivering: Delivering): Route {
  const doc: RouteDoc = {
    summary: "Ask for a statement of who holds a key",
    description:
      "A request that an owner or admin sealed with a passkey, within five minutes of its receipt. Any live integration key may deliver it. The service states what it knows itself, `hosted` of the key that it holds for the business and `self` of every other, publishes the statement and logs it. A statement that says the same is answered again. Further reasons of `seal_invalid` are those of every verifier for the seal, `sealed_at_skew`, and for the key `stated_key_unknown`, `custody_mismatch` and `stated_key_not_valid` (before it was valid).",
    parameters: [sandboxKey],
    body: sealedCustodyRequest,
    answers: answeredWith("The statement", custodyStatement),
    problems: [...problems, "role_not_allowed"],
  };
  return businessPush(callers, "/v1/key-custody", doc, {
    bytesMax: requestBytesMax,
    answer: ({ authenticated: { caller }, body }) => delivering.deliverCustody({ caller, body }),
  });
}
