// A world in which every member of a request has a visible effect, and the values with which each search field is tried.
// For tests.

import { openVerifiable, type Verifiable } from "../../api/routes/verification.fixture.ts";
import {
  freshNonce,
  newCaller,
  type ReceivedAnswer,
  type SentRequest,
  send,
  type TestCaller,
} from "../../api/surfaces.fixture.ts";
import { publishBody } from "../../client/batch.ts";
import { collections } from "../../collections/collections.ts";
import type { FilterField, Operator } from "../../collections/definition.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { sampleRecords } from "../../protocol/records/records.fixture.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { publishRecord } from "../../service/publishing/publish-record.ts";
import {
  jsonOf,
  product,
  sealAndPublish,
  sealHosted,
  seal as sealProducts,
} from "../publishing/publishing.fixture.ts";

/**
 * Two values for a filter field: the samples' value and another; for ordered fields, one below and one above the samples'
 * value.
 */
type FieldValues =
  | readonly [has: unknown, other: unknown]
  | { readonly below: unknown; readonly above: unknown; readonly has?: unknown };

const always = {
  language: ["en", "de"],
  published_at: { below: "2020-01-01", above: "2100-01-01" },
} as const;
const toronto = { lat: 43.65, lng: -79.4 };
const place: FieldValues = [
  { ...toronto, radius_km: 50 },
  { lat: -33.9, lng: 151.2, radius_km: 50 },
];

export const fieldValues: Readonly<Record<CollectionName, Readonly<Record<string, FieldValues>>>> = {
  products: {
    ...always,
    tags: ["waterproof", "linen"],
    brand: ["Harrier", "Fellside"],
    vertical: ["sports_outdoors", "electronics"],
    category: ["running", "cycling"],
    channel: ["online", "in_store"],
    availability: ["in_stock", "out_of_stock"],
    on_sale: [false, true],
    price_amount: { below: "1.00", above: 5000, has: 129.9 },
    price_currency: ["USD", "EUR"],
    gtin: ["4006381333931", "4006381333932"],
    sponsored: [false, true],
  },
  business_files: {
    ...always,
    has_locations: [true, false],
    location_geo: place,
    cities: ["Toronto", "Paris"],
    "delivery.options": ["express", "pickup"],
    ships_internationally: [true, false],
    "payment.methods": ["invoice", "cash"],
    has_booking: [false, true],
    year_established: { below: 1900, above: 2020, has: 1987 },
  },
  events: {
    ...always,
    region: ["CA-ON", "CA-QC"],
    event_type: ["sports_event", "concert"],
    attendance_mode: ["in_person", "online"],
    start_at: { below: "2026-12-01", above: "2027-01-01" },
    end_at: { below: "2026-12-01", above: "2027-01-01" },
    timezone: ["America/Toronto", "Europe/London"],
    geo: place,
    city: ["Toronto", "Paris"],
    ticketed: [true, false],
    price_min: { below: 1, above: "21.00" },
    price_max: { below: 1, above: "45.51" },
    price_currency: ["CAD", "USD"],
    age_restriction: ["16_plus", "18_plus"],
  },
  jobs: {
    ...always,
    salary_disclosed: [true, false],
    employment_type: ["full_time", "part_time"],
    category: ["skilled_trades", "education"],
    work_arrangement: ["on_site", "remote"],
    geo: place,
    city: ["Toronto", "Paris"],
    region: ["CA-ON", "CA-QC"],
    salary_min: { below: 1, above: 31001 },
    salary_max: { below: 1, above: "36000.01" },
    salary_currency: ["CAD", "USD"],
    salary_period: ["year", "hour"],
    closing_date: { below: "2026-12-01", above: "2027-01-01" },
  },
  updates: {
    ...always,
    update_type: ["opening_hours", "new_product"],
    relevant_until: { below: "2026-12-01", above: "2027-01-01" },
  },
};

