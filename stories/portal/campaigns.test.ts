// Campaigns of an advertiser at the portal: made, changed and ended by people, with what they cost and who rendered their ads.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { campaignRef } from "../../actors/messages/refs.ts";
import { newCaller, type TestCaller } from "../../api/surfaces.fixture.ts";
import { imageOf } from "../../node/images/images.fixture.ts";
import {
  openPortalNode,
  type PortalNode,
  type Seen,
  type ShownForm,
  Visitor,
} from "../../portal/portal.fixture.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { sealLeafOf } from "../../protocol/log/leaves.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { sealedWords } from "../../verifier/sealed-words.ts";
import { openPool, state } from "../ads/ads.fixture.ts";
import { cellsOf, newBusinessAt, type Owned, setRoleAt, unescaped, writeRecord } from "./business.fixture.ts";

let portal: PortalNode;
let company: TestCaller;
beforeAll(async () => {
  portal = await openPortalNode();
  const { grant } = portal.node.services.keys;
  company = await newCaller(grant, "retrieval", "10000000-0000-4000-8000-0000000000c1");
}, 120_000);
afterAll(() => portal?.[Symbol.asyncDispose]());

const day = (days: number) =>
  new Date(portal.node.services.clock.now() + days * 86_400_000).toISOString().slice(0, 16);

const listOf = ({ owner, uuid }: Owned) => owner.get(`/businesses/${uuid}/campaigns`);
const pageOf = ({ owner, uuid }: Owned, id = "spring") => owner.get(`/campaigns/${uuid}.${id}`);
const factIn = ({ html }: Seen, name: string) =>
  new RegExp(`<dt>${name}</dt><dd>(.*?)</dd>`).exec(html)?.[1]?.replaceAll(/<[^>]*>/g, "");

const campaignText = (changes: object = {}) => ({
  "/campaign_id": "spring",
  "/price": "0.25",
  "/budget": "500",
  "/starts_at": day(-1),
  "/ends_at": day(29),
  "/paused": "false",
  ...changes,
});

const adText = (changes: object = {}) => ({
  "/language": "en",
  "/business_ad_id": "shoes",
  "/campaign_id": "spring",
  "/countries": "US, GB",
  "/keywords": "Trail running\nrunning shoes",
  "/headline": "Shoes for the trail",
  "/body": "Light and waterproof.",
  "/display_domain": "shoes.example",
  "/destination_url": "https://shoes.example/trail",
  ...changes,
});

/** The page with the words of a campaign, or with what is wrong with it. */
async function writeCampaign(by: Owned, changes: object = {}) {
  const form = (await by.owner.get(`/businesses/${by.uuid}/campaigns/new`)).form("/campaigns/make");
  return by.owner.send(form, campaignText(changes));
}

/** The page with the words of an ad, or with what is wrong with it. */
async function writeAd(by: Owned, changes: object = {}) {
  const form = (await by.owner.send((await pageOf(by)).form("/ads/new"))).form("/ads/make");
  return by.owner.send(form, adText(changes));
}

const sealed = ({ owner }: Owned, words: Seen) => owner.answer(words.form("/ads/seal"));

async function newAdvertiser(name: string): Promise<Owned> {
  const owned = await newBusinessAt(portal, name);
  expect((await sealed(owned, await writeCampaign(owned))).html).toContain("The campaign is in force");
  return owned;
}

/** An advertiser with an ad, whose id is in the page that says that it is published. */
async function newAd(name: string) {
  const owned = await newAdvertiser(name);
  const done = await sealed(owned, await writeAd(owned));
  const [, id = done.html] = /<code>(ad_[a-z2-7]+)<\/code>/.exec(done.html) ?? [];
  return { owned, id };
}

const pool = async () => {
  await portal.node.services.register.refresh();
  return (await openPool({ running: portal.node }, company)).ads;
};
const stateOf = async ({ uuid }: Owned, id = "spring") =>
  (await portal.node.services.actors.ask(campaignRef(uuid, id), { type: "campaign.read" }))?.state ?? null;
