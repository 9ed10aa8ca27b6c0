// GET /v1/seal-context: what a business's system must name in its next seal.

import type { BusinessCommand } from "../../actors/messages/business.ts";
import { businessRef, keyRef } from "../../actors/messages/refs.ts";
import type { SealContext } from "../../protocol/wire/push.ts";
import { answerJson, type Caller, isRefused, type Outcome, refusedWith } from "../answer.ts";
import { findMandates } from "../register/find-mandate.ts";
import type { PublishServices } from "./publish-batch.ts";

/**
 * Any live integration key of the business may read it. Besides the specified members it names the mandates that let
 * the key publish now.
 */
export async function sealContext(
  deps: PublishServices,
  request: { readonly caller: Caller },
): Promise<Outcome> {
  const { party, key } = request.caller;
  const command: BusinessCommand = { type: "publishing.facts", key_id: key.key_id };
  const [facts, { last_seq }] = await Promise.all([
    deps.actors.ask(businessRef(party.uuid), command),
    deps.actors.ask(keyRef(party.uuid, key.key_id), { type: "seq.read" }),
  ]);
  if (facts.party === null || facts.certificate === null) {
    return refusedWith("business_not_verified", "The business has no certificate yet.");
  }
  const found = await findMandates(deps, facts.party.uuid, { facts, nowMs: deps.clock.now() });
  const body: SealContext = {
    business_uuid: facts.party.uuid,
    cert_id: facts.certificate.cert_id,
    certificate_status: facts.certificate.status,
    ai_policy_version: facts.policy.version,
    ai_policy_live_from: facts.policy.live_from,
    ai_policy_record_id: facts.policy.record_id,
    key_id: key.key_id,
    last_seq,
    mandates: isRefused(found)
      ? []
      : found.map(({ listed: { mandate_id, scope, valid_from, valid_until } }) => {
          return { mandate_id, scope, valid_from, valid_until };
        }),
  };
  return answerJson(200, body);
}
