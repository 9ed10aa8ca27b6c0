// Campaigns of an advertiser and their ads: what they cost and who rendered them, and the forms in which they are written and sealed.

import { type ComponentChild, h } from "preact";
import type { AdFacts, CampaignFacts } from "../../actors/messages/ads.ts";
import { bindingRoles } from "../../actors/messages/members.ts";
import type { Route } from "../../api/route.ts";
import { adProductSchema, campaignSchema } from "../../protocol/ad-campaign.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { imageMediaTypes } from "../../protocol/image-type.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { imageBytesMax } from "../../protocol/limits.ts";
import { decimalOf } from "../../protocol/price-list.ts";
import {
  boolean,
  campaignIdForm,
  countryCodes,
  form as formOf,
  type Members,
  money,
  optional,
  text,
  timestamp,
} from "../../protocol/records/fields.ts";
import { recordTypes } from "../../protocol/records/parse-record.ts";
import type { AdImage } from "../../protocol/wire/ad-requests.ts";
import type {
  Advertised,
  ListedCampaign,
  OwnAdvertising,
  OwnCampaign,
} from "../../service/portal/advertising.ts";
import { type OwnBusiness, sealingRoles } from "../../service/portal/owner.ts";
import type { SignedIn } from "../../service/portal/people.ts";
import type { ReadyToSeal } from "../../service/portal/sealing.ts";
import { code, dataTable, facts, link, paragraph, section, shortTime, shownNumber } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { plainForm } from "../pages/frame.ts";
import { allFaults, recordFormPage, type ShownFault, writtenRecord } from "../pages/record-form.ts";
import {
  cardPage,
  type Form,
  type OwnVisit,
  ownForm,
  ownPage,
  type PageAnswer,
  page,
  problemPage,
} from "../visit.ts";
import { type AccountDeps, businessPath, ownerRefusedPage, ownWith } from "./account.ts";
import { campaignsPath, maySeal, recordFormBytesMax, sealedIn, sealPageAt } from "./publishing.ts";

export interface CampaignDeps extends AccountDeps {
  readonly advertising: OwnAdvertising;
}

const texts = () => wording().business.campaigns;
const makeCampaignPath = "/campaigns/make";
const changePath = "/campaigns/change";
const newAdPath = "/ads/new";
const editAdPath = "/ads/edit";
const makeAdPath = "/ads/make";
const newProductPath = "/ads/sponsor";
const makeProductPath = "/ads/sponsor/make";
const removePath = "/ads/remove";
const sealPath = "/ads/seal";
/** An image is in a form as base64, of which some characters take three bytes. */
const adFormBytesMax = recordFormBytesMax + 2 * imageBytesMax;

