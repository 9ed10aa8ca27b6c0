import { describe, expect, it } from "vitest";
import { read } from "./documents.fixture.ts";

const event = {
  "@context": "https://schema.org",
  "@type": "MusicEvent",
  "@id": "https://bakery.example/jazz",
  name: "Bread and jazz",
  description: "A concert.",
  inLanguage: "en-GB",
  startDate: "2026-12-05T18:00",
  endDate: "2026-12-05T21:00:00-05:00",
  eventAttendanceMode: "https://schema.org/OfflineEventAttendanceMode",
  eventStatus: "https://schema.org/EventScheduled",
  location: {
    "@type": "Place",
    name: "The Barn",
    address: {
      streetAddress: "1 High Street",
      addressLocality: "Toronto",
      addressRegion: "Ontario",
      addressCountry: "Canada",
    },
    geo: { latitude: "43.6", longitude: -79.4 },
  },
  offers: [
    { "@type": "Offer", price: 20, priceCurrency: "CAD" },
    { "@type": "AggregateOffer", lowPrice: "12.50", highPrice: "45", priceCurrency: "CAD" },
  ],
  typicalAgeRange: "16-",
  performer: { name: "A band" },
};
const beside = { said: { countries: "CA" }, timeZone: "America/Toronto" };

describe("an event of schema.org", () => {
  it("is a record", async () => {
    const [item] = await read({ "@graph": [{ "@type": "WebPage" }, event] }, beside);
    expect([item?.notes, item?.faults]).toEqual([["performer attribute_not_in_schema"], []]);
    expect(item?.record).toEqual({
      schema: "svc/events/1",
      business_product_id: "https://bakery.example/jazz",
      title: "Bread and jazz",
      description: "A concert.",
      language: "en",
      countries: ["CA"],
      event_type: "concert",
      attendance_mode: "in_person",
      start_at: "2026-12-05T23:00:00.000Z",
      end_at: "2026-12-06T02:00:00.000Z",
      timezone: "America/Toronto",
      venue: "The Barn",
      address: "1 High Street",
      city: "Toronto",
      region: "CA-ON",
      geo: { lat: 43.6, lng: -79.4 },
      ticketed: true,
      price_min: "12.50",
      price_max: "45",
      price_currency: "CAD",
      age_restriction: "16_plus",
    });
  });

  it.each([
    ["a day in place of a time", { startDate: "2026-12-05" }, "startDate: Is a day: write the time as well"],
    [
      "an offset that no clock has",
      { startDate: "2026-12-05T18:00+99:99" },
      "startDate: +99:99 is no offset from UTC.",
    ],
    ["a status that is none", { eventStatus: "EventPostponed" }, "eventStatus: Only what takes place"],
    ["two names", { name: ["One", "Two"] }, "name: Says several things: write one."],
    [
      "a word of no vocabulary",
      { eventAttendanceMode: "Everywhere" },
      "eventAttendanceMode: Must be one of in_person, online, hybrid.",
    ],
    ["a name that is none", { name: { a: 1 } }, "name: Must be a text, a number, or something with a name."],
  ])("is left out with %s, and nothing set replaces it", async (_name, change, detail) => {
    const [item] = await read(
      { ...event, ...change },
      {
        ...beside,
        said: { ...beside.said, title: "Set", start_at: "2026-12-05T10:00Z", attendance_mode: "online" },
      },
    );
    expect(item?.record).toBeNull();
    expect(item?.left).toContainEqual(expect.stringContaining(detail));
  });

  it.each([
    [
      "several places",
      { location: [{ name: "A" }, { name: "B" }] },
      "location: Names several places: a record has one.",
    ],
    [
      "prices in two currencies",
      {
        offers: [
          { price: 1, priceCurrency: "CAD" },
          { price: 1, priceCurrency: "USD" },
        ],
      },
      "offers: Prices must be amounts",
    ],
    [
      "a part of the country that nobody knows",
      {
        location: {
          name: "A",
          address: { addressLocality: "B", addressRegion: "Nowhere", addressCountry: "CA" },
        },
      },
      "location.address.addressRegion: Must be a code of ISO 3166-2",
    ],
  ])("does not say %s", async (_name, change, detail) => {
    const [item] = await read({ ...event, ...change }, beside);
    expect(item?.faults).toEqual([]);
    expect(item?.left).toContainEqual(expect.stringContaining(detail));
  });
});

const job = {
  "@context": "https://schema.org",
  "@type": "JobPosting",
  identifier: { "@type": "PropertyValue", name: "Bakery", value: "job-7" },
  title: "Baker",
  description: "<p>Bake bread.</p>",
  datePosted: "2026-11-01",
  validThrough: "2026-12-31T23:59:59Z",
  employmentType: "FULL_TIME",
  industry: "Food",
  baseSalary: {
    "@type": "MonetaryAmount",
    currency: "GBP",
    value: { minValue: 25000, maxValue: "30000.50", unitText: "YEAR" },
  },
  jobLocation: {
    "@type": "Place",
    address: { addressLocality: "Leeds", addressRegion: "GB-LDS", addressCountry: "GB" },
  },
  hiringOrganization: { name: "Bakery" },
};
const ofJob = {
  said: { countries: "GB", language: "en", category: "hospitality", work_arrangement: "on_site" },
};

