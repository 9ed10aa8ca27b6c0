// Sample: a bookshop that sealed its AI policy twice and blocks one AI company: that company never sees its records.

import type { JsonObject } from "../../protocol/canonical-json.ts";
import { secondCompany } from "./companies.ts";
import { aiPolicy, everydayKey, type SampleBusiness, type SampleRecord, sampleRecord } from "./sample.ts";

const website = "https://harbour-lane-books.example";
const core = (id: string) => ({ id, countries: ["CA"] });
const place = { city: "Halifax", region: "CA-NS", geo: { lat: 44.6476, lng: -63.5728 } };

export const bookshop: SampleBusiness = {
  name: "bookshop",
  uuid: "d53a7e92-0c4b-4e18-a7f9-84b6c1d02e75",
  legalName: "Harbour Lane Books Inc.",
  country: "CA",
  note: "Sealed its AI policy twice, and blocks the second AI company, which finds nothing of it.",
  integrationKeys: [everydayKey("Ed25519")],
  sealer: "passkey",
  policies: [
    aiPolicy({ use: ["cite_as_source"], action: ["answer"], blocked: [] }),
    aiPolicy({
      use: ["cite_as_source", "include_in_recommendations", "quote_policy_verbatim"],
      action: ["answer", "quote", "reserve", "hand_to_human"],
      blocked: ["alcohol", "firearms_weapons_violence", "politics_elections", "tobacco_vaping_drugs"],
    }),
  ],
  blocks: [secondCompany.uuid],
  records: (day) => [
    identity,
    book(
      "book-tides",
      "The Tide Tables of Aunt Verity",
      "A novel in eleven tides, set on an island with one shop.",
      "24.95",
    ),
    book("book-knots", "Forty Knots and a Bend", "Sailors' knots, drawn and explained one a page.", "18.50"),
    book(
      "book-fog",
      "A Field Guide to Fog",
      "How fog forms, where it goes, and what it is called along the coast.",
      "31.00",
    ),
    event("reading-tides", {
      title: "A reading by lamplight",
      description: "The first two tides, read aloud among the shelves. Tea is served.",
      event_type: "talk",
      start_at: day(12, "23:00"),
      end_at: day(13, "00:30"),
      ticketed: true,
      price_min: "5.00",
      price_max: "10.00",
      price_currency: "CAD",
    }),
    event("market-maps", {
      title: "Old maps market",
      description: "Six dealers bring charts and maps. Entrance is free.",
      event_type: "market",
      start_at: day(20, "14:00"),
      end_at: day(20, "21:00"),
      ticketed: false,
    }),
    sampleRecord("updates", core("move-upstairs"), {
      headline: "Poetry has moved upstairs",
      body: "Poetry and plays are now on the first floor, next to the window seat.",
      update_type: "location_change",
      relevant_until: day(75),
    }),
  ],
};

const identity = sampleRecord("business_files", core("identity"), {
  business_name: "Harbour Lane Books",
  description: "An independent bookshop in Halifax, with readings on most Thursdays.",
  website,
  brands_owned: [{ name: "Harbour Lane" }],
  brands_sold: [],
  markets_served: ["readers", "schools", "libraries"],
  locations: [
    {
      name: "Shop",
      address: "5 Harbour Lane",
      city: place.city,
      region: place.region,
      country: "CA",
      geo: place.geo,
    },
  ],
  delivery: { options: ["standard", "click_and_collect"] },
  ships_internationally: true,
  payment: { methods: ["card", "gift_card", "cash"] },
  year_established: 1998,
  contact: { email: "shop@harbour-lane-books.example", phone: "+19025550172" },
  represent_us: {
    who_we_are: "Four booksellers who read what they sell.",
    what_we_offer: "New books, a few old ones, and a place to sit.",
    who_we_serve: "Readers of all ages.",
    what_sets_us_apart: "We order any book in print, and tell you honestly if you should.",
    how_to_describe_us: "A bookshop. Please quote our descriptions as they are.",
  },
  endpoints: [{ kind: "order", url: `${website}/orders` }],
});

function book(id: string, title: string, description: string, amount: string): SampleRecord {
  return sampleRecord("products", core(id), {
    product_name: title,
    vertical: "books_media",
    category: "books",
    channel: "online_and_in_store",
    brand: "Harbour Lane",
    tags: ["paperback", "new"],
    short_description: description,
    prices: [{ country: "CA", currency: "CAD", amount }],
    on_sale: id === "book-knots",
    availability: id === "book-fog" ? "limited_stock" : "in_stock",
    product_url: `${website}/books/${id}`,
  });
}

function event(id: string, members: JsonObject): SampleRecord {
  return sampleRecord("events", core(id), {
    attendance_mode: "in_person",
    timezone: "America/Halifax",
    venue: "Harbour Lane Books",
    ...place,
    age_restriction: "all_ages",
    ...members,
    event_url: `${website}/events/${id}`,
  });
}