/** Two operands for a field's operator: the first finds the samples, the second does not. */
export function operandsOf(
  collection: CollectionName,
  field: FilterField,
  operator: Operator,
): readonly [unknown, unknown] {
  const values = fieldValues[collection][field.name];
  if (values === undefined) throw new Error(`fieldValues of ${collection} has no ${field.name}`);
  if (operator === "lt" || operator === "lte" || operator === "gt" || operator === "gte") {
    if (!("below" in values)) throw new Error(`${field.name} is ordered: fieldValues has below and above`);
    const { below, above } = values;
    return operator.startsWith("l") ? [above, below] : [below, above];
  }
  const [has, other] = "below" in values ? [values.has, values.above] : values;
  switch (operator) {
    case "ne":
      return [other, has];
    case "in":
      return [[has], [other]];
    case "nin":
      return [[other], [has]];
    default:
      return [has, other];
  }
}

/** A word in the samples' texts, one text field that contains it and one that does not. */
export const textOf: Readonly<Record<CollectionName, readonly [word: string, has: string, hasNot: string]>> =
  {
    products: ["muddy", "short_description", "brand"],
    business_files: ["clothing", "description", "markets_served"],
    events: ["moonlight", "title", "description"],
    jobs: ["shoemaker", "title", "description"],
    updates: ["sundays", "body", "headline"],
  };

/** The member by which two samples of a collection are ordered, and the value that the later one has instead. */
export const orderOf: Readonly<Record<CollectionName, { readonly key: string; readonly change: object }>> = {
  products: {
    key: "price_amount",
    change: { prices: [{ country: "US", currency: "USD", amount: "240.00" }], countries: ["US"] },
  },
  business_files: { key: "year_established", change: { year_established: 1990 } },
  events: { key: "price_min", change: { price_min: "20.50" } },
  jobs: {
    key: "salary_min",
    change: { salary: { min: "31000.50", max: "36000.00", currency: "CAD", period: "year" } },
  },
  updates: { key: "relevant_until", change: { relevant_until: "2026-12-30T00:00:00.000Z" } },
};

export interface EffectsWorld extends Verifiable {
  readonly company: TestCaller;
  readonly pusher: TestCaller;
  /** The id of a push of two products. */
  readonly pushId: string;
  /** The ids that the search finds, in its order; or the code of the refusal. */
  found(collection: CollectionName, changes: Readonly<Record<string, unknown>>): Promise<unknown>;
  /** The code of a publish request, or its status. `change` may alter the body of a valid batch. */
  published(
    change?: (body: Record<string, unknown>) => object,
    headers?: SentRequest["headers"],
  ): Promise<unknown>;
}

export const codeOf = (answer: ReceivedAnswer): unknown => answer.json["code"] ?? answer.status;

export async function openEffects(): Promise<EffectsWorld> {
  const world = await openVerifiable();
  const { surfaces, business } = world;
  const { services } = surfaces;
  const company = await newCaller(services.keys.grant, "retrieval", "10000000-0000-4000-8000-000000000002");
  const pusher = { key: business.signingKey, grant: "" };
  const records = ["c", "d"].map((id) => product(id, { ...orderOf.products.change }));
  const pushed = jsonOf(await sealAndPublish(services, business, records, { aiPolicyVersion: 1, seq: 2 }));
  for (const name of collectionNames.filter((each) => each !== "products"))
    for (const [id, changes] of [
      ["a", {}],
      ["b", orderOf[name].change],
    ] as const)
      await publishAlone(world, name, { business_product_id: id, ...changes });
  let seq = 100;
  return {
    ...world,
    company,
    pusher,
    pushId: String(pushed["batch_id"]),
    found: async (collection, changes) => {
      const base = { filter: { all: [{ country: "US" }] }, sort_by: "published_at:desc" };
      const path = `/v1/${collections[collection].path}/search`;
      const body = JSON.stringify({ ...base, ...changes });
      const answer = await send(surfaces.retrievalUrl, company, { path, body });
      const rows = answer.json["rows"] as readonly { readonly record_id: string }[] | undefined;
      return rows?.map((row) => row.record_id) ?? answer.json;
    },
    published: async (change = (body) => body, headers = {}) => {
      seq += 1;
      const batch = [product(`p${seq}`)];
      const sealed = await sealProducts(business, batch, { aiPolicyVersion: 1, seq });
      const body = JSON.parse(new TextDecoder().decode(publishBody(sealed.batch_seal, batch)));
      return codeOf(
        await send(surfaces.businessUrl, pusher, {
          path: "/v1/publish/products",
          body: JSON.stringify(change(body)),
          tag: "svc-push",
          headers: { "idempotency-key": freshNonce(), ...headers },
        }),
      );
    },
  };
}

