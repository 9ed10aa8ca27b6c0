// Documents about ads that are delivered again, late, or to another campaign, on a running node over HTTP.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { campaignRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import {
  freshNonce,
  newCaller,
  type ReceivedAnswer,
  send,
  type TestCaller,
} from "../../api/surfaces.fixture.ts";
import { opsCampaign } from "../../cli/ops/campaign.ts";
import { opsTakedown } from "../../cli/ops/takedown.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { hashOf, parseBase64, toBase64, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { verifyAdItem } from "../../verifier/ad-item.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import { sealHosted } from "../publishing/publishing.fixture.ts";
import { type AttackNode, openAttackNode, readOver } from "../retrieval/attack.fixture.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";
import {
  type Advertiser,
  adRecord,
  campaignRecord,
  newAdvertiser,
  openPool,
  type PoolItem,
  state,
} from "./ads.fixture.ts";

const dayMs = 86_400_000;
const patience = { timeout: 20_000 };
let node: AttackNode;
let company: TestCaller;
let advertiser: Advertiser;
let movedMs = 0;

beforeAll(async () => {
  node = await openAttackNode({ clock: { now: () => Date.now() + movedMs } });
  company = await newCaller(
    node.running.services.keys.grant,
    "retrieval",
    "10000000-0000-4000-8000-0000000000c1",
  );
  advertiser = await newAdvertiser(node);
  await advertiser.campaign();
  await advertiser.campaign({ campaign_id: "summer" });
});
afterAll(() => node.close());

/** Seals a document now, to be delivered as often as wanted. */
async function sealed(record: object, certId = advertiser.business.certId): Promise<object> {
  const bytes = utf8(JSON.stringify(record));
  const named = { uuid: advertiser.uuid, certId };
  const wanted = { record: bytes, record_type: "ads", ai_policy_version: 0 } as const;
  return { record_base64: toBase64(bytes), seal: await sealHosted(node.running.services, named, wanted) };
}
const deliver = (document: object) => advertiser.post("/v1/ads/records", document);
const ad = (id: string, changes: object = {}) => sealed({ ...adRecord(id), ...changes });
const headlines = async (keyword: string) =>
  (await openPool(node, company, { keywords: [keyword] })).ads.map(({ creative }) => creative.headline);
const codeOf = ({ status, json }: ReceivedAnswer) =>
  [status, json["code"], json["reason"]].filter((each) => each !== undefined);

describe("a creative", () => {
  it("that was replaced changes nothing when it is sent again", async () => {
    const old = await ad("again", { keywords: ["clogs"], headline: "Old" });
    expect((await deliver(old)).json).toMatchObject({ version: 1, state: "live" });
    const next = await ad("again", { keywords: ["clogs"], headline: "New" });
    const answer = await deliver(next);
    expect(answer.json).toMatchObject({ version: 2, state: "live" });
    expect(codeOf(await deliver(old))).toEqual([422, "campaign_refused", "superseded"]);
    expect((await deliver(next)).text).toBe(answer.text);
    await vi.waitFor(async () => expect(await headlines("clogs")).toEqual(["New"]), patience);
  });

  it("that was refused is not judged by what was in force when it was sent first", async () => {
    const early = await ad("early", { campaign_id: "autumn" });
    expect(codeOf(await deliver(early))).toEqual([422, "campaign_refused", "campaign_unknown"]);
    await deliver(
      await sealed({ ...campaignRecord(node.running.services.clock.now()), campaign_id: "autumn" }),
    );
    movedMs += 6 * 60_000;
    expect(codeOf(await deliver(early))).toEqual([422, "seal_invalid", "sealed_at_skew"]);
  });

  it("is another ad in another campaign", async () => {
    const here = await deliver(await ad("both", { keywords: ["gaiters"], headline: "Spring" }));
    const there = await ad("both", { keywords: ["gaiters"], headline: "Summer", campaign_id: "summer" });
    const answer = await deliver(there);
    expect(answer).toMatchObject({ status: 200, json: { campaign_id: "summer", version: 1 } });
    expect(answer.json["ad_id"]).not.toBe(here.json["ad_id"]);
    const both = async () => expect((await headlines("gaiters")).toSorted()).toEqual(["Spring", "Summer"]);
    await vi.waitFor(both, patience);
    await advertiser.remove(String(here.json["ad_id"]), "delete");
    await vi.waitFor(async () => expect(await headlines("gaiters")).toEqual(["Summer"]), patience);
    const again = await advertiser.remove(String(here.json["ad_id"]), "withdraw");
    expect(again).toMatchObject({ status: 200, json: { state: "deleted" } });
  });
});

