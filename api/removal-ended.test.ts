// Withdrawals and deletions while the certificate of the business is ended, over HTTP.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { businessRef } from "../actors/messages/refs.ts";
import { publishBody } from "../client/batch.ts";
import { hashOf } from "../protocol/bytes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import type { Withdrawal } from "../protocol/withdrawal.ts";
import { createHeldDeletions, readPurges } from "../service/publishing/purges.ts";
import { newPerson } from "../stories/publishing/hold-decisions.fixture.ts";
import { openBusiness, product, seal, type TestBusiness } from "../stories/publishing/publishing.fixture.ts";
import { removeOver, sealRemoval } from "../stories/publishing/removal.fixture.ts";
import type { AttackNode } from "../stories/retrieval/attack.fixture.ts";
import { contractFetch } from "./contract.fixture.ts";
import {
  freshNonce,
  newCaller,
  openSurfaces,
  send,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let company: TestCaller;
let seq = 0;

beforeAll(async () => {
  surfaces = await openSurfaces();
  const uuid = "10000000-0000-4000-8000-000000000009";
  company = await newCaller(surfaces.services.keys.grant, "retrieval", uuid);
});
afterAll(() => surfaces[Symbol.asyncDispose]());

/** Publishes a product and returns its record id. */
async function publish(id: string, by: TestBusiness): Promise<string> {
  seq += 1;
  const records = [product(id)];
  const { batch_seal } = await seal(by, records, { seq });
  const answer = await send(
    surfaces.businessUrl,
    { key: by.signingKey, grant: "" },
    {
      path: "/v1/publish/products",
      body: publishBody(batch_seal, records),
      tag: "svc-push",
      headers: { "idempotency-key": freshNonce() },
    },
  );
  const [result] = answer.json["results"] as readonly { record_id: string }[];
  return result?.record_id ?? "";
}

const remove = (action: Withdrawal["action"], sent: Parameters<typeof removeOver>[3], by: TestBusiness) =>
  removeOver(surfaces.businessUrl, by, { type: "products", action }, sent);

const isFound = async (recordId: string): Promise<boolean> =>
  (await send(surfaces.retrievalUrl, company, { path: `/v1/records/${recordId}` })).status === 200;

describe("a removal needs", () => {
  let merchants = 100;
  const merchant = (): Promise<TestBusiness> => {
    merchants += 1;
    return openBusiness(surfaces.services, `00000000-0000-4000-8000-000000000${merchants}`, "Opals Ltd");
  };

  const end = async (by: TestBusiness, status: "revoked" | "closed" | "withdrawn"): Promise<TestBusiness> => {
    const certId = await surfaces.services.parties.issueCertificate({
      uuid: by.party.uuid,
      kind: "business",
      legal_name: "Opals Ltd",
      country: "GB",
      verified_since: formatTimestamp(0),
      status,
      status_reason: "test",
      status_effective_from: formatTimestamp(Date.now() - 1),
    });
    return { ...by, certId };
  };

  it.each([
    ["closed", "withdraw"],
    ["closed", "delete"],
    ["withdrawn", "delete"],
    ["revoked", "withdraw"],
  ] as const)("no certificate in force: one that is %s still serves to %s", async (status, action) => {
    const active = await merchant();
    const record_id = await publish("standing-1", active);
    const before = await sealRemoval(active, { record_id, action }, active.signingKey);
    const by = await end(active, status);
    const seal = await sealRemoval(by, { record_id, action }, by.signingKey);
    // It names the certificate that is in force now, though it has ended.
    expect((await remove(action, before, by)).json).toMatchObject({
      code: "seal_invalid",
      reason: "certificate_not_in_force",
      cert_id: by.certId,
    });
    const answer = await remove(action, seal, by);
    expect([answer.status, answer.json]).toEqual([200, { record_id, action, live_in: [] }]);
    expect(await isFound(record_id)).toBe(false);
  });

  it("a key that stands, and for its own seal a mandate, also while the certificate is ended", async () => {
    const active = await merchant();
    const [one, two] = [await publish("standing-2", active), await publish("standing-3", active)];
    const running = part<AttackNode["running"]>({ services: surfaces.services });
    const person = await newPerson(part<AttackNode>({ running }), active);
    const by = await end(active, "closed");
    const { parties } = surfaces.services;
    const { uuid } = by.party;
    for (const { mandate_id } of await surfaces.services.register.mandates(uuid))
      await parties.revokeMandate({ uuid, mandate_id, revoked_at: formatTimestamp(Date.now()) });
    const own = await sealRemoval(by, { record_id: one }, by.signingKey);
    expect((await remove("withdraw", own, by)).json).toMatchObject({ code: "mandate_missing" });
    const sealed = await sealRemoval(by, { record_id: one }, person);
    expect((await remove("withdraw", sealed, by)).status).toBe(200);
    const late = await sealRemoval(by, { record_id: two }, person);
    await parties.revokeKey({
      uuid,
      key_id: person.keyId,
      compromised_from: formatTimestamp(0),
      revoked_at: formatTimestamp(Date.now()),
    });
    expect((await remove("withdraw", late, by)).json).toMatchObject({
      code: "seal_invalid",
      reason: "key_compromised",
    });
    expect(await isFound(two)).toBe(true);
  });

  it("an operator, for a deletion after a revocation for compromise; until then nothing is destroyed", async () => {
    const active = await merchant();
    const ids = [await publish("held-1", active), await publish("held-2", active)];
    const by = await end(active, "revoked");
    const { actors, register } = surfaces.services;
    const deletions = createHeldDeletions({ actors, register });
    const region = surfaces.services.config.region;
    const hashes: string[] = [];
    for (const [index, record_id] of ids.entries()) {
      const sealed = await sealRemoval(by, { record_id, action: "delete" }, by.signingKey);
      hashes.push(hashOf(sealed.document));
      const held = { record_id, action: "delete", live_in: [region], held: true };
      let served_at = "";
      for (let time = 0; time < 2; time += 1) {
        const answer = await remove("delete", sealed, by);
        expect([answer.status, answer.json]).toEqual([202, held]);
        served_at ||= formatTimestamp(Date.now());
      }
      expect(await isFound(record_id)).toBe(true);
      const released = index === 0;
      const asked = { business_uuid: by.party.uuid, document_hash: hashOf(sealed.document), released };
      const act = { by: "Ada", reason: "Asked for by telephone" };
      await register.refresh();
      expect(await deletions.decide({ ...asked, act })).toMatchObject({ ok: true, value: { changed: true } });
      expect(await deletions.decide({ ...asked, act })).toMatchObject({
        ok: true,
        value: { changed: false },
      });
      await expect(deletions.decide({ ...asked, released: !released, act })).rejects.toThrow("before");
      const { purges } = await readPurges(
        { ...surfaces.services, clock: { now: Date.now } },
        by.party.uuid,
        0,
      );
      const origin = encodeURIComponent(hashOf(product(`held-${index + 1}`)));
      const path = `${surfaces.verifyUrl}/v1/verify/${record_id}?origin=${origin}&served_at=${served_at}`;
      const page = (await (await contractFetch(path)).json()) as JsonObject;
      const removal = page["removal"] as JsonObject | null;
      // It was served until it was released.
      expect(page["checks"]).toMatchObject({ served_at: "within" });
      expect(removal?.["applied_at"]).toBe(purges[index]?.deleted_at);
      expect(removal === null || String(removal["applied_at"]) > served_at).toBe(true);
      const again = await remove("delete", sealed, by);
      if (released) expect([again.status, again.json["held"]]).toEqual([200, undefined]);
      else expect(again.json).toMatchObject({ status: 409, code: "deletion_rejected" });
      expect(await isFound(record_id)).toBe(!released);
    }
    const own = await send(
      surfaces.businessUrl,
      { key: by.signingKey, grant: "" },
      { path: "/v1/held-deletions", tag: "svc-business-read" },
    );
    const states = Object.fromEntries(
      (own.json["deletions"] as readonly { document_hash: string; state: string }[]).map((each) => [
        each.document_hash,
        each.state,
      ]),
    );
    expect(states).toEqual({ [hashes[0] ?? ""]: "released", [hashes[1] ?? ""]: "rejected" });
    const { acts } = await actors.ask(businessRef(by.party.uuid), { type: "acts.read", after: 0, limit: 9 });
    expect(acts.map((each) => `${each.act} ${each.entry}`)).toEqual(
      hashes.map((hash) => `deletion.decide deletion/${hash}`),
    );
  });
});
