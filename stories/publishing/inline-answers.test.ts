// Answers to batches of up to 50 records: while the push is held, under way, or not settled in time; and the effect of a
// replay.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PushCommand } from "../../actors/messages/push.ts";
import { pushRef } from "../../actors/messages/refs.ts";
import { type ActorSystem, actorUnavailable, type Message } from "../../actors/system/definition.ts";
import { publishBody } from "../../client/batch.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { NodeServices } from "../../node/composition/services.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import { pushIdOf } from "../../protocol/identifiers.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import type { Caller } from "../../service/answer.ts";
import { failureAnswer } from "../../service/failure.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
import { readPush } from "../../service/publishing/push-status.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  sealHosted,
  type TestBusiness,
} from "./publishing.fixture.ts";

let node: PublishingNode;
let business: TestBusiness;
let seq = 0;

beforeAll(async () => {
  node = await openPublishingNode();
  business = await openBusiness(node.services);
});
afterAll(() => node.close());

async function batchOf(ids: readonly string[]) {
  seq += 1;
  const records = ids.map((id) => product(id));
  const { batch_seal, push_id } = await seal(business, records, { seq });
  return { body: publishBody(batch_seal, records), pushId: push_id };
}

interface Asked {
  readonly to: ActorRef;
  readonly command: Message;
  readonly timeoutMs: number | undefined;
}

/** The node's services, whose questions to actors are recorded, and passed to `meet` first. */
function watched(meet: (asked: Asked) => void = () => {}) {
  const asked: Asked[] = [];
  const ask: ActorSystem["ask"] = async (to, command, options) => {
    const each = { to, command, timeoutMs: options?.timeoutMs };
    asked.push(each);
    meet(each);
    return node.services.actors.ask(to, command, options);
  };
  return { asked, services: { ...node.services, actors: part<NodeServices["actors"]>({ ask }) } };
}

const read = async (pushId: string) => {
  const caller = part<Caller>({ key: business.key, party: business.party });
  return jsonOf(await readPush(node.services.actors, { caller, pushId, outcome: null, cursor: null }));
};

describe("a batch that is not settled in time", () => {
  it("is unavailable for now, and is answered when it is sent again under the same Idempotency-Key", async () => {
    const { body, pushId } = await batchOf(["late"]);
    const { asked, services } = watched(({ command }) => {
      if (command.type === "push.await")
        throw actorUnavailable("timeout", { retryAfterSeconds: 1, effect: "unknown" });
    });
    const failure = await publish(services, business, body, { idempotencyKey: "late" }).catch(
      (error: unknown) => error,
    );
    expect(failureAnswer(failure)).toMatchObject({
      problem: { status: 503, code: "unavailable", reason: "timeout", retry_after_seconds: 1 },
      headers: { "retry-after": "1" },
    });
    const waits = asked.filter(({ command }) => command.type === "push.await");
    expect(waits.map(({ timeoutMs }) => timeoutMs)).toEqual([30_000]);
    const again = jsonOf(await publish(node.services, business, body, { idempotencyKey: "late" }));
    expect(again).toMatchObject({ status: 200, batch_id: pushId, results: [{ outcome: "accepted" }] });
  });
});

describe("a batch that is sent again while it is under way", () => {
  it("is answered by both requests alike, once it is settled", async () => {
    const { body } = await batchOf(["twice-1", "twice-2"]);
    const [one, other] = await Promise.all([
      publish(node.services, business, body),
      publish(node.services, business, body),
    ]);
    expect(jsonOf(one)).toMatchObject({ status: 200, held: false });
    expect(jsonOf(other)).toEqual(jsonOf(one));
  });
});

describe("a replay", () => {
  it("goes on with the push, its answer unchanged", async () => {
    const { body, pushId } = await batchOf(["replayed"]);
    const first = await publish(node.services, business, body, { idempotencyKey: "replayed" });
    const { asked, services } = watched();
    const second = await publish(services, business, body, { idempotencyKey: "replayed" });
    expect(second).toEqual(first);
    const nudged = asked.filter(({ to }) => to.kind === "push");
    expect(nudged).toMatchObject([
      { to: pushRef(business.party.uuid, pushId), command: { type: "push.status" } },
    ]);
  });

  it("is answered although the push cannot be reached", async () => {
    const { body } = await batchOf(["unreached"]);
    const first = await publish(node.services, business, body, { idempotencyKey: "unreached" });
    const { services } = watched(({ to }) => {
      if (to.kind === "push")
        throw actorUnavailable("quarantined", { retryAfterSeconds: 30, effect: "not_applied" });
    });
    expect(await publish(services, business, body, { idempotencyKey: "unreached" })).toEqual(first);
  });

  it("of a refusal goes on with nothing", async () => {
    const { body } = await batchOf(["refused"]);
    const changes = { idempotencyKey: "refused", collection: "events" };
    const first = await publish(node.services, business, body, changes);
    const { asked, services } = watched();
    expect(jsonOf(await publish(services, business, body, changes))["code"]).toBe(jsonOf(first)["code"]);
    expect(asked.map(({ command }) => command.type)).toEqual(["idempotency.begin"]);
  });
});

describe("the status of a push", () => {
  it("of up to 50 records says that it was processed in its request", async () => {
    const { body, pushId } = await batchOf(["inline"]);
    await publish(node.services, business, body);
    expect(await read(pushId)).toMatchObject({
      status: 200,
      source: "api",
      mode: "inline",
      state: "complete",
    });
  });

  it("that is a record sealed alone is not to be read: it is no push of this interface", async () => {
    const record = product("alone");
    const who = { uuid: business.party.uuid, certId: business.certId };
    const sealed = { record, record_type: "products", ai_policy_version: 0 } as const;
    const envelope = await sealHosted(node.services, who, sealed);
    const pushId = pushIdOf(who.uuid, parseBase64(envelope.payload) as Uint8Array, nativeCrypto.sha256);
    const published = await publishRecord(node.services, {
      businessUuid: who.uuid,
      collection: "products",
      record,
      seal: envelope,
    });
    expect(published).toMatchObject({ ok: true, value: { outcome: "accepted" } });
    const command: PushCommand = { type: "push.status", outcome: null, from_leaf: 0, limit: 1 };
    expect(await node.services.actors.ask(pushRef(who.uuid, pushId), command)).toMatchObject({
      facts: { path: "B", source: "manual" },
    });
    expect(await read(pushId)).toMatchObject({ status: 404, code: "not_found" });
  });
});
