import { expect, it } from "vitest";
import { collectionNames } from "../identifiers.ts";
import { textPlaces } from "./record-texts.ts";

const paths = (wanted: (role: string) => boolean): Readonly<Record<string, readonly string[]>> =>
  Object.fromEntries(
    collectionNames.map((name) => [
      name,
      textPlaces(name).flatMap(({ steps, role }) => (wanted(role) ? [`${steps.join("/")}`] : [])),
    ]),
  );

it("finds every text in which a record speaks, and no identifier, code or money", () => {
  expect(paths((role) => role === "speech" || role === "name")).toEqual({
    products: ["product_name", "brand", "tags/*", "short_description"],
    business_files: [
      "business_name",
      "description",
      "brands_owned/*/name",
      "markets_served/*",
      "locations/*/name",
      "represent_us/who_we_are",
      "represent_us/what_we_offer",
      "represent_us/who_we_serve",
      "represent_us/what_sets_us_apart",
      "represent_us/how_to_describe_us",
      "endpoints/*/description",
    ],
    events: ["title", "description"],
    jobs: ["title", "description"],
    updates: ["headline", "body"],
  });
});

it("finds every place, brand that is sold and address", () => {
  expect(paths((role) => role === "place" || role === "sold_name" || role === "url")).toEqual({
    products: ["product_url", "destination_url"],
    business_files: [
      "website",
      "brands_sold/*/name",
      "locations/*/address",
      "locations/*/city",
      "contact/url",
      "endpoints/*/url",
    ],
    events: ["venue", "address", "city", "event_url"],
    jobs: ["city", "job_url", "apply_url"],
    updates: ["update_url"],
  });
});
