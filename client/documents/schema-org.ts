// Events, jobs and organisations as web pages describe them: JSON-LD with the types of schema.org, alone, in a graph or in a list of
// items.
//   S1. A property that no member has is passed over with a note; one that a member has and that cannot be read is a fault.
//   S2. The countries that a record is published for do not follow from where a thing is: they are said beside the file.

import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import { subdivisions } from "../../protocol/records/vocabularies/subdivisions.ts";
import { isObject } from "../../std/json-pointer.ts";
import type { FeedItem } from "../feeds/feed-item.ts";
import { all, type Node, nodesOf, textsOf } from "../feeds/json-ld.ts";
import { readInstant } from "./local-time.ts";
import { type Beside, RecordDraft } from "./record-draft.ts";

/** The types that are described so. */
export type DescribedType = "events" | "jobs" | "business_files";

const eventTypes: Readonly<Record<string, string | null>> = {
  Event: null,
  BusinessEvent: null,
  ChildrensEvent: "family",
  ComedyEvent: null,
  CourseInstance: "class",
  DanceEvent: null,
  EducationEvent: null,
  ExhibitionEvent: "exhibition",
  Festival: "festival",
  FoodEvent: null,
  Hackathon: null,
  LiteraryEvent: null,
  MusicEvent: "concert",
  SaleEvent: "sale",
  ScreeningEvent: "screening",
  SocialEvent: null,
  SportsEvent: "sports_event",
  TheaterEvent: "theatre",
  VisualArtsEvent: "exhibition",
};
const businessTypes =
  "Organization Corporation LocalBusiness OnlineBusiness OnlineStore NGO EducationalOrganization AutomotiveBusiness EntertainmentBusiness FinancialService FoodEstablishment Bakery BarOrPub Brewery CafeOrCoffeeShop Restaurant GovernmentOffice HealthAndBeautyBusiness HomeAndConstructionBusiness LegalService Library LodgingBusiness Hotel MedicalBusiness ProfessionalService RealEstateAgent SportsActivityLocation Store BikeStore BookStore ClothingStore ComputerStore ConvenienceStore DepartmentStore ElectronicsStore Florist FurnitureStore GardenStore GroceryStore HardwareStore HobbyShop HomeGoodsStore JewelryStore LiquorStore MusicStore PetStore ShoeStore SportingGoodsStore ToyStore TravelAgency";
const typesOf: Readonly<Record<DescribedType, ReadonlySet<string>>> = {
  events: new Set(Object.keys(eventTypes)),
  jobs: new Set(["JobPosting"]),
  business_files: new Set(businessTypes.split(" ")),
};
const lists = ["@graph", "itemListElement", "item"];

/** Whether a value is JSON-LD. */
export function isJsonLd(value: JsonValue): boolean {
  return isObject(value) && ("@type" in value || "@graph" in value);
}

/** The types of records that a value describes. */
export function describedTypes(value: JsonValue): readonly DescribedType[] {
  return (Object.keys(typesOf) as DescribedType[]).filter((type) => thingsIn(value, type).length > 0);
}

/** The things of one type in a value, as records. */
export function describedRecords(
  place: number,
  value: JsonValue,
  { type, beside }: { readonly type: DescribedType; readonly beside: Beside },
): readonly FeedItem[] {
  return thingsIn(value, type).map((thing) => {
    const draft = new RecordDraft(type, beside);
    const takers = takersOf[type];
    takeId(draft, thing);
    if (type === "events") takeKind(draft, thing);
    for (const [name, each] of Object.entries(thing)) {
      if (name.startsWith("@") || name === "identifier") continue;
      const take = Object.hasOwn(takers, name) ? takers[name] : undefined;
      if (take === undefined) draft.passOver(name, shown(each));
      else take(draft, { name, value: each, thing });
    }
    return draft.finished(place);
  });
}

function thingsIn(node: JsonValue, type: DescribedType): readonly Node[] {
  if (!isObject(node)) return [];
  if (namesOf(node).some((name) => typesOf[type].has(name))) return [node];
  return lists.flatMap((name) => all(node[name])).flatMap((each) => thingsIn(each, type));
}

function namesOf(node: Node): readonly string[] {
  return all(node["@type"]).flatMap((each) => (typeof each === "string" ? [termName(each)] : []));
}

/** `https://schema.org/MusicEvent` is `MusicEvent`. */
function termName(text: string): string {
  return text.replace(/^(?:https?:\/\/schema\.org\/|schema:)/, "");
}

