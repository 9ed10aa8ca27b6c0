// What owners and admins decide about held pushes, over HTTP on a whole node.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushRef } from "../actors/messages/refs.ts";
import { newCaller, type ReceivedAnswer, send } from "../api/surfaces.fixture.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { makeEnvelope, pae, payloadTypes } from "../protocol/dsse.ts";
import { holdDecisionPayload } from "../protocol/hold-decision.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { signEnvelope } from "../service/sign-envelope.ts";
import { createVerifier } from "../verifier/verifier.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  giveMandate,
  newBusiness,
  openAttackNode,
  outcomesOf,
  publishOver,
  readOver,
  successorOf,
  tellBusiness,
} from "./attack.fixture.ts";
import { newPerson, sealDecision, sendDecision } from "./hold-decisions.fixture.ts";
import { product, type TestBusiness } from "./publishing.fixture.ts";
import type { Sealer } from "./sandbox/sealer.ts";

let node: AttackNode;
/** How far the node's clock is ahead. */
let aheadMs = 0;
const dayMs = 86_400_000;
beforeAll(async () => {
  node = await openAttackNode({ clock: { now: () => Date.now() + aheadMs } });
});
afterAll(() => node.close());

const priced = (id: string, amount: string): Uint8Array =>
  product(id, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });

const recordIdOf = (business: TestBusiness, id: string): string =>
  node.running.services.recordIdOf(business.party.uuid, "products", id);

interface Held {
  readonly business: TestBusiness;
  readonly owner: Sealer;
  readonly pushId: string;
  readonly body: Uint8Array;
}

/** A business with 25 listings that holds a push, and its owner. */
async function heldPush(records: readonly Uint8Array[] = [priced("item-3", "99.00")]): Promise<Held> {
  const business = await newBusiness(node);
  const owner = await newPerson(node, business);
  const catalogue = Array.from({ length: 25 }, (_, index) => priced(`item-${index}`, "10.00"));
  await publishOver(node, business, (await batchBody(business, catalogue, { seq: 1 })).body);
  const { body, pushId } = await batchBody(business, records, { seq: 2 });
  expect((await publishOver(node, business, body)).json["held"] ?? true).toBe(true);
  expect((await awaitPush(node, business, pushId)).state).toBe("held");
  return { business, owner, pushId, body };
}

const confirmation = ({ business, owner, pushId: push_id }: Held, person: Pick<Sealer, "seal"> = owner) =>
  sealDecision(business, person, { push_id, decision: "confirm" });
const rejection = ({ business, owner, pushId: push_id }: Held) =>
  sealDecision(business, owner, { push_id, decision: "reject" });

const decide = ({ business, pushId }: Held, document: unknown): Promise<ReceivedAnswer> =>
  sendDecision(node, business, pushId, document);

const statusOf = async ({ business, pushId }: Held) =>
  (await readOver(node, business, `/v1/pushes/${pushId}`)).json;

const stillHeld = async (held: Held) => expect(await statusOf(held)).toMatchObject({ state: "held" });

