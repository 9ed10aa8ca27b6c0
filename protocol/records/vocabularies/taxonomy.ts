// The service's own vocabularies, published together as the document `taxonomy`. Codes are lower_snake and never reused or
// renamed; a new code increments `taxonomyVersion`.

import { type CodeEntry, type CodeList, codeList, parseEntries } from "./code-list.ts";

export const taxonomyVersion = 1;

export interface Vertical extends CodeEntry {
  readonly categories: readonly CodeEntry[];
}

/** Verticals in published order, each with its categories. A category belongs to exactly one vertical. */
export const verticals: readonly Vertical[] = [
  vertical(
    "apparel Clothing, shoes and accessories",
    "clothing; shoes; bags; fashion_accessories; workwear; kidswear",
  ),
  vertical("automotive Vehicles and parts", "cars; motorcycles; vehicle_parts; tyres; car_care; ev_charging"),
  vertical(
    "beauty Beauty and personal care",
    "skincare; haircare; makeup; fragrance; oral_care; shaving; personal_hygiene",
  ),
  vertical(
    "books_media Books, music, film and games",
    "books; magazines; music; films; video_games; board_games",
  ),
  vertical(
    "business_supplies Office and industrial supplies",
    "office_supplies; packaging; safety_equipment; industrial_tools; lab_equipment; shop_fittings",
  ),
  vertical(
    "consumer_electronics Electronics and computers",
    "phones; computers; tablets; audio; televisions; cameras; wearables; smart_home; computer_parts; electronics_accessories",
  ),
  vertical(
    "education Courses and training",
    "courses; certifications; tutoring; language_lessons; study_materials",
  ),
  vertical(
    "energy_utilities Energy and utilities",
    "electricity; gas; solar; heating_fuel; water; broadband; mobile_plans",
  ),
  vertical(
    "financial_services Banking, insurance and payments",
    "bank_accounts; cards; loans; mortgages; insurance; investments; payment_services",
  ),
  vertical(
    "food_drink Food and drink",
    "groceries; fresh_food; snacks; confectionery; soft_drinks; coffee_tea; alcoholic_drinks; meal_kits; dietary_food",
  ),
  vertical(
    "gifts_flowers Gifts, flowers and occasions",
    "flowers; gift_sets; gift_cards; party_supplies; stationery",
  ),
  vertical(
    "health Health and wellness",
    "supplements; medical_devices; pharmacy; eyewear; fitness_nutrition; mobility_aids; first_aid",
  ),
  vertical(
    "home_garden Home and garden",
    "furniture; bedding; kitchenware; appliances; lighting; home_decor; garden; diy_tools; building_materials; cleaning",
  ),
  vertical(
    "jewelry_watches Jewellery and watches",
    "diamonds; gemstones; rings; necklaces; bracelets; earrings; watches; precious_metals",
  ),
  vertical("pets Pets", "pet_food; pet_accessories; pet_health; aquariums; pet_services"),
  vertical(
    "professional_services Services for people and companies",
    "legal; accounting; consulting; marketing_services; cleaning_services; repair_services; moving; home_services",
  ),
  vertical(
    "property Property",
    "homes_for_sale; homes_to_let; commercial_property; student_housing; parking",
  ),
  vertical(
    "software Software and online services",
    "apps; business_software; security_software; hosting; online_subscriptions",
  ),
  vertical(
    "sports_outdoors Sports and outdoors",
    "fitness_equipment; cycling; camping; team_sports; water_sports; winter_sports; running; outdoor_clothing",
  ),
  vertical(
    "toys_baby Toys, children and babies",
    "toys; baby_care; prams; nursery; educational_toys; crafts",
  ),
  vertical(
    "travel Travel and hospitality",
    "hotels; flights; trains; car_rental; tours; package_holidays; restaurants",
  ),
];

export const verticalCodes = own("verticals", verticals.map((each) => `${each.code} ${each.name}`).join(";"));
export const categoryCodes = own(
  "categories",
  verticals.flatMap((each) => each.categories.map((entry) => `${entry.code} ${entry.name}`)).join(";"),
);

/** How the offered item is obtained. */
export const channels = own(
  "channels",
  `online Bought online; in_store Bought in a shop; online_and_in_store Bought online or in a shop;
  by_phone Ordered by telephone; by_appointment By appointment; wholesale To trade customers`,
);
export const availabilities = own(
  "availability",
  `in_stock In stock; limited_stock Few left; out_of_stock Out of stock; preorder Can be ordered before release;
  backorder Can be ordered, delivered later; made_to_order Made to order; discontinued No longer made`,
);