function shown(value: JsonValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

interface Said {
  readonly name: string;
  readonly value: JsonValue;
  readonly thing: Node;
}

type Take = (draft: RecordDraft, said: Said) => void;

/** The identifier of the thing, or else its address in the graph. */
function takeId(draft: RecordDraft, thing: Node): void {
  const [name, value] =
    thing["identifier"] === undefined ? ["@id", thing["@id"]] : ["identifier", thing["identifier"]];
  const texts = all(value).flatMap((each) => textsOf(isObject(each) ? (each["value"] ?? each) : each));
  takeOne(draft, name, "business_product_id", texts, value);
}

function takeKind(draft: RecordDraft, thing: Node): void {
  const kinds = [...new Set(namesOf(thing).flatMap((name) => eventTypes[name] ?? []))];
  if (kinds.length === 1) draft.say("@type", "event_type", kinds[0] ?? "");
}

/** Says the one text; several that differ, or a value without any, are a fault. */
function takeOne(
  draft: RecordDraft,
  name: string,
  path: string,
  texts: readonly string[],
  value: JsonValue | undefined,
): void {
  const distinct = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ""))];
  if (distinct.length === 1) draft.say(name, path, distinct[0] ?? "");
  else if (all(value).length > 0 && value !== "")
    draft.unusable(name, path, {
      value: shown(value ?? null),
      detail:
        distinct.length > 1
          ? "Says several things: write one."
          : "Must be a text, a number, or something with a name.",
    });
}

const text =
  (path: string, change: (written: string) => string = (written) => written): Take =>
  (draft, { name, value }) =>
    takeOne(draft, name, path, textsOf(value).map(change), value);

/** Codes of schema.org as those of the vocabulary; any other word is read as it is. */
const coded = (path: string, codes: Readonly<Record<string, string>>): Take =>
  text(path, (written) => codes[termName(written)] ?? written);

/** What says nothing that a reader of the record needs. */
const ignored: Take = () => {};

const language = text("language", (written) => written.split(/[-_]/, 1)[0]?.toLowerCase() ?? "");

const list =
  (path: string): Take =>
  (draft, { name, value }) => {
    const texts = textsOf(value);
    if (texts.some((each) => each.includes("|")))
      draft.unusable(name, path, {
        value: shown(value),
        detail: "Has a | in a name, which separates names.",
      });
    else if (texts.length === 0) takeOne(draft, name, path, texts, value);
    else draft.say(name, path, texts.join("|"));
  };

// Places.

function takeGeo(draft: RecordDraft, name: string, geo: Node): void {
  for (const [property, path] of [
    ["latitude", "geo.lat"],
    ["longitude", "geo.lng"],
  ] as const)
    takeOne(draft, `${name}.${property}`, path, textsOf(geo[property]), geo[property]);
}

/** The code of a country that is written as one, or by its name. */
function countryOf(value: JsonValue | undefined): string | null {
  const [written = "", more] = textsOf(value);
  if (more !== undefined) return null;
  if (countries.codes.has(written)) return written;
  return (
    countries.entries.find(({ name }) => name.toLowerCase() === written.trim().toLowerCase())?.code ?? null
  );
}

/** The code of a part of a country, by its code with or without the country's, or by its name; null if nobody can know. */
function regionOf(written: string, country: string | null): string | null {
  if (subdivisions.codes.has(written)) return written;
  if (country === null) return null;
  if (subdivisions.codes.has(`${country}-${written}`)) return `${country}-${written}`;
  const named = subdivisions.entries.filter(
    ({ code, name }) => code.startsWith(`${country}-`) && name.toLowerCase() === written.toLowerCase(),
  );
  return named.length === 1 ? (named[0]?.code ?? null) : null;
}

function takeRegion(draft: RecordDraft, name: string, address: Node): void {
  const [written] = textsOf(address["addressRegion"]);
  if (written === undefined) return;
  const region = regionOf(written.trim(), countryOf(address["addressCountry"]));
  if (region !== null) draft.say(name, "region", region);
  else
    draft.unusable(name, "region", {
      value: written,
      detail: "Must be a code of ISO 3166-2 such as US-CA, or its part or name beside an addressCountry.",
    });
}