export function campaignRoutes(deps: CampaignDeps): readonly Route[] {
  const { owner, advertising, challenges } = deps;
  const formCode = ({ session }: SignedIn): string => challenges.formCode(session.session);
  const businessOf = async ({ who }: OwnVisit, uuid: string): Promise<OwnBusiness | null> => {
    const own = await owner.business(who, uuid);
    return own?.party.kind === "business" ? own : null;
  };
  return [
    ownPage(
      deps,
      campaignsPath(":named"),
      "The campaigns of a business, and what they cost",
      async (visit) => {
        const { named: uuid, cursor } = visit;
        const own = await businessOf(visit, uuid);
        if (own === null) return problemPage("not_there", 404);
        const { campaigns, next } = await advertising.campaigns(uuid, cursor ?? "");
        const content = [
          h("h1", null, texts().title),
          paragraph(texts().words),
          h("section", { class: "card" }, campaignTable(campaigns, deps.clock.now())),
          next === null ? null : paragraph(link(`${campaignsPath(uuid)}?cursor=${next}`, texts().next)),
          paragraph(
            maySeal(own, bindingRoles) ? link(`${campaignsPath(uuid)}/new`, texts().make) : texts().notYours,
          ),
          paragraph(link(businessPath(uuid), wording().portal.publishing.back)),
        ];
        return page(texts().title, h("div", null, content));
      },
    ),
    ownPage(deps, `${campaignsPath(":named")}/new`, "A form of campaigns", async (visit) => {
      const own = await businessOf(visit, visit.named);
      if (own === null) return problemPage("not_there", 404);
      if (!maySeal(own, bindingRoles)) return problemPage("role_too_low", 403);
      return campaignForm(deps, visit.who, { uuid: visit.named, record: { paused: false }, faults: [] });
    }),
    ownPage(
      deps,
      "/campaigns/:named",
      "A campaign: its budget, its ads and who rendered them",
      async (visit) => {
        const { who, named, cursor } = visit;
        const [uuid, campaign_id] = [named.slice(0, uuidLength), named.slice(uuidLength + 1)];
        const own = await businessOf(visit, uuid);
        if (own === null) return problemPage("not_there", 404);
        const found = await advertising.campaign({ uuid, campaign_id, after: cursor ?? "" });
        if (!found.ok) return ownerRefusedPage(found);
        const shown = { own, form_code: formCode(who), nowMs: deps.clock.now() };
        return page(campaign_id, campaignContent(found.value, shown));
      },
    ),
    ownForm(deps, changePath, "Shows a campaign in its form", async (form, { who }) => {
      const [uuid, campaign_id] = [form("uuid"), form("campaign_id")];
      const own = await ownWith(deps, who, uuid, bindingRoles);
      if ("kind" in own) return own;
      const found = await advertising.campaign({ uuid, campaign_id, after: "" });
      if (!found.ok) return ownerRefusedPage(found);
      return campaignForm(deps, who, { uuid, record: recordOf(found.value), faults: [] });
    }),
    ownForm(
      deps,
      makeCampaignPath,
      "Shows the words of a campaign before it is sealed",
      async (form, { who }) => {
        const uuid = form("uuid");
        const { record: written, faults } = writtenRecord(campaignMembers(advertising.currency), form);
        const record = { schema: campaignSchema, currency: advertising.currency, ...written };
        const made = await advertising.madeCampaign(who, { uuid, record });
        if (!made.ok) return ownerRefusedPage(made);
        if (made.value.kind === "faulty")
          return campaignForm(deps, who, { uuid, record, faults: [...faults, ...made.value.faults] });
        return sealPage(deps, who, { uuid, campaign_id: form("/campaign_id") }, made.value.ready);
      },
    ),
    ...adRoutes(deps),
    ownForm(
      deps,
      sealPath,
      "Delivers a campaign or an ad that a passkey sealed",
      async (form, { who, network }) => {
        const sealed = { ...sealedIn(form), campaign_id: form("campaign_id"), network };
        const done = await advertising.deliver(who, sealed);
        return done.ok ? donePage(sealed.uuid, done.value) : ownerRefusedPage(done);
      },
      recordFormBytesMax,
    ),
  ];
}

const uuidLength = 36;

