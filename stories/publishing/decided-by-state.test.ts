// What becomes true between the check of a business or a key and the step that relies on it: the owner of the state
// refuses, with the same error that an earlier check would have given.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keyRef, pushRef } from "../../actors/messages/refs.ts";
import type { ActorSystem } from "../../actors/system/definition.ts";
import { publishBody } from "../../client/batch.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { NodeServices } from "../../node/composition/services.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import { formatTimestamp, pushIdOf } from "../../protocol/identifiers.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
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
beforeAll(async () => {
  node = await openPublishingNode();
});
afterAll(() => node.close());

/** The node's services, on which `happens` becomes true just before the first command of that type is decided. */
function just(before: string, happens: () => Promise<unknown>) {
  let isOver = false;
  const ask: ActorSystem["ask"] = async (to, command, options) => {
    if (command.type === before && !isOver) {
      isOver = true;
      await happens();
    }
    return node.services.actors.ask(to, command, options);
  };
  return { ...node.services, actors: part<NodeServices["actors"]>({ ask }) };
}

async function revokeKey({ party, key }: TestBusiness): Promise<void> {
  const revoked_at = formatTimestamp(node.services.clock.now());
  const revocation = { uuid: party.uuid, key_id: key.key_id, revoked_at, compromised_from: null };
  await node.services.parties.revokeKey(revocation);
  await expect
    .poll(async () => (await node.services.actors.inspect(keyRef(party.uuid, key.key_id)))?.state)
    .toBe("retired");
}

function withdrawCertificate({ party, key }: TestBusiness): Promise<unknown> {
  return node.services.parties.issueCertificate({
    uuid: party.uuid,
    kind: "business",
    legal_name: party.legal_name,
    country: party.country,
    verified_since: key.valid_from,
    status: "withdrawn",
    status_effective_from: formatTimestamp(node.services.clock.now()),
    status_reason: "approval_reversed",
  });
}

async function batchOf(business: TestBusiness, id: string) {
  const records = [product(id)];
  const { batch_seal, push_id } = await seal(business, records, { seq: 1 });
  return { body: publishBody(batch_seal, records), push: pushRef(business.party.uuid, push_id) };
}

const stagedOf = (push: { readonly id: string }) => node.services.records.loadLeaves(push.id, 0, 1);

describe("a batch that was checked", () => {
  it("is charged to no key that was revoked meanwhile, and nothing of it is kept", async () => {
    const business = await openBusiness(node.services, randomUUID());
    const { body, push } = await batchOf(business, "late");
    const services = just("push.charge", () => revokeKey(business));
    expect(jsonOf(await publish(services, business, body))).toMatchObject({
      code: "key_unknown",
      status: 401,
    });
    expect(await node.services.actors.inspect(push)).toBeNull();
    expect(await stagedOf(push)).toEqual([]);
    // Later callers get the same answer, before anything is stored.
    expect(jsonOf(await publish(node.services, business, body))).toMatchObject({ code: "key_unknown" });
  });

  it("is published for no business whose certificate ended meanwhile, and nothing of it is kept", async () => {
    const business = await openBusiness(node.services, randomUUID());
    const { body, push } = await batchOf(business, "late");
    const services = just("push.admit", () => withdrawCertificate(business));
    const refusal = { code: "business_not_verified", status: 403 };
    expect(jsonOf(await publish(services, business, body))).toMatchObject(refusal);
    expect(await node.services.actors.inspect(push)).toBeNull();
    expect(await stagedOf(push)).toEqual([]);
    expect(jsonOf(await publish(node.services, business, body))).toMatchObject(refusal);
  });
});

describe("a record that was sealed alone and checked", () => {
  it("is published for no business whose certificate ended meanwhile", async () => {
    const business = await openBusiness(node.services, randomUUID());
    const { uuid } = business.party;
    const record = product("alone");
    const sealed = { record, record_type: "products", ai_policy_version: 0 } as const;
    const envelope = await sealHosted(node.services, { uuid, certId: business.certId }, sealed);
    const push = pushRef(
      uuid,
      pushIdOf(uuid, parseBase64(envelope.payload) as Uint8Array, nativeCrypto.sha256),
    );
    const services = just("push.admit", () => withdrawCertificate(business));
    const deps = services;
    const request = { businessUuid: uuid, collection: "products", record, seal: envelope } as const;
    expect(await publishRecord(deps, request)).toMatchObject({ ok: false, code: "business_not_verified" });
    expect(await stagedOf(push)).toEqual([]);
  });
});
