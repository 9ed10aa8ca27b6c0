// Products as the businesses of a world publish them: small, and with every text that a check reads.

import { utf8 } from "../../protocol/bytes.ts";
import type { Random } from "../kernel/random.ts";
import { blockedAtFirst, blockedLater } from "../world/changing-lists.ts";

export interface ProductChoice {
  readonly id: string;
  /** Price in cents. */
  readonly cents: number;
  readonly countries: readonly string[];
  /** Raised with every edition, so that no two have the same bytes unless that is intended. */
  readonly edition: number;
  readonly fault: ProductFault | null;
}

export type ProductFault = "money_not_string" | "display_domain_mismatch" | "scope" | "not_json" | "country";

export const productFaults: readonly ProductFault[] = [
  "money_not_string",
  "display_domain_mismatch",
  "scope",
  "not_json",
  "country",
];

/** The name, without its legal form, of a company that every world certified. */
export const certifiedName = "Zeppelin Works";

const currencies: Readonly<Record<string, string>> = { US: "USD", CA: "CAD", GB: "GBP", DE: "EUR" };

export function productBytes(choice: ProductChoice): Uint8Array {
  const { id, edition, fault } = choice;
  if (fault === "not_json") return utf8(`{"schema":"svc/products/1",${id}`);
  // A country that the mandate does not cover.
  const countries = fault === "country" ? ["DE"] : choice.countries;
  const amount = `${Math.floor(choice.cents / 100)}.${String(choice.cents % 100).padStart(2, "0")}`;
  const name =
    fault === "scope" ? `Better than ${certifiedName} ${edition}` : `Thing ${id} edition ${edition}`;
  return utf8(
    JSON.stringify({
      schema: "svc/products/1",
      language: "en",
      business_product_id: id,
      countries,
      product_name: name,
      vertical: "sports_outdoors",
      category: "running",
      channel: "online",
      brand: "Harrier",
      tags: ["thing"],
      short_description: `Edition ${edition} of a thing.`,
      prices: countries.map((country) => ({
        country,
        currency: currencies[country],
        amount: fault === "money_not_string" ? Number(amount) : amount,
      })),
      on_sale: edition % 2 === 0,
      availability: "in_stock",
      product_url: `https://${hostOf(choice)}/things`,
      ...(fault === "display_domain_mismatch"
        ? { display_domain: "other.example", destination_url: "https://harrier.example/" }
        : {}),
    }),
  );
}

/** Most products link to the business; a few to the hosts that the world's lists are about. */
export function hostOf({ edition }: Pick<ProductChoice, "edition">): string {
  if (edition % listedEvery === 2) return blockedAtFirst;
  return edition % listedEvery === 3 ? blockedLater : "harrier.example";
}

const listedEvery = 41;

export function drawCountries(random: Random): readonly string[] {
  return random.pick([["US"], ["US"], ["US", "CA"], ["GB", "US"], ["CA"]]);
}