function adRoutes(deps: CampaignDeps): readonly Route[] {
  const { advertising } = deps;
  return [
    ownForm(deps, newAdPath, "A form of ads", async (form, { who }) => {
      const [uuid, campaign_id] = [form("uuid"), form("campaign_id")];
      const own = await ownWith(deps, who, uuid, sealingRoles);
      if ("kind" in own) return own;
      return adForm(deps, who, { uuid, record: { campaign_id }, faults: [] });
    }),
    ownForm(deps, editAdPath, "Shows an ad in its form", async (form, { who }) => {
      const [uuid, campaign_id] = [form("uuid"), form("campaign_id")];
      const own = await ownWith(deps, who, uuid, sealingRoles);
      if ("kind" in own) return own;
      const read = await advertising.ad({ uuid, campaign_id, ad_id: form("ad_id") });
      if (!read.ok) return ownerRefusedPage(read);
      const shown = read.value["schema"] === adProductSchema ? productForm : adForm;
      return shown(deps, who, { uuid, record: read.value, faults: [] });
    }),
    ownForm(deps, newProductPath, "A form of sponsored products", async (form, { who }) => {
      const [uuid, campaign_id] = [form("uuid"), form("campaign_id")];
      const own = await ownWith(deps, who, uuid, sealingRoles);
      if ("kind" in own) return own;
      return productForm(deps, who, { uuid, record: { campaign_id }, faults: [] });
    }),
    ownForm(
      deps,
      makeProductPath,
      "Shows what is wrong with a sponsored product, or its words before it is sealed",
      async (form, { who }) => {
        const uuid = form("uuid");
        const { record: written, faults } = writtenRecord(productMembers, form);
        const record = { schema: adProductSchema, ...written };
        const made = await advertising.madeAd(who, { uuid, record });
        if (!made.ok) return ownerRefusedPage(made);
        if (made.value.kind === "ready")
          return sealPage(deps, who, { uuid, campaign_id: form("/campaign_id") }, made.value.ready);
        return productForm(deps, who, { uuid, record, faults: allFaults(faults, made.value.faults) });
      },
    ),
    ownForm(
      deps,
      makeAdPath,
      "Takes an image, and shows what is wrong with an ad, or its words before it is sealed",
      async (form, { who }) => {
        const uuid = form("uuid");
        const own = await ownWith(deps, who, uuid, sealingRoles);
        if ("kind" in own) return own;
        const { record: written, faults } = writtenRecord(recordTypes.ads.members, form);
        const sent = await imageIn(deps, form);
        const record = sent.kind === "image" ? withImage(written, sent.image) : written;
        if (sent.kind === "fault")
          return adForm(deps, who, {
            uuid,
            record,
            faults: [...faults, { pointer: "/images", detail: sent.detail }],
          });
        if (form("more") !== "") return adForm(deps, who, { uuid, record, faults: [] });
        const made = await advertising.madeAd(who, { uuid, record });
        if (!made.ok) return ownerRefusedPage(made);
        if (made.value.kind === "ready")
          return sealPage(deps, who, { uuid, campaign_id: form("/campaign_id") }, made.value.ready);
        return adForm(deps, who, { uuid, record, faults: allFaults(faults, made.value.faults) });
      },
      adFormBytesMax,
    ),
    ownForm(deps, removePath, "Shows the words by which an ad is taken out", async (form, { who }) => {
      const [uuid, campaign_id] = [form("uuid"), form("campaign_id")];
      const action = form("action") === "delete" ? "delete" : "withdraw";
      const ready = await advertising.removal(who, { uuid, campaign_id, ad_id: form("ad_id"), action });
      return ready.ok ? sealPage(deps, who, { uuid, campaign_id }, ready.value) : ownerRefusedPage(ready);
    }),
  ];
}

type Sent =
  | { readonly kind: "none" }
  | { readonly kind: "image"; readonly image: AdImage }
  | { readonly kind: "fault"; readonly detail: string };

/** The image that a form brings is stored, whatever becomes of the ad: one that no ad names is forgotten. */
async function imageIn({ advertising }: CampaignDeps, form: Form): Promise<Sent> {
  const text = form("image");
  if (text === "") return { kind: "none" };
  const bytes = parseBase64(text);
  if (bytes === null) return { kind: "fault", detail: texts().adForm.imageNone };
  const stored = await advertising.image({ uuid: form("uuid"), bytes });
  return stored.ok ? { kind: "image", image: stored.value } : { kind: "fault", detail: stored.detail };
}

function withImage(record: JsonObject, { bytes: _, ...image }: AdImage): JsonObject {
  const images = Array.isArray(record["images"]) ? record["images"] : [];
  return { ...record, images: [...images, image] };
}

interface OfCampaign {
  readonly uuid: string;
  readonly campaign_id: string;
}

function campaignPath({ uuid, campaign_id }: OfCampaign): string {
  return `/campaigns/${uuid}.${campaign_id}`;
}

function sealPage(deps: CampaignDeps, who: SignedIn, of: OfCampaign, ready: ReadyToSeal): PageAnswer {
  const { sealTitle: title, seal: button } = texts();
  const back = campaignsPath(of.uuid);
  return sealPageAt(deps, who, ready, { action: sealPath, fields: { ...of }, title, button, back });
}

function donePage(uuid: string, { kind, campaign_id, ad_id }: Advertised): PageAnswer {
  const rows = [
    [texts().campaign, link(campaignPath({ uuid, campaign_id }), campaign_id)] as const,
    ...(ad_id === null ? [] : [[texts().ad, code(ad_id)] as const]),
  ];
  const back = paragraph(link(campaignsPath(uuid), texts().back));
  return cardPage(texts().done[kind], facts(rows), paragraph(texts().doneWords), back);
}

// What is shown of campaigns.

function amount(millionths: number, currency: string): string {
  return `${decimalOf(BigInt(millionths))} ${currency}`;
}