describe("terms of a campaign", () => {
  it("that were sealed before those in force are refused", async () => {
    const terms = { ...campaignRecord(node.running.services.clock.now()), campaign_id: "winter" };
    const earlier = await sealed(terms);
    movedMs += 1_000;
    expect((await deliver(await sealed({ ...terms, paused: true }))).json).toMatchObject({ state: "paused" });
    expect(codeOf(await deliver(earlier))).toEqual([422, "campaign_refused", "superseded"]);
  });
});

describe("an ad that does not stand any more", () => {
  it("is in no pool, and neither its render nor its click is confirmed; one that was received before stays until its campaign falls", async () => {
    const { services } = node.running;
    const thief = await newAdvertiser(node);
    await thief.campaign();
    const moment = () => {
      movedMs += 1_000;
      const at = formatTimestamp(services.clock.now());
      movedMs += 1_000;
      return at;
    };
    const end = async (compromised_from: string) => {
      const { keyId: key_id } = await services.hostedSigner(thief.uuid);
      const revoked_at = formatTimestamp(services.clock.now());
      await services.parties.revokeKey({ uuid: thief.uuid, key_id, revoked_at, compromised_from });
      await registerInForce(services);
    };
    const early = formatTimestamp(services.clock.now() - 60_000);
    await thief.ad("genuine", { keywords: ["moon boots"], headline: "Genuine" });
    const between = moment();
    await thief.ad("stolen", { keywords: ["moon boots"], headline: "Stolen" });
    const both = async () => expect(await headlines("moon boots")).toEqual(["Genuine", "Stolen"]);
    await vi.waitFor(both, patience);
    const pool = await openPool(node, company, { keywords: ["moon boots"] });
    const render = (at: number) =>
      state(node, company, "render", { render_token: pool.ads[at]?.render_token, format: "card" });
    const shown = [await render(0), await render(1)].map(({ json }) => json["click_token"]);
    const click = (at: number) => state(node, company, "click", { click_token: shown[at] });
    const unused = await openPool(node, company, { keywords: ["moon boots"] });
    await end(between);
    expect(await headlines("moon boots")).toEqual(["Genuine"]);
    const late = { render_token: unused.ads[1]?.render_token, format: "card" };
    const refused = [409, "ad_unavailable", "ad_not_live"];
    expect(codeOf(await state(node, company, "render", late))).toEqual(refused);
    expect(codeOf(await click(1))).toEqual(refused);
    expect((await click(0)).status).toBe(200);
    await end(early);
    expect(await headlines("moon boots")).toEqual([]);
    const first = { render_token: unused.ads[0]?.render_token, format: "card" };
    expect(codeOf(await state(node, company, "render", first))).toEqual(refused);
  });
});

