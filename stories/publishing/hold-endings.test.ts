// What changes while a push is held, and how a hold ends, over HTTP on a whole node.

import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushRef } from "../../actors/messages/refs.ts";
import type { ReceivedAnswer } from "../../api/surfaces.fixture.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
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
} from "../retrieval/attack.fixture.ts";
import {
  confirmation,
  type Held,
  heldPush,
  newPerson,
  priced,
  pushCatalogue,
  rejection,
  revokeKeyOf,
  sendDecision,
} from "./hold-decisions.fixture.ts";
import type { TestBusiness } from "./publishing.fixture.ts";

let node: AttackNode;
/** How far the node's clock is ahead. */
let aheadMs = 0;
const dayMs = 86_400_000;
beforeAll(async () => {
  node = await openAttackNode({ clock: { now: () => Date.now() + aheadMs } });
});
afterAll(() => node.close());

const recordIdOf = (business: TestBusiness, id: string): string =>
  node.running.services.recordIdOf(business.party.uuid, "products", id);

const decide = ({ business, pushId }: Held, document: unknown): Promise<ReceivedAnswer> =>
  sendDecision(node, business, pushId, document);
const statusOf = async ({ business, pushId }: Held) =>
  (await readOver(node, business, `/v1/pushes/${pushId}`)).json;

describe("what changed while a push was held ends it when it is confirmed:", () => {
  const changes: readonly [string, string, (held: Held) => Promise<unknown>][] = [
    ["the key was revoked", "key_revoked", (held) => revokeKeyOf(node, held, held.business.key.key_id)],
    [
      "the mandate was revoked",
      "mandate_revoked",
      async ({ business, pushId }) => {
        const { facts } = await awaitPush(node, business, pushId);
        await node.running.services.parties.revokeMandate({
          uuid: business.party.uuid,
          mandate_id: facts.mandates?.[0]?.mandate_id ?? "",
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
      uuid: business.party.uuid,
      kind: "business",
      country: "GB",
      verified_since: "2026-01-01T00:00:00.000Z",
      status_effective_from: formatTimestamp(Date.now()),
      status_reason: changed.status === "active" ? null : "approval_reversed",
      ...changed,
    });

  it.each(changes)("%s", async (_name, code, change) => {
    const held = await heldPush(node);
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
    await pushCatalogue(node, business);
    const { body, pushId } = await batchBody(business, [priced("item-3", "99.00")], { seq: 2 });
    await publishOver(node, business, body);
    const held: Held = { business, owner, pushId, body };
    await revokeKeyOf(node, held, thief.keyId, "2026-01-01T00:00:00.000Z");
    expect(await decide(held, await confirmation(held))).toMatchObject({
      json: { state: "failed", error: { code: "mandate_revoked" } },
    });
  });

  it("nothing of it matters for a rejection", async () => {
    const held = await heldPush(node);
    const successor = await successorOf(node, held.business);
    const document = await rejection(held);
    await revokeKeyOf(node, held, held.business.key.key_id);
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
    while (!(await until())) await nextTurn();
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
    const held = await heldPush(node);
    // The start of a node and its sweep drop what nobody accepted.
    await restartAfter(29, async () => true);
    expect(await stateOf(held)).toBe("held");
    expect(await stagedOf(held)).toEqual([priced("item-3", "99.00")]);
    await decide(held, await confirmation(held));
    expect(await awaitPush(node, held.business, held.pushId)).toMatchObject({ state: "complete" });
  });

  it("that nobody decides in thirty days ends, with its bytes, and nothing is published", async () => {
    const held = await heldPush(node);
    const expiresAt = (await statusOf(held))["hold_expires_at"];
    const isOver = async () => (await stateOf(held)) === "failed" && (await stagedOf(held)).length === 0;
    await restartAfter(31, isOver);
    expect(await statusOf(held)).toMatchObject({
      state: "failed",
      held: false,
      error: { code: "hold_expired" },
      completed_at: expiresAt,
      counts: { rejected: 1, held: 0 },
      results: [{ outcome: "rejected" }],
    });
    expect(await decide(held, await confirmation(held))).toMatchObject({
      status: 409,
      json: { code: "push_not_held", reason: "hold_expired" },
    });
    expect((await readOver(node, held.business, "/v1/holds")).json["holds"]).toEqual([]);
    expect(outcomesOf(await publishOver(node, held.business, held.body))).toMatchObject([
      { outcome: "rejected", errors: [{ code: "hold_expired" }] },
    ]);
  });

  it("is not decided before its push knows of it: the decision would pass it by", async () => {
    const held = await heldPush(node);
    const { business } = held;
    const pushId = `bat_${"b".repeat(24)}`;
    const push = pushRef(business.party.uuid, pushId);
    const listings = [[recordIdOf(business, "item-5"), { US: ["77.00", "USD"] }]] as const;
    const admission = { push_id: pushId, key_id: business.key.key_id, records: 1, may_hold: true } as const;
    const plan = { pending: [], earlier: [], listings };
    await tellBusiness(node, business, { type: "push.admit", ...admission, plan });
    // Its bytes are not staged: it stays as it is.
    const { actors } = node.running.services;
    const { facts } = await awaitPush(node, business, held.pushId);
    await actors.ask(push, {
      ...({ type: "push.accept", held_reasons: [], accept_by_ms: Number.POSITIVE_INFINITY } as const),
      facts: { ...facts, push_id: pushId, number: 3 },
      seal_leaf: "sha256:s",
    });
    const early = { ...held, pushId };
    const holds = async () =>
      (await tellBusiness(node, business, { type: "holds.read", after: 0, limit: 9 })).holds;
    const before = await holds();
    expect((await decide(early, await confirmation(early))).status).toBe(409);
    expect(await holds()).toEqual(before);
  });

  it("of a push that was numbered and not accepted is unknown, until its batch is sent again", async () => {
    const held = await heldPush(node);
    const { business } = held;
    const records = [priced("item-5", "77.00")];
    const { body, pushId } = await batchBody(business, records, { seq: 3 });
    // As a crash leaves it between the admission and the acceptance.
    const listings = [[recordIdOf(business, "item-5"), { US: ["77.00", "USD"] }]] as const;
    const admitted = await tellBusiness(node, business, {
      ...({ type: "push.admit", push_id: pushId, key_id: business.key.key_id, records: 1 } as const),
      may_hold: true,
      plan: { pending: [], earlier: [], listings },
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