describe("a job of schema.org", () => {
  it("is a record, whose field of work is said beside it", async () => {
    const [item] = await read(job, ofJob);
    expect(item?.notes.toSorted()).toEqual([
      "description markup_removed",
      "hiringOrganization attribute_not_in_schema",
      "industry category_unknown",
    ]);
    expect(item?.faults).toEqual([]);
    expect(item?.record).toMatchObject({
      business_product_id: "job-7",
      description: "Bake bread.",
      employment_type: "full_time",
      closing_date: "2026-12-31T23:59:59.000Z",
      salary: { min: "25000", max: "30000.50", currency: "GBP", period: "year" },
      city: "Leeds",
      region: "GB-LDS",
    });
  });

  it.each([
    [
      "a kind of employment that is none",
      { employmentType: "PER_DIEM" },
      "employmentType: Must be one of full_time",
    ],
    ["two of them", { employmentType: ["FULL_TIME", "PART_TIME"] }, "employmentType: Says several things"],
    ["a time that has passed", { validThrough: "2026-11-30T12:00:00Z" }, "validThrough: Has passed"],
    [
      "a salary for no time",
      { baseSalary: { currency: "GBP", value: { value: 1, unitText: "SHIFT" } } },
      "baseSalary.value.unitText: Must be one of hour",
    ],
  ])("is left out with %s", async (_name, change, detail) => {
    const [item] = await read({ ...job, ...change }, ofJob);
    expect(item?.record).toBeNull();
    expect(item?.left).toContainEqual(expect.stringContaining(detail));
  });

  it("has no salary that cannot be read", async () => {
    const [item] = await read({ ...job, baseSalary: 25_000 }, ofJob);
    expect(item?.record).not.toHaveProperty("salary");
    expect(item?.left).toContainEqual(expect.stringContaining("baseSalary: Must be one MonetaryAmount"));
  });
});

describe("an organisation of schema.org", () => {
  const bakery = {
    "@type": "Bakery",
    "@id": "https://bakery.example/#us",
    name: "My Bakery",
    description: "We bake.",
    url: "https://bakery.example/",
    telephone: "+44 113 496 0000",
    email: "mailto:hello@bakery.example",
    foundingDate: "1987-04-01",
    brand: [{ "@type": "Brand", name: "Crumb" }, "Crust"],
    areaServed: ["Leeds", { name: "York" }],
    paymentAccepted: "Cash, Credit Card",
    address: {
      streetAddress: "1 High Street",
      addressLocality: "Leeds",
      postalCode: "LS1",
      addressCountry: "United Kingdom",
    },
    geo: { latitude: 53.8, longitude: -1.55 },
    openingHours: "Mo-Fr 08:00-17:00",
  };
  const texts = ["who_we_are", "what_we_offer", "who_we_serve", "what_sets_us_apart", "how_to_describe_us"];
  const said = {
    said: { countries: "GB", language: "en", ships_internationally: "no" },
    members: { represent_us: Object.fromEntries(texts.map((name) => [name, "Bread."])) },
  };

  it("is a business file, with what is said beside it and empty lists of what nobody said", async () => {
    const [item] = await read(bakery, said);
    expect([item?.notes, item?.faults]).toEqual([
      ["telephone value_rewritten", "openingHours attribute_not_in_schema"],
      [],
    ]);
    expect(item?.record).toMatchObject({
      business_product_id: "https://bakery.example/#us",
      brands_owned: [{ name: "Crumb" }, { name: "Crust" }],
      brands_sold: [],
      markets_served: ["Leeds", "York"],
      contact: { phone: "+441134960000", email: "hello@bakery.example" },
      year_established: 1987,
      payment: { methods: ["cash", "card"] },
      delivery: { options: [] },
      locations: [
        {
          address: "1 High Street",
          city: "Leeds",
          postal_code: "LS1",
          country: "GB",
          geo: { lat: 53.8, lng: -1.55 },
        },
      ],
    });
  });

  it("of no place that can be visited has its address passed over", async () => {
    const [item] = await read({ ...bakery, "@type": "Organization" }, said);
    expect(item?.record).toMatchObject({ locations: [] });
    expect(item?.notes).toContain("address attribute_not_in_schema");
  });

  it.each([
    ["a way to pay that is none", { paymentAccepted: "Shells" }, "paymentAccepted: Must be one of card"],
    [
      "a place without its city",
      { location: { address: { addressCountry: "GB" } } },
      "location: A place needs an address",
    ],
  ])("is left out with %s", async (_name, change, detail) => {
    const [item] = await read({ ...bakery, ...change }, said);
    expect(item?.record).toBeNull();
    expect(item?.left).toContainEqual(expect.stringContaining(detail));
  });
});