describe("an ad whose campaign does not stand any more", () => {
  it("is in no pool, although its own seal stands", async () => {
    const { services } = node.running;
    const owner = await newAdvertiser(node);
    await owner.campaign();
    await owner.ad("kept", { keywords: ["waders"], headline: "Kept" });
    await vi.waitFor(async () => expect(await headlines("waders")).toEqual(["Kept"]), patience);
    movedMs += 1_000;
    const compromised_from = formatTimestamp(services.clock.now());
    movedMs += 1_000;
    expect((await owner.campaign()).json).toMatchObject({ state: "running" });
    const { keyId: key_id } = await services.hostedSigner(owner.uuid);
    const revoked_at = formatTimestamp(services.clock.now());
    await services.parties.revokeKey({ uuid: owner.uuid, key_id, revoked_at, compromised_from });
    const gone = async () => {
      await registerInForce(services);
      expect(await headlines("waders")).toEqual([]);
    };
    await vi.waitFor(gone, patience);
  });
});

describe("a removal", () => {
  it.each(["winter", "no.such", "Ä \u0000", "spring@eu-west1"])(
    "from %j, which is no campaign, is 404",
    async (campaign) => {
      const answer = await advertiser.remove(`ad_${"a".repeat(26)}`, "withdraw", campaign);
      expect(codeOf(answer)).toEqual([404, "not_found"]);
    },
  );
});

describe("a conversation", () => {
  it("is not shown an ad again within the hour, also if its pool was served before midnight and rendered after it", async () => {
    await deliver(await ad("midnight", { keywords: ["torches"] }));
    const asked = { keywords: ["torches"], session_ref: "chat" };
    const open = async () => (await openPool(node, company, asked)).ads;
    await vi.waitFor(async () => expect(await open()).toHaveLength(1), patience);
    movedMs += dayMs - (node.running.services.clock.now() % dayMs) - 60_000;
    const [item] = await open();
    movedMs += 7 * 60_000;
    const rendered = await state(node, company, "render", {
      render_token: item?.render_token,
      format: "card",
    });
    expect(rendered.status).toBe(200);
    await vi.waitFor(async () => expect(await open()).toEqual([]), patience);
    movedMs += 59 * 60_000;
    expect(await open()).toEqual([]);
    movedMs += 2 * 60_000;
    expect(await open()).toHaveLength(1);
  });
});

describe("a render", () => {
  it("is refused if its request is replayed, whatever it says", async () => {
    await deliver(await ad("replay", { keywords: ["laces"] }));
    const asked = { keywords: ["laces"] };
    const served = async () => (await openPool(node, company, asked)).ads;
    await vi.waitFor(async () => expect(await served()).toHaveLength(1), patience);
    const [item] = await served();
    const nonce = freshNonce();
    const replayed = () =>
      send(node.running.urls.base_url, company, {
        path: "/v1/ads/render",
        nonce,
        created: Math.floor(node.running.services.clock.now() / 1000),
        body: JSON.stringify({ render_token: item?.render_token, format: "card" }),
      });
    expect((await replayed()).status).toBe(200);
    expect(codeOf(await replayed())).toEqual([401, "nonce_reused"]);
  });

  it("that is refused because its nonce was used for another one costs its advertiser nothing", async () => {
    for (const id of ["twin-a", "twin-b"]) await deliver(await ad(id, { keywords: ["spikes"] }));
    const served = async () => (await openPool(node, company, { keywords: ["spikes"] })).ads;
    await vi.waitFor(async () => expect(await served()).toHaveLength(2), patience);
    const { actors, clock } = node.running.services;
    const renders = async () =>
      (await actors.ask(campaignRef(advertiser.uuid, "spring"), { type: "campaign.read" }))?.renders ?? 0;
    const before = await renders();
    const nonce = freshNonce();
    const statuses: number[] = [];
    for (const { render_token } of await served()) {
      const { status } = await send(node.running.urls.base_url, company, {
        path: "/v1/ads/render",
        nonce,
        created: Math.floor(clock.now() / 1000),
        body: JSON.stringify({ render_token, format: "card" }),
      });
      statuses.push(status);
    }
    expect(statuses).toEqual([200, 401]);
    expect(await renders()).toBe(before + 1);
  });

  it("under an Idempotency-Key is answered once, and another request under it is refused", async () => {
    const [item] = (await openPool(node, company, { keywords: ["laces"] })).ads;
    const under = (key: string) => ({ "idempotency-key": key });
    const asked = (format: string, key: string) =>
      state(node, company, "render", { render_token: item?.render_token, format }, under(key));
    const first = await asked("card", "one");
    expect(first.status).toBe(200);
    expect((await asked("card", "one")).text).toBe(first.text);
    expect(codeOf(await asked("voice", "one"))).toEqual([422, "idempotency_key_reused"]);
    for (const key of ["é".repeat(3), "k".repeat(256)]) {
      const refused = await asked("card", key);
      expect(codeOf(refused)).toEqual([400, "request_invalid"]);
      expect(refused.json["detail"]).toBe("Idempotency-Key must be 1 to 255 printable ASCII characters.");
    }
    expect((await asked("card", "k".repeat(255))).text).toBe(first.text);
    const { click_token } = first.json as { readonly click_token: string };
    const clicked = (token: string, key: string) =>
      state(node, company, "click", { click_token: token }, under(key));
    const click = await clicked(click_token, "click");
    expect(click.status).toBe(200);
    expect((await clicked(click_token, "click")).text).toBe(click.text);
    expect(codeOf(await clicked(item?.render_token ?? "", "click"))).toEqual([422, "idempotency_key_reused"]);
    // Each statement has keys of its own.
    expect((await clicked(click_token, "one")).text).toBe(click.text);
  });
});

