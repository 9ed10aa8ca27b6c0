// Which category of the service's taxonomy a category of Google's product taxonomy becomes. Google names a category by its
// number or by its path in English; what is not listed takes the category of the nearest listed one above it. Broad
// headings, under which quite different things are sold, have no category of their own: a mapping file names one.

import { categoryCodes, verticalOf } from "../../protocol/records/vocabularies/taxonomy.ts";
import { numberAbove } from "./google-category-numbers.ts";

/** `number | path | category`, as in version 2021-09-21 of Google's taxonomy, which is the newest. */
const listed = `
1 | Animals & Pet Supplies | pet_accessories
3367 | Animals & Pet Supplies > Pet Supplies > Cat Supplies > Cat Food | pet_food
3530 | Animals & Pet Supplies > Pet Supplies > Dog Supplies > Dog Food | pet_food
4990 | Animals & Pet Supplies > Pet Supplies > Bird Supplies > Bird Food | pet_food
6 | Animals & Pet Supplies > Pet Supplies > Fish Supplies | aquariums
5086 | Animals & Pet Supplies > Pet Supplies > Pet Medicine | pet_health
5081 | Animals & Pet Supplies > Pet Supplies > Pet Vitamins & Supplements | pet_health
1604 | Apparel & Accessories > Clothing | clothing
182 | Apparel & Accessories > Clothing > Baby & Toddler Clothing | kidswear
2306 | Apparel & Accessories > Clothing > Uniforms | workwear
167 | Apparel & Accessories > Clothing Accessories | fashion_accessories
184 | Apparel & Accessories > Costumes & Accessories | party_supplies
6552 | Apparel & Accessories > Handbag & Wallet Accessories | fashion_accessories
6551 | Apparel & Accessories > Handbags, Wallets & Cases | bags
191 | Apparel & Accessories > Jewelry > Bracelets | bracelets
194 | Apparel & Accessories > Jewelry > Earrings | earrings
196 | Apparel & Accessories > Jewelry > Necklaces | necklaces
192 | Apparel & Accessories > Jewelry > Charms & Pendants | necklaces
200 | Apparel & Accessories > Jewelry > Rings | rings
201 | Apparel & Accessories > Jewelry > Watches | watches
5122 | Apparel & Accessories > Jewelry > Watch Accessories | watches
1933 | Apparel & Accessories > Shoe Accessories | fashion_accessories
187 | Apparel & Accessories > Shoes | shoes
16 | Arts & Entertainment > Hobbies & Creative Arts > Arts & Crafts | crafts
5709 | Arts & Entertainment > Party & Celebration | party_supplies
53 | Arts & Entertainment > Party & Celebration > Gift Giving > Gift Cards & Certificates | gift_cards
2899 | Arts & Entertainment > Party & Celebration > Gift Giving > Fresh Cut Flowers | flowers
537 | Baby & Toddler | baby_care
2847 | Baby & Toddler > Baby Toys & Activity Equipment | toys
2764 | Baby & Toddler > Baby Transport | prams
4386 | Baby & Toddler > Baby Transport Accessories | prams
6987 | Business & Industrial > Material Handling | industrial_tools
1470 | Business & Industrial > Manufacturing | industrial_tools
138 | Business & Industrial > Retail | shop_fittings
1624 | Business & Industrial > Science & Laboratory | lab_equipment
2047 | Business & Industrial > Work Safety Protective Gear | safety_equipment
3477 | Business & Industrial > Medical > Medical Equipment | medical_devices
141 | Cameras & Optics | cameras
223 | Electronics > Audio | audio
270 | Electronics > Communications > Telephony | electronics_accessories
267 | Electronics > Communications > Telephony > Mobile Phones | phones
278 | Electronics > Computers | computers
4745 | Electronics > Computers > Tablet Computers | tablets
500002 | Electronics > Computers > Smart Glasses | wearables
2082 | Electronics > Electronics Accessories | electronics_accessories
285 | Electronics > Electronics Accessories > Computer Components | computer_parts
288 | Electronics > Electronics Accessories > Memory | computer_parts
342 | Electronics > Networking | computer_parts
345 | Electronics > Print, Copy, Scan & Fax | computer_parts
386 | Electronics > Video | electronics_accessories
404 | Electronics > Video > Televisions | televisions
1294 | Electronics > Video Game Consoles | video_games
1270 | Electronics > Video Game Console Accessories | video_games
413 | Food, Beverages & Tobacco > Beverages | soft_drinks
499676 | Food, Beverages & Tobacco > Beverages > Alcoholic Beverages | alcoholic_drinks
1868 | Food, Beverages & Tobacco > Beverages > Coffee | coffee_tea
2073 | Food, Beverages & Tobacco > Beverages > Tea & Infusions | coffee_tea
422 | Food, Beverages & Tobacco > Food Items | groceries
4748 | Food, Beverages & Tobacco > Food Items > Candy & Chocolate | confectionery
430 | Food, Beverages & Tobacco > Food Items > Fruits & Vegetables | fresh_food
432 | Food, Beverages & Tobacco > Food Items > Meat, Seafood & Eggs | fresh_food
423 | Food, Beverages & Tobacco > Food Items > Snack Foods | snacks
436 | Furniture | furniture
554 | Furniture > Baby & Toddler Furniture | nursery
632 | Hardware | diy_tools
503739 | Hardware > Building Consumables | building_materials
115 | Hardware > Building Materials | building_materials
543575 | Hardware > Fuel | heating_fuel
133 | Hardware > Plumbing | building_materials
491 | Health & Beauty > Health Care | medical_devices
508 | Health & Beauty > Health Care > First Aid | first_aid
2890 | Health & Beauty > Health Care > Fitness & Nutrition | fitness_nutrition
525 | Health & Beauty > Health Care > Fitness & Nutrition > Vitamins & Supplements | supplements
518 | Health & Beauty > Health Care > Medicine & Drugs | pharmacy
519 | Health & Beauty > Health Care > Mobility & Accessibility | mobility_aids
2915 | Health & Beauty > Personal Care | personal_hygiene
477 | Health & Beauty > Personal Care > Cosmetics > Makeup | makeup
479 | Health & Beauty > Personal Care > Cosmetics > Perfume & Cologne | fragrance
567 | Health & Beauty > Personal Care > Cosmetics > Skin Care | skincare
486 | Health & Beauty > Personal Care > Hair Care | haircare
526 | Health & Beauty > Personal Care > Oral Care | oral_care
528 | Health & Beauty > Personal Care > Shaving & Grooming | shaving
1380 | Health & Beauty > Personal Care > Vision Care | eyewear
696 | Home & Garden > Decor | home_decor
604 | Home & Garden > Household Appliances | appliances
3348 | Home & Garden > Household Appliance Accessories | appliances
623 | Home & Garden > Household Supplies > Household Cleaning Supplies | cleaning
638 | Home & Garden > Kitchen & Dining | kitchenware
730 | Home & Garden > Kitchen & Dining > Kitchen Appliances | appliances
689 | Home & Garden > Lawn & Garden | garden
594 | Home & Garden > Lighting | lighting
2956 | Home & Garden > Lighting Accessories | lighting
4171 | Home & Garden > Linens & Bedding | bedding
985 | Home & Garden > Plants | garden
5181 | Luggage & Bags | bags
784 | Media > Books | books
839 | Media > DVDs & Videos | films
886 | Media > Magazines & Newspapers | magazines
855 | Media > Music & Sound Recordings | music
922 | Office Supplies | office_supplies
2636 | Office Supplies > Shipping Supplies | packaging
313 | Software > Computer Software | apps
5299 | Software > Computer Software > Antivirus & Security Software | security_software
5300 | Software > Computer Software > Business & Productivity Software | business_software
1279 | Software > Video Game Software | video_games
499713 | Sporting Goods > Athletics | team_sports
990 | Sporting Goods > Exercise & Fitness | fitness_equipment
499811 | Sporting Goods > Outdoor Recreation > Boating & Water Sports | water_sports
1013 | Sporting Goods > Outdoor Recreation > Camping & Hiking | camping
1025 | Sporting Goods > Outdoor Recreation > Cycling | cycling
499844 | Sporting Goods > Outdoor Recreation > Winter Sports & Activities | winter_sports
3793 | Toys & Games > Games | board_games
3867 | Toys & Games > Puzzles | board_games
1253 | Toys & Games > Toys | toys
1249 | Toys & Games > Outdoor Play Equipment | toys
1262 | Toys & Games > Toys > Educational Toys | educational_toys
5613 | Vehicles & Parts > Vehicle Parts & Accessories | vehicle_parts
911 | Vehicles & Parts > Vehicle Parts & Accessories > Motor Vehicle Parts > Motor Vehicle Wheel Systems > Motor Vehicle Tires | tyres
913 | Vehicles & Parts > Vehicle Parts & Accessories > Vehicle Maintenance, Care & Decor | car_care
916 | Vehicles & Parts > Vehicles > Motor Vehicles > Cars, Trucks & Vans | cars
919 | Vehicles & Parts > Vehicles > Motor Vehicles > Motorcycles & Scooters | motorcycles
`;

