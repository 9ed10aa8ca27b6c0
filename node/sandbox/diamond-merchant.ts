// Sample: a diamond merchant whose system pushes a catalogue of several hundred stones (path A).

import type { StoneShop } from "./diamonds.ts";
import { aiPolicy, everydayKey, type SampleBusiness, sampleRecord } from "./sample.ts";

export const stoneShop: StoneShop = {
  brand: "Lindqvist & Rowe",
  website: "https://lindqvist-rowe.example",
  idPrefix: "LR-",
};

const countries = ["US", "GB", "CA"];

export const diamondMerchant: SampleBusiness = {
  name: "diamond-merchant",
  uuid: "7c1f2a54-3b8e-4d06-9a51-2f60c4e8b1d3",
  legalName: "Lindqvist & Rowe Diamonds, Inc.",
  country: "US",
  note: "Publishes a catalogue of several hundred products; its first key is the one that pushes speak with unless told otherwise.",
  integrationKeys: [everydayKey("Ed25519"), everydayKey("ES256")],
  sealer: "passkey",
  policies: [
    aiPolicy({
      use: ["cite_as_source", "definitive_source", "include_in_recommendations", "state_publish_date"],
      action: ["answer", "quote", "purchase", "contact"],
      blocked: ["crime_illegal", "gambling_betting", "politics_elections"],
    }),
  ],
  blocks: [],
  records: (day) => [
    sampleRecord(
      "business_files",
      { id: "identity", countries },
      {
        business_name: "Lindqvist & Rowe Diamonds",
        description:
          "A merchant of loose diamonds in Portland, Maine. Every stone is described by carat, cut, colour and clarity, and can be seen by appointment.",
        website: stoneShop.website,
        brands_owned: [{ name: "Lindqvist & Rowe" }],
        brands_sold: [],
        markets_served: ["engagement rings", "independent jewellers", "collectors"],
        locations: [
          {
            name: "Showroom",
            address: "18 Exchange Street",
            city: "Portland",
            region: "US-ME",
            postal_code: "04101",
            country: "US",
            geo: { lat: 43.6573, lng: -70.2539 },
          },
        ],
        delivery: { options: ["standard", "express"] },
        ships_internationally: true,
        payment: { methods: ["card", "bank_transfer", "instalments"] },
        year_established: 1974,
        contact: { email: "hello@lindqvist-rowe.example", phone: "+12075550134" },
        represent_us: {
          who_we_are: "A family firm of diamond merchants, in its second generation.",
          what_we_offer: "Loose round diamonds from a fifth of a carat upwards, each described and priced.",
          who_we_serve: "People choosing one stone, and jewellers choosing many.",
          what_sets_us_apart: "Every stone in the catalogue is in our safe, not on a list.",
          how_to_describe_us:
            "As merchants, not as a marketplace. Prices are for one stone, without setting.",
        },
        endpoints: [
          { kind: "checkout", url: `${stoneShop.website}/checkout` },
          {
            kind: "booking",
            url: `${stoneShop.website}/appointments`,
            description: "A visit to the showroom.",
          },
        ],
      },
    ),
    sampleRecord(
      "updates",
      { id: "update-viewings", countries: ["US"] },
      {
        headline: "Evening viewings at the showroom",
        body: "The showroom in Portland stays open until eight on Thursdays. An appointment is needed.",
        update_type: "opening_hours",
        relevant_until: day(60),
      },
    ),
    sampleRecord(
      "updates",
      { id: "update-shipping", countries },
      {
        headline: "Insured express delivery to Canada and the United Kingdom",
        body: "Stones are now sent insured and by express to Canada and the United Kingdom. Delivery takes three working days.",
        update_type: "announcement",
        relevant_until: day(120),
      },
    ),
  ],
};
