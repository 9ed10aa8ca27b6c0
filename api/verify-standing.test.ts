// What does not stand any more (verifier/standing.ts): the page of a record and POST /v1/verify say the same of it at any moment (VP1 of
// service/verification/verify-page.ts), and it is served nowhere.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pushRef } from "../actors/messages/refs.ts";
import { hashOf, toBase64 } from "../protocol/bytes.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { jsonOf, product, sealAndPublish } from "../stories/publishing/publishing.fixture.ts";
import { publishAlone } from "../stories/publishing/removal.fixture.ts";
import { registerInForce } from "../stories/verification/register-in-force.fixture.ts";
import { openVerifiable, type Verifiable } from "./routes/verification.fixture.ts";
import { type Story, storiesIn } from "./standing-story.fixture.ts";
import { type ReceivedAnswer, send } from "./surfaces.fixture.ts";

let world: Verifiable;

beforeAll(async () => {
  world = await openVerifiable();
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

const { tellStory, statementOf, endKey, endCertificate } = storiesIn(() => world);

const page = (recordId: string, bytes: Uint8Array, more = ""): Promise<ReceivedAnswer> =>
  world.get(`/v1/verify/${recordId}?origin=${hashOf(bytes)}${more}`);

async function verified(document: object): Promise<{ readonly valid: boolean; readonly reason?: string }> {
  const body = JSON.stringify(document);
  const { json } = await send(world.surfaces.verifyUrl, null, { path: "/v1/verify", body });
  return json["seal"] as unknown as { readonly valid: boolean; readonly reason?: string };
}

const why = (reason: string | undefined) => (reason === undefined ? {} : { reason });

/** What page and verification say of everything of the story: they must agree. */
async function said({ held, removal }: Story): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const { name, recordId, bytes, seal, sidecar } of held) {
    const { json } = await page(recordId, bytes);
    const document = { record_base64: toBase64(bytes), seal, sidecar };
    const { valid, reason } = await verified(document);
    expect([name, json["valid"], json["reason"]]).toEqual([name, valid, reason]);
    // What vouches for a version by itself is judged like its seal.
    const vouched = await statementOf({ record_base64: toBase64(bytes), sidecar });
    expect([name, vouched.valid, vouched.sidecar]).toMatchObject([name, valid, { valid, ...why(reason) }]);
    found[name] = `${String(json["status"])} ${reason ?? "ok"}`;
    const shown = json["removal"] as { readonly reason?: string } | null;
    if (shown === null) continue;
    const about = await verified({ record_base64: toBase64(removal.document), seal: removal.seal });
    expect(shown.reason).toBe(about.reason);
    found["removal"] = about.reason ?? "ok";
  }
  return found;
}

const whole = {
  current: "current ok",
  superseded: "superseded ok",
  superseding: "current ok",
  alone: "current ok",
  removed: "withdrawn ok",
  removal: "ok",
};

