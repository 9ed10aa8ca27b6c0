// GET /v1/domains: the domains of a business's endpoints, with what to publish at each and what the last look found.

import { businessRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { challengeName, challengeUrl, domainChallenge } from "../../protocol/keys/certificate.ts";
import type { DomainsAnswer } from "../../protocol/wire/push.ts";
import { answerJson, type Outcome } from "../answer.ts";

/** GET /v1/domains. */
export async function readOwnDomains(
  { actors, areDomainsChecked }: { readonly actors: ActorSystem; readonly areDomainsChecked: boolean },
  businessUuid: string,
): Promise<Outcome> {
  const known = await actors.ask(businessRef(businessUuid), { type: "domains.read" });
  const domains = known.domains.map((each) => ({
    ...each,
    next_probe_at: areDomainsChecked ? each.next_probe_at : null,
    challenge: domainChallenge(businessUuid, each.domain),
    txt_name: challengeName(each.domain),
    file_url: challengeUrl(each.domain),
  }));
  const answer: DomainsAnswer = { domains };
  return answerJson(200, answer);
}
