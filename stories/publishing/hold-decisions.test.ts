// What owners and admins decide about held pushes, over HTTP on a whole node.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { newCaller, type ReceivedAnswer, send } from "../../api/surfaces.fixture.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import { makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp, pushIdOf } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { holdDecisionPayload } from "../../protocol/withdrawal.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
import { signEnvelope } from "../../service/register/service-keys.ts";
import { createVerifier } from "../../verifier/verifier.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  outcomesOf,
  publishOver,
  readOver,
  successorOf,
} from "../retrieval/attack.fixture.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";
import {
  confirmation,
  type Held,
  heldPush,
  newPerson,
  priced,
  rejection,
  revokeKeyOf,
  sealDecision,
  sendDecision,
} from "./hold-decisions.fixture.ts";
import { sealHosted } from "./publishing.fixture.ts";

let node: AttackNode;
beforeAll(async () => {
  node = await openAttackNode();
});
afterAll(() => node.close());

const decide = ({ business, pushId }: Held, document: unknown): Promise<ReceivedAnswer> =>
  sendDecision(node, business, pushId, document);
const statusOf = async ({ business, pushId }: Held) =>
  (await readOver(node, business, `/v1/pushes/${pushId}`)).json;
const stillHeld = async (held: Held) => expect(await statusOf(held)).toMatchObject({ state: "held" });

describe("a held push", () => {
  it("says which listings and by how much, when it ends, and is among the holds of its business", async () => {
    const held = await heldPush(node);
    const { business, pushId } = held;
    const shock = {
      business_product_id: "item-3",
      country: "US",
      change: "89",
      before: { amount: "10.00", currency: "USD" },
      after: { amount: "99.00", currency: "USD" },
    };
    const reasons = [{ code: "price_jump", count: 1, of: 25, largest: [shock] }];
    const status = await statusOf(held);
    expect(status).toMatchObject({ state: "held", held_reasons: reasons });
    const waitsMs = Date.parse(String(status["hold_expires_at"])) - Date.parse(String(status["received_at"]));
    expect(Math.round(waitsMs / 60_000)).toBe(30 * 24 * 60);
    const { json } = await readOver(node, business, "/v1/holds");
    expect(json).toEqual({
      holds: [
        {
          push_id: pushId,
          seq: 2,
          key_id: business.key.key_id,
          records: 1,
          received_at: status["received_at"],
          hold_expires_at: status["hold_expires_at"],
          held_reasons: status["held_reasons"],
          status_url: `/v1/pushes/${pushId}`,
        },
      ],
      next_cursor: null,
    });
    await decide(held, await confirmation(held));
    expect((await readOver(node, business, "/v1/holds")).json["holds"]).toEqual([]);
  });

  it("is listed on pages of twenty, and a wrong cursor is refused", async () => {
    const { business } = await heldPush(node);
    for (let seq = 3; seq < 24; seq += 1) {
      const { body } = await batchBody(business, [priced("item-4", `${50 + seq}.00`)], { seq });
      await publishOver(node, business, body);
    }
    const first = (await readOver(node, business, "/v1/holds")).json;
    expect(first["holds"]).toHaveLength(20);
    const next = (await readOver(node, business, `/v1/holds?cursor=${first["next_cursor"]}`)).json;
    expect(next["holds"]).toHaveLength(2);
    expect(next["next_cursor"]).toBeNull();
    expect(await readOver(node, business, "/v1/holds?cursor=x")).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer: "/query/cursor" },
    });
  });
});