function stateOf(
  { state, starts_at_ms, ends_at_ms }: Omit<CampaignFacts, "net_price" | "sealed">,
  nowMs: number,
) {
  if (state === "stopped") return texts().states.stopped;
  if (nowMs >= ends_at_ms) return texts().states.over;
  return texts().states[nowMs < starts_at_ms ? "not_begun" : state];
}

function campaignTable(campaigns: readonly ListedCampaign[], nowMs: number): ComponentChild {
  if (campaigns.length === 0) return paragraph(texts().none);
  const rows = campaigns.map(({ facts: of, renders, budget, spent }) => ({
    key: of.campaign_id,
    cells: [
      link(campaignPath({ uuid: of.business_uuid, campaign_id: of.campaign_id }), of.campaign_id),
      stateOf(of, nowMs),
      shownNumber(renders),
      amount(spent, of.currency),
      amount(budget, of.currency),
      shortTime(formatTimestamp(of.starts_at_ms)),
      shortTime(formatTimestamp(of.ends_at_ms)),
    ],
  }));
  return dataTable(texts().caption, texts().columns, rows);
}

interface Shown {
  readonly own: OwnBusiness;
  readonly form_code: string;
  readonly nowMs: number;
}

function campaignContent(campaign: OwnCampaign, shown: Shown): ComponentChild {
  const { report, terms, spent, spent_today, day_max } = campaign;
  const { own, form_code } = shown;
  const { uuid } = own.party;
  const { campaign_id, currency } = report;
  const fields = { uuid, campaign_id };
  const words = texts().facts;
  return h(
    "div",
    null,
    h("h1", null, campaign_id),
    h(
      "section",
      { class: "card" },
      facts([
        [words.state, stateOf(report, shown.nowMs)],
        ...(report.stopped === null ? [] : ([[words.stopped, report.stopped.statement]] as const)),
        [words.price, amount(terms.gross_price, currency)],
        [words.budget, amount(terms.budget, currency)],
        [words.spent, amount(spent, currency)],
        [words.left, amount(Math.max(0, terms.budget - spent), currency)],
        [words.today, amount(spent_today, currency)],
        [words.dayMax, amount(day_max, currency)],
        [words.renders, shownNumber(report.renders)],
        [words.from, shortTime(formatTimestamp(terms.starts_at_ms))],
        [words.until, shortTime(formatTimestamp(terms.ends_at_ms))],
      ]),
      maySeal(own, bindingRoles)
        ? plainForm({ action: changePath, form_code, fields, button: texts().change })
        : paragraph(texts().notYours),
    ),
    section("companies", texts().companies, companyTable(campaign, fields)),
    section(
      "ads",
      texts().ads,
      adTable(campaign.ads, fields, maySeal(own, sealingRoles) ? form_code : null),
      campaign.next.ads === null
        ? null
        : paragraph(link(`${campaignPath(fields)}?cursor=${campaign.next.ads}`, texts().adsNext)),
      maySeal(own, sealingRoles)
        ? [
            plainForm({ action: newAdPath, form_code, fields, button: texts().newAd }),
            plainForm({ action: newProductPath, form_code, fields, button: texts().newProduct }),
          ]
        : null,
    ),
    paragraph(link(campaignsPath(uuid), texts().back)),
  );
}

function companyTable({ companies, next, report }: OwnCampaign, of: OfCampaign): ComponentChild {
  if (companies.length === 0) return paragraph(texts().companiesNone);
  const rows = companies.map(({ company, legal_name, renders, reversed, clicks, spent, last_at_ms }) => ({
    key: company,
    cells: [
      legal_name ?? code(company),
      shownNumber(renders),
      shownNumber(reversed),
      shownNumber(clicks),
      amount(spent, report.currency),
      shortTime(formatTimestamp(last_at_ms)),
    ],
  }));
  const columns = texts().companyColumns;
  return [
    dataTable(texts().companiesCaption, columns, rows),
    next.companies === null
      ? null
      : paragraph(link(`${campaignPath(of)}?cursor=${next.companies}`, texts().companiesNext)),
  ];
}

