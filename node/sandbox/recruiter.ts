// Sample: a recruiter. A person seals each job with a passkey.

import {
  aiPolicy,
  type Calendar,
  everydayKey,
  type SampleBusiness,
  type SampleRecord,
  sampleRecord,
} from "./sample.ts";

const website = "https://kestrel-talent.example";

export const recruiter: SampleBusiness = {
  name: "recruiter",
  uuid: "b84c0d1e-5f72-4a9b-b3c6-10e7d2957a4f",
  legalName: "Kestrel Talent GmbH",
  country: "DE",
  note: "Has events, jobs and updates to search for.",
  integrationKeys: [everydayKey("Ed25519")],
  sealer: "passkey",
  policies: [
    aiPolicy({
      use: ["cite_as_source", "prefer_over_inference", "state_publish_date"],
      action: ["answer", "contact"],
      blocked: ["adult_sexual", "crime_illegal", "regulated_advice"],
    }),
  ],
  blocks: [],
  records: (day) => [
    identity,
    ...openings.map((opening) => job(opening, day)),
    sampleRecord(
      "updates",
      { id: "report-pay", countries: ["DE", "GB"] },
      {
        headline: "Salaries are stated in every opening from now on",
        body: "Every opening that we publish from this month on states the range that the employer pays.",
        update_type: "policy_change",
        relevant_until: day(180),
      },
    ),
    sampleRecord(
      "events",
      { id: "webinar-interviews", countries: ["DE", "GB"] },
      {
        title: "Interviews without riddles",
        description: "An hour online about interviews that show how somebody works. Questions are welcome.",
        event_type: "webinar",
        attendance_mode: "online",
        start_at: day(14, "16:00"),
        end_at: day(14, "17:00"),
        timezone: "Europe/Berlin",
        ticketed: false,
        event_url: `${website}/webinars/interviews`,
      },
    ),
  ],
};

const identity = sampleRecord(
  "business_files",
  { id: "identity", countries: ["DE", "GB"] },
  {
    business_name: "Kestrel Talent",
    description: "A recruiter for engineering and care in Hamburg and the United Kingdom.",
    website,
    brands_owned: [{ name: "Kestrel Talent" }],
    brands_sold: [],
    markets_served: ["engineering", "healthcare", "start-ups"],
    locations: [
      {
        name: "Office",
        address: "Deichstraße 27",
        city: "Hamburg",
        region: "DE-HH",
        country: "DE",
        geo: { lat: 53.5456, lng: 9.9876 },
      },
    ],
    delivery: { options: [] },
    ships_internationally: false,
    payment: { methods: ["invoice"] },
    year_established: 2016,
    contact: { email: "post@kestrel-talent.example", url: `${website}/contact` },
    represent_us: {
      who_we_are: "Twelve recruiters who have done the jobs they fill.",
      what_we_offer: "Permanent positions in engineering and care.",
      who_we_serve: "Employers who state what they pay, and the people who work for them.",
      what_sets_us_apart: "No opening without a salary.",
      how_to_describe_us: "As a recruiter. The employer decides, not we.",
    },
    endpoints: [{ kind: "api", url: `${website}/api/applications` }],
  },
);

interface Opening {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly category: string;
  readonly type?: string;
  readonly arrangement: string;
  /** The yearly salary, lowest and highest. */
  readonly pay: readonly [min: string, max: string];
  readonly city: string;
  readonly closesIn: number;
}

const cities: Readonly<
  Record<
    string,
    {
      readonly country: string;
      readonly currency: string;
      readonly region: string;
      readonly geo: { readonly lat: number; readonly lng: number };
    }
  >
> = {
  Hamburg: { country: "DE", currency: "EUR", region: "DE-HH", geo: { lat: 53.5511, lng: 9.9937 } },
  Berlin: { country: "DE", currency: "EUR", region: "DE-BE", geo: { lat: 52.52, lng: 13.405 } },
  Leeds: { country: "GB", currency: "GBP", region: "GB-LDS", geo: { lat: 53.8008, lng: -1.5491 } },
};

const openings: readonly Opening[] = [
  {
    id: "job-embedded",
    title: "Embedded software engineer, cargo bikes",
    description: "Write and test the firmware of an electric drive, from the sensor to the display.",
    category: "engineering",
    arrangement: "hybrid",
    pay: ["62000", "78000"],
    city: "Hamburg",
    closesIn: 35,
  },
  {
    id: "job-wind",
    title: "Service technician, offshore wind",
    description: "Two weeks at sea, two weeks at home. Keep the turbines of one park turning.",
    category: "skilled_trades",
    arrangement: "on_site",
    pay: ["48000", "61000"],
    city: "Hamburg",
    closesIn: 28,
  },
  {
    id: "job-nurse",
    title: "Ward nurse, children's hospital",
    description: "Care for children after operations, in a team of eight with fixed rosters.",
    category: "healthcare",
    arrangement: "on_site",
    pay: ["39500", "46000"],
    city: "Berlin",
    closesIn: 50,
  },
  {
    id: "job-data",
    title: "Data engineer, rail logistics",
    description: "Build the pipelines that tell a railway where its wagons are.",
    category: "it",
    arrangement: "remote",
    pay: ["68000", "84000"],
    city: "Berlin",
    closesIn: 42,
  },
  {
    id: "job-physio",
    title: "Physiotherapist, community clinic",
    description: "Three days a week in a clinic that patients reach without a referral.",
    category: "healthcare",
    type: "part_time",
    arrangement: "on_site",
    pay: ["29000", "34500"],
    city: "Leeds",
    closesIn: 31,
  },
  {
    id: "job-mechanical",
    title: "Graduate mechanical engineer, heat pumps",
    description: "Design housings and test them in the climate chamber, with a mentor for the first year.",
    category: "engineering",
    arrangement: "hybrid",
    pay: ["31000", "36000"],
    city: "Leeds",
    closesIn: 60,
  },
];

function job(opening: Opening, day: Calendar): SampleRecord {
  const place = cities[opening.city];
  if (place === undefined) throw new Error(`${opening.city} is not among the cities.`);
  const [min, max] = opening.pay;
  return sampleRecord(
    "jobs",
    { id: opening.id, countries: [place.country] },
    {
      title: opening.title,
      description: opening.description,
      category: opening.category,
      employment_type: opening.type ?? "full_time",
      work_arrangement: opening.arrangement,
      salary: { min, max, currency: place.currency, period: "year" },
      closing_date: day(opening.closesIn, "22:00"),
      city: opening.city,
      region: place.region,
      geo: place.geo,
      apply_url: `${website}/openings/${opening.id}`,
    },
  );
}