const bytesIn = (form: ShownForm, name: string) =>
  Uint8Array.fromBase64(form.fields[name] ?? "", { alphabet: "base64url" });
const faultAt = ({ html }: Seen, pointer: string) =>
  new RegExp(`<p id="fault${pointer}"[^>]*>(.*?)</p>`).exec(html)?.[1]?.replaceAll(/<[^>]*>/g, "");

describe("an advertiser", () => {
  it("makes a campaign and an ad as shown, and sees what they cost and who rendered them", async () => {
    const owned = await newBusinessAt(portal, "Trail Ltd");
    expect((await listOf(owned)).html).toContain("There is no campaign.");
    const shown = await writeCampaign(owned);
    const form = shown.form("/ads/seal");
    const said = sealedWords(portal.node.services.crypto, payloadTypes["seal.v2"], {
      payload: bytesIn(form, "payload"),
      document: bytesIn(form, "document"),
    });
    expect(said.ok && unescaped(shown.html).includes(said.value.join("\n"))).toBe(true);
    expect(shown.html).toContain("/budget: &quot;500&quot;");
    const credential = owned.owner.credentialFor(form);
    expect((await owned.owner.send(form, { credential })).html).toContain("The campaign is in force");
    // A double click is answered again.
    expect((await owned.owner.send(form, { credential })).html).toContain("The campaign is in force");
    const [row] = cellsOf((await listOf(owned)).html, 0);
    expect(row?.slice(0, 5)).toEqual(["spring", "running", "0", "0 EUR", "500 EUR"]);
    const published = await sealed(owned, await writeAd(owned));
    expect(published.html).toContain("The ad is published");
    const [item] = await pool();
    const { json } = await state({ running: portal.node }, company, "render", {
      render_token: item?.render_token,
      format: "card",
    });
    await state({ running: portal.node }, company, "click", { click_token: json["click_token"] });
    const page = await pageOf(owned);
    expect(
      ["Price of a render", "Budget", "Spent", "Left", "Charged today \\(UTC\\)", "Renders"].map((each) =>
        factIn(page, each),
      ),
    ).toEqual(["0.25 EUR", "500 EUR", "0.25 EUR", "499.75 EUR", "0.25 EUR", "1"]);
    await expect
      .poll(async () => cellsOf((await pageOf(owned)).html, 0)[0]?.slice(1, 5))
      .toEqual(["1", "0", "1", "0.25 EUR"]);
    expect(cellsOf(page.html, 1)[0]?.slice(1, 5)).toEqual([
      "ad",
      "US, GB",
      "trail running, running shoes",
      "live",
    ]);
    const { html } = await owned.owner.get("/account");
    expect([html.includes("sealed a campaign"), html.includes("sealed an ad")]).toEqual([true, true]);
  });

  it("changes a campaign in its form, and the later terms count", async () => {
    const owned = await newAdvertiser("Change Ltd");
    const opened = await owned.owner.send((await pageOf(owned)).form("/campaigns/change"));
    const { controls, ...form } = opened.form("/campaigns/make");
    expect(controls).toMatchObject({ "/price": "0.25", "/budget": "500", "/paused": "false" });
    const words = await owned.owner.send({ ...form, controls }, { ...controls, "/paused": "true" });
    await sealed(owned, words);
    expect([await stateOf(owned), factIn(await pageOf(owned), "State")]).toEqual(["paused", "paused"]);
  });

  it("sees every fault beside its field", async () => {
    const owned = await newAdvertiser("Fault Ltd");
    const campaign = await writeCampaign(owned, { "/price": "a lot" });
    expect(faultAt(campaign, "/price")).toContain("a decimal string");
    expect(campaign.form("/campaigns/make").controls["/price"]).toBe("a lot");
    expect(faultAt(await writeCampaign(owned, { "/ends_at": day(-2) }), "/ends_at")).toContain(
      "after it starts",
    );
    const ad = await writeAd(owned, { "/display_domain": "other.example", "/headline": "" });
    expect(faultAt(ad, "/display_domain")).toContain("host of destination_url");
    expect(faultAt(ad, "/headline")).toContain("headline is required.");
    expect((await writeAd(owned, { "/campaign_id": "autumn" })).html).toContain("There is no such campaign");
  });

  it("sends an image with the form, and says what it shows before it is sealed", async () => {
    const owned = await newAdvertiser("Picture Ltd");
    const image = toBase64(await imageOf("image/png"));
    const first = await writeAd(owned, { image });
    expect(first.html).toContain("/images/0/alt: alt is required.");
    const { controls, ...form } = first.form("/ads/make");
    expect([controls["/images/0/media_type"], controls["image"]]).toEqual(["image/png", ""]);
    const again = await owned.owner.send({ ...form, controls }, { ...controls, "/images/0/alt": "A shoe." });
    expect((await sealed(owned, again)).html).toContain("The ad is published");
    const script = toBase64(new TextEncoder().encode("<svg onload=alert(1)>"));
    expect(faultAt(await writeAd(owned, { image: script }), "/images")).toContain("by its first bytes");
    expect(faultAt(await writeAd(owned, { image: "%" }), "/images")).toContain("could not be read");
  });

  it("sponsors a published product, opens it in its form, and ends that", async () => {
    const owned = await newAdvertiser("Sponsor Ltd");
    const { owner, uuid } = owned;
    const product = await writeRecord(owned, "products", sampleRecords.products);
    await owner.answer(product.form("/records/seal"));
    const [, record_id = ""] =
      /(svc_[a-z2-7]{26})/.exec((await owner.get(`/businesses/${uuid}/records`)).html) ?? [];
    const blank = await owner.send((await pageOf(owned)).form("/ads/sponsor"));
    const write = async (changes: object, from = blank) => {
      const { controls, ...form } = from.form("/ads/sponsor/make");
      return owner.send({ ...form, controls }, { ...controls, ...changes });
    };
    const unknown = await write({
      "/record_id": record_id.replace(/.$/, (last) => (last === "a" ? "b" : "a")),
      "/countries": "US",
    });
    expect(faultAt(unknown, "/record_id")).toContain("no published product");
    expect(faultAt(await write({ "/record_id": record_id, "/countries": "XX" }), "/countries")).toContain(
      "ISO 3166-1",
    );
    const elsewhere = { "/campaign_id": "autumn", "/record_id": record_id, "/countries": "US" };
    expect(faultAt(await write(elsewhere), "/campaign_id")).toContain("no such campaign");
    const words = await write({ "/record_id": record_id, "/countries": "US" });
    expect((await sealed(owned, words)).html).toContain("The ad is published");
    const rowNow = async () => cellsOf((await pageOf(owned)).html, 0)[0]?.slice(1, 5);
    expect(await rowNow()).toEqual([`sponsored product ${record_id}`, "US", "", "live"]);
    const opened = await owner.send((await pageOf(owned)).form("/ads/edit"));
    await sealed(owned, await write({ "/countries": "US, CA" }, opened));
    expect((await rowNow())?.[1]).toBe("US, CA");
    const removal = await owner.send((await pageOf(owned)).form("/ads/remove"), { action: "withdraw" });
    await sealed(owned, removal);
    expect((await rowNow())?.[3]).toBe("withdrawn");
  });

  it("opens an ad in its form and publishes it again, and pages through many", async () => {
    const { owned, id } = await newAd("Many Ltd");
    const { owner } = owned;
    const opened = await owner.send((await pageOf(owned)).form("/ads/edit"));
    const { controls, ...form } = opened.form("/ads/make");
    expect(controls).toMatchObject({
      "/headline": "Shoes for the trail",
      "/keywords": "Trail running\r\nrunning shoes",
    });
    const publish = async (changes: object) =>
      sealed(owned, await owner.send({ ...form, controls }, { ...controls, ...changes }));
    expect((await publish({ "/headline": "Better shoes" })).html).toContain(id);
    const again = await owner.send((await pageOf(owned)).form("/ads/edit"));
    expect(again.form("/ads/make").controls["/headline"]).toBe("Better shoes");
    const { actors, recordIdOf, crypto } = portal.node.services;
    const campaign = campaignRef(owned.uuid, "spring");
    const [known] = await actors.ask(campaign, { type: "ads.list", after: "" });
    const leaf = sealLeafOf({ payloadType: "x", payload: "", signatures: [] }, crypto.sha256);
    for (let at = 0; known !== undefined && at < 100; at += 1) {
      const ad_id = recordIdOf(owned.uuid, "ads", `spring/shoes-${at}`);
      const of = { ad_id, seal_id: `seal ${at}` };
      await actors.ask(campaign, { type: "ad.assign", ...of, sealed_at_ms: 1, hash: known.hash });
      await actors.ask(campaign, {
        type: "ad.publish",
        facts: { ...known, ad_id, generation: 1 },
        ...of,
        leaf,
      });
    }
    const first = await pageOf(owned);
    const [, next = ""] = /href="([^"]*)">More ads/.exec(first.html) ?? [];
    const ids = [first, await owner.get(next)].flatMap(({ html }) => cellsOf(html, 0).map(([ad]) => ad));
    expect([ids.length, new Set(ids).size, ids.includes(id)]).toEqual([101, 101, true]);
  });

  it.each(["withdraw", "delete"] as const)("takes an ad out by a sealed document: %s", async (action) => {
    const { owned, id } = await newAd(`${action} Ltd`);
    const words = await owned.owner.send((await pageOf(owned)).form("/ads/remove"), { action });
    expect(words.html).toContain(
      `The record ${id} (ads) is ${action === "delete" ? "deleted" : "withdrawn"}`,
    );
    expect((await sealed(owned, words)).html).toContain(
      `The ad is ${action === "delete" ? "deleted" : "withdrawn"}`,
    );
    expect(cellsOf((await pageOf(owned)).html, 0)[0]?.[4]).toBe(
      action === "delete" ? "deleted" : "withdrawn",
    );
    expect((await pool()).map(({ ad_id }) => ad_id)).not.toContain(id);
    const said = action === "delete" ? "deleted an ad" : "withdrew an ad";
    expect((await owned.owner.get("/account")).html).toContain(said);
  });
});