export const deliveryOptions = own(
  "delivery_options",
  `standard Standard delivery; express Express delivery; same_day Same-day delivery; next_day Next-day delivery;
  click_and_collect Collected from a shop; local_delivery Delivered nearby; parcel_locker To a parcel locker;
  freight By freight; digital Delivered online`,
);
export const paymentMethods = own(
  "payment_methods",
  `card Payment card; bank_transfer Bank transfer; direct_debit Direct debit; cash Cash; cash_on_delivery Cash on delivery;
  invoice On invoice; instalments In instalments; digital_wallet Digital wallet; gift_card Gift card; cheque Cheque;
  mobile_money Mobile money; cryptocurrency Cryptocurrency`,
);
/** What an authorised endpoint of a business is for (specification, «Fetched record»). */
export const endpointKinds = own(
  "endpoint_kinds",
  "checkout Checkout; order Order; booking Booking; api Application interface",
);

export const eventTypes = own(
  "event_types",
  `concert Concert; festival Festival; theatre Theatre; exhibition Exhibition; conference Conference; workshop Workshop;
  class Class; talk Talk; sports_event Sports event; market Market or fair; networking Networking; launch Launch;
  open_day Open day; screening Screening; family Family event; charity Charity event; sale Sale; webinar Webinar; tour Tour;
  other Other`,
);
export const attendanceModes = own(
  "attendance_modes",
  "in_person In person; online Online; hybrid In person and online",
);
export const ageRestrictions = own(
  "age_restrictions",
  "all_ages All ages; 6_plus From 6; 12_plus From 12; 14_plus From 14; 16_plus From 16; 18_plus From 18; 21_plus From 21",
);

export const employmentTypes = own(
  "employment_types",
  `full_time Full time; part_time Part time; contract Contract; temporary Temporary; seasonal Seasonal;
  internship Internship; apprenticeship Apprenticeship; volunteer Volunteer`,
);
export const jobCategories = own(
  "job_categories",
  `administration Administration; agriculture Agriculture; construction Construction; customer_service Customer service;
  design Design; education Education; engineering Engineering; finance Finance; healthcare Healthcare;
  hospitality Hospitality; human_resources Human resources; it Information technology; legal Legal; logistics Logistics;
  management Management; manufacturing Manufacturing; marketing Marketing; media Media; public_sector Public sector;
  retail Retail; sales Sales; science Science; security Security; skilled_trades Skilled trades; other Other`,
);
export const workArrangements = own(
  "work_arrangements",
  "on_site On site; remote Remote; hybrid Partly remote",
);
export const salaryPeriods = own(
  "salary_periods",
  "hour By the hour; day By the day; week By the week; month By the month; year By the year",
);

export const updateTypes = own(
  "update_types",
  `announcement Announcement; offer Offer; product_launch Product launch; opening_hours Opening hours;
  service_notice Service notice; recall Recall; policy_change Policy change; location_change Location change;
  award Award; press_release Press release`,
);

/** Every list of the taxonomy in published order. */
export const taxonomyLists: readonly CodeList[] = [
  channels,
  availabilities,
  deliveryOptions,
  paymentMethods,
  endpointKinds,
  eventTypes,
  attendanceModes,
  ageRestrictions,
  employmentTypes,
  jobCategories,
  workArrangements,
  salaryPeriods,
  updateTypes,
];

const verticalByCategory: ReadonlyMap<string, string> = new Map(
  verticals.flatMap((each) => each.categories.map((category) => [category.code, each.code] as const)),
);

/** The vertical that a category belongs to; undefined for a code that is not a category. */
export function verticalOf(category: string): string | undefined {
  return verticalByCategory.get(category);
}

function vertical(head: string, categories: string): Vertical {
  const [entry] = parseEntries(head);
  if (entry === undefined) throw new Error("a vertical needs a code");
  return { ...entry, categories: parseEntries(categories).map(({ code }) => ({ code, name: nameOf(code) })) };
}

/** Turns `car_care` into `Car care`. */
function nameOf(code: string): string {
  const words = code.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function own(name: string, entries: string): CodeList {
  return codeList({ name, version: taxonomyVersion, standard: "svc", entries });
}