describe("a confirmation", () => {
  it("by an owner publishes, is on record, and sent again is answered again", async () => {
    const held = await heldPush(node);
    const document = await confirmation(held);
    const answer = await decide(held, document);
    expect(answer).toMatchObject({
      status: 200,
      json: { push_id: held.pushId, held: false, hold_decision: { decision: "confirm" } },
    });
    await awaitPush(node, held.business, held.pushId);
    const again = await decide(held, document);
    expect(again).toMatchObject({
      status: 200,
      json: { state: "complete", counts: { updated: 1, held: 0 } },
    });
    expect(again.json["hold_decision"]).toEqual(answer.json["hold_decision"]);
    expect(answer.json["hold_decision"]).toMatchObject({ key_id: held.owner.keyId });
    // A second confirmation, by another person, changes nothing either.
    const admin = await newPerson(node, held.business, "admin");
    const second = await decide(held, await confirmation(held, admin));
    expect(second.json["hold_decision"]).toEqual(answer.json["hold_decision"]);
    const resent = await publishOver(node, held.business, held.body);
    expect(outcomesOf(resent)).toMatchObject([{ outcome: "updated", version: 2 }]);
  });

  it("by an admin publishes a queued push, under any live key of the business", async () => {
    const many = Array.from({ length: 60 }, (_, index) => priced(`item-${index}`, "20.00"));
    const held = await heldPush(node, many);
    const admin = await newPerson(node, held.business, "admin");
    const successor = await successorOf(node, held.business);
    const answer = await sendDecision(node, successor, held.pushId, await confirmation(held, admin));
    expect(answer).toMatchObject({ status: 200, json: { held: false, records: 60 } });
    expect(await awaitPush(node, held.business, held.pushId)).toMatchObject({
      state: "complete",
      counts: { accepted: 35, updated: 25 },
    });
  });

  it("sent many times at once counts once", async () => {
    const held = await heldPush(node);
    const document = await confirmation(held);
    const answers = await Promise.all(Array.from({ length: 8 }, () => decide(held, document)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const decisions = new Set(answers.map(({ json }) => JSON.stringify(json["hold_decision"])));
    expect(decisions.size).toBe(1);
    expect((await awaitPush(node, held.business, held.pushId)).results).toMatchObject([{ version: 2 }]);
  });

  it("survives a restart right after it, and is answered again then", async () => {
    const held = await heldPush(node);
    const document = await confirmation(held);
    const answer = await decide(held, document);
    await node.restart();
    expect((await decide(held, document)).json["hold_decision"]).toEqual(answer.json["hold_decision"]);
    expect(await awaitPush(node, held.business, held.pushId)).toMatchObject({ state: "complete" });
  });

  it("verifies offline as a document, with the published keys of the business", async () => {
    const held = await heldPush(node);
    const document = (await confirmation(held)) as unknown as JsonValue;
    const read = async (path: string) =>
      (await (await fetch(`${node.running.urls.verify_url}${path}`)).json()) as JsonValue;
    const made = createVerifier({
      anchors: node.running.services.anchors,
      keySet: await read("/.well-known/keys"),
    });
    if (!made.ok) throw new Error(made.detail);
    await registerInForce(node.running.services);
    const { uuid } = held.business.party;
    const keys = made.value.businessKeys(uuid, await read(`/v1/certificates/${uuid}/keys`));
    if (!keys.ok) throw new Error(keys.detail);
    expect(made.value.holdDecision(keys.value, document)).toMatchObject({
      ok: true,
      value: { decision: "confirm", push_id: held.pushId, business_uuid: uuid },
    });
  });
});

describe("a rejection", () => {
  it("ends the push for ever, and a confirmation comes too late", async () => {
    const held = await heldPush(node);
    const answer = await decide(held, await rejection(held));
    expect(answer).toMatchObject({
      status: 200,
      json: { state: "failed", error: { code: "hold_rejected" }, hold_decision: { decision: "reject" } },
    });
    expect(await decide(held, await confirmation(held))).toMatchObject({
      status: 409,
      json: { code: "push_not_held", reason: "rejected" },
    });
    expect(outcomesOf(await publishOver(node, held.business, held.body))).toMatchObject([
      { outcome: "rejected", errors: [{ code: "hold_rejected" }] },
    ]);
  });

  it("after a confirmation is refused", async () => {
    const held = await heldPush(node);
    await decide(held, await confirmation(held));
    expect(await decide(held, await rejection(held))).toMatchObject({
      status: 409,
      json: { code: "push_not_held", reason: "confirmed" },
    });
  });
});

/** A confirmation whose signature is changed. */
async function withSignature(held: Held, change: object): Promise<object> {
  const document = await confirmation(held);
  return { ...document, signatures: [{ ...document.signatures[0], ...change }] };
}

describe("a decision is refused, and the push stays held,", () => {
  const refusals: readonly [
    string,
    (held: Held) => Promise<unknown>,
    { readonly status: number; readonly code: string; readonly reason?: string },
  ][] = [
    [
      "by a developer",
      async (held) => confirmation(held, await newPerson(node, held.business, "developer")),
      { status: 403, code: "role_not_allowed" },
    ],
    [
      "by an owner whose passkey was revoked",
      async (held) => {
        const document = await confirmation(held);
        await revokeKeyOf(node, held, held.owner.keyId);
        return document;
      },
      { status: 422, code: "seal_invalid", reason: "key_not_valid" },
    ],
    [
      "by another business's owner",
      async (held) => confirmation(held, (await heldPush(node)).owner),
      { status: 422, code: "seal_invalid", reason: "key_unknown" },
    ],
    [
      "by the key that the service holds for the business, in the sandbox as well",
      async (held) => {
        const signer = await node.running.services.hostedSigner(held.business.party.uuid);
        return confirmation(held, {
          seal: (type, payload) => signEnvelope(type, payload, [signer]),
        });
      },
      { status: 422, code: "seal_invalid", reason: "key_unknown" },
    ],
    [
      "by the integration key",
      async (held) => {
        const { signingKey } = held.business;
        return confirmation(held, {
          seal: async (type, payload) =>
            makeEnvelope(type, payload, [
              { keyid: signingKey.keyId, sig: await signingKey.sign(pae(type, payload)) },
            ]),
        });
      },
      { status: 422, code: "seal_invalid", reason: "key_unknown" },
    ],
    [
      "for another push",
      async (held) => {
        const push_id = `bat_${"0".repeat(24)}`;
        return sealDecision(held.business, held.owner, { push_id, decision: "confirm" });
      },
      { status: 422, code: "seal_invalid", reason: "out_of_scope" },
    ],
    [
      "for another business",
      async (held) =>
        sealDecision(held.business, held.owner, {
          push_id: held.pushId,
          decision: "confirm",
          business_uuid: "00000000-0000-4000-8000-00000000ffff",
        }),
      { status: 422, code: "seal_invalid", reason: "out_of_scope" },
    ],
    [
      "sealed six minutes ago",
      async (held) =>
        sealDecision(held.business, held.owner, {
          push_id: held.pushId,
          decision: "confirm",
          at: formatTimestamp(Date.now() - 360_000),
        }),
      { status: 422, code: "seal_invalid", reason: "sealed_at_skew" },
    ],
    [
      "changed after sealing",
      async (held) => {
        const { payload: _payload, ...document } = await rejection(held);
        const changed = holdDecisionPayload({
          v: 1,
          business_uuid: held.business.party.uuid,
          push_id: held.pushId,
          decision: "confirm",
          at: formatTimestamp(Date.now()),
        });
        return { ...document, payload: Buffer.from(changed).toString("base64") };
      },
      { status: 422, code: "seal_invalid", reason: "signature_invalid" },
    ],
    [
      "of another payload type",
      async (held) => ({ ...(await confirmation(held)), payloadType: payloadTypes["mandate.v1"] }),
      { status: 422, code: "seal_invalid", reason: "payload_type_mismatch" },
    ],
    [
      "signed twice",
      async (held) => {
        const document = await confirmation(held);
        return { ...document, signatures: [...document.signatures, ...document.signatures] };
      },
      { status: 422, code: "seal_invalid", reason: "envelope_malformed" },
    ],
    [
      "under the key_id of another person",
      async (held) => withSignature(held, { keyid: (await newPerson(node, held.business)).keyId }),
      { status: 422, code: "seal_invalid", reason: "signature_invalid" },
    ],
    [
      "with the signature of another document",
      async (held) => withSignature(held, { sig: (await rejection(held)).signatures[0]?.sig }),
      { status: 422, code: "seal_invalid", reason: "signature_invalid" },
    ],
    [
      "with other authenticator data",
      async (held) => withSignature(held, { authenticatorData: btoa("\0".repeat(37)) }),
      { status: 422, code: "seal_invalid", reason: "signature_invalid" },
    ],
    [
      "with other client data",
      async (held) => {
        const [signature] = (await rejection(held)).signatures;
        return withSignature(held, { clientDataJSON: signature?.clientDataJSON });
      },
      { status: 422, code: "seal_invalid", reason: "signature_invalid" },
    ],
    ["that is no envelope", async () => ({ confirm: true }), { status: 400, code: "request_invalid" }],
  ];

  it.each(refusals)("%s", async (_name, make, { status, ...expected }) => {
    const held = await heldPush(node);
    expect(await decide(held, await make(held))).toMatchObject({ status, json: expected });
    await stillHeld(held);
  });

  it("about a push that the business does not have, as for anybody else", async () => {
    const held = await heldPush(node);
    const other = await newBusiness(node);
    const stranger = await sendDecision(node, other, held.pushId, await confirmation(held));
    const unknown = await sendDecision(node, other, `bat_${"0".repeat(24)}`, await confirmation(held));
    expect([stranger.status, unknown.status, stranger.json["code"]]).toEqual([404, 404, "not_found"]);
    expect(stranger.text).toBe(unknown.text);
    expect((await sendDecision(node, other, "x", {})).status).toBe(400);
    await stillHeld(held);
  });

  it("under a key that is not the business's, or another tag", async () => {
    const held = await heldPush(node);
    const uuid = "10000000-0000-4000-8000-0000000000a7";
    const company = await newCaller(node.running.services.keys.grant, "retrieval", uuid);
    const path = `/v1/pushes/${held.pushId}/hold`;
    const body = JSON.stringify({ decision: await confirmation(held) });
    const { business_url } = node.running.urls;
    expect(await send(business_url, company, { path, body, tag: "svc-push" })).toMatchObject({
      status: 403,
      json: { code: "role_not_allowed" },
    });
    const read = await sendDecision(node, held.business, held.pushId, await confirmation(held), {
      tag: "svc-business-read",
    });
    expect(read.status).toBe(401);
    await stillHeld(held);
  });

  it("about a record that was sealed alone, which is not a push of this interface", async () => {
    const business = await newBusiness(node);
    const owner = await newPerson(node, business);
    const { services } = node.running;
    const record = priced("alone", "1.00");
    const sealing = { uuid: business.party.uuid, certId: business.certId };
    const seal = await sealHosted(services, sealing, {
      record,
      record_type: "products",
      ai_policy_version: 0,
    });
    const sealed = { businessUuid: business.party.uuid, collection: "products", record, seal } as const;
    expect(await publishRecord(services, sealed)).toMatchObject({ ok: true });
    const pushId = pushIdOf(business.party.uuid, parseBase64(seal.payload) ?? record, nativeCrypto.sha256);
    const alone = { business, owner, pushId, body: record };
    expect((await decide(alone, await confirmation(alone))).status).toBe(404);
  });

  it("of a push that was published at once", async () => {
    const business = await newBusiness(node);
    const owner = await newPerson(node, business);
    const { body, pushId } = await batchBody(business, [priced("a", "1.00")], { seq: 1 });
    await publishOver(node, business, body);
    const held = { business, owner, pushId, body };
    expect(await decide(held, await confirmation(held))).toMatchObject({
      status: 409,
      json: { code: "push_not_held", reason: "complete" },
    });
  });
});