describe("nothing is shown or done", () => {
  it("of another business, or by what is no campaign", async () => {
    const [mine, theirs] = [await newAd("Mine Ltd"), await newAd("Theirs Ltd")];
    const { owner } = mine.owned;
    const page = await pageOf(mine.owned);
    const asTheirs = { ...theirs.owned, owner };
    expect([(await listOf(asTheirs)).status, (await pageOf(asTheirs)).status]).toEqual([404, 404]);
    for (const action of ["/campaigns/change", "/ads/new", "/ads/sponsor", "/ads/edit", "/ads/remove"])
      expect((await owner.send(page.form(action), { uuid: theirs.owned.uuid })).status).toBe(404);
    const campaign = await writeCampaign(mine.owned);
    const ad = await writeAd(mine.owned);
    for (const form of [campaign.form("/ads/seal"), ad.form("/ads/seal")]) {
      const credential = owner.credentialFor(form);
      expect((await owner.send(form, { credential, uuid: theirs.owned.uuid })).status).toBe(404);
    }
    for (const made of ["/campaigns/make", "/ads/make", "/ads/sponsor/make"]) {
      const form = {
        action: made,
        fields: page.form("/ads/new").fields,
        controls: {},
        options: {},
        ceremony: null,
      };
      const sent = await owner.post(made, { ...form.fields, ...adText(), uuid: theirs.owned.uuid });
      expect(sent.status).toBe(404);
    }
    const remove = page.form("/ads/remove");
    for (const ad_id of [theirs.id, `"><script>`])
      expect((await owner.send(remove, { ad_id, action: "delete" })).status).toBe(404);
    const own = (await owner.send(remove, { action: "delete" })).form("/ads/seal");
    const credential = owner.credentialFor(own);
    expect((await owner.send(own, { credential, campaign_id: "winter" })).status).toBe(404);
    expect((await owner.get("/account")).html).not.toContain("deleted an ad");
    const edit = page.form("/ads/edit");
    for (const ad_id of [theirs.id, `"><script>`, ""])
      expect((await owner.send(edit, { ad_id })).status).toBe(404);
    for (const id of ["winter", "Spring", "..", "a b"])
      expect((await owner.get(`/campaigns/${mine.owned.uuid}.${encodeURIComponent(id)}`)).status).toBe(404);
    expect((await owner.get(`/campaigns/${mine.owned.uuid}.spring?cursor=x`)).status).toBe(404);
    expect(cellsOf((await pageOf(theirs.owned)).html, 0)[0]?.[4]).toBe("live");
    expect((await pageOf({ ...mine.owned, owner: new Visitor(portal.url) })).html).toContain("Sign in");
  });

  it("by somebody whose role is too low, or otherwise than shown", async () => {
    const { owned } = await newAd("Role Ltd");
    const { owner } = owned;
    const page = await pageOf(owned);
    const [campaign, ad] = [await writeCampaign(owned, { "/paused": "true" }), await writeAd(owned)];
    const [ofCampaign, ofAd] = [campaign.form("/ads/seal"), ad.form("/ads/seal")];
    const other = await owner.send(ofCampaign, { credential: owner.credentialFor(ofAd) });
    expect(other.status).toBe(409);
    const swapped = { ...ofAd.fields, document: ofCampaign.fields["document"] ?? "" };
    expect(
      (await owner.post("/ads/seal", { ...swapped, credential: owner.credentialFor(ofAd) })).status,
    ).toBe(409);
    for (const role of ["developer", "viewer"] as const) {
      await setRoleAt(portal, owned, role);
      for (const form of [ofCampaign, ofAd]) expect((await owner.answer(form)).status).toBe(403);
      expect((await owner.send(page.form("/campaigns/change"))).status).toBe(403);
      // Every role that seals ads may open one; a viewer may not.
      expect((await owner.send(page.form("/ads/edit"))).status).toBe(role === "viewer" ? 403 : 200);
      expect((await owner.send(page.form("/ads/remove"), { action: "delete" })).status).toBe(403);
      expect((await owner.get(`/businesses/${owned.uuid}/campaigns/new`)).status).toBe(403);
      const { html, status } = await pageOf(owned);
      expect([status, html.includes("/ads/remove"), html.includes("/campaigns/change")]).toEqual([
        200,
        false,
        false,
      ]);
    }
    expect(await stateOf(owned)).toBe("running");
  });

  it("with a record's seal, or with that of an ad where records are delivered", async () => {
    const owned = await newAdvertiser("Kind Ltd");
    const { owner } = owned;
    const form = (await writeAd(owned)).form("/ads/seal");
    const credential = owner.credentialFor(form);
    expect((await owner.post("/records/seal", { ...form.fields, credential })).status).toBe(409);
    await owner.answer((await writeRecord(owned, "updates", sampleRecords.updates)).form("/records/seal"));
    const list = await owner.get(`/businesses/${owned.uuid}/records`);
    const removal = (await owner.send(list.form("/records/remove"))).form("/records/seal");
    const given = { ...removal.fields, campaign_id: "spring", credential: owner.credentialFor(removal) };
    expect((await owner.post("/ads/seal", given)).status).toBe(409);
    expect((await owner.get("/account")).html).not.toContain("withdrew an ad");
  });
});

it("shows what people wrote as text alone", async () => {
  const owned = await newAdvertiser("Script Ltd");
  const script = `"><script>alert(1)</script>`;
  const pages = [
    await writeCampaign(owned, { "/campaign_id": script, "/budget": script }),
    await writeAd(owned, { "/headline": script, "/keywords": script, "/business_ad_id": script }),
    await sealed(owned, await writeAd(owned, { "/headline": script, "/keywords": script })),
    await pageOf(owned),
  ];
  for (const { html } of pages) expect(html.includes(script)).toBe(false);
});