describe("an advertiser whose certificate is not active any more", () => {
  it("is served no more, and what was served before is not charged", async () => {
    const ended = await newAdvertiser(node);
    await ended.campaign();
    expect((await ended.ad("ended", { keywords: ["galoshes"] })).status).toBe(200);
    const served = async () => (await openPool(node, company, { keywords: ["galoshes"] })).ads;
    await vi.waitFor(async () => expect(await served()).toHaveLength(1), patience);
    const [item] = await served();
    const { parties, clock, actors } = node.running.services;
    const { party, key } = ended.business;
    const { uuid, kind, legal_name, country } = party;
    await parties.issueCertificate({
      uuid,
      kind,
      legal_name,
      country,
      verified_since: key.valid_from,
      status: "withdrawn",
      status_effective_from: formatTimestamp(clock.now()),
      status_reason: "approval_reversed",
    });
    await registerInForce(node.running.services);
    expect(await served()).toEqual([]);
    const render = { render_token: item?.render_token, format: "card" };
    expect(codeOf(await state(node, company, "render", render))).toEqual([
      409,
      "ad_unavailable",
      "ad_not_live",
    ]);
    const report = await actors.ask(campaignRef(uuid, "spring"), { type: "campaign.read" });
    expect(report?.renders).toBe(0);
  });
});

