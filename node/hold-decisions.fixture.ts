// People of a test business who decide about held pushes over HTTP with their passkeys. For tests.

import type { PersonRole } from "../actors/messages/business.ts";
import { type ReceivedAnswer, type SentRequest, send } from "../api/surfaces.fixture.ts";
import { generatePrivateJwk } from "../crypto/private-jwk.ts";
import { type Envelope, payloadTypes } from "../protocol/dsse.ts";
import { type HoldDecision, holdDecisionPayload } from "../protocol/hold-decision.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { sandboxKeyFacts } from "../service/sandbox-keys.ts";
import type { AttackNode } from "./attack.fixture.ts";
import type { TestBusiness } from "./publishing.fixture.ts";
import { createSoftwarePasskey, type Sealer } from "./sandbox/sealer.ts";

const hourMs = 3_600_000;

/** A person of the business with a passkey. */
export async function newPerson(
  node: AttackNode,
  business: TestBusiness,
  person_role: PersonRole = "owner",
): Promise<Sealer> {
  const { parties, anchors } = node.running.services;
  const passkey = createSoftwarePasskey(generatePrivateJwk("ES256"), anchors.passkeys);
  const { keyId, publicJwk: jwk, cose } = passkey;
  const facts = sandboxKeyFacts({
    ...{ keyId, jwk, partyUuid: business.party.uuid, role: "integration" },
    validFrom: formatTimestamp(Date.now() - hourMs),
  });
  await parties.registerKey({ ...facts, role: "sealing", person_role, cose });
  return passkey;
}

export function sealDecision(
  business: TestBusiness,
  person: Pick<Sealer, "seal">,
  decision: Pick<HoldDecision, "push_id" | "decision"> & Partial<HoldDecision>,
): Promise<Envelope> {
  const payload = holdDecisionPayload({
    v: 1,
    business_uuid: business.party.uuid,
    at: formatTimestamp(Date.now()),
    ...decision,
  });
  return person.seal(payloadTypes["hold-decision.v1"], payload);
}

export function sendDecision(
  node: AttackNode,
  business: Pick<TestBusiness, "signingKey">,
  pushId: string,
  decision: unknown,
  changes: Partial<SentRequest> = {},
): Promise<ReceivedAnswer> {
  return send(
    node.running.urls.business_url,
    { key: business.signingKey, grant: "" },
    {
      path: `/v1/pushes/${pushId}/hold`,
      body: JSON.stringify({ decision }),
      tag: "svc-push",
      headers: { "svc-sandbox-key": null },
      ...changes,
    },
  );
}

/** A new owner of the business decides. */
export async function decideOver(
  node: AttackNode,
  business: TestBusiness,
  push_id: string,
  decision: HoldDecision["decision"],
): Promise<ReceivedAnswer> {
  const person = await newPerson(node, business);
  return sendDecision(node, business, push_id, await sealDecision(business, person, { push_id, decision }));
}