/** The one place where an event or a job is. */
const place =
  (own: { readonly venue?: string; readonly address?: string }): Take =>
  (draft, { name, value }) => {
    const places = all(value).filter((each) => !isObject(each) || !namesOf(each).includes("VirtualLocation"));
    const [where, more] = places;
    if (where === undefined) return;
    if (more !== undefined) {
      draft.unusable(name, "city", {
        value: shown(value),
        detail: "Names several places: a record has one.",
      });
      return;
    }
    if (!isObject(where)) {
      takeOne(draft, name, own.venue ?? "city", textsOf(where), where);
      return;
    }
    if (own.venue !== undefined)
      takeOne(draft, `${name}.name`, own.venue, textsOf(where["name"]), where["name"]);
    for (const geo of nodesOf(where["geo"])) takeGeo(draft, `${name}.geo`, geo);
    const address = where["address"];
    if (!isObject(address)) {
      if (own.address !== undefined)
        takeOne(draft, `${name}.address`, own.address, textsOf(address), address);
      else if (address !== undefined) draft.passOver(`${name}.address`, shown(address));
      return;
    }
    if (own.address !== undefined)
      takeOne(
        draft,
        `${name}.address.streetAddress`,
        own.address,
        textsOf(address["streetAddress"]),
        address["streetAddress"],
      );
    takeOne(
      draft,
      `${name}.address.addressLocality`,
      "city",
      textsOf(address["addressLocality"]),
      address["addressLocality"],
    );
    takeRegion(draft, `${name}.address.addressRegion`, address);
  };

// Events.

const standing: Take = (draft, { name, value }) => {
  const [status = ""] = textsOf(value).map(termName);
  if (status === "EventScheduled" || status === "EventRescheduled") return;
  draft.leaveOut(
    status === "EventCancelled" || status === "EventPostponed" ? "expired" : "value_invalid",
    name,
    {
      value: status,
      detail: "Only what takes place as it is written is published: EventScheduled, or EventRescheduled.",
    },
  );
};

/** Offers are tickets: the lowest and the highest price, all in one currency. */
const tickets: Take = (draft, { name, value }) => {
  const offers = nodesOf(value);
  if (offers.length > 0) draft.put("ticketed", true);
  const prices = offers.flatMap((offer) =>
    ["price", "lowPrice", "highPrice"].flatMap((member) => textsOf(offer[member])),
  );
  const currencies = [...new Set(offers.flatMap((offer) => textsOf(offer["priceCurrency"])))];
  if (prices.length === 0) return;
  const amounts = prices.map(Number);
  if (amounts.some((amount) => !(amount >= 0)) || currencies.length !== 1) {
    for (const path of ["price_min", "price_max", "price_currency"])
      draft.unusable(name, path, {
        value: shown(value),
        detail: "Prices must be amounts such as 19.90, all with one priceCurrency.",
      });
    return;
  }
  const priceOf = (amount: number): string => prices[amounts.indexOf(amount)] ?? "";
  draft.say(name, "price_min", priceOf(Math.min(...amounts)));
  draft.say(name, "price_max", priceOf(Math.max(...amounts)));
  draft.say(name, "price_currency", currencies[0] ?? "");
};

const events: Readonly<Record<string, Take>> = {
  name: text("title"),
  description: text("description"),
  inLanguage: language,
  eventAttendanceMode: coded("attendance_mode", {
    OfflineEventAttendanceMode: "in_person",
    OnlineEventAttendanceMode: "online",
    MixedEventAttendanceMode: "hybrid",
  }),
  startDate: text("start_at"),
  endDate: text("end_at"),
  eventStatus: standing,
  location: place({ venue: "venue", address: "address" }),
  offers: tickets,
  typicalAgeRange: text("age_restriction", (range) => range.trim().replace(/^([0-9]+)-$/, "$1_plus")),
  url: text("event_url"),
};

// Jobs.

const salary: Take = (draft, { name, value }) => {
  const [pay, more] = all(value);
  const amount = isObject(pay) ? pay["value"] : undefined;
  const [low, high] = isObject(amount)
    ? [textsOf(amount["minValue"] ?? amount["value"])[0], textsOf(amount["maxValue"] ?? amount["value"])[0]]
    : [];
  const unit = isObject(amount) ? textsOf(amount["unitText"])[0] : undefined;
  const currency = isObject(pay) ? textsOf(pay["currency"])[0] : undefined;
  if (
    more !== undefined ||
    low === undefined ||
    high === undefined ||
    unit === undefined ||
    currency === undefined
  ) {
    const detail =
      "Must be one MonetaryAmount with a currency, and a value with unitText and an amount, or minValue and maxValue.";
    draft.unusable(name, "salary", { value: shown(value), detail });
    return;
  }
  draft.say(name, "salary.min", low);
  draft.say(name, "salary.max", high);
  draft.say(name, "salary.currency", currency);
  draft.say(`${name}.value.unitText`, "salary.period", unit.toLowerCase());
};

/** What the records of a job call a field of work; other classifications are passed over. */
const field: Take = (draft, { name, value }) => {
  const codes = textsOf(value).filter((word) => draft.hasCode("category", word));
  if (codes.length === 1) draft.say(name, "category", codes[0] ?? "");
  else draft.passOver(name, shown(value), "category_unknown");
};

