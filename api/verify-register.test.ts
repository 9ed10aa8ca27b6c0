// POST /v1/verify on a node that has not yet heard of what was registered a moment ago (V3 of service/verification/verify.ts).

import { afterAll, beforeAll, expect, it } from "vitest";
import { publishBody } from "../client/batch.ts";
import { actionNames, aiPolicyBytes, blockedNames, useNames } from "../protocol/ai-policy.ts";
import { toBase64 } from "../protocol/bytes.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { createRegister } from "../service/register/register.ts";
import { createStandings } from "../service/register/standing.ts";
import { createVerify, type Verify } from "../service/verification/verify.ts";
import {
  jsonOf,
  openBusiness,
  openPublishingNode,
  type PublishingNode,
  product,
  publish,
  seal,
  sealHosted,
} from "../stories/publishing/publishing.fixture.ts";

let node: PublishingNode;

beforeAll(async () => {
  node = await openPublishingNode();
});
afterAll(() => node.close());

/** Like another node, whose register is refreshed only on demand. */
async function slowNode(): Promise<Verify> {
  const { services } = node;
  const { clock, registerStore } = services;
  const register = createRegister({ store: registerStore, clock });
  await register.refresh();
  const { trust } = services;
  const standings = createStandings({ register, trust });
  return createVerify({ ...services, register, standings });
}

it("fails no check, and refuses no seal, for an AI policy that it had not heard of when the request came", async () => {
  const { services } = node;
  const verify = await slowNode();
  const business = await openBusiness(services);
  const who = { uuid: business.party.uuid, certId: business.certId };
  const sectionOf = async (record: Uint8Array, sealed: unknown): Promise<JsonObject> => {
    const body = { record_base64: toBase64(record), seal: sealed as JsonObject };
    return jsonOf(await verify(body))["seal"] as JsonObject;
  };
  const push = async (seq: number, aiPolicyVersion: number) => {
    const record = product(`item-${seq}`);
    const { batch_seal } = await seal(business, [record], { seq, aiPolicyVersion });
    expect(jsonOf(await publish(services, business, publishBody(batch_seal, [record]))).status).toBe(200);
    return [record, { batch_seal, leaf_index: 0, tree_size: 1, proof: [] }] as const;
  };
  // From here on the lists of the business are cached.
  expect(await sectionOf(...(await push(1, 0)))).toMatchObject({ valid: true });

  const all = <N extends string>(names: readonly N[]) =>
    Object.fromEntries(names.map((name) => [name, true])) as Record<N, boolean>;
  const record = aiPolicyBytes({
    schema: "svc/ai_policy/1",
    ai_policy_schema: 2,
    use: all(useNames),
    action: all(actionNames),
    blocked: all(blockedNames),
  });
  const sealed = await sealHosted(services, who, { record, record_type: "ai_policy", ai_policy_version: 1 });
  await services.parties.acceptPolicy({ uuid: who.uuid, record, seal: sealed });
  const [pushed, envelope] = await push(2, 1);
  const altered = pushed.map((byte, index) => (index === 20 ? byte ^ 1 : byte));
  expect(await sectionOf(altered, envelope)).toMatchObject({
    valid: false,
    reason: "hash_mismatch",
    checks: { certificate: "ok", ai_policy: "ok" },
  });
  expect(await sectionOf(pushed, envelope)).toMatchObject({ valid: true, ai_policy_version: 1 });
});
