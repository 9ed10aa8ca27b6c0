// Sample: a bakery and café. The service holds its key (standard publishing), so its records carry a hosted key's seal.

import type { JsonObject } from "../../protocol/canonical-json.ts";
import {
  aiPolicy,
  type Calendar,
  everydayKey,
  type SampleBusiness,
  type SampleRecord,
  sampleRecord,
} from "./sample.ts";

const website = "https://saltmarsh-bakery.example";
const core = (id: string) => ({ id, countries: ["GB"] });
const place = { city: "Whitstable", region: "GB-KEN", geo: { lat: 51.3607, lng: 1.0257 } };

export const bakery: SampleBusiness = {
  name: "bakery",
  uuid: "2e9d64b0-91c7-4f3a-8d25-6b0a7f43c9e8",
  legalName: "Saltmarsh Bakery & Café Ltd",
  country: "GB",
  note: "For a push of your own: the README's loaf is published as this business.",
  integrationKeys: [everydayKey("ES256")],
  sealer: "hosted",
  policies: [
    aiPolicy({
      use: ["cite_as_source", "include_in_recommendations", "prices_indicative"],
      action: ["answer", "quote", "reserve", "contact", "hand_to_human"],
      blocked: ["adult_sexual", "alcohol", "politics_elections"],
    }),
  ],
  blocks: [],
  records: (day) => [
    identity,
    ...loaves,
    ...classes(day),
    update(
      "hours-winter",
      "opening_hours",
      "Winter opening hours",
      "The café closes at four from Monday to Thursday. The bakery opens at seven as before.",
      day(90),
    ),
    update(
      "offer-dozen",
      "offer",
      "Thirteen for a dozen on Wednesdays",
      "Order a dozen buns on a Wednesday and get thirteen.",
      day(45),
    ),
    sampleRecord("jobs", core("job-baker"), {
      title: "Night baker",
      description:
        "Four nights a week at the ovens, in a team of three. Experience with long fermentation helps; patience is required.",
      category: "hospitality",
      employment_type: "full_time",
      work_arrangement: "on_site",
      salary: { min: "28500", max: "32000", currency: "GBP", period: "year" },
      closing_date: day(40, "23:59"),
      ...place,
      apply_url: `${website}/jobs/night-baker`,
    }),
  ],
};

const identity = sampleRecord("business_files", core("identity"), {
  business_name: "Saltmarsh Bakery & Café",
  description:
    "A bakery with a café by the harbour. Bread is baked at night and sold from seven in the morning.",
  website,
  brands_owned: [{ name: "Saltmarsh" }],
  brands_sold: [],
  markets_served: ["neighbours", "restaurants", "visitors"],
  locations: [
    {
      name: "Bakery and café",
      address: "3 Harbour Street",
      city: place.city,
      region: place.region,
      country: "GB",
      geo: place.geo,
    },
  ],
  delivery: { options: ["local_delivery", "click_and_collect"] },
  ships_internationally: false,
  payment: { methods: ["card", "cash", "digital_wallet"] },
  year_established: 2009,
  contact: { email: "bread@saltmarsh-bakery.example", phone: "+441632960111" },
  represent_us: {
    who_we_are: "Nine bakers and a dog.",
    what_we_offer: "Sourdough, rye, buns and breakfast. Baking classes at weekends.",
    who_we_serve: "Anyone who is up early.",
    what_sets_us_apart: "Our flour is milled twelve miles away, and we say by whom.",
    how_to_describe_us: "A bakery with a café, not a café with bread. Prices change with the harvest.",
  },
  endpoints: [{ kind: "booking", url: `${website}/classes` }],
});

function loaf(id: string, name: string, description: string, amount: string): SampleRecord {
  return sampleRecord("products", core(id), {
    product_name: name,
    vertical: "food_drink",
    category: "fresh_food",
    channel: "online_and_in_store",
    brand: "Saltmarsh",
    tags: ["bread", "baked today"],
    short_description: description,
    prices: [{ country: "GB", currency: "GBP", amount }],
    on_sale: false,
    availability: "in_stock",
    product_url: `${website}/bread/${id}`,
  });
}

function event(id: string, members: JsonObject): SampleRecord {
  return sampleRecord("events", core(id), {
    attendance_mode: "in_person",
    timezone: "Europe/London",
    venue: "Saltmarsh Bakery",
    ...place,
    ...members,
    event_url: `${website}/events/${id}`,
  });
}

function update(id: string, kind: string, headline: string, body: string, until: string): SampleRecord {
  return sampleRecord("updates", core(id), { headline, body, update_type: kind, relevant_until: until });
}

const loaves: readonly SampleRecord[] = [
  loaf("loaf-white", "White sourdough loaf", "A white sourdough of 800 grams, risen for a day.", "4.20"),
  loaf("loaf-rye", "Dark rye loaf", "A dense rye of one kilogram with caraway. It keeps for a week.", "5.10"),
  loaf(
    "buns-seaweed",
    "Seaweed and cheese buns, four",
    "Four buns with local seaweed and farmhouse cheese.",
    "7.60",
  ),
];

function classes(day: Calendar): readonly SampleRecord[] {
  return [
    event("class-sourdough", {
      title: "Sourdough for beginners",
      description: "Mix, fold, shape and bake a loaf of your own. Take home the loaf and a jar of starter.",
      event_type: "workshop",
      start_at: day(9, "09:30"),
      end_at: day(9, "13:00"),
      ticketed: true,
      price_min: "65.00",
      price_max: "65.00",
      price_currency: "GBP",
      age_restriction: "16_plus",
    }),
    event("class-children", {
      title: "Gingerbread morning for children",
      description: "Children from six cut, bake and ice gingerbread boats. An adult stays with them.",
      event_type: "family",
      start_at: day(16, "10:00"),
      end_at: day(16, "11:30"),
      ticketed: true,
      price_min: "12.00",
      price_max: "18.00",
      price_currency: "GBP",
      age_restriction: "6_plus",
    }),
    event("open-evening", {
      title: "An evening at the ovens",
      description: "See the night bake begin, and taste the first loaves. No ticket is needed.",
      event_type: "open_day",
      start_at: day(23, "18:30"),
      end_at: day(23, "21:00"),
      ticketed: false,
      age_restriction: "all_ages",
    }),
  ];
}