describe("a held push", () => {
  it("says which listings and by how much, when it ends, and is among the holds of its business", async () => {
    const held = await heldPush();
    const { business, pushId } = held;
    const shock = {
      ...{ business_product_id: "item-3", country: "US", change: "89" },
      ...{ before: { amount: "10.00", currency: "USD" }, after: { amount: "99.00", currency: "USD" } },
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
          ...{ push_id: pushId, seq: 2, key_id: business.key.key_id, records: 1 },
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
    const { business } = await heldPush();
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
    const held = await heldPush();
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
    const held = await heldPush(many);
    const admin = await newPerson(node, held.business, "admin");
    const successor = await successorOf(node, held.business);
    const answer = await sendDecision(node, successor, held.pushId, await confirmation(held, admin));
    expect(answer).toMatchObject({ status: 200, json: { held: false, records: 60 } });
    expect(await awaitPush(node, held.business, held.pushId)).toMatchObject({
      ...{ state: "complete", counts: { accepted: 35, updated: 25 } },
    });
  });

  it("sent many times at once counts once", async () => {
    const held = await heldPush();
    const document = await confirmation(held);
    const answers = await Promise.all(Array.from({ length: 8 }, () => decide(held, document)));
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
    const decisions = new Set(answers.map(({ json }) => JSON.stringify(json["hold_decision"])));
    expect(decisions.size).toBe(1);
    expect((await awaitPush(node, held.business, held.pushId)).results).toMatchObject([{ version: 2 }]);
  });

  it("survives a restart right after it, and is answered again then", async () => {
    const held = await heldPush();
    const document = await confirmation(held);
    const answer = await decide(held, document);
    await node.restart();
    expect((await decide(held, document)).json["hold_decision"]).toEqual(answer.json["hold_decision"]);
    expect(await awaitPush(node, held.business, held.pushId)).toMatchObject({ state: "complete" });
  });

  it("verifies offline as a document, with the published keys of the business", async () => {
    const held = await heldPush();
    const document = (await confirmation(held)) as unknown as JsonValue;
    const read = async (path: string) =>
      (await (await fetch(`${node.running.urls.verify_url}${path}`)).json()) as JsonValue;
    const made = createVerifier({
      anchors: node.running.services.anchors,
      keySet: await read("/.well-known/keys"),
    });
    if (!made.ok) throw new Error(made.detail);
    await node.running.services.register.refresh();
    const { uuid } = held.business.party;
    const keys = made.value.businessKeys(uuid, await read(`/v1/certificates/${uuid}/keys`));
    if (!keys.ok) throw new Error(keys.detail);
    expect(made.value.holdDecision(keys.value, document)).toMatchObject({
      ...{ ok: true, value: { decision: "confirm", push_id: held.pushId, business_uuid: uuid } },
    });
  });
});

describe("a rejection", () => {
  it("ends the push for ever, and a confirmation comes too late", async () => {
    const held = await heldPush();
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
    const held = await heldPush();
    await decide(held, await confirmation(held));
    expect(await decide(held, await rejection(held))).toMatchObject({
      status: 409,
      json: { code: "push_not_held", reason: "confirmed" },
    });
  });
});

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
        await revokeKey(held, held.owner.keyId);
        return document;
      },
      { status: 422, code: "seal_invalid", reason: "key_not_valid" },
    ],
    [
      "by another business's owner",
      async (held) => confirmation(held, (await heldPush()).owner),
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
          ...{ push_id: held.pushId, decision: "confirm" },
          business_uuid: "00000000-0000-4000-8000-00000000ffff",
        }),
      { status: 422, code: "seal_invalid", reason: "out_of_scope" },
    ],
    [
      "sealed six minutes ago",
      async (held) =>
        sealDecision(held.business, held.owner, {
          ...{ push_id: held.pushId, decision: "confirm" },
          at: formatTimestamp(Date.now() - 360_000),
        }),
      { status: 422, code: "seal_invalid", reason: "sealed_at_skew" },
    ],
    [
      "changed after sealing",
      async (held) => {
        const { payload: _payload, ...document } = await rejection(held);
        const changed = holdDecisionPayload({
          ...{ v: 1, business_uuid: held.business.party.uuid, push_id: held.pushId, decision: "confirm" },
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
    ["that is no envelope", async () => ({ confirm: true }), { status: 400, code: "request_invalid" }],
  ];

  it.each(refusals)("%s", async (_name, make, { status, ...expected }) => {
    const held = await heldPush();
    expect(await decide(held, await make(held))).toMatchObject({ status, json: expected });
    await stillHeld(held);
  });

  it("about a push that the business does not have, as for anybody else", async () => {
    const held = await heldPush();
    const other = await newBusiness(node);
    const stranger = await sendDecision(node, other, held.pushId, await confirmation(held));
    const unknown = await sendDecision(node, other, `bat_${"0".repeat(24)}`, await confirmation(held));
    expect([stranger.status, unknown.status, stranger.json["code"]]).toEqual([404, 404, "not_found"]);
    expect(stranger.text).toBe(unknown.text);
    expect((await sendDecision(node, other, "x", {})).status).toBe(400);
    await stillHeld(held);
  });

  it("under a key that is not the business's, or another tag", async () => {
    const held = await heldPush();
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

const revokeKey = ({ business }: Held, key_id: string, compromised_from: string | null = null) =>
  node.running.services.parties.revokeKey({
    ...{ uuid: business.party.uuid, key_id, revoked_at: formatTimestamp(Date.now()), compromised_from },
  });

describe("what changed while a push was held ends it when it is confirmed:", () => {
  const changes: readonly [string, string, (held: Held) => Promise<unknown>][] = [
    ["the key was revoked", "key_revoked", (held) => revokeKey(held, held.business.key.key_id)],
    [
      "the mandate was revoked",
      "mandate_revoked",
      async ({ business, pushId }) => {
        const { facts } = await awaitPush(node, business, pushId);
        await node.running.services.parties.revokeMandate({
          uuid: business.party.uuid,
          mandate_id: facts.mandate_id ?? "",
          revoked_at: formatTimestamp(Date.now()),
        });
      },
    ],
    [
      "another certificate came into force",
      "certificate_not_in_force",
      ({ business }) => issue(business, { status: "active", legal_name: "Renamed Ltd" }),
    ],
    [
      "the certificate was withdrawn",
      "business_not_verified",
      ({ business }) => issue(business, { status: "withdrawn", legal_name: business.party.legal_name }),
    ],
  ];

  const issue = (
    business: TestBusiness,
    changed: { readonly status: "active" | "withdrawn"; readonly legal_name: string },
  ) =>
    node.running.services.parties.issueCertificate({
      ...{ uuid: business.party.uuid, kind: "business", country: "GB" },
      verified_since: "2026-01-01T00:00:00.000Z",
      status_effective_from: formatTimestamp(Date.now()),
      status_reason: changed.status === "active" ? null : "approval_reversed",
      ...changed,
    });

  it.each(changes)("%s", async (_name, code, change) => {
    const held = await heldPush();
    const successor = await successorOf(node, held.business);
    const document = await confirmation(held);
    await change(held);
    const answer = await sendDecision(node, successor, held.pushId, document);
    expect(answer).toMatchObject({
      status: 200,
      json: {
        state: "failed",
        error: { code },
        hold_decision: { decision: "confirm" },
        counts: { rejected: 1 },
      },
    });
    expect((await sendDecision(node, successor, held.pushId, document)).json).toEqual(answer.json);
    // It is over: its bytes are dropped, and the business has nothing held any more.
    const { records } = node.running.services;
    const id = `${held.business.party.uuid}.${held.pushId}`;
    while ((await records.loadLeaves(id, 0, 1)).length > 0);
    expect((await readOver(node, successor, "/v1/holds")).json["holds"]).toEqual([]);
  });

  it("a mandate whose sealer turns out to have been compromised", async () => {
    const business = await newBusiness(node);
    const owner = await newPerson(node, business);
    const thief = await newPerson(node, business);
    await giveMandate(node, business, {}, thief);
    const catalogue = Array.from({ length: 25 }, (_, index) => priced(`item-${index}`, "10.00"));
    await publishOver(node, business, (await batchBody(business, catalogue, { seq: 1 })).body);
    const { body, pushId } = await batchBody(business, [priced("item-3", "99.00")], { seq: 2 });
    await publishOver(node, business, body);
    const held: Held = { business, owner, pushId, body };
    await revokeKey(held, thief.keyId, "2026-01-01T00:00:00.000Z");
    expect(await decide(held, await confirmation(held))).toMatchObject({
      json: { state: "failed", error: { code: "mandate_revoked" } },
    });
  });

  it("nothing of it matters for a rejection", async () => {
    const held = await heldPush();
    const successor = await successorOf(node, held.business);
    const document = await rejection(held);
    await revokeKey(held, held.business.key.key_id);
    expect((await sendDecision(node, successor, held.pushId, document)).json["error"]).toMatchObject({
      code: "hold_rejected",
    });
  });
});

describe("a hold", () => {
  /** Restarts the node on a later day, and then it is today again. */
  const restartAfter = async (days: number, until: () => Promise<boolean>) => {
    await node.restart(() => {
      aheadMs = days * dayMs;
    });
    while (!(await until()));
    aheadMs = 0;
  };
  const stateOf = async ({ business, pushId }: Held) => {
    const status = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 } as const;
    const { actors } = node.running.services;
    return (await actors.ask(pushRef(business.party.uuid, pushId), status))?.state;
  };
  const stagedOf = ({ business, pushId }: Held) =>
    node.running.services.records.loadLeaves(pushRef(business.party.uuid, pushId).id, 0, 9);

  it("keeps its bytes until it is decided, although nothing was staged for weeks", async () => {
    const held = await heldPush();
    // The start of a node and its sweep drop what nobody accepted.
    await restartAfter(29, async () => true);
    expect(await stateOf(held)).toBe("held");
    expect(await stagedOf(held)).toEqual([priced("item-3", "99.00")]);
    await decide(held, await confirmation(held));
    expect(await awaitPush(node, held.business, held.pushId)).toMatchObject({ state: "complete" });
  });

  it("that nobody decides in thirty days ends, with its bytes, and nothing is published", async () => {
    const held = await heldPush();
    const expiresAt = (await statusOf(held))["hold_expires_at"];
    const isOver = async () => (await stateOf(held)) === "failed" && (await stagedOf(held)).length === 0;
    await restartAfter(31, isOver);
    expect(await statusOf(held)).toMatchObject({
      ...{ state: "failed", held: false, error: { code: "hold_expired" }, completed_at: expiresAt },
      ...{ counts: { rejected: 1, held: 0 }, results: [{ outcome: "rejected" }] },
    });
    expect(await decide(held, await confirmation(held))).toMatchObject({
      ...{ status: 409, json: { code: "push_not_held", reason: "hold_expired" } },
    });
    expect((await readOver(node, held.business, "/v1/holds")).json["holds"]).toEqual([]);
    expect(outcomesOf(await publishOver(node, held.business, held.body))).toMatchObject([
      { outcome: "rejected", errors: [{ code: "hold_expired" }] },
    ]);
  });

  it("of a push that was numbered and not accepted is unknown, until its batch is sent again", async () => {
    const held = await heldPush();
    const { business } = held;
    const records = [priced("item-5", "77.00")];
    const { body, pushId } = await batchBody(business, records, { seq: 3 });
    // As a crash leaves it between the admission and the acceptance.
    const listings = [[recordIdOf(business, "item-5"), { US: ["77.00", "USD"] }]] as const;
    const admitted = await tellBusiness(node, business, {
      ...({ type: "push.admit", push_id: pushId, key_id: business.key.key_id, records: 1 } as const),
      ...{ may_hold: true, plan: { pending: [], earlier: [], listings } },
    });
    expect(admitted).toMatchObject({ held: true });
    const late = { ...held, pushId, body };
    expect((await decide(late, await confirmation(late))).status).toBe(404);
    expect((await readOver(node, business, "/v1/holds")).json["holds"]).toHaveLength(1);
    expect((await publishOver(node, business, body)).json["held"]).toBe(true);
    await decide(late, await confirmation(late));
    expect(await awaitPush(node, business, pushId)).toMatchObject({ state: "complete" });
  });
});