describe("page and verification", () => {
  it("say the same as long as nothing ended, and after an ordinary end of the key or its mandate", async () => {
    const story = await tellStory();
    expect(await said(story)).toEqual(whole);
    const { services } = world.surfaces;
    const { uuid } = story.business.party;
    const mandate_id = `mdt_${story.business.key.key_id}`;
    await services.parties.revokeMandate({ uuid, mandate_id, revoked_at: formatTimestamp(Date.now()) });
    await endKey(story, null);
    expect(await said(story)).toEqual(whole);
  });

  it.each([
    [
      0,
      { current: "invalidated", superseded: "superseded", superseding: "invalidated", removed: "withdrawn" },
    ],
    [1, { superseding: "invalidated" }],
    [2, {}],
  ] as const)("say of each version whether its key was compromised before: moment %i", async (at, fallen) => {
    const story = await tellStory();
    await endKey(story, story.moments[at]);
    const expected = Object.entries(fallen).map(([name, status]) => [name, `${status} key_compromised`]);
    const removal = at === 2 ? "ok" : "key_compromised";
    expect(await said(story)).toEqual({ ...whole, ...Object.fromEntries(expected), removal });
  });

  it("say so of what a key sealed alone", async () => {
    const story = await tellStory();
    const { keyId } = await world.surfaces.services.hostedSigner(story.business.party.uuid);
    await endKey(story, story.moments[1], keyId);
    expect(await said(story)).toEqual({ ...whole, alone: "invalidated key_compromised" });
  });

  it("say so of everything under a mandate whose sealer was compromised before", async () => {
    const story = await tellStory();
    const { keyId } = await world.surfaces.services.hostedSigner(story.business.party.uuid);
    await endKey(story, "2024-01-01T00:00:00.000Z", keyId);
    const reason = "key_compromised";
    expect(await said(story)).toEqual({
      current: `invalidated ${reason}`,
      superseded: `superseded ${reason}`,
      removal: reason,
      superseding: `invalidated ${reason}`,
      alone: `invalidated ${reason}`,
      removed: `withdrawn ${reason}`,
    });
  });

  it.each([
    ["revoked", "certificate_not_in_force"],
    ["closed", "certificate_not_in_force"],
    ["withdrawn", "certificate_withdrawn"],
  ] as const)("say of each version whether its certificate was %s before", async (status, reason) => {
    const story = await tellStory();
    await endCertificate(story, status, story.moments[1]);
    expect(await said(story)).toEqual({
      // What was published is taken back under an ended certificate as well.
      ...whole,
      superseding: `invalidated ${reason}`,
      alone: `invalidated ${reason}`,
    });
    const later = await tellStory();
    await endCertificate(later, status, later.moments[2]);
    expect(await said(later)).toEqual(whole);
  });

  it("show no endpoints of a business file that fell, although the store has it still", async () => {
    const { services } = world.surfaces;
    const story = await tellStory();
    const { party, certId } = story.business;
    const named = { business_product_id: "file" };
    const recordId = await publishAlone(services, { party, certId }, "business_files", named);
    const served = await services.records.readServed(recordId);
    if (served === null) throw new Error("The file was published.");
    const shown = async () => (await page(recordId, served.version.bytes)).json;
    expect(await shown()).toMatchObject({ status: "current", endpoints: { status: expect.any(String) } });
    const { keyId } = await services.hostedSigner(party.uuid);
    await endKey(story, story.moments[0], keyId);
    const head = await services.records.readHead(recordId);
    await services.records.putHeads([{ ...served.head, change: (head?.change ?? 0) + 1_000 }]);
    expect(await shown()).toMatchObject({ valid: false, status: "invalidated", endpoints: null });
  });

  it("say it in the headline, in the colour for bad, and nothing there is called genuine", async () => {
    const story = await tellStory();
    const [current] = story.held;
    if (current === undefined) throw new Error("Nothing was published.");
    const html = async () => (await page(current.recordId, current.bytes, "&format=html")).text;
    expect(await html()).toContain("Genuine and current");
    await endKey(story, story.moments[0]);
    expect(await html()).toContain("Do not rely on it: sealed with a key that was in other hands");
    expect(await html()).not.toMatch(/genuine/i);
    const other = await tellStory();
    await endCertificate(other, "revoked", other.moments[0]);
    const [fallen] = other.held;
    expect(
      (await page(String(fallen?.recordId), fallen?.bytes ?? current.bytes, "&format=html")).text,
    ).toContain("Not valid: the business was not verified when it was sealed");
  });
});

describe("a push under way whose key turns out to have been in other hands before", () => {
  it("ends as failed with the reason, and what it published before that is served nowhere", async () => {
    const { services } = world.surfaces;
    const { business, moments } = await tellStory();
    const { uuid } = business.party;
    const records = Array.from({ length: 3_000 }, (_, at) => product(`stone-${at}`));
    const answer = jsonOf(await sealAndPublish(services, business, records, { seq: 3 }));
    expect(answer.status).toBe(202);
    await services.parties.revokeKey({
      uuid,
      key_id: business.key.key_id,
      revoked_at: formatTimestamp(Date.now()),
      compromised_from: moments[2],
    });
    const push = pushRef(uuid, String(answer["push_id"]));
    const over = await services.actors.ask(
      push,
      { type: "push.await", until: "over" },
      { timeoutMs: 60_000 },
    );
    expect(over).toMatchObject({ state: "failed", error: { code: "key_compromised" } });
    expect(over?.counts.rejected).toBeGreaterThan(0);
    const last = { type: "push.status", outcome: null, from_leaf: 2_999, limit: 1 } as const;
    expect((await services.actors.ask(push, last))?.results).toMatchObject([
      { outcome: "rejected", version: null, errors: [{ code: "key_compromised" }] },
    ]);
    await registerInForce(services);
    const live: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const page = await services.records.listCatalogue(uuid, cursor, 1_000);
      live.push(...page.heads.filter((head) => head.live).map(({ record_id }) => record_id));
      cursor = page.cursor;
      if (cursor === null) break;
    }
    const kept = ["current", "superseded", "b"].map((id) => services.recordIdOf(uuid, "products", id));
    expect(live.sort()).toEqual(kept.sort());
  });
});