describe("an ad that operators take down", () => {
  it("leaves pools, and what was served before is not charged; lifted, it is served and rendered again", async () => {
    const taken = await newAdvertiser(node);
    await taken.campaign();
    const ad_id = String((await taken.ad("taken", { keywords: ["waders"] })).json["ad_id"]);
    const served = async () => (await openPool(node, company, { keywords: ["waders"] })).ads;
    await vi.waitFor(async () => expect(await served()).toHaveLength(1), patience);
    const { home } = node.running.config;
    const takedown = async (subject: string, ...words: readonly string[]) => {
      const by = ["--by", "Ada", "--reason", "Complaint 4713", "--yes"];
      const run = await runRevoke([subject, ...words, ...by], { home, reply: null, command: opsTakedown });
      expect(run).toMatchObject({ code: 0, printed: expect.stringMatching(/^Done/) });
      await registerInForce(node.running.services);
    };
    const render = async (item: PoolItem | undefined) =>
      state(node, company, "render", { render_token: item?.render_token, format: "card" });
    const statement = "Article 6 of the terms";
    let renders = 0;
    for (const subject of [ad_id, taken.uuid]) {
      const [item] = await served();
      const [shown] = await served();
      const { click_token } = (await render(shown)).json;
      renders += 1;
      await takedown(subject, "--impose", "--statement", statement);
      expect(await served()).toEqual([]);
      expect(codeOf(await render(item))).toEqual([409, "ad_unavailable", "ad_not_live"]);
      // What was shown before, was shown: it stays charged, and is clicked.
      expect((await render(shown)).json).toMatchObject({ click_token });
      expect((await state(node, company, "click", { click_token })).status).toBe(200);
      const { verify_url } = node.running.urls;
      const origin = hashOf(parseBase64(String(item?.["record_base64"])) ?? new Uint8Array());
      const page = await contractFetch(
        `${verify_url}/v1/verify/${ad_id}?origin=${encodeURIComponent(origin)}`,
      );
      expect(page.status).toBe(404);
      const created = Math.floor(node.running.services.clock.now() / 1000);
      const own = await readOver(node, taken.business, "/v1/takedowns", { created });
      expect(own.json["takedowns"]).toContainEqual({
        record_id: subject === ad_id ? ad_id : null,
        statement_of_reasons: statement,
        lifted_at: null,
        taken_down_at: expect.any(String) as string,
      });
      await takedown(subject, "--lift");
      const [again] = await served();
      expect(again?.ad_id).toBe(ad_id);
      expect((await render(again)).status).toBe(200);
      renders += 1;
    }
    const campaign = campaignRef(taken.uuid, "spring");
    const report = await node.running.services.actors.ask(campaign, { type: "campaign.read" });
    expect(report?.renders).toBe(renders);
  });
});

describe("a campaign that operators stop", () => {
  it("is served and rendered no more, whatever its advertiser seals, until they let it go on", async () => {
    const stopped = await newAdvertiser(node);
    await stopped.campaign();
    await stopped.ad("stopped", { keywords: ["galoshes"] });
    const served = async () => (await openPool(node, company, { keywords: ["galoshes"] })).ads;
    await vi.waitFor(async () => expect(await served()).toHaveLength(1), patience);
    const { home } = node.running.config;
    const ops = async (...words: readonly string[]) => {
      const run = await runRevoke([stopped.uuid, "spring", ...words], {
        home,
        reply: "yes",
        command: opsCampaign,
      });
      await registerInForce(node.running.services);
      return run;
    };
    const by = ["--by", "Ada", "--reason", "Complaint 4714"];
    const render = async (item: PoolItem | undefined) =>
      state(node, company, "render", { render_token: item?.render_token, format: "card" });
    const [before] = await served();
    const statement = "Article 7 of the terms";
    const stop = await ops("--stop", "--statement", statement, ...by);
    expect(stop, stop.said).toMatchObject({
      code: 0,
      printed: expect.stringMatching(/^Done. spring is stopped/),
    });
    expect((await ops("--stop", "--statement", statement, ...by)).printed).toBe("It was so before.\n");
    expect(await served()).toEqual([]);
    expect(codeOf(await render(before))).toEqual([409, "ad_unavailable", "campaign_not_running"]);
    expect((await stopped.campaign({ budget: "900" })).json).toMatchObject({ state: "stopped" });
    await registerInForce(node.running.services);
    expect(await served()).toEqual([]);
    const created = Math.floor(node.running.services.clock.now() / 1000);
    const own = await readOver(node, stopped.business, "/v1/ads/campaigns/spring", { created });
    expect(own.json).toMatchObject({ state: "stopped", stopped: { statement, at: expect.any(String) } });
    const ref = { kind: "ad-campaign", id: `${stopped.uuid}.spring` };
    expect(await node.running.services.actors.inspect(ref)).toMatchObject({ state: "stopped" });
    const act = async (last: string, members: object) => {
      const token = (await readFile(join(home, "ops-token"), "utf8")).trim();
      const { ops_url } = node.running.urls;
      const answer = await contractFetch(`${ops_url}/ops/campaigns/${stopped.uuid}/spring/${last}`, {
        method: "POST",
        headers: { authorization: signedIn(token), "content-type": "application/json" },
        body: JSON.stringify({ ...members, reason: "Complaint 4714" }),
      });
      const { changed, code } = (await answer.json()) as Record<string, unknown>;
      return changed ?? code;
    };
    expect(await ops("--resume", ...by)).toMatchObject({
      code: 0,
      printed: expect.stringMatching(/^Done. spring is running/),
    });
    // Delivered once more, the act does not stop what goes on again; nor is it undone so.
    const twice = await ops("--json");
    expect(await act("stop", { statement, expected: 0 })).toBe("state_changed");
    expect(await act("resume", { expected: 1 })).toBe(false);
    expect(await ops("--json")).toEqual(twice);
    expect(await act("stop", { statement, expected: 2 })).toBe(true);
    expect(await act("resume", { expected: 1 })).toBe("state_changed");
    expect(await act("resume", { expected: 3 })).toBe(true);
    await registerInForce(node.running.services);
    const [again] = await served();
    expect((await render(again)).status).toBe(200);
    expect((await ops()).printed).toContain("Renders: 1");
    for (const [words, said] of [
      [["--stop", "--resume", ...by], "svc help ops campaign"],
      [["--resume", "--statement", "x", ...by], "--statement is for --stop alone"],
    ] as const)
      expect(await ops(...words)).toMatchObject({ code: 2, said: expect.stringContaining(said) });
  });
});