async function publishAlone(
  { surfaces, business }: Verifiable,
  collection: CollectionName,
  changes: object,
): Promise<void> {
  const { services } = surfaces;
  const record = canonicalBytes(rubbish({ ...sampleRecords[collection], ...changes }));
  const who = { uuid: business.party.uuid, certId: business.certId };
  const seal = await sealHosted(services, who, { record, record_type: collection, ai_policy_version: 1 });
  const deps = { ...services, passkeys: services.anchors.passkeys };
  const outcome = await publishRecord(deps, { businessUuid: business.party.uuid, collection, record, seal });
  if (!outcome.ok || outcome.value.outcome !== "accepted") throw new Error(JSON.stringify(outcome));
}

/** The answers to two requests that differ only in the member. */
export type Effect = () => Promise<readonly [unknown, unknown]>;
/** `shownBy`: the test that shows the effect, as `<file>: <title>`. */
export type Proof = Effect | { readonly shownBy: string };

/** The effect of each member of each collection's search. */
export function searchEffects(world: () => EffectsWorld): Readonly<Record<string, Proof>> {
  const proofs: Record<string, Proof> = {};
  for (const name of collectionNames) {
    const [word, has, hasNot] = textOf[name];
    const at = (pointer: string): string => `search ${name} body ${pointer}`;
    const finds =
      (first: object, second: object): Effect =>
      async () => [await world().found(name, { ...first }), await world().found(name, { ...second })];
    const filters = (clause: object): object => ({ filter: { all: [{ country: "US" }, clause] } });
    Object.assign(proofs, {
      [at("/collection")]: finds({ collection: name }, { collection: "something" }),
      [at("/q")]: finds({ q: word }, { q: "nonesuch" }),
      [at("/query_by")]: finds({ q: word, query_by: [has] }, { q: word, query_by: [hasNot] }),
      [at("/filter")]: finds({}, { filter: { all: [{ country: "FR" }] } }),
      [at("/filter/all")]: finds({}, { filter: { all: [{ country: "FR" }] } }),
      [at("/filter/all/*/country")]: finds({}, { filter: { all: [{ country: "FR" }] } }),
      [at("/filter/all/*/country/eq")]: finds(
        { filter: { all: [{ country: { eq: "US" } }] } },
        { filter: { all: [{ country: { eq: "FR" } }] } },
      ),
      [at("/sort_by")]: finds(
        { sort_by: `${orderOf[name].key}:asc` },
        { sort_by: `${orderOf[name].key}:desc` },
      ),
      [at("/limit")]: finds({ limit: 1 }, { limit: 50 }),
      [at("/client_query_id")]: {
        shownBy:
          "api/events.test.ts: has one event for every search and fetch that was answered, and none for anything else",
      },
      [at("/session_ref")]: { shownBy: "api/analytics.test.ts: counts one session's repetitions once" },
      [at("/topic_keywords")]: {
        shownBy:
          "api/analytics.test.ts: shows a subject once enough companies have named it often enough, not before",
      },
    });
    for (const field of collections[name].fields.filter((each) => each.name !== "country")) {
      const under = at(`/filter/all/*/${field.name}`);
      for (const operator of field.operators) {
        const clauses = operandsOf(name, field, operator).map((operand) => ({
          [field.name]: { [operator]: operand },
        }));
        proofs[`${under}/${operator}`] = finds(filters(clauses[0] ?? {}), filters(clauses[1] ?? {}));
        proofs[under] = proofs[`${under}/${operator}`] as Effect;
      }
      if (field.type !== "geopoint") continue;
      const near = (change: object): object => {
        const [operand] = operandsOf(name, field, "near");
        return filters({ [field.name]: { near: { ...Object(operand), ...change } } });
      };
      for (const change of [{ lat: 10 }, { lng: 10 }, { radius_km: 0.001 }])
        proofs[`${under}/near/${Object.keys(change)[0]}`] = finds(near({}), near(change));
    }
  }
  return proofs;
}