interface GoogleCategory {
  readonly id: string;
  readonly path: string;
  readonly category: string;
}

const googleCategories: readonly GoogleCategory[] = listed
  .trim()
  .split("\n")
  .map((line) => {
    const [id = "", path = "", category = ""] = line.split(" | ");
    return { id, path, category };
  });

const byId = new Map(googleCategories.map(({ id, category }) => [id, category]));
const byPath = new Map(googleCategories.map(({ path, category }) => [pathKey(path), category]));

/** Spelled in one way, since feeds differ in case and in the spaces around `>`. */
function pathKey(path: string): string {
  return path
    .split(">")
    .map((part) => part.trim().toLowerCase())
    .join(" > ");
}

/** The category of the first of `names` that one is known for; `own` comes first (the mapping file's `categories`). */
export function categoryOf(names: readonly string[], own: ReadonlyMap<string, string>): string | null {
  for (const name of names) {
    const found = nearest(name, own) ?? byNumber(name.trim(), own) ?? nearest(name, byPath);
    if (found !== null) return found;
  }
  return null;
}

/** The same category as by its path. */
function byNumber(number: string, own: ReadonlyMap<string, string>): string | null {
  const above = numberAbove.get(number) ?? number;
  return own.get(above) ?? byId.get(above) ?? null;
}

/** The entry for the path itself, or else for the longest path above it. */
function nearest(name: string, known: ReadonlyMap<string, string>): string | null {
  const parts = pathKey(name).split(" > ");
  for (let length = parts.length; length > 0; length -= 1) {
    const found = known.get(parts.slice(0, length).join(" > "));
    if (found !== undefined) return found;
  }
  return null;
}

/** The mapping file's `categories` in the form that {@link categoryOf} takes. */
export function ownCategories(categories: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(categories).map(([name, category]) => [pathKey(name), category]));
}

/** @internal Rows whose category the taxonomy does not have, and paths or numbers that are listed twice: none. */
export function categoryTableFaults(): readonly string[] {
  const twice = (values: readonly string[]): readonly string[] =>
    values.filter((value, at) => values.indexOf(value) !== at);
  return [
    ...googleCategories
      .filter(({ category }) => !categoryCodes.codes.has(category) || verticalOf(category) === undefined)
      .map(({ path }) => path),
    ...[...numberAbove]
      .filter(([number, above]) => byId.has(number) || !byId.has(above))
      .map(([number]) => number),
    ...twice(googleCategories.map(({ id }) => id)),
    ...twice(googleCategories.map(({ path }) => path)),
  ];
}
