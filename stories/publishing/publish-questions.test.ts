// Which actors a publish request asks, and in which order: the table at the top of service/publishing/publish.ts.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { publishBody } from "../../client/batch.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  type TestBusiness,
} from "./publishing.fixture.ts";

let node: PublishingNode;
let business: TestBusiness;

beforeAll(async () => {
  node = await openPublishingNode();
});
// Each test has its own business: while a push is under way it enters the plan, and admission then asks again.
beforeEach(async () => {
  business = await openBusiness(node.services, randomUUID());
});
afterAll(() => node.close());

/** Publishes, and returns the status of the answer and the questions asked for it. `told` changes what actors reply. */
async function asked(
  body: Uint8Array,
  told: (type: string, reply: unknown) => unknown = (_type, reply) => reply,
): Promise<readonly [number, readonly string[]]> {
  const questions: string[] = [];
  const { actors } = node.services;
  const ask: ActorSystem["ask"] = async (to, command, options) => {
    questions.push(`${to.kind} ${command.type}`);
    return rubbish(told(command.type, await actors.ask(to, command, options)));
  };
  const watched = new Proxy(actors, {
    get: (whole, name) => (name === "ask" ? ask : Reflect.get(whole, name)),
  });
  const answer = jsonOf(await publish({ ...node.services, actors: watched }, business, body));
  return [answer.status, questions];
}

const batchOf = async (seq: number, count: number) => {
  const records = Array.from({ length: count }, (_, index) => product(`${seq}-${index}`));
  return publishBody((await seal(business, records, { seq })).batch_seal, records);
};

const checks = [
  "integration-key idempotency.begin",
  "business publishing.facts",
  "business register.read",
  "integration-key caps.check",
  "push push.status",
];
const acceptance = [
  "integration-key seq.check",
  "integration-key push.charge",
  "business push.admit",
  "push push.accept",
];
const settled = "integration-key idempotency.settle";

describe("a publish request asks", () => {
  it("each question once, in the specification's order, and waits for up to 50 records", async () => {
    expect(await asked(await batchOf(1, 50))).toEqual([
      200,
      [...checks, ...acceptance, "push push.await", settled],
    ]);
  });

  it("for the status of the push once, however many records there are", async () => {
    expect(await asked(await batchOf(2, 51))).toEqual([202, [...checks, ...acceptance, settled]]);
  });

  it("for the status again where the push's actor did not tell it, because it knew the push", async () => {
    const silent = (type: string, reply: unknown) =>
      type === "push.accept" ? { status: "known", state: "queued" } : reply;
    const questions = [...checks, ...acceptance, "push push.status", settled];
    expect(await asked(await batchOf(5, 51), silent)).toEqual([202, questions]);
  });

  it("nothing of what was judged before when its push is known (W3)", async () => {
    const [few, many] = [await batchOf(6, 1), await batchOf(7, 51)];
    for (const body of [few, many]) await asked(body);
    expect(await asked(few)).toEqual([200, [...checks, "push push.await", settled]]);
    expect(await asked(many)).toEqual([202, [...checks, settled]]);
  });

  it("no further than the refusal: a used seq is not charged, a body that is none needs no status", async () => {
    const [keep, release] = ["business refusal.keep", "integration-key idempotency.release"];
    await asked(await batchOf(7, 1));
    expect(await asked(await batchOf(7, 2))).toEqual([
      409,
      [...checks, "integration-key seq.check", keep, release],
    ]);
    expect(await asked(new Uint8Array())).toEqual([400, [...checks.slice(0, 4), keep, settled]]);
  });
});
