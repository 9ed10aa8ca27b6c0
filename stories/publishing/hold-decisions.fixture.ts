// People of a test business who decide about held pushes over HTTP with their passkeys. For tests.

import type { PersonRole } from "../../actors/messages/party.ts";
import { type ReceivedAnswer, type SentRequest, send } from "../../api/surfaces.fixture.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { createSoftwarePasskey, type Sealer } from "../../node/sandbox/sealer.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { coseKeyOf } from "../../protocol/keys/jwk.ts";
import { type HoldDecision, holdDecisionPayload } from "../../protocol/withdrawal.ts";
import { sandboxKeyFacts } from "../../service/authentication/sandbox-grants.ts";
import { type AssertionParts, makeKey, sealWithPasskey } from "../../verifier/signing.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  publishOver,
} from "../retrieval/attack.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";

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
    keyId,
    jwk,
    partyUuid: business.party.uuid,
    role: "integration",
    validFrom: formatTimestamp(Date.now() - hourMs),
  });
  await parties.registerKey({ ...facts, role: "sealing", person_role, cose });
  return passkey;
}

/** What is wrong with an assertion, whatever it is for. */
export const falseAssertions = [
  ["without user verification", { flags: 0x01 }],
  ["for an origin outside the allow-list", { origin: "https://portal.evil.example" }],
  ["for another relying party", { rpId: "evil.example" }],
  ["with an assertion that was made for other bytes", { challengeOf: new Uint8Array([1]) }],
  ["with a registration", { type: "webauthn.create" }],
  ["in a frame of another site", { crossOrigin: true }],
] as const satisfies readonly (readonly [string, AssertionParts])[];

/** An owner of the business whose assertions a test falsifies. */
export async function newPersonWith(
  node: AttackNode,
  business: TestBusiness,
  parts: AssertionParts = {},
): Promise<Pick<Sealer, "keyId" | "seal">> {
  const { parties, anchors } = node.running.services;
  const key = makeKey("ES256");
  const facts = sandboxKeyFacts({
    keyId: key.keyId,
    jwk: key.jwk,
    partyUuid: business.party.uuid,
    role: "integration",
    validFrom: formatTimestamp(Date.now() - hourMs),
  });
  const cose = toBase64(coseKeyOf(key.jwk) ?? new Uint8Array());
  await parties.registerKey({ ...facts, role: "sealing", person_role: "owner", cose });
  const own = { origin: anchors.passkeys.origins[0] ?? "", rpId: anchors.passkeys.rp_ids[0] ?? "" };
  return {
    keyId: key.keyId,
    seal: async (payloadType, payload) => sealWithPasskey(payloadType, payload, key, { ...own, ...parts }),
  };
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

export const priced = (id: string, amount: string): Uint8Array =>
  product(id, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });

export interface Held {
  readonly business: TestBusiness;
  readonly owner: Sealer;
  readonly pushId: string;
  readonly body: Uint8Array;
}

/** Pushes the catalogue of 25 listings at 10.00 USD. */
export async function pushCatalogue(node: AttackNode, business: TestBusiness): Promise<void> {
  const catalogue = Array.from({ length: 25 }, (_, index) => priced(`item-${index}`, "10.00"));
  await publishOver(node, business, (await batchBody(business, catalogue, { seq: 1 })).body);
}

/** A business with 25 listings that holds a push, and its owner. */
export async function heldPush(
  node: AttackNode,
  records: readonly Uint8Array[] = [priced("item-3", "99.00")],
): Promise<Held> {
  const business = await newBusiness(node);
  const owner = await newPerson(node, business);
  await pushCatalogue(node, business);
  const { body, pushId } = await batchBody(business, records, { seq: 2 });
  await publishOver(node, business, body);
  const { state } = await awaitPush(node, business, pushId);
  if (state !== "held") throw new Error(`The push is ${state}.`);
  return { business, owner, pushId, body };
}

export const confirmation = (
  { business, owner, pushId: push_id }: Held,
  person: Pick<Sealer, "seal"> = owner,
): Promise<Envelope> => sealDecision(business, person, { push_id, decision: "confirm" });

export const rejection = ({ business, owner, pushId: push_id }: Held): Promise<Envelope> =>
  sealDecision(business, owner, { push_id, decision: "reject" });

export const revokeKeyOf = (
  node: AttackNode,
  { business }: Pick<Held, "business">,
  key_id: string,
  compromised_from: string | null = null,
): Promise<boolean> =>
  node.running.services.parties.revokeKey({
    uuid: business.party.uuid,
    key_id,
    revoked_at: formatTimestamp(Date.now()),
    compromised_from,
  });