/** Without a form's code nobody takes an ad out. */
function adTable(ads: readonly AdFacts[], of: OfCampaign, form_code: string | null): ComponentChild {
  if (ads.length === 0) return paragraph(texts().adsNone);
  const rows = ads.map(({ ad_id, product, countries, keywords, state, published_at_ms }) => {
    const act = (path: string, action: string, button: string, label: string) =>
      form_code === null || state === "deleted"
        ? null
        : plainForm({ action: path, form_code, fields: { ...of, ad_id, action }, button, label });
    return {
      key: ad_id,
      cells: [
        code(ad_id),
        product === undefined ? texts().adKinds.ad : [`${texts().adKinds.product} `, code(product)],
        countries.join(", "),
        keywords.join(", "),
        texts().adStates[state],
        shortTime(formatTimestamp(published_at_ms)),
        act(editAdPath, "edit", texts().edit, texts().editNamed(ad_id)),
        state === "withdrawn"
          ? null
          : act(removePath, "withdraw", texts().withdraw, texts().withdrawNamed(ad_id)),
        act(removePath, "delete", texts().remove, texts().removeNamed(ad_id)),
      ],
    };
  });
  return dataTable(texts().adsCaption, texts().adColumns, rows);
}

// The forms.

interface Written {
  readonly uuid: string;
  readonly record: JsonObject;
  readonly faults: readonly ShownFault[];
}

/** What is written of a campaign; it is judged by the reader of its sealed bytes. */
function campaignMembers(currency: string): Members {
  const words = texts().form;
  return {
    campaign_id: formOf(campaignIdForm, words.campaign_id),
    price: money(words.price(currency)),
    budget: money(words.budget(currency)),
    starts_at: timestamp(words.starts_at),
    ends_at: timestamp(words.ends_at),
    paused: boolean(words.paused),
  };
}

/** The terms in force as they were written. */
function recordOf({ report, terms }: OwnCampaign): JsonObject {
  return {
    campaign_id: report.campaign_id,
    price: decimalOf(BigInt(terms.gross_price)),
    budget: decimalOf(BigInt(terms.budget)),
    starts_at: formatTimestamp(terms.starts_at_ms),
    ends_at: formatTimestamp(terms.ends_at_ms),
    paused: terms.paused,
  };
}

function campaignForm(
  { advertising, challenges }: CampaignDeps,
  who: SignedIn,
  { uuid, record, faults }: Written,
): PageAnswer {
  const { title, make } = texts().form;
  return recordFormPage(
    { members: campaignMembers(advertising.currency), record, faults },
    {
      title,
      action: makeCampaignPath,
      fields: { uuid, form_code: challenges.formCode(who.session.session) },
      buttons: { make, moreRows: texts().adForm.moreRows },
      back: campaignsPath(uuid),
    },
  );
}

/** What is written of a sponsored product; it is judged by the reader of its sealed bytes. */
const productMembers: Members = {
  campaign_id: formOf(campaignIdForm, texts().productForm.campaign_id),
  record_id: text(64, texts().productForm.record_id, "identifier"),
  countries: countryCodes(texts().productForm.countries),
  allow_repeats: optional(boolean(texts().productForm.allow_repeats)),
};

function productForm({ challenges }: CampaignDeps, who: SignedIn, { uuid, record, faults }: Written) {
  return recordFormPage(
    { members: productMembers, record, faults },
    {
      title: texts().productForm.title,
      action: makeProductPath,
      fields: { uuid, form_code: challenges.formCode(who.session.session) },
      buttons: texts().adForm,
      back: campaignsPath(uuid),
    },
  );
}

function adForm({ challenges }: CampaignDeps, who: SignedIn, { uuid, record, faults }: Written): PageAnswer {
  const { title, image, imageWords, imageTooLarge, make, moreRows } = texts().adForm;
  const file = {
    type: "file",
    accept: imageMediaTypes.join(","),
    "data-into": "image",
    "data-bytes": imageBytesMax,
    "data-too-large": imageTooLarge,
  };
  return recordFormPage(
    { members: recordTypes.ads.members, record, faults },
    {
      title,
      action: makeAdPath,
      fields: { uuid, form_code: challenges.formCode(who.session.session) },
      buttons: { make, moreRows },
      back: campaignsPath(uuid),
      more: [
        h("label", null, image, h("input", file)),
        h("textarea", { name: "image", hidden: true }),
        h("p", { class: "quiet small" }, imageWords),
      ],
    },
  );
}