// The last ones: what was sealed under the certificate that is in force no more is not accepted any more.
describe("an item", () => {
  it("verifies alone after its advertiser's certificate was issued again, by the history in it", async () => {
    await deliver(await ad("reissued", { keywords: ["mules"] }));
    const served = () => openPool(node, company, { keywords: ["mules"] });
    await vi.waitFor(async () => expect((await served()).ads).toHaveLength(1), patience);
    const { parties, clock } = node.running.services;
    const { party, key } = advertiser.business;
    const { uuid, kind, legal_name, country } = party;
    await parties.issueCertificate({
      uuid,
      kind,
      legal_name,
      country,
      verified_since: key.valid_from,
      status: "active",
      status_effective_from: formatTimestamp(clock.now()),
      status_reason: null,
    });
    await registerInForce(node.running.services);
    movedMs += 61_000;
    const { text, ads } = await served();
    expect(ads[0]).toHaveProperty("certificate_history");
    const item = utf8((exactMember(text, "ads") ?? "").slice(1, -1));
    const report = verifyAdItem(node.running.services.trust(), item);
    expect(report, JSON.stringify(report)).toMatchObject({ valid: true });
  });

  it("verifies alone at once, if it is sealed under a certificate that was issued since others were served", async () => {
    const { parties, clock, register } = node.running.services;
    const { party, key } = advertiser.business;
    const { uuid, kind, legal_name, country } = party;
    expect((await openPool(node, company, { keywords: ["mules"] })).ads).toHaveLength(1);
    await parties.issueCertificate({
      uuid,
      kind,
      legal_name,
      country,
      verified_since: key.valid_from,
      status: "active",
      status_effective_from: formatTimestamp(clock.now()),
      status_reason: null,
    });
    await registerInForce(node.running.services);
    const certId = (await register.certificates(uuid))[0]?.cert_id ?? "";
    const renewed = await sealed({ ...adRecord("renewed"), keywords: ["sabots"] }, certId);
    expect((await deliver(renewed)).status).toBe(200);
    const served = () => openPool(node, company, { keywords: ["sabots"] });
    await vi.waitFor(async () => expect((await served()).ads).toHaveLength(1), patience);
    const item = utf8((exactMember((await served()).text, "ads") ?? "").slice(1, -1));
    expect(verifyAdItem(node.running.services.trust(), item)).toMatchObject({ valid: true });
  });
});