/** Nobody can apply any more once it has passed. */
const closing: Take = (draft, said) => {
  text("closing_date")(draft, said);
  const [written = ""] = textsOf(said.value);
  const read = readInstant(written, draft.zone);
  if (read.fault === null && Date.parse(read.value) < draft.nowMs)
    draft.leaveOut("expired", said.name, {
      value: written,
      detail: "Has passed: nobody can apply any more.",
    });
};

const jobs: Readonly<Record<string, Take>> = {
  title: text("title"),
  description: text("description"),
  inLanguage: language,
  employmentType: coded("employment_type", {
    FULL_TIME: "full_time",
    PART_TIME: "part_time",
    CONTRACTOR: "contract",
    TEMPORARY: "temporary",
    INTERN: "internship",
    VOLUNTEER: "volunteer",
  }),
  jobLocationType: coded("work_arrangement", { TELECOMMUTE: "remote" }),
  baseSalary: salary,
  occupationalCategory: field,
  industry: field,
  jobLocation: place({}),
  url: text("job_url"),
  validThrough: closing,
  datePosted: ignored,
};

// Organisations, as business files.

/** Places that can be visited: of a local business its own address as well. */
function takePlaces(draft: RecordDraft, name: string, places: readonly JsonValue[]): void {
  const found = places.map((each) => {
    const address = isObject(each) ? nodesOf(each["address"])[0] : undefined;
    if (!isObject(each) || address === undefined) return null;
    const [city] = textsOf(address["addressLocality"]);
    const country = countryOf(address["addressCountry"]);
    const [geo] = nodesOf(each["geo"]);
    const [lat, lng] =
      geo === undefined
        ? []
        : ["latitude", "longitude"].map((member) => Number(textsOf(geo[member])[0] ?? Number.NaN));
    const [named] = name === "location" ? textsOf(each["name"]) : [];
    const [street] = textsOf(address["streetAddress"]);
    const [postal] = textsOf(address["postalCode"]);
    const [written] = textsOf(address["addressRegion"]);
    const region = written === undefined ? null : regionOf(written.trim(), country);
    const isWhole =
      (written === undefined || region !== null) &&
      (geo === undefined || (Number.isFinite(lat) && Number.isFinite(lng)));
    if (city === undefined || country === null || !isWhole) return null;
    return {
      ...(named === undefined ? {} : { name: named }),
      ...(street === undefined ? {} : { address: street }),
      city,
      ...(region === null ? {} : { region }),
      ...(postal === undefined ? {} : { postal_code: postal }),
      country,
      ...(geo === undefined ? {} : { geo: { lat: lat ?? 0, lng: lng ?? 0 } }),
    };
  });
  if (found.includes(null))
    draft.unusable(name, "locations", {
      value: shown(places as JsonValue),
      detail:
        "A place needs an address with addressLocality and addressCountry, an addressRegion of ISO 3166-2, and numbers in its geo.",
    });
  else draft.put("locations", found as unknown as JsonValue);
}

const visited: Take = (draft, { name, value, thing }) => {
  if (name === "location") takePlaces(draft, name, all(value));
  else if (
    thing["location"] !== undefined ||
    namesOf(thing).every((each) => each === "Organization" || each === "Corporation")
  )
    draft.passOver(name, shown(value));
  else takePlaces(draft, name, [thing]);
};

const paid: Take = (draft, { name, value }) => {
  const known: Readonly<Record<string, string>> = {
    "credit card": "card",
    "debit card": "card",
    check: "cheque",
  };
  const words = textsOf(value)
    .flatMap((each) => each.split(","))
    .map((word) => word.trim().toLowerCase());
  const codes = words.map((word) => known[word] ?? word.replaceAll(/[ -]+/g, "_"));
  draft.say(name, "payment.methods", [...new Set(codes)].join("|"));
};

const organisations: Readonly<Record<string, Take>> = {
  name: text("business_name"),
  description: text("description"),
  url: text("website"),
  brand: list("brands_owned.name"),
  areaServed: list("markets_served"),
  address: visited,
  location: visited,
  geo: ignored,
  telephone: text("contact.phone"),
  email: text("contact.email", (written) => written.replace(/^mailto:/i, "")),
  foundingDate: text("year_established", (written) => /^[0-9]{4}(?=-|$)/.exec(written)?.[0] ?? written),
  paymentAccepted: paid,
};

const takersOf: Readonly<Record<DescribedType, Readonly<Record<string, Take>>>> = {
  events,
  jobs,
  business_files: organisations,
};
